"""What looks for a fault, within tight bounds: each instrument gives its first report of a broken promise.

- `Crash`: one operation, crashed at every disk operation; the scenarios are those of `tests.crash`.
- `Seeds`: whole systems played from a few seeds, see `tests.simulation`.
- `Walk`: all interleavings within small bounds, see `tests.model`.
- `Check`: one function that plays a case and names the promise that does not hold.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tests.crash.explore import Bounds, Explorer
from tests.crash.scenarios import SCENARIOS
from tests.crash.structural import SHAPING
from tests.model import world as model
from tests.model.moves import Moves
from tests.model.walk import walk
from tests.simulated_disk import Crashed
from tests.simulation.run import play_seed

NEVER = 1_000_000_000
_BY_NAME = {scenario.name: scenario for scenario in (*SCENARIOS, *SHAPING)}


class Crash(msgspec.Struct, frozen=True):
    """A crash scenario on the disk that forgets most; with `book`, every recovery is checked by the rules of
    `perdure verify` as well, before and after.
    """

    scenario: str
    survivors: int = 4
    kills: int = 0
    book: bool = False

    @property
    def words(self) -> str:
        """See `Instrument.words`."""
        beside = [*(["killed too"] if self.kills else []), *(["verified"] if self.book else [])]
        return f"crashes of {', '.join([repr(self.scenario), *beside])}"

    def report(self) -> str | None:
        """See `Instrument.report`."""
        bounds = Bounds(
            survivors=self.survivors,
            nested_survivors=1,
            kills=self.kills,
            nested=0,
            converge_every=1 if self.book else NEVER,
            first_only=True,
        )
        return _first(lambda: _explore(self.scenario, bounds))


class Seeds(msgspec.Struct, frozen=True):
    """Whole systems, played from that seed and the next ones until something is broken."""

    first: int
    count: int = 10

    @property
    def words(self) -> str:
        """See `Instrument.words`."""
        return f"simulation, seeds {self.first} to {self.first + self.count - 1}"

    def report(self) -> str | None:
        """See `Instrument.report`."""
        seeds = range(self.first, self.first + self.count)
        return next((broken for seed in seeds if (broken := play_seed(seed).broken) is not None), None)


class Walk(msgspec.Struct, frozen=True):
    """Every state of the model within the bounds."""

    bounds: model.Bounds

    @property
    def words(self) -> str:
        """See `Instrument.words`."""
        plain = model.Bounds()
        changed = [
            name for name in plain.__struct_fields__ if getattr(self.bounds, name) != getattr(plain, name)
        ]
        return f"walk of the model ({', '.join(changed) or 'nothing goes wrong'})"

    def report(self) -> str | None:
        """See `Instrument.report`."""
        fault = walk(Moves(self.bounds)).fault
        return None if fault is None else fault.law


class Check(msgspec.Struct, frozen=True):
    """A function that raises Broken, with the promise, when it does not hold."""

    play: Callable[[], None]

    @property
    def words(self) -> str:
        """See `Instrument.words`."""
        return f"case: {self.play.__name__.replace('_', ' ')}"

    def report(self) -> str | None:
        """See `Instrument.report`."""
        return _first(self._played)

    def _played(self) -> None:
        self.play()


def _explore(scenario: str, bounds: Bounds) -> str | None:
    violations = Explorer(_BY_NAME[scenario], "posix-weak", bounds).run().violations
    return violations[0].what if violations else None


def _first(look: Callable[[], str | None]) -> str | None:
    """What it returns; or what it raises, since a fault may break the operation itself."""
    try:
        return look()
    except (Crashed, Exception) as error:  # noqa: BLE001 - whatever is raised is the report
        return f"{type(error).__name__}: {error}"
