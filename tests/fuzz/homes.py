"""Target: a whole home in which one record is not what was written there.

An input is one line, such as `revision 2 body`, and content. The line names the kind of a record, which one
of them in the order of their paths, and what the content is: `file`, or `body` under a right digest.
"""

from __future__ import annotations

import contextlib
import functools
import random
from collections.abc import Mapping
from typing import Literal

from perdure.authority.filesystem.layout import USER_SCOPE
from perdure.core.job import is_job_id
from perdure.errors import PerdureError
from tests.fakes import Rig, finding_nothing, turns
from tests.fuzz.decoders import body_of, canonical_or_not, kind_of, sealed
from tests.fuzz.mutation import change_bytes, change_json
from tests.fuzz.target import Target
from tests.services import restore_service, snapshot, verify_service
from tests.simulated_disk import SimulatedDisk

Way = Literal["file", "body"]


@functools.cache
def lived_in() -> SimulatedDisk:
    """A home with foreground writes, an undo, a fork, a forgotten entry, and reviews of several ends."""
    disk = SimulatedDisk()
    rig = Rig(disk)
    rig.prepare()
    memory = rig.memory_service()
    memory.remember("Use tabs.", key="indent")
    memory.remember("Use spaces.", key="indent")
    rig.capture(turns("Prefer small commits in this project."))
    rig.drain()
    memory.fork("side")
    memory.remember("Only here.", branch="side")
    memory.undo()
    memory.forget("indent")
    rig.provider._otherwise = finding_nothing
    rig.capture(turns("Nothing here.", first=1))
    rig.drain()
    rig.capture(turns("Releases go out on Thursdays.", first=2))
    return disk


@functools.cache
def originals() -> Mapping[str, bytes]:
    """Its records by their paths."""
    files = lived_in().files()
    return {path: files[path] for path in sorted(files) if files[path].startswith(b'{"body":')}


@functools.cache
def places() -> Mapping[str, tuple[str, ...]]:
    """The paths of the records of each kind."""
    found: dict[str, tuple[str, ...]] = {}
    for path, data in originals().items():
        found[kind_of(data)] = (*found.get(kind_of(data), ()), path)
    return found


def input_of(path: str, way: Way, content: bytes) -> bytes:
    """The input that puts this content in a record's place."""
    kind = kind_of(originals()[path])
    return f"{kind} {places()[kind].index(path)} {way}\n".encode() + content


def _read(data: bytes) -> tuple[str, Way, bytes]:
    """The path, the way and the content that an input means; any line means some record."""
    line, _, content = data.partition(b"\n")
    words = [*line.decode("ascii", "replace").split(" "), "", "", ""]
    paths = places().get(words[0], tuple(originals()))
    place = int(words[1]) if words[1].isascii() and words[1].isdigit() and len(words[1]) < 9 else 0
    return paths[place % len(paths)], "body" if words[2] == "body" else "file", content


def check_home(data: bytes) -> None:
    """Verify, restore, readers, writers and a worker go on with a wrong record, or refuse as documented."""
    path, way, content = _read(data)
    if way == "body":
        content = sealed(kind_of(originals()[path]), content)
    disk = lived_in().fork()
    disk.put(path, content)
    rig = Rig(disk)
    _look(rig, path, changed=content != originals()[path])
    for act in (_write, _review, _restore, _keep_house):
        with contextlib.suppress(PerdureError):
            act(rig)
    _look(Rig(disk), path, changed=False)


def _look(rig: Rig, path: str, *, changed: bool) -> None:
    found = snapshot(rig)
    verified = verify_service(rig).verify()
    assert not (changed and any(unread.path == path for unread in found.unread) and verified.ok)
    for job_id in {*found.jobs, *found.decisions}:
        assert is_job_id(job_id)


def _write(rig: Rig) -> None:
    memory = rig.memory_service()
    memory.remember("A new fact.", key="new")
    memory.forget("new")
    rig.memory_service(USER_SCOPE).remember("Mine.")


def _review(rig: Rig) -> None:
    with contextlib.suppress(PerdureError):
        rig.capture(turns("One more turn.", first=3))
    rig.drain()


def _restore(rig: Rig) -> None:
    restore_service(rig).restore()


def _keep_house(rig: Rig) -> None:
    for row in rig.jobs_service().list():
        with contextlib.suppress(PerdureError):
            rig.jobs_service().drop(row.job_id)
    rig.clock.advance(20 * 86_400)
    rig.retention().run()


def _seeds() -> Mapping[str, bytes]:
    made = {}
    for path, data in originals().items():
        made[f"{path} as it is"] = input_of(path, "body", body_of(data))
        made[f"{path} truncated"] = input_of(path, "file", data[:-9])
    return made


def change_home(data: bytes, chance: random.Random) -> bytes:
    """Another record, or a change of the content that knows JSON, or one that does not."""
    if chance.randrange(10) == 0:
        path = chance.choice(list(originals()))
        return input_of(path, "body", body_of(originals()[path]))
    path, _, content = _read(data)
    if chance.randrange(10) == 0:
        return input_of(path, "file", change_bytes(content, chance))
    return input_of(path, "body", canonical_or_not(change_json(content, chance), chance))


TARGETS = (Target("home", check_home, _seeds, change_home, examples=60, bytes_max=8192),)
