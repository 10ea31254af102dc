# ruff: noqa: E501 - a pattern is one piece
"""Private keys as blocks: PEM, PGP, OpenSSH, SSH2, PuTTY; whole, cut at either end, or base64 of one (E-03)."""

from __future__ import annotations

import binascii
import re
from bisect import bisect_left
from collections.abc import Iterator

_BEGIN = re.compile(
    r"-{4,5} ?BEGIN ([A-Z0-9 ]{0,40}?)(PRIVATE KEY|PRIVATE KEY BLOCK|SECRET KEY)( BLOCK)? ?-{4,5}"
)
_END = re.compile(r"-{4,5} ?END [A-Z0-9 ]{0,40}?(?:PRIVATE|SECRET) KEY(?: BLOCK)? ?-{4,5}")
_HEADER = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID|Subject|x-[\w-]+):[^\n]{0,200}"
_CHUNK = r"[A-Za-z0-9+/_-]{16,}={0,2}"
_BETWEEN = r"(?:[ \t\r\n>|#*\"',+]|\\+[nrt]?)"
_BODY = re.compile(
    rf"(?:{_BETWEEN}{{0,40}}(?:{_HEADER}|{_CHUNK}|=[A-Za-z0-9+/]{{4}}(?![\w])))*"
    rf"(?:{_BETWEEN}{{1,40}}[A-Za-z0-9+/]{{1,15}}={{0,2}}(?=[\"']?\s*(?:\n|$|\\)))?"
)
_LAST_CHUNK = re.compile(r"[A-Za-z0-9+/=]{16,}")
_LINE_EDGE = r"[\s>|#*\"',+\\]*"
_LAST_LINES = re.compile(_LINE_EDGE + r"(?:[A-Za-z0-9+/]{1,100}={0,2}|=[A-Za-z0-9+/]{4})?" + _LINE_EDGE)
_KEY_LINE = re.compile(_LINE_EDGE + rf"(?:{_HEADER}|[A-Za-z0-9+/]{{32,100}}={{0,2}})?" + _LINE_EDGE)
_LAST_LINES_MAX = 2  # a short rest and a checksum
_PUTTY = re.compile(
    r"PuTTY-User-Key-File-\d:[^\n]{0,80}(?:\n(?:[A-Za-z-]{3,30}: [^\n]{0,200}|[A-Za-z0-9+/]{1,80}={0,2})\r?)*",
    re.MULTILINE,
)
_ENCODED = re.compile(r"LS0tLS1CRUdJTi[A-Za-z0-9+/\n\r ]{40,20000}={0,2}")
_PUBLIC = re.compile(
    r"-{4,5} ?BEGIN (?:[A-Z0-9 ]{0,30}?)(?:CERTIFICATE|PUBLIC KEY|CERTIFICATE REQUEST|X509 CRL|SIGNATURE|PGP MESSAGE)(?: BLOCK)? ?-{4,5}"
    r"[A-Za-z0-9+/=\s\\]*-{4,5} ?END "
)
_LINE_CHARS_MAX = 200


def find_blocks(text: str) -> Iterator[tuple[int, int, str]]:
    """Give the spans of private keys in a text, with their kind; a public key or certificate is none."""
    if "-- " in text or "--BEGIN" in text or "--END" in text:
        yield from _armoured(text)
    if "PuTTY-User-Key-File" in text:
        yield from ((*m.span(), "private-key") for m in _PUTTY.finditer(text))
    if "LS0tLS1CRUdJTi" in text:
        for match in _ENCODED.finditer(text):
            head = "".join(match.group()[:80].split())
            if b"PRIVATE" in binascii.a2b_base64(head[: len(head) // 4 * 4]):
                yield *match.span(), "private-key"


def find_public_blocks(text: str) -> list[tuple[int, int]]:
    """Give the spans of certificates, public keys and signatures, ascending; they are for all to see."""
    if "BEGIN " not in text:
        return []
    return [match.span() for match in _PUBLIC.finditer(text)]


def _armoured(text: str) -> Iterator[tuple[int, int, str]]:
    begins = list(_BEGIN.finditer(text))
    ends = list(_END.finditer(text))
    end_starts = [match.start() for match in ends]
    used: set[int] = set()
    for number, begin in enumerate(begins):
        limit = begins[number + 1].start() if number + 1 < len(begins) else len(text)
        place = bisect_left(end_starts, begin.end())
        if place < len(ends) and end_starts[place] < limit:
            used.add(place)
            if _LAST_CHUNK.search(text, begin.end(), end_starts[place]):
                yield begin.start(), ends[place].end(), "private-key"
            continue
        body = _BODY.match(text, begin.end(), limit)
        if body is not None and _LAST_CHUNK.search(body.group()):
            yield begin.start(), body.end(), "private-key"
    for place, end in enumerate(ends):
        if place not in used:
            start = _body_before(text, end.start())
            if _LAST_CHUNK.search(text, start, end.start()):
                yield start, end.end(), "private-key"


def _body_before(text: str, at: int) -> int:
    """Give where the key lines that stand directly before `at` begin."""
    line_end, number = at, 0
    while line_end >= 0:
        line_start = text.rfind("\n", 0, line_end) + 1
        line = _LAST_LINES if number <= _LAST_LINES_MAX else _KEY_LINE
        if line_end - line_start > _LINE_CHARS_MAX or not line.fullmatch(text, line_start, line_end):
            break
        at, line_end, number = line_start, line_start - 1, number + 1
    return at
