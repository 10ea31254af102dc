"""Encoders: the packaged model is the pinned one, servers are asked once, and what is missing is said."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import ConfigError, PerdureError, ProviderUnavailable
from perdure.provider.encoder import PackagedEncoder, packaged, vocabulary
from perdure.provider.encoder_http import HttpEncoder, Kind
from perdure.provider.encoder_sentences import SentenceTransformersEncoder
from perdure.provider.http import Broken, NotSent, Outcome, Post, Received
from perdure.provider.onnx import read_tensors
from perdure.recall.encoder import Encoder
from perdure.recall.minilm import MiniLM
from perdure.recall.wordpiece import WordPieces, basic_words

GOLDEN = [0.0283, -0.0626, -0.0877, 0.0285]
ENCODER = packaged()
needs_weights = pytest.mark.skipif(ENCODER is None, reason='the extra "recall" is not installed')


@pytest.fixture(scope="module", name="encoder")
def _encoder() -> PackagedEncoder:
    assert ENCODER is not None
    return ENCODER


@needs_weights
@pytest.mark.requirement("R-04")
def test_the_packaged_model_gives_its_own_vectors(encoder: PackagedEncoder) -> None:
    """The forward pass is the model's: numbers that the reference runner gives for this file."""
    vector = encoder.encode(["how do I run the unit tests?"])[0]
    assert vector.shape == (encoder.dimensions,)
    assert float(np.linalg.norm(vector)) == pytest.approx(1, abs=1e-5)
    assert vector[:4].tolist() == pytest.approx(GOLDEN, abs=2e-3)


@needs_weights
@pytest.mark.requirement("R-04")
def test_the_packaged_model_knows_meanings(encoder: PackagedEncoder) -> None:
    """A question is nearer to its answer in other words than to another answer."""
    rows = encoder.encode(
        ["how do I check that nothing is broken?", "Run the test suite.", "The office is closed on Friday."]
    )
    assert float(rows[0] @ rows[1]) > float(rows[0] @ rows[2]) + 0.1


@needs_weights
def test_a_text_has_the_same_vector_alone_and_among_others(encoder: PackagedEncoder) -> None:
    """Padding does not leak, and odd texts give finite vectors."""
    texts = [
        "short",
        "a much longer text about deployment targets and clusters",
        "",
        "🚀 数据库",
        "x" * 9_000,
    ]
    together = encoder.encode(texts)
    assert np.isfinite(together).all()
    for at, text in enumerate(texts):
        assert encoder.encode([text])[0] == pytest.approx(together[at], abs=1e-4)


@needs_weights
def test_token_states_have_a_row_for_each_piece(encoder: PackagedEncoder) -> None:
    """Ids and states agree, whether or not the text was encoded just before; the marks are left out."""
    pieces, states = encoder.token_states("deploy the unit tests")
    encoder.encode(["deploy the unit tests"])
    again, same = encoder.token_states("deploy the unit tests")
    assert states.shape == (len(pieces), 64)
    assert list(pieces) == list(again)
    assert np.allclose(states, same, atol=1e-4)
    assert len(encoder.token_states("")[0]) == 0


def test_other_weights_are_refused(tmp_path: Path) -> None:
    """Weights that are missing or changed are not used: the message says what to install."""
    path = tmp_path / "model.onnx"
    for content in (None, b"", b"other weights"):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(ConfigError, match="recall"):
            PackagedEncoder(path).encode(["x"])


def test_the_vocabulary_is_whole() -> None:
    """All of BERT's uncased pieces are there, each once, in order."""
    pieces = vocabulary()
    assert len(pieces) == len(set(pieces)) == 30_522
    assert (pieces[0], pieces[101], pieces[102]) == ("[PAD]", "[CLS]", "[SEP]")


def test_words_are_split_as_the_model_learned_them() -> None:
    """Case and accents go, marks and Han characters stand alone, rare words come in pieces."""
    pieces = vocabulary()
    tokenizer = WordPieces(pieces)
    assert basic_words("Don't CAFÉ 数据\x00!") == ["don", "'", "t", "cafe", "数", "据", "!"]
    told = [pieces[number] for number in tokenizer.encode("embeddings rock")]
    assert told == ["[CLS]", "em", "##bed", "##ding", "##s", "rock", "[SEP]"]
    assert tokenizer.encode("z" * 200) == [101, 100, 102]
    assert len(tokenizer.encode("word " * 900)) == 256
    with pytest.raises(ConfigError):
        WordPieces(["no", "marks"])


@given(st.text(max_size=60))
def test_any_text_can_be_split(text: str) -> None:
    """No text is too strange for the tokenizer."""
    row = _PIECES.encode(text)
    assert row[0] == 101
    assert row[-1] == 102


_PIECES = WordPieces(vocabulary())


def test_tensors_are_read_from_the_wire_format() -> None:
    """Names, types and shapes of initializers come out of hand-made bytes; other fields are passed over."""
    numbers = np.arange(6, dtype="<f4").reshape(2, 3)
    tensor = b"\x08\x02\x08\x03\x10\x01\x42\x01w\x4a\x18" + numbers.tobytes()
    graph = b"\x2a" + bytes([len(tensor)]) + tensor + b"\x12\x01x"
    model = b"\x08\x07" + b"\x3a" + bytes([len(graph)]) + graph
    found = read_tensors(model)
    assert list(found) == ["w"]
    assert (found["w"] == numbers).all()
    with pytest.raises(ConfigError):
        read_tensors(model[:-5])


