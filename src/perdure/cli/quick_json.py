"""JSON at the cost of two small C modules: the library's own package loads regular expressions first."""

from __future__ import annotations


class _Scanner:
    """What the C scanner of JSON asks of its maker."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: dict[str, str] = {}  # noqa: RUF012 - the scanner's own


def parsed_object(text: str) -> dict[str, object]:
    """The one object that a text is, with nothing around it. Raises ValueError and RecursionError."""
    from _json import make_scanner

    try:
        value, end = make_scanner(_Scanner)(text, 0)  # type: ignore[arg-type] # it asks for attributes only
    except (StopIteration, SystemError):  # the latter where the package with the right error is not loaded
        value, end = None, 0
    if not isinstance(value, dict) or end != len(text):
        msg = "not a JSON object"
        raise ValueError(msg)
    return value


def canonical_text(value: object) -> str:
    """See `perdure.core.canonical.canonical`; a field that stands twice or a foreign form differs from it."""
    from _json import encode_basestring, make_encoder

    encode = make_encoder(None, str, encode_basestring, None, ":", ",", True, False, False)  # noqa: FBT003 - by place only
    return "".join(encode(value, 0))


def quoted(text: str) -> str:
    """The text as a JSON string."""
    from _json import encode_basestring

    return encode_basestring(text)


def quoted_ascii(text: str) -> str:
    """The text as a JSON string of ASCII alone: it survives every encoding on its way, also half a pair."""
    from _json import encode_basestring_ascii

    return encode_basestring_ascii(text)
