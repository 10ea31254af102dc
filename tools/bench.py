"""Run the measurements: `python -m tools.bench bench|quality [NAME]`.

`bench` imports tests/bench/bench_NAME.py and calls its `main() -> list[Figure]`. `quality` runs
tests/quality/NAME_quality.py as a program, which writes build/NAME.json itself. Either way the figures of
NAME stand in build/NAME.json, those of all in build/bench.json or build/quality.json, and the exit status
is 1 when a figure misses its target.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from tests.bench.figures import BUILD_FOLDER, Figure, table, write

Kind = Literal["bench", "quality"]

_PATTERNS: dict[Kind, tuple[str, str, str]] = {
    "bench": ("tests/bench", "bench_", ""),
    "quality": ("tests/quality", "", "_quality"),
}


Row = dict[str, object]
"""A figure as it stands in a file: the fields of `Figure`, where a program may add to what they hold."""


def modules(kind: Kind, root: Path) -> dict[str, str]:
    """Map the names of all measurements of a kind to their modules, in order of name."""
    folder, prefix, suffix = _PATTERNS[kind]
    found = sorted((root / folder).glob(f"{prefix}*{suffix}.py"))
    return {
        path.stem.removeprefix(prefix).removesuffix(suffix): f"{folder.replace('/', '.')}.{path.stem}"
        for path in found
    }


def _run_bench(name: str, module: str) -> list[Row]:
    main: Callable[[], list[Figure]] = importlib.import_module(module).main
    figures = main()
    print(table(figures))
    write(BUILD_FOLDER / f"{name}.json", figures)
    return [msgspec.to_builtins(figure) for figure in figures]


def _run_quality(name: str, module: str) -> list[Row]:
    path = BUILD_FOLDER / f"{name}.json"
    path.unlink(missing_ok=True)
    status = subprocess.run([sys.executable, "-m", module], check=False).returncode
    rows = msgspec.json.decode(path.read_bytes(), type=list[Row]) if path.exists() else []
    if not rows or (status and all(row.get("holds") is not False for row in rows)):
        failed = Figure(
            name=f"{name}: exit status", value=status, unit="", target="0, with figures", holds=False
        )
        rows.append(msgspec.to_builtins(failed))
    return rows


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen measurements; return the exit status: 0 all hold, 1 one missed, 2 wrong use."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    parser.add_argument("kind", choices=tuple(_PATTERNS))
    parser.add_argument("name", nargs="?")
    options = parser.parse_args(arguments)
    kind: Kind = options.kind
    known = modules(kind, Path.cwd())
    if options.name and options.name not in known:
        print(f"No {kind} is named {options.name!r}; there are: {', '.join(known) or 'none'}.")
        return 2
    run = _run_bench if kind == "bench" else _run_quality
    rows: list[Row] = []
    for name in [options.name] if options.name else known:
        print(f"{kind} {name} ...", flush=True)
        start = time.perf_counter()
        rows += run(name, known[name])
        print(f"({time.perf_counter() - start:.1f} s)\n", flush=True)
    write(BUILD_FOLDER / f"{kind}.json", rows)
    missed = [str(row.get("name")) for row in rows if row.get("holds") is False]
    print(f"Missed: {'; '.join(missed)}." if missed else f"{len(rows)} figures; no target is missed.")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
