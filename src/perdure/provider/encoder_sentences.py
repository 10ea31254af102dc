"""Encoders of the library sentence-transformers, if it is installed: models that stand on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol, cast

from perdure.errors import ConfigError

# NumPy and the library are loaded by the first text that is encoded.
if TYPE_CHECKING:
    from perdure.recall.encoder import Floats


class _Model(Protocol):
    """What is used of the library's `SentenceTransformer`."""

    def encode(
        self, sentences: list[str], *, normalize_embeddings: bool, show_progress_bar: bool
    ) -> Floats: ...


@dataclass(frozen=True)
class SentenceTransformersEncoder:
    """A model by its folder, or by the name under which it was fetched before; nothing is fetched here.

    Encoding raises `ConfigError` if the library or the model is not there.
    """

    model: str

    @property
    def name(self) -> str:
        """The library and the model."""
        return f"sentence-transformers: {self.model}"

    @property
    def fingerprint(self) -> str:
        """The model, as configuration names it."""
        return f"sentence-transformers/{self.model}"

    @cached_property
    def dimensions(self) -> int:
        """Length of the model's vectors; the first time this loads it."""
        return int(self.encode(["dimensions"]).shape[1])

    def encode(self, texts: Sequence[str]) -> Floats:
        """Encode texts as unit rows, float32 [texts, dimensions]."""
        import numpy as np

        rows = self._loaded.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        found: Floats = np.asarray(rows, np.float32).reshape(len(texts), -1)
        return found

    def reads(self, text: str) -> bool:
        """Any text: which languages a model knows is the choice of who configured it."""
        return bool(text.strip())

    def token_states(self, text: str) -> None:  # noqa: ARG002 - the protocol's word
        """Give nothing: late interaction is calibrated for the packaged encoder only."""
        return

    @cached_property
    def _loaded(self) -> _Model:
        if find_spec("sentence_transformers") is None:
            raise ConfigError(
                "The encoder needs the library sentence-transformers, which is not installed.",
                advice='Install it, or set encoder = "packaged" under [recall].',
            )
        library = import_module("sentence_transformers")
        try:
            return cast("_Model", library.SentenceTransformer(self.model, local_files_only=True))
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"The model {self.model!r} does not stand on this machine.",
                advice="Fetch it first, or name its folder.",
            ) from error
