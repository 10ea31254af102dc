"""One broken rule: which, where, what was found and what was expected."""

from __future__ import annotations

import msgspec


class Violation(msgspec.Struct, frozen=True):
    """Never holds text of memory or evidence: ids, digests and states only (E-06)."""

    invariant: str  # "V-01" to "V-16": safety; "R-01" to "R-03": work left to do
    code: str
    path: str
    found: str
    expected: str