@given(st.binary(max_size=40))
def test_bytes_that_are_no_model_are_refused_or_empty(data: bytes) -> None:
    """Damaged weights never break anything but the reading of them."""
    try:
        found = read_tensors(data)
    except ConfigError:
        return
    assert all(tensor.size for tensor in found.values())


def test_weights_of_another_model_are_refused() -> None:
    """Tensors without the model's names do not make a model."""
    with pytest.raises(ConfigError, match="MiniLM"):
        MiniLM({}, WordPieces(["[UNK]", "[CLS]", "[SEP]"]), np.zeros((384, 4), np.float32))


class Server:
    """Answers each request with two-dimensional vectors: the length of the text, and one."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.requests: list[Post] = []

    def __call__(self, request: Post, seconds: float) -> Outcome:
        """Answer one request."""
        del seconds
        self.requests.append(request)
        rows = [[float(len(text)), 1.0] for text in json.loads(request.body)["input"]]
        if self.kind == "ollama":
            return Received(200, {}, json.dumps({"embeddings": rows}).encode())
        data = [{"index": at, "embedding": row} for at, row in enumerate(rows)]
        return Received(200, {}, json.dumps({"data": data[::-1]}).encode())


@pytest.mark.requirement("R-04")
@pytest.mark.parametrize(("kind", "path"), [("ollama", "/api/embed"), ("openai", "/v1/embeddings")])
def test_a_server_is_asked_in_batches_and_its_order_kept(kind: Kind, path: str) -> None:
    """Rows come back in the order of the texts, at unit length, whatever order the server gives."""
    server = Server(kind)
    base = "http://127.0.0.1:11434" + path.removesuffix("/api/embed").removesuffix("/embeddings")
    encoder = HttpEncoder(kind=kind, model="m", base_url=base, send=server)
    rows = encoder.encode(["x" * length for length in range(1, 21)])
    assert rows.shape == (20, 2)
    assert rows[4].tolist() == pytest.approx([5 / math.sqrt(26), 1 / math.sqrt(26)])
    assert [len(json.loads(request.body)["input"]) for request in server.requests] == [8, 8, 4]
    assert server.requests[0].url.endswith(path)
    assert encoder.dimensions == 2
    as_protocol: Encoder = encoder
    assert as_protocol.token_states("x") is None
    assert encoder.fingerprint != HttpEncoder(kind=kind, model="n", base_url=base).fingerprint


@pytest.mark.parametrize(
    "outcome",
    [
        NotSent(),
        Broken("timeout"),
        Received(500, {}, b""),
        Received(200, {}, b"{}"),
        Received(200, {}, b'{"data": []}'),
        Received(200, {}, b'{"data": [{"index": 0, "embedding": []}]}'),
        Received(200, {}, b'{"data": [{"index": 0, "embedding": [1e999]}]}'),
    ],
)
def test_a_server_that_fails_is_unavailable(outcome: Outcome) -> None:
    """Whatever a server does wrong ends as one error with advice, not as a wrong vector."""
    encoder = HttpEncoder(
        kind="openai", model="m", base_url="http://localhost:1", send=lambda _request, _seconds: outcome
    )
    with pytest.raises(ProviderUnavailable, match="encoder"):
        encoder.encode(["x"])


def test_vectors_of_several_lengths_are_refused() -> None:
    """A server that mixes models does not get its vectors mixed here."""
    body = b'{"embeddings": [[1.0], [1.0, 2.0]]}'
    encoder = HttpEncoder(
        kind="ollama", model="m", base_url="http://localhost:1", send=lambda *_: Received(200, {}, body)
    )
    with pytest.raises(ProviderUnavailable):
        encoder.encode(["x", "y"])


@pytest.mark.requirement("E-08")
def test_a_key_goes_only_over_https_and_a_missing_one_sends_nothing() -> None:
    """Elsewhere than on this machine a key is needed and plain http refused; then nothing goes out."""
    server = Server("openai")
    with pytest.raises(ProviderUnavailable):
        HttpEncoder(kind="openai", model="m", base_url="https://e.example/v1", send=server).encode(["x"])
    with pytest.raises(ConfigError):
        HttpEncoder(kind="openai", model="m", base_url="http://e.example/v1", send=server).encode(["x"])
    assert server.requests == []
    keyed = HttpEncoder(
        kind="openai", model="m", base_url="https://e.example/v1", credential=lambda: "k", send=server
    )
    keyed.encode(["x"])
    assert server.requests[0].headers["authorization"] == "Bearer k"


def test_a_library_that_is_missing_is_said() -> None:
    """Without sentence-transformers, or without the model, the message says which is missing."""
    encoder = SentenceTransformersEncoder("no/such/model")
    assert "no/such/model" in encoder.fingerprint
    with pytest.raises(PerdureError):
        encoder.encode(["x"])
