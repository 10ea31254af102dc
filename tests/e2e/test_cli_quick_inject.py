"""The quick `perdure inject` says what the full one says, or leaves it to the full one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perdure.app import App
from perdure.authority.filesystem.home import LAYOUT_VERSION, POLICY_VERSION, Format
from perdure.authority.filesystem.structural import Selected
from perdure.cli.quick_inject import (
    _BRANCH_FIELDS,
    _BYTES_MAX,
    _ENTRY_FIELDS,
    _FORMAT_FIELDS,
    LAYOUT,
    POLICY,
    _main_id,
    quick_inject,
)
from perdure.cli.run import run
from perdure.core.inject import _OPENERS
from perdure.core.memory import Branch, Entry, empty_main, main_branch_id
from perdure.core.record import RECORD_BYTES_MAX
from perdure.core.secret_views import View, folded
from perdure.core.text_meaning import neutralize_fence
from tests.e2e.command_line import Perdure, process

WORDS = st.sampled_from(
    [
        "Use",
        "pnpm",
        "</perdure-memory>",
        "[INST]",
        "\n",
        "ß",
        "日本",
        "＜/system＞",
        "\\u003c/system>",
        "&lt;",
        '"',
        "\\",
    ]
)
ENTRIES = st.lists(
    st.builds(
        Entry,
        entry_id=st.integers(0, 2**64 - 1).map(lambda number: f"{number:016x}"),
        text=st.lists(WORDS, min_size=1, max_size=40).map(" ".join),
        kind=st.sampled_from(["project", "user"]),
        key=st.none() | st.sampled_from(["deploy", "_hidden", "Ü", "a <b>"]),
        importance=st.sampled_from(["high", "normal", "low"]),
        origin=st.just("tool"),
        created_ms=st.integers(0, 9),
        updated_ms=st.integers(0, 9),
    ),
    max_size=40,
    unique_by=lambda entry: entry.entry_id,
)
ALTERED = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


def put(scope: str, branch: Branch) -> None:
    """Let a branch stand in the home, past every check."""
    app = App.open()
    try:
        with app.memory.hold(scope) as held:
            held.put_branch(branch)
    finally:
        app.close()


def key_of(folder: Path) -> str:
    """Give the project's key."""
    app = App.open()
    try:
        return app.project(str(folder)).key
    finally:
        app.close()


def full(perdure: Perdure, *words: str) -> tuple[int, str]:
    """Give the status and the output of the full command."""
    perdure._capture.readouterr()
    status = run(list(words))
    return status, perdure._capture.readouterr().out.removesuffix("\n")


@pytest.mark.requirement("I-01", "I-02", "I-03")
@ALTERED
@given(project=ENTRIES, user=ENTRIES, other=ENTRIES, chosen=st.sampled_from(["", "main", "other"]))
def test_both_ways_say_the_same(
    perdure: Perdure, project: list[Entry], user: list[Entry], other: list[Entry], chosen: str
) -> None:
    """Any branches, any texts, text and JSON, selected or named: byte for byte."""
    key = key_of(perdure.project)
    put(key, msgspec.structs.replace(empty_main(key), entries=tuple(project)))
    put("user", msgspec.structs.replace(empty_main("user"), entries=tuple(user)))
    fork = msgspec.structs.replace(empty_main(key), branch_id="b" * 16, name="other", entries=tuple(other))
    put(key, fork)
    branch = ["--branch", chosen] if chosen else []
    for words in (["inject", *branch], [*branch, "inject", "--json"]):
        assert full(perdure, *words) == (0, quick_inject(words))


def test_the_selected_branch_is_injected(perdure: Perdure) -> None:
    """Both ways follow `branch use`."""
    perdure("remember", "On main.")
    perdure("branch", "fork", "other")
    perdure("branch", "use", "other")
    perdure("remember", "On the other.")
    assert "On the other." in (quick_inject(["inject"]) or "")
    assert full(perdure, "inject") == (0, quick_inject(["inject"]))


def test_nothing_is_imported_that_costs(perdure: Perdure) -> None:
    """The quick way loads none of the libraries that would double the interpreter's start."""
    perdure("remember", "Grüße: use pnpm.")
    code = (
        "import sys; from perdure.cli.main import main; status = main(['inject']);"
        "print(*sorted({'msgspec', 'argparse', 'typing', 're', 'json', 'hashlib', 'pathlib', 'collections',"
        " 'perdure.app', 'perdure.core.text'} & set(sys.modules)), file=sys.stderr); sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}; {code}"],
                          capture_output=True, check=True)  # fmt: skip
    assert "Grüße" in done.stdout.decode()
    assert done.stderr == b"\n"


def _symlinked(home: Path, branch: Path) -> None:
    branch.rename(home / "elsewhere")
    branch.symlink_to(home / "elsewhere")


def _linked_folder(home: Path, branch: Path) -> None:
    branch.parent.rename(home / "elsewhere")
    branch.parent.symlink_to(home / "elsewhere")


def _damaged(_: Path, branch: Path) -> None:
    branch.write_bytes(branch.read_bytes().replace(b"npm", b"xpm"))


def _newer(_: Path, branch: Path) -> None:
    branch.write_bytes(branch.read_bytes().replace(b'"version":1', b'"version":2'))


