"""The kept corpus and the hard inputs, replayed against every target."""

from __future__ import annotations

import re

import pytest

from tests.fuzz.corpus import BYTES_MAX, FILES_MAX, FOLDER, TARGETS, inputs
from tests.fuzz.target import Target

INDEX = FOLDER / "README.md"


@pytest.mark.requirement("X-05")
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_what_is_kept_for_a_target_does_it_no_harm(target: Target) -> None:
    """Every kept failure, every seed and every hard input: documented errors only, and what is promised."""
    for name, data in inputs(target):
        try:
            target.check(data)
        except BaseException as error:
            error.add_note(f"the input {name!r} of {target.name}")
            raise


def test_the_corpus_is_small_and_each_file_has_its_cause() -> None:
    """A file for a target that there is, and one line of the index that says why it is kept."""
    files = {str(path.relative_to(FOLDER)): path for path in FOLDER.glob("*/*")}
    assert len(files) <= FILES_MAX
    assert sum(path.stat().st_size for path in files.values()) <= BYTES_MAX
    assert {name.partition("/")[0] for name in files} <= set(TARGETS)
    listed = re.findall(r"^\| ([\w-]+/[\w-]+) \| (?=\w)", INDEX.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(files)
