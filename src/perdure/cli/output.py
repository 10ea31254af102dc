"""What is written to standard output, and what becomes of an output that cannot be written."""

from __future__ import annotations

import io
import sys

from perdure.errors import OutputFailed


def say(text: str, *, end: str = "\n") -> None:
    """Print to standard output at once. Raises OutputFailed, and BrokenPipeError where the reader has gone.

    After a failure nothing more goes there: what the stream still holds would fail again at the end.
    """
    try:
        print(text, end=end, flush=True)
    except BrokenPipeError:
        sys.stdout = io.StringIO()
        raise
    except (OSError, ValueError) as error:  # ValueError: the stream was closed
        sys.stdout = io.StringIO()
        reason = error.strerror if isinstance(error, OSError) else "it is closed"
        msg = f"standard output cannot be written: {reason}."
        raise OutputFailed(msg, advice="What the command did stays done; run it again elsewhere.") from error


def complain(text: str) -> None:
    """Print one line on standard error; when that fails, too, there is nobody left to tell."""
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        sys.stderr = io.StringIO()
