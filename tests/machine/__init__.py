"""Faults of real machines: killed processes, full and lying disks, jumping clocks, two releases."""
