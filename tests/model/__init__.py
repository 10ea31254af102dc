"""Exhaustive walks over small bounds, and generated histories, against the pure core."""
