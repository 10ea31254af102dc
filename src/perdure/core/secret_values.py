"""Does a value look like a secret? Placeholders, code, plain words and random strings told apart (E-03)."""

from __future__ import annotations

import math
import re
from collections import Counter

MARK = "\ufffc"
"""Stands for text that was removed before, in the copies that are scanned."""

TRAILING = ",;.)]}>:、。，）」』！；\\"
"""Closing punctuation that is no part of an unquoted value."""

_PLACEHOLDER_WORDS = frozenset(
    """
    password passwd pass pwd passphrase secret secrets token tokens apikey api_key key mysecret mytoken
    mypassword changeme change-me change_me change changeit replaceme replace-me replace_me example
    sample dummy
    placeholder redacted removed masked hidden none null nil undefined true false yes no on off todo tbd
    fixme string str text bytes int integer number bool boolean any object optional required unknown
    empty default value name username user email login foo bar baz test testing prompt ask env
    environment keyring keychain vault auto generated random n/a na varchar char field hash hashed
    encrypted input output url uri file path header cookie session bearer basic digest oauth
    oauth2 jwt hmac md5 bcrypt argon2 argon2id scrypt pbkdf2 sha256 sha512 base64 hex uuid
    secretstr secretbytes securestring passwordfield credential credentials record readonly static final const
    let var self this super async await function return if else for while not and or is in of to
    """.split()
)
_PLACEHOLDER = re.compile(
    r"[<{\[(]?(?:your|my|the|some|insert|enter|replace|put|paste|set|example|dummy|fake|sample|placeholder|todo"
    r"|redacted|change)(?:[-_ .]|(?=[A-Z])|[a-z]*[-_ ])[A-Za-z _.-]*[>}\])]?",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"<[^<>\s][^<>]*>?"
    r"|\$\{?\{?[A-Za-z_(][^\n]*|\$\d|\{\{.*|\{%.*|%\(?[A-Za-z_]+\)?s?%?|\{[^{}]*\}|#\{.*|@[A-Za-z_]+\w*@"
    r"|!(?:Ref|Sub|GetAtt|vault|secret|ENV)\b.*"
    r"|(?:process\.env|os\.environ|os\.getenv|getenv|import\.meta|env\.|ENV\[|System\.getenv|Deno\.env|secrets\.|vars\."
    r"|inputs\.|github\.|steps\.|vault:|op://|ssm:|arn:aws|aws-?sm:|keyring:|file:|env:|projects/|data\.|var\."
    r"|local\.|module\.|self\.|this\.|config\.|settings\.|args\.|options\.|ctx\.|req\.|request\.)[^\n]*",
)
_MASK_CHARS = "*•●.…xX#?_-"
_MASKED = re.compile(r"\*{3}|•{3}|…|\.{3}|[xX]{6}|X{4}|xxxx")
_EXAMPLE = re.compile(r"example|placeholder|redacted|changeme|your[-_]|[-_]here\b|dummy", re.IGNORECASE)
_PATH = re.compile(
    r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\][\w.@~-]+(?:[/\\][\w.@~*-]*)*|(?:[a-z_.-]{2,}/)+[\w-]+\.[a-z]{1,5}"
)
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*)+")
_INDEXED = re.compile(r"[A-Za-z_][\w.]*\[")
_AMOUNT = re.compile(r"[$€£]?\d{1,3}(?:[.,]\d+)+[%/\w]*|[$€£]\d+[%/\w]*|0x[0-9a-fA-F]{1,8}")
_FIELD_NAME = re.compile(r"(?:[a-z]+_)*(?:password|passwd|secret|token|key)(?:_[a-z]+)*|(?:[A-Z]+_)+[A-Z]+")
_PIECE = re.compile(r"[\s_\-./:,@+=&?#|]+")
_CAMEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_WORDISH = re.compile(r"(?:v?\d{1,8}|[A-Z]?[a-z]+\d{0,3}|[A-Z]+\d{0,3}|[a-z]{1,3}|\d{1,3}[a-z]{1,2})")
_TECH = re.compile(
    r"(?:sha-?\d+|base\d+|utf-?\d+|md\d|hs\d+|rs\d+|es\d+|aes-?\d+|oauth-?2?(?:\.\d)?|x\.?509|ed25519|1password|k8s|s3"
    r"|ec2|ipv[46]|http/?[123](?:\.\d)?|argon2\w*|pbkdf2|p-?256|bcrypt|i18n|\d+(?:st|nd|rd|th)|\d+(?:-?bits?|chars?|min"
    r"|h|ms|s|d|days?|kb|mb)|v?\d+(?:\.\d+)*)(?:[-/,][A-Za-z-]{1,16})?",
    re.IGNORECASE,
)
_LETTER, _DIGIT = re.compile(r"[^\W\d_]"), re.compile(r"\d")
_VOWELS = frozenset("aeiouyAEIOUY")
_PLACEHOLDER_KINDS_MAX = 3


def entropy(value: str) -> float:
    """Shannon entropy in bits per character; 0 for an empty string."""
    size = len(value)
    return -sum(n / size * math.log2(n / size) for n in Counter(value).values()) if size else 0.0


