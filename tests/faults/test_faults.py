"""Each rule of the protocol, broken on purpose: the check that is named beside the fault reports it."""

from __future__ import annotations

import pytest

from tests.faults.row import Fault, Instrument
from tests.faults.table import INSTRUMENTS, TABLE, find, noise


@pytest.mark.requirement("X-05")
@pytest.mark.parametrize("fault", TABLE, ids=lambda fault: fault.name)
def test_a_fault_is_reported_by_its_check(fault: Fault) -> None:
    """A product with this fault in it breaks the promise that is named, and the report says so."""
    found = find(fault)
    assert found.caught, f"{fault.check!r} does not report it, but: {found.report}"


@pytest.mark.requirement("X-05")
@pytest.mark.parametrize("instrument", INSTRUMENTS, ids=lambda instrument: instrument.words)
def test_a_sound_product_is_not_reported(instrument: Instrument) -> None:
    """The same look at the product as it is finds nothing: what was reported is the fault."""
    assert noise(instrument) is None
