"""The trace from promises to tests, `make trace`."""

from __future__ import annotations

from pathlib import Path

from tools import trace

ROOT = Path(__file__).resolve().parents[2]

MODULE = """
pytestmark = pytest.mark.requirement("A-01")

@pytest.mark.requirement("Q-03", "Q-04")
@pytest.mark.parametrize("x", [1])
def test_a(x): pass

@pytest.mark.requirement("Q-09")
class TestB:
    @pytest.mark.requirement("Q-05")
    async def test_c(self): pass
"""


def listed(*ids: str) -> list[trace.Promise]:
    """Make a list of promises."""
    return [trace.Promise(id=each, text="...") for each in ids]


def mark(promise: str, test: str = "t.py::test_a") -> trace.Mark:
    """Make a mark."""
    return trace.Mark(id=promise, test=test, line=3)


def test_marks_are_found_wherever_pytest_finds_them() -> None:
    """Marks of modules, classes, functions and methods count, with one or more ids."""
    found = {(each.id, each.test) for each in trace.marks(MODULE, "t.py")}
    assert found == {
        ("A-01", "t.py"),
        ("Q-03", "t.py::test_a"),
        ("Q-04", "t.py::test_a"),
        ("Q-09", "t.py::TestB"),
        ("Q-05", "t.py::TestB::test_c"),
    }


def test_unproved_promises_keep_their_order() -> None:
    """What no test marks is listed in the order of the list."""
    missing = trace.unproved(listed("S-08", "S-07", "Q-03"), [mark("Q-03")])
    assert [promise.id for promise in missing] == ["S-08", "S-07"]


def test_a_sound_trace_has_no_faults() -> None:
    """The same promise may be proved by several tests."""
    found = [mark("Q-03"), mark("Q-03", "t.py::test_b")]
    assert trace.faults(listed("A-01", "Q-03"), found) == []


def test_each_fault_is_named() -> None:
    """Listed twice or apart from its kind, marked but not listed, marked twice on one test: all are said."""
    found = trace.faults(
        listed("A-01", "Q-03", "A-01"), [mark("Q-03"), mark("Q-03"), mark("Z-99", "t.py::test_z")]
    )
    assert len(found) == 4
    assert "A-01 is listed twice" in found[0]
    assert "A-01 stands apart" in found[1]
    assert "t.py::test_z (line 3): there is no promise 'Z-99'" in found[2]
    assert "t.py::test_a: Q-03 is marked twice" in found[3]


def test_an_id_that_is_not_a_plain_string_is_a_fault() -> None:
    """A computed id cannot be traced, so it counts as unknown."""
    found = trace.marks("@pytest.mark.requirement(X)\ndef test_a(): pass\n", "t.py")
    assert len(trace.faults(listed("A-01"), found)) == 1


def test_the_list_of_this_project_is_complete_and_sound() -> None:
    """Every promise of the list is read, each group is numbered without a gap, and no mark is wrong."""
    promises, marks = trace.collect(ROOT)
    numbers: dict[str, list[int]] = {}
    for promise in promises:
        numbers.setdefault(promise.id[0], []).append(int(promise.id[2:]))
    assert list(numbers) == list("GMRIEQABDSFTKLPX")
    assert all(sorted(each) == list(range(1, len(each) + 1)) for each in numbers.values())
    lines = (ROOT / trace.PROMISES).read_text().splitlines()
    assert len(promises) == sum(line.startswith("- ") for line in lines)
    assert trace.faults(promises, marks) == []
