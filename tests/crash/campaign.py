"""A long exploration in several processes, each with its own share: deterministic but for where time ends it.

Every process goes first through its share of the scenarios and models, each within small bounds and its
part of the time, so that a short run comes to all of them. Then it walks in rounds through the same, each
round with another seed and wider bounds, and after each of them through one of its share of generated
histories, which never end. What a scenario gave in earlier rounds is not counted again; one that was looked
at exhaustively is left out.
"""

from __future__ import annotations

import itertools
import multiprocessing
import multiprocessing.process
import multiprocessing.queues
import queue
import time
from collections.abc import Callable, Iterator, Sequence

import msgspec

from tests.crash.explore import SEED, Bounds, Explorer, Tally, Violation
from tests.crash.histories import PREFIX, history
from tests.crash.scenario import Scenario
from tests.crash.scenarios import SCENARIOS
from tests.crash.structural import SHAPING
from tests.long_runs import end_children, unhearing
from tests.simulated_disk import Model

MODELS: tuple[Model, ...] = ("posix-weak", "ext4")
WIDTH_FIRST, WIDTH_MIN, WIDTH_MAX = 2, 16, 1_024
HISTORIES = "histories"
FIXED: dict[str, Scenario] = {scenario.name: scenario for scenario in (*SCENARIOS, *SHAPING)}
"""Every scenario that is no history, by name."""
_TELL_SECONDS = 1.0


class News(msgspec.Struct):
    """From a worker: what it is at, and what was counted there since it last told; `ended` at the end."""

    worker: int
    scenario: str
    model: str
    tally: Tally
    ended: bool = False


Tell = Callable[[News], None]


def bounds_of(width: int, seconds: float) -> Bounds:
    """The bounds of a round."""
    return Bounds(
        survivors=width,
        nested_survivors=max(2, width // 8),
        kills=width // 2,
        nested=width // 4,
        seconds=seconds,
    )


def work(worker: int, count: int, seconds: float, tell: Tell) -> None:
    """Explore one share until the time is up."""
    until = time.monotonic() + seconds
    seen: dict[tuple[str, str], set[tuple[int, int]]] = {}
    finished: set[tuple[str, str]] = set()
    for scenario, model, width, seed, parts in _plan(worker, count):
        begun = time.monotonic()
        left = (until - begun) / parts
        if left <= 0:
            return
        name = (scenario.name, model)
        if name in finished:
            continue
        teller = _Teller(worker, scenario.name, model, tell)
        known = set() if scenario.name.startswith(PREFIX) else seen.setdefault(name, set())
        explorer = Explorer(
            scenario, model, bounds_of(width, left), seed=seed, seen=known, tell=teller.perhaps
        )
        tally = explorer.run()
        teller.send(tally)
        if not tally.sampled and not tally.skipped and time.monotonic() < begun + left:
            finished.add(name)


def _plan(worker: int, count: int) -> Iterator[tuple[Scenario, Model, int, int, int]]:
    """Scenario, model, width, seed and share of each exploration of a worker, without end.

    A share of n is the nth part of the time that is left.
    """
    fixed = list(itertools.product(FIXED.values(), MODELS))[worker::count]
    for place, (scenario, model) in enumerate(fixed):
        yield scenario, model, WIDTH_FIRST, SEED, len(fixed) - place
    seeds = itertools.count(worker, count)
    for number in itertools.count():
        width = min(WIDTH_MIN << number, WIDTH_MAX)
        for scenario, model in fixed:
            yield scenario, model, width, SEED + number, 1
            made = history(next(seeds))
            for other in MODELS:
                yield made, other, WIDTH_MIN, SEED, 1


class _Teller:
    """Sends on what an exploration has counted, now and then."""

    def __init__(self, worker: int, scenario: str, model: str, tell: Tell) -> None:
        self._worker, self._scenario, self._model, self._tell = worker, scenario, model, tell
        self._told = Tally()
        self._at = time.monotonic()

    def perhaps(self, tally: Tally) -> None:
        if time.monotonic() - self._at > _TELL_SECONDS:
            self.send(tally)

    def send(self, tally: Tally) -> None:
        new = tally.since(self._told)
        self._told = msgspec.structs.replace(tally, violations=list(tally.violations))
        self._at = time.monotonic()
        self._tell(News(self._worker, self._scenario, self._model, new))


def _share(worker: int, count: int, seconds: float, told: multiprocessing.queues.Queue[bytes]) -> None:
    """The whole life of a worker's process."""

    def tell(news: News) -> None:
        told.put(msgspec.msgpack.encode(news))

    work(worker, count, seconds, tell)
    tell(News(worker, "", "", Tally(), ended=True))


def explore(seconds: float, workers: int, hear: Tell) -> None:
    """Explore in that many processes; `hear` is called with what they tell.

    Raises RuntimeError when one of them dies.
    """
    context = multiprocessing.get_context("spawn")
    told: multiprocessing.queues.Queue[bytes] = context.Queue()
    made = [
        context.Process(target=_share, args=(number, workers, seconds, told), daemon=True)
        for number in range(workers)
    ]
    with unhearing():
        for process in made:
            process.start()
    try:
        _listen(made, told, hear)
    except BaseException:
        end_children()
        raise
    for process in made:
        process.join()


def _listen(
    made: Sequence[multiprocessing.process.BaseProcess],
    told: multiprocessing.queues.Queue[bytes],
    hear: Tell,
) -> None:
    running = set(range(len(made)))
    while running:
        try:
            news = msgspec.msgpack.decode(told.get(timeout=1.0), type=News)
        except queue.Empty:
            dead = [number for number in running if made[number].exitcode not in {None, 0}]
            if dead:
                msg = f"worker {dead[0]} ended with status {made[dead[0]].exitcode}"
                raise RuntimeError(msg) from None
            continue
        hear(news)
        if news.ended:
            running.discard(news.worker)


def again(violation: Violation) -> str:
    """The command that goes to the place of a violation."""
    return (
        f"python -m tests.crash --scenario '{violation.scenario}' --model {violation.model} "
        f"--seed {violation.seed} --width {violation.width} --place {violation.place}"
    )
