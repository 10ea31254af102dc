"""Processes that are killed, disks that forget, and the recovery that follows."""
