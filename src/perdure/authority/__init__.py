"""The stores whose records decide."""
