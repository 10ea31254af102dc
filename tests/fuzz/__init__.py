"""Fuzzing of everything that reads bytes this process did not write, with a kept corpus."""
