"""Pure records, tables and rules: no input or output, no clock, no randomness."""