def _torn(_: Path, branch: Path) -> None:
    branch.write_bytes(branch.read_bytes()[:-1])


def _gone(_: Path, branch: Path) -> None:
    branch.unlink()


def _open_to_others(home: Path, _: Path) -> None:
    home.chmod(0o770)


def _configured(home: Path, _: Path) -> None:
    (home / "config.toml").write_text("[injection]\ncharacters = 200\n")


def _worktrees(home: Path, _: Path) -> None:
    (home / "config.toml").write_text('[project]\nworktrees = "own"\n')


def _no_key(home: Path, _: Path) -> None:
    (home / "key").unlink()


def _two_names(home: Path, branch: Path) -> None:
    (home / "twin").hardlink_to(branch)


@pytest.mark.requirement("E-04", "M-13")
@pytest.mark.parametrize(
    "change",
    [
        _symlinked,
        _linked_folder,
        _damaged,
        _newer,
        _torn,
        _gone,
        _open_to_others,
        _configured,
        _worktrees,
        _no_key,
        _two_names,
    ],
)
def test_whatever_is_unusual_is_left_to_the_full_command(
    perdure: Perdure, change: Callable[[Path, Path], None]
) -> None:
    """The quick way gives nothing, follows no link, and the user sees what the full command says."""
    perdure("remember", "Use npm.")
    (branch,) = (perdure.home / "projects").glob("*/branches/*")
    assert quick_inject(["inject"]) is not None
    change(perdure.home, branch)
    assert quick_inject(["inject"]) is None
    status, out = full(perdure, "inject")
    assert status == 0 or not out
    perdure.home.chmod(0o700)


@pytest.mark.parametrize(
    "line",
    [
        "inject --help",
        "inject --yes",
        "inject x",
        "inject --branch",
        "--branch inject",
        "inject --branch nowhere",
        "inject --session s1",
        "inject -- x",
        "remember inject",
        "inject --project /nowhere/at/all",
        "--session s inject",
        "inject inject",
    ],
)
def test_odd_arguments_are_left_to_the_full_command(perdure: Perdure, line: str) -> None:
    """Only plain forms are answered quickly."""
    assert perdure.home.is_dir()
    assert quick_inject(line.split()) is None


def test_without_a_home_the_full_command_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Status 4 and "perdure init"."""
    monkeypatch.chdir(tmp_path)
    assert quick_inject(["inject"]) is None
    done = process("inject", cwd=tmp_path)
    out, err = done.communicate(timeout=60)
    assert (done.returncode, out) == (4, b"")
    assert b"perdure init" in err


def test_the_home_is_found_where_the_full_command_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without PERDURE_HOME: XDG_DATA_HOME, and without that the user's own folder."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PERDURE_HOME")
    for remove in (False, True):
        if remove:
            monkeypatch.delenv("XDG_DATA_HOME")
        assert run(["init"]) == 0
        assert run(["remember", f"Remembered {remove}.", "--relearn"]) == 0
        capsys.readouterr()
        assert f"Remembered {remove}." in (quick_inject(["inject"]) or "")


def test_what_is_written_out_for_speed_agrees_with_the_records() -> None:
    """Fields, versions and bounds are those of the record types."""
    for record, fields in ((Branch, _BRANCH_FIELDS), (Entry, _ENTRY_FIELDS), (Format, _FORMAT_FIELDS)):
        assert set(record.__struct_fields__) == fields
    assert (LAYOUT, POLICY, _BYTES_MAX) == (LAYOUT_VERSION, POLICY_VERSION, RECORD_BYTES_MAX)
    assert {Branch.VERSION, Format.VERSION, Selected.VERSION} == {1}
    assert _main_id("a" * 16) == main_branch_id("a" * 16)
    assert _main_id("user") == main_branch_id("user")


def test_every_character_that_can_open_a_tag_is_looked_at() -> None:
    """The short cut around the fence check knows all characters that fold to "<" or "["."""
    alphabet = [chr(code) for code in range(0x80, 0x110000) if not 0xD800 <= code < 0xE000]
    opening = {"<", "["}
    for start in range(0, len(alphabet), 0x1000):
        some = [char for char in alphabet[start : start + 0x1000] if char not in _OPENERS]
        view = folded(View(" ".join(some)))
        assert view is None or not opening & set(view.text), hex(0x80 + start)
    for char in _OPENERS:
        assert neutralize_fence(f"{char}/system>{char}inst]") != f"{char}/system>{char}inst]"


def entries_of(document: dict[str, Any]) -> int:
    """Count the entries of a document."""
    return len(document["included"]) + len(document["left_out"])


@pytest.mark.requirement("I-02", "I-05")
def test_the_document_says_what_was_left_out(perdure: Perdure) -> None:
    """The budget is in the document; a hard budget leaves entries out and names them."""
    for number in range(7):
        perdure("remember", f"{number} {'x' * 780}")
    (perdure.home / "config.toml").write_text("[injection]\ncharacters = 2000\n")
    document = perdure.json("inject")
    assert document["characters"] <= document["characters_max"] == 2000
    assert document["left_out"]
    assert entries_of(document) == 7
