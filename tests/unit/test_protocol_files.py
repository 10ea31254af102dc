"""protocol/ and docs/format.md: what they say is what the code writes, and they refuse what it would not."""

from __future__ import annotations

import ast
import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import rfc8785

from perdure.core.canonical import digest_bytes
from perdure.core.proposal import OPERATIONS_MAX, Malformed, Parsed, parse_proposal
from perdure.core.record import Record, Unreadable, seal, unseal
from tests import format_page
from tests.format_page import Page
from tools import make_protocol, protocol_pictures
from tools.protocol_schemas import Unbounded, record_types, strict

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = sorted((ROOT / make_protocol.GOLDEN).glob("*.json"))
SCHEMAS = sorted((ROOT / make_protocol.SCHEMAS).glob("*.schema.json"))

FROZEN = {
    "branch.json": "f62b4ddcbe5da0961a7b7a8bfc029482581e1b9f11d747e2f5050c9767834c8c",
    "branch.one-entry.json": "470328558d6388163ecf62decef09d1f37b315b8112a5b9ae31a07f439734536",
}
"""SHA-256 of whole files. A published version never changes: a new field needs a side record (M-06)."""

golden = pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)


@pytest.fixture(scope="module")
def page() -> Page:
    """Read the format document."""
    return Page((ROOT / "docs/format.md").read_text(encoding="utf-8"))


def kind_of(path: Path) -> str:
    """The kind of a golden file: what stands before a case of it."""
    return path.name.split(".")[0]


