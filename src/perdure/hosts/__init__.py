"""Adapters that read what hosts leave behind; they translate and never decide."""
