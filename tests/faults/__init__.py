"""Deliberate faults: each breaks one rule of the protocol, and one named check has to report it."""