def schema(name: str) -> jsonschema.Draft202012Validator:
    """The validator of a schema by its name."""
    text = (ROOT / make_protocol.SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8")
    return jsonschema.Draft202012Validator(json.loads(text))


# -- made from the code


def test_making_the_protocol_changes_nothing() -> None:
    """Schemas, golden files and pictures are exactly what the code makes: `make protocol` changes nothing."""
    assert make_protocol.differences(ROOT, make_protocol.contents()) == []


def test_a_difference_is_found_and_mended(tmp_path: Path) -> None:
    """A missing, an altered and a stray file are each named, and writing makes all of them right."""
    made = make_protocol.contents()
    make_protocol.write(tmp_path, made)
    folder = tmp_path / make_protocol.GOLDEN
    (folder / "job.json").unlink()
    (folder / "branch.json").write_bytes(b"{}")
    (folder / "stray.json").write_bytes(b"{}")
    found = make_protocol.differences(tmp_path, made)
    assert [line.rpartition("/")[2] for line in found] == [
        "branch.json: not what the code makes",
        "job.json: missing",
        "stray.json: nothing makes it",
    ]
    make_protocol.write(tmp_path, made)
    assert make_protocol.differences(tmp_path, made) == []


def test_every_kind_of_record_is_described(page: Page) -> None:
    """Each kind that the code has stands in the format document, has a schema and has a golden file."""
    kinds = set(record_types())
    assert set(page.records) == kinds
    assert {kind_of(path) for path in GOLDEN} == kinds
    assert kinds <= {path.name.removesuffix(".schema.json") for path in SCHEMAS}


def test_the_document_lists_the_fields_of_every_record(page: Page) -> None:
    """The tables of the format document name the fields that the types have, and no others."""
    for kind, record in record_types().items():
        assert list(page.fields[kind]) == [field.name for field in msgspec.structs.fields(record)], kind


def test_a_field_without_bounds_stops_the_generation() -> None:
    """A new field whose strings or integers nobody bounded makes no loose schema, but an error."""

    class Loose(msgspec.Struct):
        unheard_of: str

    with pytest.raises(Unbounded, match=r"Loose\.unheard_of"):
        strict(Loose)


def test_the_pictured_order_is_that_of_the_protocol_and_of_the_document() -> None:
    """The order of records is the same in the code, in the format document and in the picture."""
    chain = " -> ".join(protocol_pictures.documented_order()).replace("request", "(the request)")
    text = " ".join((ROOT / "docs/format.md").read_text(encoding="utf-8").split())
    assert chain in text
    drawn = re.findall(r"  (\w+) --> (\w+)\n", protocol_pictures.pictures().partition("stateDiagram")[0])
    assert [drawn[0][0], *(right for _, right in drawn)] == protocol_pictures.documented_order()


# -- golden files


@golden
@pytest.mark.requirement("M-06")
def test_a_golden_record_is_read_and_written_again_byte_for_byte(path: Path) -> None:
    """Every record of a published version is still read, and encoding it again gives the same bytes."""
    data = path.read_bytes()
    assert seal(unseal(data, record_types()[kind_of(path)])) == data


@golden
@pytest.mark.requirement("M-04")
def test_a_golden_digest_is_that_of_the_rfc_8785_body(path: Path) -> None:
    """The body is RFC 8785 as the reference library writes it, and the digest is SHA-256 of its bytes."""
    data = path.read_bytes()
    record = json.loads(data)
    assert rfc8785.dumps(record) == data
    assert record["digest"] == digest_bytes(rfc8785.dumps(record["body"]))


@pytest.mark.requirement("M-06")
@pytest.mark.parametrize("name", FROZEN)
def test_branch_and_entry_are_frozen(name: str) -> None:
    """The files of branch version 1 never change, however the code does."""
    assert digest_bytes((ROOT / make_protocol.GOLDEN / name).read_bytes()) == FROZEN[name]


@golden
def test_a_golden_record_fits_its_schema_the_envelope_and_the_document(path: Path, page: Page) -> None:
    """Schema, envelope and format document accept every golden file."""
    record = json.loads(path.read_bytes())
    schema(kind_of(path)).validate(record)
    schema("envelope").validate(record)
    assert list(page.faults(kind_of(path), record["body"])) == []


@golden
def test_a_golden_record_that_was_changed_is_refused(path: Path, page: Page) -> None:
    """Whatever is taken away, added, retyped or made too long is refused by schema and document alike."""
    kind, record = kind_of(path), json.loads(path.read_bytes())
    validator = schema(kind)
    tried = 0
    for what, changed in mutations(record["body"]):
        assert not validator.is_valid(record | {"body": changed}), f"the schema accepts {what}"
        assert list(page.faults(kind, changed)), f"the document accepts {what}"
        tried += 1
    assert tried >= 3


@golden
@pytest.mark.requirement("S-05")
def test_the_decoder_refuses_unknown_missing_and_retyped_fields(path: Path) -> None:
    """The program itself is as strict about the shape of a record as the schemas are."""
    record_type, record = record_types()[kind_of(path)], json.loads(path.read_bytes())
    for _, changed in mutations(record["body"], values=False):
        data = json.dumps(changed).encode()
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(data, type=record_type)


@pytest.mark.parametrize(
    "changes", [{"kind": "nothing"}, {"version": 0}, {"digest": "0" * 63}, {"extra": 1}, {"body": []}]
)
def test_a_changed_envelope_is_refused(changes: dict[str, Any]) -> None:
    """Kind, version, digest and body of the envelope are checked, and nothing may be beside them."""
    record = json.loads((ROOT / make_protocol.GOLDEN / "unknown.json").read_bytes()) | changes
    assert not schema("envelope").is_valid(record)
    assert not schema("unknown").is_valid(record)


def mutations(value: Any, *, values: bool = True, where: str = "$") -> Iterator[tuple[str, Any]]:
    """Every way in which one place of a body can be made wrong. Without `values`, only shape and types."""
    if isinstance(value, dict):
        yield f"{where} with one more field", value | {"extra": 1}
        for name in value:
            yield f"{where} without {name}", {other: value[other] for other in value if other != name}
            for what, changed in mutations(value[name], values=values, where=f"{where}.{name}"):
                yield what, value | {name: changed}
    elif isinstance(value, list):
        yield f"{where} as an object", {"0": value}
        for place, item in enumerate(value[:2]):
            for what, changed in mutations(item, values=values, where=f"{where}[{place}]"):
                copied = copy.deepcopy(value)
                copied[place] = changed
                yield what, copied
    else:
        yield from _leaf_mutations(value, where, values=values)


def _leaf_mutations(value: str | int | bool | None, where: str, *, values: bool) -> Iterator[tuple[str, Any]]:
    yield f"{where} as a list", [value]
    if isinstance(value, bool):
        yield f"{where} as a number", int(value)
    elif isinstance(value, int):
        yield f"{where} as text", str(value)
        yield f"{where} as a fraction", value + 0.5
        if values:
            yield f"{where} below zero", -1
            yield f"{where} beyond 2^64", 2**64
    elif isinstance(value, str):
        yield f"{where} as a number", 7
        if values and not where.endswith(".root"):
            yield f"{where} too long", value + "x" * 70_000
        if values and re.fullmatch(r"[0-9a-f]{16,}", value) and not where.endswith((".machine", ".text")):
            yield f"{where} with a strange digit", "G" + value[1:]


# -- proposals


def test_schemas_are_schemas() -> None:
    """Every schema is one of draft 2020-12, and no two have the same id."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in SCHEMAS]
    for each in found:
        jsonschema.Draft202012Validator.check_schema(each)
    assert len({each["$id"] for each in found}) == len(found)


ADD = {"op": "add", "text": "The port is 4100.", "evidence": ["e1"]}
ENTRY = "0123456789abcdef"
OTHER = "fedcba9876543210"


@pytest.mark.requirement("D-04")
@pytest.mark.parametrize(
    "operation",
    [
        ADD,
        ADD | {"kind": "user", "key": "port", "importance": "high", "rationale": "It was said."},
        {"op": "replace", "entry": ENTRY, "text": "It is 4200.", "evidence": ["e1"], "importance": None},
        {"op": "remove", "entry": ENTRY, "evidence": ["e1", "e2"]},
        {"op": "merge", "entries": [ENTRY, OTHER], "text": "Both.", "key": None, "evidence": ["e2"]},
        {"op": "assess", "entry": ENTRY, "verdict": "outdated", "evidence": ["e2"]},
    ],
)
def test_the_proposal_schema_accepts_what_is_parsed(operation: dict[str, Any]) -> None:
    """What the schema of proposals accepts, the parser accepts: a reviewer can rely on it."""
    proposal = {"operations": [operation]}
    schema("proposal").validate(proposal)
    parsed = parse_proposal(json.dumps(proposal), evidence_ids={"e1", "e2"}, entry_ids={ENTRY, OTHER})
    assert isinstance(parsed, Parsed)
    assert not parsed.left_out


@pytest.mark.requirement("D-04", "Q-14")
@pytest.mark.parametrize(
    "proposal",
    [
        {},
        [],
        {"operations": [], "note": "x"},
        {"operations": [ADD | {"op": "rename"}]},
        {"operations": [ADD | {"evidence": []}]},
        {"operations": [ADD | {"text": "x" * 801}]},
        {"operations": [ADD | {"text": ""}]},
        {"operations": [ADD | {"key": "k" * 121}]},
        {"operations": [ADD | {"kind": ""}]},
        {"operations": [ADD | {"importance": "urgent"}]},
        {"operations": [ADD | {"rationale": "r" * 401}]},
        {"operations": [ADD | {"tool": "bash"}]},
        {"operations": [{"op": "remove", "evidence": ["e1"]}]},
        {"operations": [{"op": "remove", "entry": "12", "evidence": ["e1"]}]},
        {"operations": [{"op": "merge", "entries": [ENTRY], "text": "x", "evidence": ["e1"]}]},
        {"operations": [{"op": "merge", "entries": [ENTRY, ENTRY], "text": "x", "evidence": ["e1"]}]},
        {"operations": [{"op": "assess", "entry": ENTRY, "verdict": "fine", "evidence": ["e1"]}]},
        {"operations": [ADD] * (OPERATIONS_MAX + 1)},
    ],
)
def test_the_proposal_schema_and_the_parser_refuse_the_same(proposal: object) -> None:
    """What the schema refuses, the parser calls malformed; it is never taken for nothing to remember."""
    assert not schema("proposal").is_valid(proposal)
    parsed = parse_proposal(json.dumps(proposal), evidence_ids={"e1", "e2"}, entry_ids={ENTRY, OTHER})
    assert isinstance(parsed, Malformed)


# -- the reader that is given the document alone


def test_the_reader_knows_nothing_of_perdure() -> None:
    """The independent reader imports the standard library and its own page, and nothing of the product."""
    for module in ("format_page", "format_reader"):
        tree = ast.parse((ROOT / f"tests/{module}.py").read_text(encoding="utf-8"))
        imported = {
            name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in (
                [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
            )
        }
        assert not {name for name in imported if name.startswith(("perdure", "msgspec", "tools"))}


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda data: data[:-1], "no JSON"),
        (lambda data: data + b"\n", "another form"),
        (lambda data: data.replace(b'"body"', b'"body" ', 1), "another form"),
        (lambda data: data.replace(b'"version":1', b'"version":2'), "another version"),
        (lambda data: data.replace(b"4173", b"4174", 1), "digest mismatch"),
        (lambda data: data.replace(b'"cut":false', b'"cut":false,"cut":false'), "another form"),
        (lambda data: data + b" " * 200_000, "too large"),
    ],
)
def test_the_reader_refuses_what_the_program_refuses(damage: Any, reason: str, page: Page) -> None:
    """Damage that the document names is found by the reader of the document and by the program alike."""
    data = damage((ROOT / make_protocol.GOLDEN / "job.json").read_bytes())
    with pytest.raises(format_page.Unreadable, match=reason):
        format_page.unseal(page, "job", data)
    record_type: type[Record] = record_types()["job"]
    with pytest.raises(Unreadable):
        unseal(data, record_type)
