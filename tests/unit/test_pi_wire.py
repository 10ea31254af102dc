"""The wire to Pi's extension: golden messages, schemas, bad lines, long lines, odd text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.hosts import pi_protocol as wire
from tools import make_protocol

ROOT = Path(__file__).resolve().parents[2]


def golden(name: str) -> list[bytes]:
    """The golden lines of one file, each without its line feed."""
    return (ROOT / make_protocol.PI_GOLDEN / f"{name}.jsonl").read_bytes().splitlines()


def schema(name: str) -> jsonschema.Draft202012Validator:
    """The validator of one kind of line."""
    text = (ROOT / make_protocol.SCHEMAS / f"pi-{name}.schema.json").read_text(encoding="utf-8")
    return jsonschema.Draft202012Validator(json.loads(text))


@pytest.mark.parametrize("line", golden("requests"), ids=lambda line: json.loads(line)["op"])
def test_a_golden_request_is_read_and_fits_its_schema(line: bytes) -> None:
    """Every golden request is read as the operation that it names, and the schema takes it."""
    request = wire.decode_request(line)
    document = json.loads(line)
    assert type(request).__name__.lower() == document["op"]
    assert request.id == document["id"]
    assert msgspec.to_builtins(request) == document
    schema("request").validate(document)


def test_every_operation_has_a_golden_request() -> None:
    """No operation is without one: the extension's tests would not know it."""
    named = {json.loads(line)["op"] for line in golden("requests")}
    assert named == {kind.__name__.lower() for kind in wire.AnyRequest.__args__}


@pytest.mark.parametrize("kind", ["answers", "events"])
def test_golden_answers_and_events_fit_their_schemas(kind: str) -> None:
    """What the child says is what its schemas describe, and nothing beside it."""
    validator = schema(kind.removesuffix("s"))
    for line in golden(kind):
        document = json.loads(line)
        validator.validate(document)
        assert not validator.is_valid(document | {"more": 1})


@pytest.mark.requirement("S-05")
@pytest.mark.parametrize("line", golden("refused"))
def test_a_line_that_is_no_request_is_refused_with_its_id(line: bytes) -> None:
    """The answer can reach whoever asked, wherever the line says who that is; the schema refuses it too."""
    case = json.loads(line)
    with pytest.raises(wire.BadLine) as refused:
        wire.decode_request(case["line"].encode())
    assert refused.value.id == case["id"]
    assert refused.value.advice
    try:
        document = json.loads(case["line"])
    except ValueError:
        return
    assert not schema("request").is_valid(document)


@pytest.mark.parametrize("line", [b"\xff", b'{"id":1,"op":"turn","prompt":"\xed\xa0\x80"}', b"[" * 200_000])
def test_bytes_that_are_no_text_are_refused(line: bytes) -> None:
    """Bytes that are not UTF-8, and endless nesting, are a bad line and nothing worse."""
    with pytest.raises(wire.BadLine):
        wire.decode_request(line)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_goes_through_whole(text: str) -> None:
    """Whatever characters a prompt has, they arrive; whatever characters an answer has, it is one line."""
    line = json.dumps({"id": 1, "op": "turn", "prompt": text}, ensure_ascii=False).encode()
    request = wire.decode_request(line)
    assert isinstance(request, wire.Turn)
    assert request.prompt == text
    said = wire.encoded(wire.Done(1, text, {"text": text}))
    assert said.count(b"\n") == 1
    assert json.loads(said)["data"] == {"text": text}


def test_a_path_that_is_no_text_can_be_said() -> None:
    """A path with bytes that are no UTF-8 does not keep the answer from being sent."""
    said = wire.encoded(wire.Done(1, "", {"project": "/home/\udcff"}))
    assert json.loads(said)["data"]["project"] == "/home/\udcff"


def test_an_answer_that_is_too_long_becomes_an_error() -> None:
    """The extension would take the child for broken; it is told instead."""
    long = "x" * (wire.LINE_BYTES_MAX + 1)
    said: dict[str, Any] = json.loads(wire.encoded(wire.Done(7, long, {})))
    assert (said["id"], said["ok"], said["error"]["code"]) == (7, False, "too-long")
    assert json.loads(wire.encoded(wire.Notice("info", long)))["event"] == "notice"


@given(st.lists(st.binary(max_size=20).map(lambda part: part.replace(b"\n", b"")), max_size=8), st.data())
def test_lines_are_split_wherever_chunks_end(parts: list[bytes], data: st.DataObject) -> None:
    """However the bytes come, the lines are the same; what no line feed ends is no line."""
    whole = b"".join(part + b"\n" for part in parts) + b"rest"
    lines, found = wire.Lines(), []
    while whole:
        size = data.draw(st.integers(1, len(whole)))
        found += list(lines.push(whole[:size]))
        whole = whole[size:]
    assert found == parts


def test_a_line_that_is_too_long_is_told_once_and_passed_over() -> None:
    """The longest line goes through, one byte more is told as None, and the next line is read."""
    lines = wire.Lines()
    longest = b"a" * wire.LINE_BYTES_MAX
    assert list(lines.push(longest)) == []
    assert list(lines.push(b"\n")) == [longest]
    assert list(lines.push(longest)) == []
    assert list(lines.push(b"bc")) == [None]
    assert list(lines.push(longest)) == []
    assert list(lines.push(b"d\nnext\n")) == [b"next"]
    assert list(lines.push(longest + b"x\nnext\n")) == [None, b"next"]
