"""One module at a time, no disk beyond a temporary folder, milliseconds each."""
