"""Labelled inputs and how well Perdure does on them; run by `make quality`."""
