"""Measurements beside the floor of the disk; run by `make bench`."""
