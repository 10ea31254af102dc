"""Wall clocks that jump under the real command line, by libfaketime; the boot-time clock is left alone."""

from __future__ import annotations

import ctypes.util
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from perdure.authority.filesystem.retain import MARK
from perdure.ports.retain import Mark
from tests.machine.gated import COST_NANODOLLARS
from tests.machine.user import GATED, User, ending, finish

PLACES = (
    *Path("/usr/lib").glob("*/faketime/libfaketime.so.1"),
    *Path("/usr/lib").glob("faketime/libfaketime.so.1"),
    *Path("/usr/lib64").glob("faketime/libfaketime.so.1"),
)
LIBRARY = str(PLACES[0]) if PLACES else ctypes.util.find_library("faketime")
START = "2027-03-09 12:00:00"
DAY = "20270309"

pytestmark = pytest.mark.skipif(LIBRARY is None, reason="libfaketime is not installed")


class Machine(User):
    """A user at a machine whose wall clock the test sets; running processes see that, too."""

    def __init__(self, folder: Path, *, calls: int = 1_000) -> None:
        self._time = folder / "time"
        self.set(START)
        super().__init__(folder, calls=calls)

    def set(self, time: str) -> None:
        """Set the wall clock, in UTC."""
        fresh = self._time.with_suffix(".new")
        fresh.write_text(f"@{time}\n", encoding="ascii")
        fresh.replace(self._time)

    @property
    def env(self) -> dict[str, str]:
        """What makes processes see that clock, and the user's own settings."""
        return self._env | {
            "LD_PRELOAD": str(LIBRARY),
            "FAKETIME_TIMESTAMP_FILE": str(self._time),
            "FAKETIME_NO_CACHE": "1",
            "DONT_FAKE_MONOTONIC": "1",
            "TZ": "UTC",
        }

    @env.setter
    def env(self, given: dict[str, str]) -> None:
        self._env = given


def ms(time: str) -> int:
    """UTC milliseconds."""
    return int(datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Give a user who has a home at noon."""
    return Machine(tmp_path)


@pytest.mark.requirement("B-04", "B-03")
def test_a_call_over_midnight_is_charged_to_the_day_it_was_reserved(machine: Machine) -> None:
    """Reserved at ten to twelve, settled ten minutes after: the call and its cost are the first day's."""
    (job,) = machine.capture("Deploys start at 9.")
    machine.set("2027-03-09 23:50:00")
    with ending(worker := machine.start("review", "--once", module=GATED)):
        machine.await_sends(1, worker)
        machine.set("2027-03-10 00:10:00")
        during = {row["day"]: row for row in machine("budget", "show", module=GATED).json["days"]}
        machine.gate.touch()
        assert finish(worker).status == 0
    after = {row["day"]: row for row in machine("budget", "show", module=GATED).json["days"]}
    assert during[DAY]["held"]["calls"] == 1
    assert set(after) == {DAY}
    assert after[DAY]["actual"]["calls"] == 1
    assert after[DAY]["actual"]["cost_nanodollars"] == COST_NANODOLLARS
    assert after[DAY]["held"]["calls"] == after[DAY]["unknown"]["calls"] == 0
    assert machine.states() == {job: "applied"}
    machine.check()


@pytest.mark.requirement("Q-03", "A-03", "X-05")
@pytest.mark.parametrize(
    "jump",
    ["2027-03-09 09:00:00", "2027-03-07 12:00:00", "2028-03-09 12:00:00"],
    ids=["back", "days", "year"],
)
def test_no_jump_of_the_clock_makes_a_living_owner_look_dead(machine: Machine, jump: str) -> None:
    """A worker waits for its answer while the clock is set; another takes nothing over and sends nothing.
    With the clock right again the first one's answer is the only one, and is admitted.
    """
    (job,) = machine.capture("Deploys start at 9.")
    with ending(worker := machine.start("review", "--once", module=GATED)):
        machine.await_sends(1, worker)
        machine.set(jump)
        machine("review", "--once", module=GATED)
        assert len(machine.sent()) == 1
        assert machine.states()[job] not in {"applied", "stale", "no-op", "rejected"}
        machine.set("2027-03-09 12:30:00")
        machine.gate.touch()
        assert finish(worker).status == 0
    assert machine.states() == {job: "applied"}
    assert machine.texts() == ["Deploys start at 9."]
    assert len(machine.sent()) == 1
    machine.check()


@pytest.mark.requirement("M-09", "M-11", "X-05")
def test_memory_keeps_its_order_whatever_the_clock_says(machine: Machine) -> None:
    """Writes with the clock a day back, a year ahead and right again: numbered as they came, none lost, and
    undo takes back the last one.
    """
    times = [START, "2027-03-08 12:00:00", "2028-03-09 12:00:00", "2027-03-09 12:01:00"]
    for number, time in enumerate(times, 1):
        machine.set(time)
        assert machine("remember", f"Note {number}.").json["seq"] == number
    history = machine("history").json["revisions"]
    assert [revision["seq"] for revision in history] == [4, 3, 2, 1]
    assert machine.texts() == [f"Note {number}." for number in (1, 2, 3, 4)]
    machine.check()
    machine("undo")
    assert machine.texts() == ["Note 1.", "Note 2.", "Note 3."]
    machine.check()


@pytest.mark.requirement("B-02", "B-04")
def test_a_clock_set_back_opens_no_budget_anew(tmp_path: Path) -> None:
    """One call a day is allowed. After it the clock is set back over midnight: the day before has no call to
    give, and the job waits; on the next day it has.
    """
    machine = Machine(tmp_path, calls=1)
    machine.gate.touch()
    first, second = machine.capture("Deploys start at 9.", "Backups start at 3.")
    machine("review", "--once", module=GATED)
    machine.set("2027-03-08 12:00:00")
    machine("review", "--once", module=GATED, status=6)
    assert len(machine.sent()) == 1
    assert machine.states() == {first: "applied", second: "queued"}
    machine.set("2027-03-10 12:00:00")
    machine("review", "--once", module=GATED)
    assert machine.states() == {first: "applied", second: "applied"}
    assert len(machine.sent()) == 2
    machine.check()


def let_an_hour_pass(machine: Machine) -> None:
    """On the boot-time clock, by which retention runs once an hour."""
    path = machine.home / MARK
    mark = msgspec.json.decode(path.read_bytes(), type=Mark)
    path.write_bytes(
        msgspec.json.encode(msgspec.structs.replace(mark, boot_seconds=mark.boot_seconds - 3_700))
    )


@pytest.mark.requirement("E-05")
def test_a_jump_of_a_year_moves_retention_by_two_days(machine: Machine) -> None:
    """Evidence stays for three days. With the clock a year ahead one run takes nothing away, and nothing is
    lost when the clock is right again; only run after run lets it expire, and memory stays.
    """
    with (machine.home / "config.toml").open("a") as config:
        config.write("[retention]\nevidence_days = 3\n")
    (job,) = machine.capture("Remember that deploys start at 9.", ms=ms(START) - 60_000)
    machine("review", "--once")
    for time in ("2028-03-09 12:00:00", "2027-03-09 13:00:00"):
        let_an_hour_pass(machine)
        machine.set(time)
        machine("review", "--once")
        assert machine("jobs", "show", job).json["evidence"] is not None
    machine.set("2028-03-09 12:00:00")
    for _run in range(2):
        let_an_hour_pass(machine)
        machine("review", "--once")
    assert machine("jobs", "show", job).json["evidence"] is None
    assert machine.texts() == ["Deploys start at 9."]
    machine.check()
