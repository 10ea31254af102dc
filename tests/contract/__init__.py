"""One suite per port, which every authority has to pass."""
