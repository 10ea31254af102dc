"""Whole systems on virtual time from one seed; see docs/explanation/simulation.md."""
