"""The filesystem authority: one immutable file per record."""