def is_placeholder(value: str) -> bool:
    """Say whether a value plainly stands for one to be filled in, or refers to where it is kept."""
    bare = value.strip("\"'`<>[](){} ").lower()
    return (
        not bare
        or MARK in value
        or bare in _PLACEHOLDER_WORDS
        or len(set(bare)) < _PLACEHOLDER_KINDS_MAX
        or _REFERENCE.fullmatch(value) is not None
        or not value.strip(_MASK_CHARS)
        or _MASKED.search(value) is not None
        or _PLACEHOLDER.fullmatch(value) is not None
    )


def is_sample(value: str) -> bool:
    """Say whether a value of a vendor's shape is a documented example rather than a key."""
    body = value[4:] if len(value) > 12 else value  # noqa: PLR2004 - past the vendor's own prefix
    return (
        MARK in value
        or len(set(body)) <= _PLACEHOLDER_KINDS_MAX
        or _EXAMPLE.search(value) is not None
        or re.search(r"([xX*.0])\1{7}", body) is not None
    )


def is_wordlike(value: str) -> bool:
    """Say whether a value is made of plain words and small numbers, as names, versions and paths are."""
    for piece in _PIECE.split(value.strip("\"'`()[]{}<>;!")):
        if piece and not _WORDISH.fullmatch(piece):
            words = _CAMEL.findall(piece)
            if not words or "".join(words) != piece:
                return False
            if re.match(r"\d{3}", piece):
                return False
            letters = [word for word in words if word.isalpha()]
            if len(piece) < 4 * len(words) - 2 or not all(_pronounceable(word) for word in letters):
                return False
        elif len(piece) >= 16 and piece.isalpha() and not _pronounceable(piece):  # noqa: PLR2004 - a long run
            return False
    return True


def _pronounceable(word: str) -> bool:
    """Say whether a run of letters has the vowels and the spread of a word."""
    vowels = sum(char in _VOWELS for char in word)
    return len(word) <= 3 or (0.15 <= vowels / len(word) <= 0.75)  # noqa: PLR2004 - three letters prove nothing


def is_code(value: str, after: str) -> bool:
    """Say whether an unquoted value is an expression: a call, an attribute, an index, a path or a type.

    `after` is the text that follows it.
    """
    if "(" in value[1:] or _INDEXED.match(value) or _AMOUNT.fullmatch(value) or after[:1] in {"(", "["}:
        return True
    if _PATH.fullmatch(value) and is_wordlike(value.strip("/\\~.")):
        return True
    return _DOTTED.fullmatch(value) is not None and is_wordlike(value)


def names_place(value: str) -> bool:
    """Say whether a value is a URL, or the name of a field, and so says where a secret is."""
    return "://" in value or _FIELD_NAME.fullmatch(value) is not None


def looks_random(value: str, length: int = 16) -> bool:
    """Entropy as a second opinion: long enough, mixed, spread out, and not made of words."""
    if len(value) < length or is_wordlike(value) or _TECH.fullmatch(value):
        return False
    mixed = (
        any(c.isdigit() for c in value) + any(c.islower() for c in value) + any(c.isupper() for c in value)
    )
    return mixed > 1 and entropy(value) > min(3.0, 0.6 * math.log2(len(value)))


def is_hexlike(value: str) -> bool:
    """Say whether a value is a long run of hexadecimal digits, or of base 32."""
    return re.fullmatch(r"(?=[a-f0-9-]*\d)[0-9a-f-]{16,128}|[A-Z2-7]{16,64}", value) is not None


def looks_chosen(value: str) -> bool:
    """Say whether a word in a sentence about a password is one: mixed as no plain word is."""
    if is_placeholder(value) or _TECH.fullmatch(value) or _PATH.fullmatch(value) or "://" in value:
        return False
    if _LETTER.search(value) and _DIGIT.search(value):
        return not re.fullmatch(
            r"[a-zA-Z]+[-_]?\d{1,2}(?:-[a-z]+)*-(?:[a-z]+ed|based|like|style|compatible|only|safe)"
            r"|\d+-[a-z]+(?:-[a-z]+)*|[A-Z]{2,}-\d+",
            value,
        )
    if re.search(r"[A-Za-z0-9][!@#$%^&*+=~?_|\\]+[A-Za-z0-9]", value) or re.search(r"[!@#$%^&*+=~]$", value):
        return not _DOTTED.fullmatch(value) and not re.fullmatch(
            r"[a-z]+(?:_[a-z]+)+|[A-Z]+(?:_[A-Z]+)+", value
        )
    if re.search(r"[a-zà-ÿа-я][A-ZÀ-ÞА-Я]", value):
        return True
    parts = value.split("-")
    return len(parts) > 2 and all(p.isalpha() for p in parts) and not _SMALL_WORDS & set(parts)  # noqa: PLR2004


_SMALL_WORDS = frozenset(
    "a an the of to in by and or be up out on for with time only based date day end off per no not".split()
)
