"""Features of the documents of a part: what stands in the index, and the rest made within a bounded time."""

from __future__ import annotations

from collections.abc import Mapping

from perdure.ports.clock import Clock
from perdure.ports.index import FeatureIndex, Part
from perdure.recall.engine import Encoder, Features, features, pack, unpack
from perdure.recall.found import Document

ENCODING_SECONDS_MAX = 10.0
"""How long one recall encodes at most; what is left is searched by its words until the next one goes on."""


class Featuring:
    """One recall's access to features. `pending` counts the documents for which no time was left; `saved` are
    the parts whose index was written, to be looked at again: a text may have been forgotten meanwhile.
    """

    def __init__(
        self, index: FeatureIndex, clock: Clock, encoder: Encoder, *, seconds: float = ENCODING_SECONDS_MAX
    ) -> None:
        self._index, self._clock, self._encoder = index, clock, encoder
        self._until = clock.boot_seconds() + seconds
        self.pending = 0
        self.saved: list[Part] = []

    def of_part(self, part: Part, documents: Mapping[str, Document], *, source: str) -> dict[str, Features]:
        """Features by version, of all documents for which there was time, encoded in the order given.

        The index is brought up to the documents: what it holds of others is taken out, what is new is added.
        """
        fingerprint = self._encoder.fingerprint
        kept = self._index.load(part, frozenset(documents), source=source, encoder=fingerprint)
        packed = dict(kept.features) if kept is not None else {}
        found: dict[str, Features] = {}
        for version, data in packed.items():
            ready = unpack(data, fingerprint)
            if ready is not None:
                found[version] = ready
        usable = {version: packed[version] for version in found}
        new = self._encoded(documents, found)
        if new or kept is None or not kept.current:
            standing = usable | new
            if (standing or kept is not None) and self._index.save(
                part, standing, source=source, encoder=fingerprint
            ):
                self.saved.append(part)
        return found

    def _encoded(self, documents: Mapping[str, Document], found: dict[str, Features]) -> dict[str, bytes]:
        """Encode what is not in `found`, and put it there. Returns what is new, packed."""
        new: dict[str, bytes] = {}
        for version, document in documents.items():
            if version in found:
                continue
            if self._clock.boot_seconds() >= self._until:
                self.pending += 1
                continue
            found[version] = features(document, self._encoder)
            new[version] = pack(found[version])
        return new
