"""Figures, the floor of the disk, and the runner behind `make bench` and `make quality`."""

from __future__ import annotations

import ast
import itertools
import os
import stat
from pathlib import Path

import msgspec
import pytest

import tests.bench
from tests.bench import figures
from tools import bench

BENCH = """
from tests.bench.figures import at_most
def main():
    return [at_most("{name}: time", {value}, "ms", 2)]
"""

QUALITY = """
import json, pathlib
pathlib.Path("build").mkdir(exist_ok=True)
row = {{"name": "precision", "value": 0.97, "unit": "", "reference": [0.9, 0.99], "ratio": None,
       "target": 0.95, "holds": True}}
pathlib.Path("build/words.json").write_text(json.dumps([row]))
raise SystemExit({status})
"""


def test_a_target_holds_up_to_its_limit() -> None:
    """A figure on the limit holds; beyond it, it does not; without a target nothing is claimed."""
    assert figures.at_most("x", 2.0, "s", 2).holds is True
    assert figures.at_most("x", 2.1, "s", 2).holds is False
    assert figures.at_least("x", 0.95, "", 0.95).holds is True
    assert figures.at_least("x", 0.94, "", 0.95).holds is False
    assert figures.plain("x", 1, "s").holds is None


def test_a_ratio_is_to_the_reference() -> None:
    """A figure beside a reference gives value / reference, and holds by that ratio."""
    figure = figures.against("enqueue", 3.0, "ms", reference=2.0, ratio_max=1.5)
    assert (figure.ratio, figure.target, figure.holds) == (1.5, "ratio <= 1.5", True)
    assert figures.against("enqueue", 3.1, "ms", reference=2.0, ratio_max=1.5).holds is False


def test_the_floor_is_two_syncs_and_one_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The floor syncs the file, links it without replacing, and syncs the folder, in this order."""
    calls: list[str] = []
    real_sync, real_link = os.fsync, os.link

    def fsync(descriptor: int) -> None:
        calls.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        real_sync(descriptor)

    def link(source: Path, target: Path) -> None:
        calls.append("link")
        real_link(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "link", link)
    figures.publish_barely(tmp_path, b"x" * 100, "a")
    assert calls == ["file", "link", "folder"]
    assert (tmp_path / "a").read_bytes() == b"x" * 100


def test_the_floor_leaves_nothing_behind(tmp_path: Path) -> None:
    """The floor takes time and takes its files away again."""
    assert figures.floor_seconds(tmp_path, b"x" * 100, "a") > 0
    assert list(tmp_path.iterdir()) == []


def test_measured_and_floor_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each goes first as often as the other, and the warm-up does not count."""
    order: list[str] = []

    def floor(*_: object) -> float:
        order.append("floor")
        return 0.5

    monkeypatch.setattr(figures, "floor_seconds", floor)
    found = figures.interleaved(
        lambda index: order.append(str(index)),
        after=lambda index: order.append(f"after {index}"),
        folder=tmp_path,
        payload=b"",
        rounds=2,
        warm_up=1,
    )
    assert order == ["floor", "0", "after 0", "1", "after 1", "floor", "floor", "2", "after 2"]
    assert len(found.measured_seconds) == len(found.floor_seconds) == 2
    assert found.floor_median == 0.5


def test_a_table_is_aligned() -> None:
    """All cells of a column end, or begin, at the same place, and a missed target stands out."""
    lines = figures.table(
        [
            figures.against("enqueue", 1.25, "ms", reference=1.0, ratio_max=1.5),
            figures.at_most("claim at 100,000 jobs", 12_345.0, "ms", 3),
        ]
    ).splitlines()
    assert [line.index("ms") for line in lines[1:]] == [lines[0].index("unit")] * 2
    assert lines[1].endswith("ok")
    assert lines[2].endswith("MISSED")
    assert "12,345" in lines[2]


def test_scratch_is_on_the_disk_of_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scratch folder lies below build/ and is gone afterwards."""
    monkeypatch.chdir(tmp_path)
    with figures.scratch() as folder:
        (folder / "file").write_text("x")
        assert folder.parent == (tmp_path / "build").resolve()
    assert not folder.exists()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder that looks like a checkout, and work in it."""
    for name in ("tests/bench", "tests/quality"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


_unique = itertools.count()


def add_bench(checkout: Path, monkeypatch: pytest.MonkeyPatch, value: float) -> str:
    """Add a measurement to the checkout; return its name."""
    name = f"sample{next(_unique)}"
    (checkout / f"tests/bench/bench_{name}.py").write_text(BENCH.format(name=name, value=value))
    folders = [*tests.bench.__path__, str(checkout / "tests/bench")]
    monkeypatch.setattr("tests.bench.__path__", folders)
    return name


def test_bench_runs_all_and_writes_figures(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All measurements run; each has its file, and all stand in build/bench.json."""
    names = [add_bench(checkout, monkeypatch, 1.5), add_bench(checkout, monkeypatch, 2.0)]
    assert bench.main(["bench"]) == 0
    rows = msgspec.json.decode((checkout / "build/bench.json").read_bytes())
    assert [row["name"] for row in rows] == [f"{name}: time" for name in names]
    assert set(rows[0]) == {"name", "value", "unit", "reference", "ratio", "target", "holds"}
    assert all((checkout / f"build/{name}.json").exists() for name in names)


def test_a_missed_target_fails_the_run(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit status is 1, and the last line names what was missed."""
    name = add_bench(checkout, monkeypatch, 2.5)
    assert bench.main(["bench", name]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == f"Missed: {name}: time."


@pytest.mark.usefixtures("checkout")
def test_an_unknown_name_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    """The exit status is 2, and the message says what there is."""
    assert bench.main(["bench", "nothing"]) == 2
    assert "No bench is named 'nothing'; there are: none." in capsys.readouterr().out


@pytest.mark.parametrize(("status", "expected"), [(0, 0), (1, 1)])
def test_quality_collects_what_its_programs_wrote(checkout: Path, status: int, expected: int) -> None:
    """Figures of a quality program are read back; a program that fails, fails the run."""
    (checkout / "tests/quality/words_quality.py").write_text(QUALITY.format(status=status))
    assert bench.main(["quality", "words"]) == expected
    rows = msgspec.json.decode((checkout / "build/quality.json").read_bytes())
    assert rows[0]["reference"] == [0.9, 0.99]
    assert [row["holds"] for row in rows] == ([True, False] if status else [True])


def test_a_quality_program_without_figures_fails(checkout: Path) -> None:
    """A program that writes no figures is not taken for one that passed."""
    (checkout / "tests/quality/words_quality.py").write_text("")
    figures.write(checkout / "build/words.json", [figures.plain("of an earlier run", 1, "")])
    assert bench.main(["quality"]) == 1


@pytest.mark.parametrize("kind", ["bench", "quality"])
def test_every_measurement_can_be_run(kind: bench.Kind) -> None:
    """Each module that `make bench` or `make quality` would run says what it measures and has a `main`."""
    root = Path(__file__).resolve().parents[2]
    for module in bench.modules(kind, root).values():
        tree = ast.parse((root / f"{module.replace('.', '/')}.py").read_text())
        assert ast.get_docstring(tree), module
        assert any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body), module
