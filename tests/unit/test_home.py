"""The home: private, one device, recognised when it is a copy, refused when it is another release's."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from perdure.app import App
from perdure.authority.filesystem import filesystems, home, layout
from perdure.authority.filesystem.home import Format, adopt, open_home, start_writing
from perdure.core import attempt
from perdure.errors import NewerVersion, NotFound, Refused
from perdure.ports.provider import Answered, Usage
from perdure.provider.replay import ReplayProvider


@pytest.fixture
def app(perdure_home: Path) -> Iterator[App]:
    """An open home."""
    assert not perdure_home.exists()
    made = App.open(create=True)
    yield made
    made.close()


@pytest.mark.requirement("E-04")
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_every_file_and_folder_is_private_whatever_the_umask(perdure_home: Path, umask: int) -> None:
    """Files are 0600 and folders 0700 after init and after writing."""
    before = os.umask(umask)
    try:
        app = App.open(create=True)
        app.begin_writing()
        app.memory_service("user").remember("I like short answers.")
        app.close()
    finally:
        os.umask(before)
    modes = {path: path.lstat().st_mode & 0o777 for path in perdure_home.rglob("*")}
    assert {modes[path] for path in modes if path.is_dir()} == {0o700}
    assert {modes[path] for path in modes if path.is_file()} == {0o600}


@pytest.mark.requirement("E-04")
def test_a_home_that_others_can_write_is_refused(app: App) -> None:
    """A group-writable home is refused at start, with the command that mends it."""
    Path(app.home.path).chmod(0o770)
    with pytest.raises(Refused, match="0770") as refused:
        App.open()
    assert "chmod 700" in refused.value.advice


@pytest.mark.requirement("E-04")
def test_a_linked_home_is_refused(app: App, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A home that is a symbolic link is refused."""
    link = tmp_path / "link"
    link.symlink_to(app.home.path)
    monkeypatch.setenv("PERDURE_HOME", str(link))
    with pytest.raises(Refused, match="symbolic link"):
        App.open()


@pytest.mark.requirement("S-08")
def test_a_copied_home_writes_nothing_until_it_is_adopted(
    app: App, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another inode means a copy: refused, until the user adopts it; the original stays usable."""
    copy = tmp_path / "copy"
    shutil.copytree(app.home.path, copy)
    copy.chmod(0o700)
    monkeypatch.setenv("PERDURE_HOME", str(copy))
    with pytest.raises(Refused, match="it is a copy"):
        App.open()
    copied = open_home(str(copy), adopting=True)
    adopt(copied)
    start_writing(copied)
    copied.close()
    App.open().close()


@pytest.mark.requirement("S-08")
def test_a_home_restored_in_place_from_an_old_backup_is_recognised(app: App, tmp_path: Path) -> None:
    """A number that is lower inside than outside means a restored home: writing is refused until adopted."""
    backup = tmp_path / "backup"
    shutil.copytree(Path(app.home.path, layout.EPOCH), backup)
    for _ in range(3):
        start_writing(app.home)
    shutil.rmtree(Path(app.home.path, layout.EPOCH))
    shutil.copytree(backup, Path(app.home.path, layout.EPOCH))
    with pytest.raises(Refused, match="restored from a copy"):
        start_writing(app.home)
    adopt(app.home)
    start_writing(app.home)


@pytest.mark.requirement("S-08")
def test_the_number_only_rises(app: App) -> None:
    """Every writer's start raises the home's number, and few of them stay on disk."""
    numbers = [start_writing(app.home) for _ in range(20)]
    assert numbers == sorted(set(numbers))
    assert len(app.home.disk.names(layout.EPOCH)) <= 10


@pytest.mark.requirement("Q-08")
@pytest.mark.parametrize(("layout_number", "policy"), [(2, 1), (1, 2)])
def test_a_home_of_another_release_is_left_untouched(app: App, layout_number: int, policy: int) -> None:
    """A newer layout or another memory policy is refused at start, and stops a worker that runs."""
    assert app.home.unfit() is None
    newer = msgspec.structs.replace(app.home.format, layout=layout_number, policy=policy)
    worker = app.worker()
    app.records.replace(layout.FORMAT, newer)
    report = worker.drain()
    assert report.unfit is not None
    assert "this Perdure knows" in report.unfit
    with pytest.raises(NewerVersion):
        App.open()
    assert app.records.read(layout.FORMAT, Format) == newer


@pytest.mark.requirement("S-08", "X-08")
@pytest.mark.parametrize("what", ["newer", "copy"])
def test_init_writes_nothing_into_a_home_that_it_refuses(
    app: App, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home of a newer layout, or a copy: making it again is refused before the first folder is made."""
    if what == "newer":
        app.records.replace(layout.FORMAT, msgspec.structs.replace(app.home.format, layout=99))
    place = tmp_path / "here"
    shutil.copytree(app.home.path, place) if what == "copy" else Path(app.home.path).rename(place)
    place.chmod(0o700)
    shutil.rmtree(place / layout.BALLAST)
    shutil.rmtree(place / layout.EPOCH)
    monkeypatch.setenv("PERDURE_HOME", str(place))
    before = sorted(place.rglob("*"))
    with pytest.raises(Refused if what == "copy" else NewerVersion):
        App.open(create=True)
    assert sorted(place.rglob("*")) == before


@pytest.mark.requirement("S-06")
def test_a_network_filesystem_is_refused_unless_the_user_allows_it(
    perdure_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot keep the promises is refused with an explanation; an override is recorded."""
    monkeypatch.setattr(filesystems, "filesystem_of", lambda _path: "nfs4")
    with pytest.raises(Refused, match="nfs4"):
        App.open(create=True)
    app = App.open(create=True, allow_filesystem=True)
    assert app.home.format.filesystem_allowed
    assert app.home.format.filesystem == "nfs4"
    app.close()
    assert perdure_home.exists()


@pytest.mark.requirement("S-06")
def test_state_folders_on_another_device_are_refused(app: App) -> None:
    """A state folder that was replaced by something else is refused at start."""
    spool = Path(app.home.path, layout.INDEX)
    shutil.rmtree(spool)
    spool.write_bytes(b"")
    with pytest.raises(Refused, match="not a folder on the same device"):
        App.open()


def test_without_a_home_the_user_is_told_what_to_do(perdure_home: Path) -> None:
    """Opening a home that was never made says which command makes it."""
    with pytest.raises(NotFound) as missing:
        App.open()
    assert "perdure init" in missing.value.advice
    assert not perdure_home.exists()


def test_making_a_home_twice_changes_nothing(app: App) -> None:
    """Init is idempotent: same identity, same key."""
    again = home.make_home(app.home.path)
    assert (again.format, again.key) == (app.home.format, app.home.key)
    again.close()


@pytest.mark.requirement("S-08", "B-06")
def test_adopting_a_home_counts_the_rest_of_the_day_as_unknown(app: App) -> None:
    """The other copy may have spent what was left; the amount can be reconciled by hand."""
    paid = ReplayProvider([Answered("{}", Usage(1, 1, 1), None)])
    app.provider = paid
    assert paid.paid
    name = app.charge_adoption()
    assert name is not None
    exposure = app.attempts.charge("replay", name[:8])
    assert exposure.unknown.cost_nanodollars == app.config.limits.limits().cost_nanodollars_per_day
    app.budget_service().reconcile(name, reason="nothing was spent", usage=attempt.Usage(0, 0, 0))
    assert app.attempts.charge("replay", name[:8]).total.cost_nanodollars == 0
    found = app.verify_service().verify()
    assert found.ok, found.findings
