"""What turns text into vectors, as seen by the searches: they are pure and load no model themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

# NumPy costs a cold command more than a whole lexical search, which never needs it. This is the one
# module that a search without an encoder loads and that speaks of arrays, so it only names them.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


class Encoder(Protocol):
    """A sentence encoder. Equal text gives equal vectors; nothing is learned from what it encodes."""

    @property
    def name(self) -> str:
        """What people call it, such as "packaged"."""
        ...

    @property
    def fingerprint(self) -> str:
        """Names the model and how text is fed to it; vectors of other fingerprints are never compared."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of a sentence vector."""
        ...

    def encode(self, texts: Sequence[str]) -> Floats:
        """Encode texts as rows of unit length, float32 [texts, dimensions]."""
        ...

    def reads(self, text: str) -> bool:
        """Whether this encoder knows the text's language enough for its vector to mean anything."""
        ...

    def token_states(self, text: str) -> tuple[Sequence[int], Floats] | None:
        """Give ids of a text's word pieces and a state for each in its context, float32 [pieces, d].

        The higher an id, the rarer its piece. None: this encoder has no such states.
        """
        ...
