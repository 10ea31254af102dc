"""How `perdure` behaves in a shell: help, mistakes, JSON, pipes, locales, colour, interruption."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import sys
from pathlib import Path

import pytest

from perdure import __version__
from perdure.cli import run as run_module
from perdure.cli.main import main
from perdure.cli.table import DEFAULTS, HINTS, MODULES, groups, load_all
from tests.e2e.command_line import Perdure, process

READING = (
    "show,list,facts,branch list,history,export,inject,jobs list,receipts,budget show,verify,home show,"
    "status,provider test"
).split(",")


@pytest.mark.parametrize("name", list(MODULES))
def test_every_command_has_help_with_exit_statuses(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`perdure NAME --help` works without a home, says what the command does, and lists statuses."""
    assert main([*name.split(), "--help"]) == 0
    out = capsys.readouterr().out
    assert f"usage: perdure {name} " in out
    assert "exit statuses:" in out
    assert "--json" in out


def test_the_table_is_whole() -> None:
    """Every command of every module is in the table, once; defaults and hints lead to commands."""
    commands = load_all()
    assert [command.name for command in commands] == list(MODULES)
    assert all(command.summary[0].islower() and command.summary[-1] != "." for command in commands)
    assert all(f"{group} {name}" in MODULES for group, name in DEFAULTS.items())
    known = {*MODULES, *groups(), "remember --key"}
    assert set(HINTS.values()) <= known


def test_overview_version_and_group_help(capsys: pytest.CaptureFixture[str]) -> None:
    """No command is a wrong use that shows help; help, --version and a group's help are right uses."""
    assert main([]) == 2
    assert main(["--help"]) == 0
    assert main(["help", "undo"]) == 0
    assert main(["--version"]) == 0
    assert f"perdure {__version__}" in capsys.readouterr().out
    assert main(["jobs", "--help"]) == 0
    assert main(["help", "jobs"]) == 0
    assert "perdure jobs drop" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["rember", "x"], "perdure remember"),
        (["add", "x"], "perdure remember"),
        (["branch", "frok"], "perdure branch fork"),
        (["jobs", "xyzzy"], "list, show, retry, drop"),
        (["xyzzy"], "perdure --help"),
        (["--frob", "list"], "perdure --help"),
        (["undo", "--frob"], "perdure undo --help"),
        (["undo", "seven"], "perdure undo --help"),
        (["remember"], "perdure remember --help"),
        (["provider"], "test"),
        (["shadow"], "rebuild"),
    ],
)
def test_mistakes_are_answered_with_what_to_do(
    words: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 2, one line on standard error, and a suggestion."""
    assert main(words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert hint in said.err
    assert said.err.count("\n") == 1
    assert main([*words, "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == "usage"


@pytest.mark.parametrize("name", READING)
def test_every_reading_command_prints_one_json_document(perdure: Perdure, name: str) -> None:
    """Options stand before or after the command; with --json, standard output is one document."""
    perdure("remember", "Ünïcode → text.", "--key", "k")
    words = name.split()
    after = perdure(*words, "--json", "--project", str(perdure.project)).json
    before = perdure("--json", f"--project={perdure.project}", *words).json
    assert isinstance(after, dict)
    assert after.keys() == before.keys()
    if len(words) > 1:
        assert perdure(words[0], "--json", *words[1:]).json.keys() == after.keys()
    perdure(*words)


@pytest.mark.parametrize(
    "name", [*READING, "remember x", "forget x", "undo", "review", "jobs drop ffff --yes"]
)
def test_without_a_home_every_command_says_what_to_do(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 4 and "perdure init"; nothing is made."""
    monkeypatch.chdir(tmp_path)
    assert main([*name.split(), "--json"]) == 4
    error = json.loads(capsys.readouterr().out)["error"]
    assert "perdure init" in error["advice"]
    assert not Path(os.environ["PERDURE_HOME"]).exists()


@pytest.mark.requirement("M-01")
def test_folders_that_cannot_be_projects(
    perdure: Perdure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """$HOME and / are refused, a missing folder is not found; a folder without Git is its own project."""
    perdure("list", "--project", "/", status=2)
    perdure("list", "--project", os.environ["HOME"], status=2)
    perdure("list", "--project", str(tmp_path / "missing"), status=4)
    plain = tmp_path / "plain"
    plain.mkdir()
    monkeypatch.chdir(plain)
    said = perdure.json("init")
    assert (said["kind"], said["project"], said["new"]) == ("folder", str(plain), True)
    assert not perdure.json("init")["new"]


def test_init_says_who_where_and_what_next(perdure: Perdure) -> None:
    """Identity, place, mode, reviewer and next steps; the second time nothing changes but a counter."""
    before = perdure.files()
    said = perdure("init").out
    for part in (str(perdure.project), str(perdure.home), "embedded", "rules", "perdure review --once"):
        assert part in said
    assert perdure.files() == before
    assert list(perdure.project.iterdir()) == [perdure.project / ".git"]


def test_output_is_utf8_whatever_the_locale(perdure: Perdure) -> None:
    """In the C locale, with and without JSON, quick and full."""
    perdure("remember", "Grüße → 日本")
    env = {
        "LC_ALL": "C",
        "LANG": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONIOENCODING": "ascii",
    }
    for words in (["list"], ["list", "--json"], ["inject"], ["inject", "--json"]):
        out, err = process(*words, cwd=perdure.project, env=env).communicate(timeout=60)
        assert (err, "日本" in out.decode("utf-8")) == (b"", True)
    out, err = process("forget", "日本 fehlt", cwd=perdure.project, env={"LC_ALL": "C"}).communicate(
        timeout=60
    )
    assert (out, "日本 fehlt" in err.decode("utf-8")) == (b"", True)


@pytest.mark.parametrize("words", [["list"], ["inject"], ["history", "--json"]])
def test_a_closed_pipe_is_quiet(perdure: Perdure, words: list[str]) -> None:
    """`perdure list | head -1`: no word on standard error, and no status of failure."""
    for number in range(6):
        perdure("remember", f"{number} {'x' * 780}")
    reading, writing = os.pipe()
    os.close(reading)
    code = f"import sys; from perdure.cli.main import main; sys.exit(main({words!r}))"
    child = os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", code],
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_DUP2, writing, 1),
            (os.POSIX_SPAWN_OPEN, 2, "err", os.O_WRONLY | os.O_CREAT, 0o600),
        ],
    )
    os.close(writing)
    _, status = os.waitpid(child, 0)
    assert Path("err").read_bytes() == b""
    assert os.waitstatus_to_exitcode(status) == 0


