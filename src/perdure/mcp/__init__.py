"""Memory for any client of the Model Context Protocol: `perdure mcp`."""
