"""Everything that Perdure promises, tried out; one folder per kind of test."""
