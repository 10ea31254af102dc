"""Commands for developers; `make help` lists the ones to call."""
