"""Perdure: durable, local-first, project-scoped memory for AI coding agents."""

__version__ = "0.1.0"
