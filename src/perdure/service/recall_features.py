"""Features of the documents of a part: what stands in the index, and the rest made within a bounded time."""

from __future__ import annotations

from collections.abc import Mapping

from perdure.ports.clock import Clock
from perdure.ports.index import BranchPart, FeatureIndex, Part
from perdure.recall.engine import Encoder, Features, features, pack, unpack
from perdure.recall.found import Document

ENCODING_SECONDS_MAX = 10.0
"""How long one recall encodes at most; what is left is searched by its words until the next one goes on."""


class Featuring:
    """One recall's access to features. `saved` are the parts whose index was written, to be looked at again:
    a text may have been forgotten meanwhile.

    Within `seconds` at least one document is encoded. With 0 it is `deferring`: it only reads, and somebody
    has to come with more time later.
    """

    def __init__(
        self, index: FeatureIndex, clock: Clock, encoder: Encoder, *, seconds: float = ENCODING_SECONDS_MAX
    ) -> None:
        self._index, self._clock, self._encoder = index, clock, encoder
        self._until = clock.boot_seconds() + seconds
        self._made = 0
        self.deferring = seconds <= 0
        self.saved: list[Part] = []

    def of_part(self, part: Part, documents: Mapping[str, Document], *, source: str) -> dict[str, Features]:
        """Features by version, of all documents for which there was time, encoded in the order given.

        A text that another branch of the scope has, too, is not encoded again. The index is brought up to the
        documents: what it holds of others is taken out, what is new is added.
        """
        fingerprint = self._encoder.fingerprint
        kept = self._index.load(part, frozenset(documents), source=source, encoder=fingerprint)
        packed = dict(kept.features) if kept is not None else {}
        found = _unpacked(packed, fingerprint)
        lent = self._lent(part, documents, found)
        found |= _unpacked(lent, fingerprint)
        new = self._encoded(documents, found)
        usable = {version: data for version, data in (packed | lent | new).items() if version in found}
        brought_up = kept is not None and kept.current and usable == kept.features
        due = (usable or kept is not None) and not (self.deferring or brought_up)
        if due and self._index.save(part, usable, source=source, encoder=fingerprint):
            self.saved.append(part)
        return found

    def _lent(
        self, part: Part, documents: Mapping[str, Document], found: Mapping[str, Features]
    ) -> dict[str, bytes]:
        lacking = frozenset(documents.keys() - found.keys())
        if not lacking or not isinstance(part, BranchPart):
            return {}
        return dict(self._index.lent(part, lacking, encoder=self._encoder.fingerprint))

    def _encoded(self, documents: Mapping[str, Document], found: dict[str, Features]) -> dict[str, bytes]:
        """Encode what is not in `found`, and put it there. Returns what is new, packed."""
        new: dict[str, bytes] = {}
        for version, document in documents.items():
            if version not in found and self._has_time():
                found[version] = features(document, self._encoder)
                new[version] = pack(found[version])
                self._made += 1
        return new

    def _has_time(self) -> bool:
        return not self.deferring and (not self._made or self._clock.boot_seconds() < self._until)


def _unpacked(packed: Mapping[str, bytes], fingerprint: str) -> dict[str, Features]:
    read = ((version, unpack(data, fingerprint)) for version, data in packed.items())
    return {version: ready for version, ready in read if ready is not None}
