"""Trace promises to tests: `python -m tools.trace [--check] [--json]`.

The promises stand in docs/reference/promises.md, one line each. A test that proves one carries
`@pytest.mark.requirement("Q-03")`, with several ids where it proves several. Without an option, the
promises that no test marks are listed, and the exit status is 0. `--check` looks only for what is wrong: a
promise listed twice or out of order, a mark for a promise that does not exist, an id marked twice on one
test; the exit status is then 1.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

PROMISES = Path("docs/reference/promises.md")
TESTS = Path("tests")

_Item = TypeVar("_Item", bound=Hashable)
_LINE = re.compile(r"^- \*\*([A-Z]-\d\d)\*\* (\S.*)$")


class Promise(msgspec.Struct, frozen=True):
    """One promise of the list."""

    id: str  # a capital letter and two digits: "Q-03"
    text: str


class Mark(msgspec.Struct, frozen=True):
    """One promise named by one test, or by a class or module of tests."""

    id: str
    test: str  # "tests/unit/test_x.py::test_y", without cases
    line: int


def promises(text: str) -> list[Promise]:
    """Read the promises from the Markdown list, in its order."""
    matches = (_LINE.match(line) for line in text.splitlines())
    return [Promise(id=match[1], text=match[2]) for match in matches if match]


def marks(source: str, path: str) -> list[Mark]:
    """Find every `requirement` mark in the source of a test module, decorators and `pytestmark` alike.

    Raises:
        SyntaxError: the source is not Python.

    """
    return list(_marks_in(ast.parse(source, filename=path), path))


def _marks_in(scope: ast.Module | ast.ClassDef, path: str) -> Iterator[Mark]:
    for node in scope.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{path}::{node.name}"
            for decorator in node.decorator_list:
                yield from _ids(decorator, name)
            if isinstance(node, ast.ClassDef):
                yield from _marks_in(node, name)
        elif isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets
        ):
            yield from _ids(node.value, path)


def _ids(expression: ast.expr, test: str) -> Iterator[Mark]:
    for call in ast.walk(expression):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            if call.func.attr != "requirement":
                continue
            for argument in call.args:
                value = argument.value if isinstance(argument, ast.Constant) else ast.unparse(argument)
                yield Mark(id=str(value), test=test, line=call.lineno)


def faults(listed: list[Promise], found: list[Mark]) -> list[str]:
    """Say, one sentence each, what is wrong with the list or the marks."""
    ids = [promise.id for promise in listed]
    problems = [f"{PROMISES}: {each} is listed twice." for each in sorted(_repeated(ids))]
    seen_letters: list[str] = []
    for each in ids:
        if each[0] in seen_letters[:-1]:
            problems.append(f"{PROMISES}: {each} stands apart from the other {each[0]} promises.")
        elif each[0] not in seen_letters:
            seen_letters.append(each[0])
    known = set(ids)
    problems += [
        f"{mark.test} (line {mark.line}): there is no promise {mark.id!r}."
        for mark in found
        if mark.id not in known
    ]
    problems += [
        f"{test}: {each} is marked twice." for test, each in sorted(_repeated((m.test, m.id) for m in found))
    ]
    return problems


def _repeated(items: Iterable[_Item]) -> set[_Item]:
    return {item for item, count in Counter(items).items() if count > 1}


def unproved(listed: list[Promise], found: list[Mark]) -> list[Promise]:
    """Give the promises that no test marks, in the order of the list."""
    marked = {mark.id for mark in found}
    return [promise for promise in listed if promise.id not in marked]


def collect(root: Path) -> tuple[list[Promise], list[Mark]]:
    """Read the list and every test module under `root`, the folder of the checkout."""
    listed = promises((root / PROMISES).read_text(encoding="utf-8"))
    found = [
        mark
        for path in sorted((root / TESTS).rglob("*.py"))
        for mark in marks(path.read_text(encoding="utf-8"), path.relative_to(root).as_posix())
    ]
    return listed, found


def main(arguments: list[str] | None = None) -> int:
    """Print the trace or the faults; return the exit status, 1 only for faults."""
    parser = argparse.ArgumentParser(prog="python -m tools.trace", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only look for faults")
    parser.add_argument("--json", action="store_true", help="print the tests of every promise as JSON")
    options = parser.parse_args(arguments)
    listed, found = collect(Path.cwd())
    problems = faults(listed, found)
    for problem in problems:
        print(problem)
    if options.check:
        return 1 if problems else 0
    if options.json:
        tests = {p.id: sorted({m.test for m in found if m.id == p.id}) for p in listed}
        print(json.dumps(tests, indent=1))
        return 1 if problems else 0
    missing = unproved(listed, found)
    for promise in missing:
        print(f"{promise.id}  {promise.text}")
    print(f"{len(listed) - len(missing)} of {len(listed)} promises are marked by a test.")
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
