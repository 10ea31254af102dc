"""The bounds of the walks: what `make test` can afford, and what `PERDURE_WALK=deep` looks at."""

from __future__ import annotations

from tests.model.world import Bounds

REPLIES = ("invalid", "lost", "availability", "permanent", "nothing", "unreported")

QUICK: dict[str, Bounds] = {
    "two workers, two deaths": Bounds(crashes=2),
    "two workers held for dead go on": Bounds(evictions=2),
    "a worker held for dead goes on, torn reads": Bounds(evictions=1, torn_reads=True),
    "a worker stalls and wakes, and a death": Bounds(takeovers=1, crashes=1),
    "two stalls": Bounds(takeovers=2),
    "three bad replies, a retry": Bounds(faults=3, replies=REPLIES, retries=1),
    "a bad reply and a death": Bounds(faults=1, replies=REPLIES, crashes=1, retries=1),
    "a bad reply, a late result": Bounds(faults=1, replies=REPLIES[:3], evictions=1),
    "a foreground write and a death": Bounds(edits=1, crashes=1),
    "three foreground writes": Bounds(edits=3),
    "the user drops or supersedes, and a death": Bounds(drops=1, supersedes=1, crashes=1),
    "the user ends it, a worker held for dead goes on": Bounds(drops=1, evictions=1),
    "a write, an undo and a death": Bounds(undos=1, edits=1, crashes=1),
    "an undo, a worker held for dead goes on": Bounds(undos=1, evictions=1),
    "only observing, a write and a death": Bounds(observe=True, edits=1, crashes=1),
    "only observing, two stalls": Bounds(observe=True, takeovers=2),
    "two calls a day, two deaths, midnights": Bounds(workers=1, calls_per_day=2, crashes=2, midnights=True),
}

DEEP: dict[str, Bounds] = {
    "a worker held for dead goes on, and a death": Bounds(evictions=1, crashes=1, torn_reads=True),
    "a worker stalls and wakes, torn reads, and a death": Bounds(takeovers=1, crashes=1, torn_reads=True),
    "three deaths": Bounds(crashes=3),
    "two held for dead and a death": Bounds(evictions=2, crashes=1),
    "a stall, one held for dead, torn reads": Bounds(takeovers=1, evictions=1, torn_reads=True),
    "three bad replies and a death": Bounds(faults=3, replies=REPLIES, crashes=1, retries=1),
    "two bad replies, late results": Bounds(faults=2, replies=REPLIES, evictions=1, retries=1),
    "two writes and two deaths": Bounds(edits=2, crashes=2),
    "a write, one held for dead": Bounds(edits=1, evictions=1),
    "three writes and a death": Bounds(edits=3, crashes=1),
    "the user ends it twice, late results": Bounds(drops=1, supersedes=1, evictions=1),
    "a write and an undo, late results": Bounds(edits=1, undos=1, evictions=1),
    "two workers and a budget": Bounds(calls_per_day=2, crashes=1, evictions=1, midnights=True),
}
