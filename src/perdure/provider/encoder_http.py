"""Encoders behind a server: Ollama, and whatever speaks OpenAI's embeddings.

Texts go out through the one door that the model providers use, with the same rules for addresses and keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import msgspec

from perdure.errors import ProviderUnavailable
from perdure.provider.http import Outcome, Post, Received, check_base_url, is_loopback, post

# NumPy is loaded by the first text that is encoded.
if TYPE_CHECKING:
    from perdure.recall.encoder import Floats

Kind = Literal["ollama", "openai"]
"""Which protocol a server speaks: `POST /api/embed`, or `POST /embeddings`."""

_BATCH = 8
"""Texts in one request: vectors of 3,072 dimensions stay below the largest response that is read."""

_OK = 200
_PATHS = {"ollama": "/api/embed", "openai": "/embeddings"}


class _Row(msgspec.Struct, frozen=True):
    index: int
    embedding: list[float]


class _OpenAI(msgspec.Struct, frozen=True):
    data: list[_Row]


class _Ollama(msgspec.Struct, frozen=True):
    embeddings: list[list[float]]


@dataclass(frozen=True, kw_only=True)
class HttpEncoder:
    """A model at a server. Whatever goes wrong raises `ProviderUnavailable`; nothing is sent twice.

    `credential` gives the key, or None; a server on this machine needs none. `send` is `http.post`.
    """

    kind: Kind
    model: str
    base_url: str
    credential: Callable[[], str | None] = lambda: None
    plain_http: bool = False
    timeout_seconds: float = 30.0
    send: Callable[[Post, float], Outcome] = lambda request, seconds: post(request, total_seconds=seconds)

    @property
    def name(self) -> str:
        """The server's kind and the model."""
        return f"{self.kind}: {self.model}"

    @property
    def fingerprint(self) -> str:
        """Address and model: the same name may be another model elsewhere."""
        return f"{self.kind}/{self._url}/{self.model}"

    @cached_property
    def dimensions(self) -> int:
        """Length of the model's vectors; the first time this asks the server."""
        return int(self.encode(["dimensions"]).shape[1])

    def reads(self, text: str) -> bool:
        """Any text: models at servers know many languages."""
        return bool(text.strip())

    def encode(self, texts: Sequence[str]) -> Floats:
        """Encode texts as unit rows, float32 [texts, dimensions]."""
        import numpy as np

        from perdure.recall.minilm import unit

        rows = [row for at in range(0, len(texts), _BATCH) for row in self._ask(texts[at : at + _BATCH])]
        if len({len(row) for row in rows}) > 1:
            raise self._unavailable("vectors of several lengths")
        found = np.array(rows, np.float32).reshape(len(rows), -1)
        if not np.isfinite(found).all():
            raise self._unavailable("numbers that are not finite")
        return unit(found)

    def token_states(self, text: str) -> None:  # noqa: ARG002 - the protocol's word
        """Give nothing: servers do not send the states of single pieces."""
        return

    @property
    def _url(self) -> str:
        return check_base_url(self.base_url, plain_http=self.plain_http)

    def _ask(self, texts: Sequence[str]) -> list[list[float]]:
        headers = {"content-type": "application/json"}
        key = self.credential()
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        elif not is_loopback(self._url):
            raise self._unavailable("no key")
        body = msgspec.json.encode({"model": self.model, "input": list(texts)})
        outcome = self.send(Post(self._url + _PATHS[self.kind], headers, body), self.timeout_seconds)
        if not isinstance(outcome, Received):
            raise self._unavailable("no whole response")
        if outcome.status != _OK:
            raise self._unavailable(f"status {outcome.status}")
        rows = self._read(outcome.body)
        if len(rows) != len(texts) or not all(rows):
            raise self._unavailable("another number of vectors than of texts")
        return rows

    def _read(self, body: bytes) -> list[list[float]]:
        try:
            if self.kind == "ollama":
                return msgspec.json.decode(body, type=_Ollama).embeddings
            found = msgspec.json.decode(body, type=_OpenAI).data
        except msgspec.MsgspecError as error:
            raise self._unavailable("a response of another form") from error
        return [row.embedding for row in sorted(found, key=lambda row: row.index)]

    def _unavailable(self, found: str) -> ProviderUnavailable:
        return ProviderUnavailable(
            f"The encoder {self.name} gave {found}.",
            advice='Look at the server, or set encoder = "packaged" under [recall].',
        )
