"""Every target with inputs that nobody kept: seeds changed at random, and text and bytes at random."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given, settings

from tests.fuzz.commands import _quick_seeds, check_quick
from tests.fuzz.corpus import TARGETS
from tests.fuzz.decoders import body_of, check_bodies, golden, kind_of
from tests.fuzz.inputs import inputs_of
from tests.fuzz.mutation import everywhere
from tests.fuzz.target import Target, as_canonical


@pytest.mark.requirement("X-05")
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_no_input_does_a_target_harm(target: Target) -> None:
    """Only documented errors come out, and what is promised of the reader holds."""

    @settings(max_examples=target.examples)
    @given(inputs_of(target))
    def check(data: bytes) -> None:
        target.check(data)

    check()


def _altered(body: bytes) -> Iterator[bytes]:
    yield from map(as_canonical, everywhere(json.loads(body)))


@pytest.mark.requirement("X-05", "M-04")
@pytest.mark.parametrize("stem", golden())
def test_a_record_with_any_field_altered_is_refused_or_sound(stem: str) -> None:
    """Each golden record, each of its parts gone or of another type or value, under a right digest."""
    data = golden()[stem]
    for body in _altered(body_of(data)):
        check_bodies(kind_of(data).encode() + b"\n" + body)


@pytest.mark.requirement("X-05", "I-01")
def test_the_quick_reader_agrees_with_the_full_one_on_any_altered_branch() -> None:
    """Each part of a branch gone or of another type or value: the same text, or the full command answers."""
    body = _quick_seeds()["a branch"].partition(b"\n")[2]
    for altered in _altered(body):
        check_quick(b"branch\n" + altered)
