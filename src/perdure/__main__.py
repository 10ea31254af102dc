"""`python -m perdure` is the command line, as the script `perdure` is."""

from __future__ import annotations

import sys

from perdure.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
