"""Pure recall over canonical entries."""
