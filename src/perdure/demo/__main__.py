"""Run the demo: `make demo`, or `python -m perdure.demo`. Exit status 0: all that it claimed was checked."""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path

from perdure.demo import results, steps
from perdure.demo.scene import Scene, make_folder
from perdure.demo.screen import Screen
from perdure.errors import PerdureError

STEPS = (
    steps.explain,
    steps.show_session,
    steps.capture,
    steps.kill,
    steps.restart,
    results.show_change,
    results.show_budget,
    results.show_block,
    results.undo,
    results.show_places,
)
INTERRUPTED = 130


def main() -> int:
    """Play every step; return the exit status."""
    folder = None
    try:
        folder = make_folder()
        _play(folder)
    except PerdureError as error:
        return _stopped(folder, str(error), status=1)
    except BrokenPipeError:
        with contextlib.suppress(OSError):
            sys.stdout.close()  # or Python would complain about what it cannot flush at its end
        return _stopped(folder, "nobody reads what it prints.", status=1)
    except OSError as error:
        return _stopped(folder, f"{error}.", status=1)
    except KeyboardInterrupt:
        return _stopped(folder, "interrupted.", status=INTERRUPTED)
    return 0


def _play(folder: Path) -> None:
    begun = time.monotonic()
    screen = Screen(sys.stdout, steps=len(STEPS))
    scene = Scene(folder)
    try:
        for step in STEPS:
            step(screen, scene)
        results.show_next(screen, scene)
    finally:
        scene.app.close()
    took = time.monotonic() - begun
    screen.say(
        f"All {screen.checks} claims marked ok were checked before they were printed, in {took:.1f} s."
    )


def _stopped(folder: Path | None, why: str, *, status: int) -> int:
    with contextlib.suppress(OSError):
        sys.stderr.write(f"\nThe demo stopped: {why}\n")
        sys.stderr.write(f"Its folder is still there: {folder}\n" if folder is not None else "")
        sys.stderr.flush()
    return status


if __name__ == "__main__":
    raise SystemExit(main())