def test_colour_only_on_a_terminal_and_not_with_no_color(perdure: Perdure) -> None:
    """On a terminal there is colour; with NO_COLOR, or in a pipe, there is none."""
    perdure("remember", "Use tabs.")
    assert "\x1b[" not in perdure("show").out
    for value, coloured in (("", True), ("1", False)):
        primary, secondary = pty.openpty()
        child = os.posix_spawn(
            sys.executable,
            [sys.executable, "-m", "perdure.cli.main", "show"],
            {**os.environ, "NO_COLOR": value, "TERM": "xterm"},
            file_actions=[(os.POSIX_SPAWN_DUP2, secondary, 1)],
        )
        os.waitpid(child, 0)
        os.close(secondary)
        assert ("\x1b[" in os.read(primary, 65536).decode()) is coloured
        os.close(primary)


def test_a_question_is_asked_on_a_terminal(perdure: Perdure, tmp_path: Path) -> None:
    """With a terminal the diff is shown and the answer counts: anything but yes changes nothing."""
    notes = tmp_path / "notes.md"
    notes.write_text("- Use tabs.\n")
    for answer, texts in ((b"n\n", []), (b"y\n", ["Use tabs."])):
        primary, secondary = pty.openpty()
        child = os.posix_spawn(
            sys.executable,
            [sys.executable, "-m", "perdure.cli.main", "import", str(notes)],
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, secondary, number) for number in (0, 1, 2)],
        )
        os.close(secondary)
        os.write(primary, answer)
        os.waitpid(child, 0)
        said = os.read(primary, 65536).decode()
        os.close(primary)
        assert "+ [project] Use tabs." in said
        assert perdure.texts() == texts


def test_ctrl_c_ends_with_130(perdure: Perdure) -> None:
    """An interrupted command says so in one line and shows no traceback."""
    reading, writing = os.pipe()
    asked = process("remember", "-", cwd=perdure.project, stdin=reading)
    os.write(writing, b"x")
    while asked.poll() is None and not _reading(asked.pid):
        pass
    asked.send_signal(signal.SIGINT)
    out, err = asked.communicate(timeout=60)
    os.close(writing)
    os.close(reading)
    assert (asked.returncode, out, err) == (130, b"", b"perdure: interrupted.\n")


def _reading(pid: int) -> bool:
    """Whether a process waits for input with its modules loaded."""
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state == "S" and "msgspec" in Path(f"/proc/{pid}/maps").read_text()


def test_a_fault_of_ours_is_one_line_without_a_traceback(
    perdure: Perdure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Status 70 and how to see more; with PERDURE_DEBUG=1 the exception itself."""

    def broken(name: str) -> object:
        raise ZeroDivisionError(name)

    monkeypatch.setattr(run_module, "load", broken)
    said = perdure("list", status=70)
    assert said.err.count("\n") == 1
    assert "PERDURE_DEBUG=1" in said.err
    assert perdure.json("list", status=70)["error"]["code"] == "internal"
    monkeypatch.setenv("PERDURE_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(["list"])


def test_closed_standard_streams_do_no_harm(perdure: Perdure, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command whose streams are closed does its work."""
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        patch.setattr(sys, "stderr", None)
        assert main(["remember", "Use tabs."]) == 0
        assert main(["remember", "-"]) == 2
    assert perdure.texts() == ["Use tabs."]


def test_home_commands(perdure: Perdure) -> None:
    """Show says where it is, resume has nothing to do, and a copied home asks to be adopted."""
    shown = perdure.json("home")
    assert shown["home"] == str(perdure.home)
    assert [project["root"] for project in shown["projects"]] == [str(perdure.project)]
    assert not perdure.json("home", "resume")["resumed"]
    moved = perdure.home.with_name("moved")
    moved.mkdir(mode=0o700)
    for path in list(perdure.home.iterdir()):
        path.rename(moved / path.name)
    perdure.home.rmdir()
    moved.rename(perdure.home)
    assert "home adopt" in perdure("list", status=3).err
    perdure("home", "adopt", status=2)
    assert perdure.json("home", "adopt", "--yes")["adopted"]
    perdure("remember", "Use tabs.")


def test_json_of_errors_survives_odd_bytes(perdure: Perdure) -> None:
    """An argument that is no UTF-8 still gives a JSON document that every reader takes."""
    out = io.BytesIO()
    asked = process("forget", os.fsdecode(b"a\xffb"), "--json", cwd=perdure.project)
    out.write(asked.communicate(timeout=60)[0])
    assert json.loads(out.getvalue().decode("utf-8"))["error"]["code"] == "not-found"
