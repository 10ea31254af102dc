"""Perdure: durable, local-first, project-scoped memory for AI coding agents."""

__version__ = "0.2.0"
