"""Reviewers behind one small port: exactly one request per attempt."""
