"""Configuration: `<home>/config.toml`, read strictly (S-05). Never a credential (E-08)."""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from perdure.core.budget import Limits
from perdure.core.inject import CHARS_MAX, TOKENS_MAX
from perdure.core.protocol import Policy
from perdure.errors import ConfigError

CONFIG_BYTES_MAX = 256 * 1024
NANODOLLARS = 1_000_000_000
DOLLARS_MAX = 1_000_000
"""No amount of money that is written by hand is larger; nano-dollars of it fit into 64 bits many times."""
TOKENS_LIMIT_MAX = 1_000_000_000_000
_MAY_BE_ZERO = frozenset({"unknown_seconds_first", "quiet_branch_seconds"})
RETRIES_MAX = 100
RETRY_SECONDS_MAX = 7 * 86_400
_WHOLE_END = 10**18
_LEVELS_MAX = 32
_KEY_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+"""
_LONG_KEY = rf"(?<![\w-])(?:{_KEY_PART}){{{_LEVELS_MAX}}}"
"""The parser's time grows with the square of a key's parts, so that nothing else bounds it."""

Calls = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Tokens = Annotated[int, msgspec.Meta(ge=1, le=TOKENS_LIMIT_MAX)]
OutputTokens = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Money = Annotated[float, msgspec.Meta(ge=0, le=DOLLARS_MAX)]
Share = Annotated[float, msgspec.Meta(gt=0, le=1)]
Seconds = Annotated[int, msgspec.Meta(ge=1, le=600)]
Days = Annotated[int, msgspec.Meta(ge=1, le=3_650)]
BlockChars = Annotated[int, msgspec.Meta(ge=400, le=1_000_000)]
BlockTokens = Annotated[int, msgspec.Meta(ge=100, le=1_000_000)]
"""Below these the frame of the block leaves no room for an entry."""


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """US dollars per million tokens; overrides the price table (B-05)."""

    input_usd_per_million: Money
    output_usd_per_million: Money


class Reviewer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The reviewer's own profile (B-05); it never inherits the host's model."""

    provider: Literal["rules", "anthropic", "openai", "gemini", "replay"] = "rules"
    model: str = ""
    base_url: str | None = None
    effort: Literal["none", "minimal", "low", "medium", "high"] | None = None
    output_tokens_max: OutputTokens = 2_048
    timeout_seconds: Seconds = 120
    credential: str | None = None  # the NAME of an environment variable or keyring entry
    json_mode: bool = True  # openai: ask for a JSON object
    legacy_max_tokens: bool = False  # openai: for servers that only know max_tokens
    plain_http: bool = False  # openai: allow http to another machine
    answers: str | None = None  # replay only: a file of recorded answers
    price: Price | None = None


class SpendingLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Limits for a paid reviewer: per UTC day, per UTC month, and per hour against a runaway (B-08).

    From `alert_share` of a limit on, status and budget reports warn.
    """

    calls: Calls = 200
    tokens: Tokens = 2_000_000
    usd: Money = 1.0
    usd_per_month: Money = 20.0
    calls_per_hour: Calls = 60
    alert_share: Share = 0.8

    def limits(self) -> Limits:
        """In the units of the budget."""
        return Limits(
            calls_per_day=self.calls,
            tokens_per_day=self.tokens,
            cost_nanodollars_per_day=int(self.usd * NANODOLLARS),
            cost_nanodollars_per_month=int(self.usd_per_month * NANODOLLARS),
            calls_per_hour=self.calls_per_hour,
        )


class Injection(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The budget of the injected block (I-02)."""

    characters: BlockChars = CHARS_MAX
    tokens: BlockTokens = TOKENS_MAX


class ProjectRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How projects are told apart (M-01)."""

    worktrees: Literal["shared", "own"] = "shared"


class Retention(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How long evidence is kept after a job has ended (E-05)."""

    evidence_days: Days = 14


class Recall(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What turns texts into vectors for recall; without the package of "packaged" it means "static"."""

    encoder: Literal["packaged", "static", "none", "ollama", "openai", "sentence-transformers"] = "packaged"
    model: str = ""
    base_url: str | None = None
    credential: str | None = None  # the NAME of an environment variable or keyring entry
    plain_http: bool = False  # allow http to another machine
    timeout_seconds: Seconds = 30


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All of config.toml."""

    mode: Literal["embedded", "shadow", "external"] = "embedded"
    reviewer: Reviewer = msgspec.field(default_factory=Reviewer)
    limits: SpendingLimits = msgspec.field(default_factory=SpendingLimits)
    retries: Policy = msgspec.field(default_factory=Policy)
    injection: Injection = msgspec.field(default_factory=Injection)
    project: ProjectRules = msgspec.field(default_factory=ProjectRules)
    retention: Retention = msgspec.field(default_factory=Retention)
    recall: Recall = msgspec.field(default_factory=Recall)


def load_config(path: str) -> Config:
    """Read a configuration file; a missing one is all defaults. Raises ConfigError naming file and field."""
    try:
        data = _read(path)
    except FileNotFoundError:
        return Config()
    except OSError as error:
        msg = f"{path}: {os.strerror(error.errno or 0)}."
        raise ConfigError(msg) from error
    if len(data) > CONFIG_BYTES_MAX:
        msg = f"{path}: larger than {CONFIG_BYTES_MAX} bytes."
        raise ConfigError(msg)
    table = _parsed(path, data)
    _check_values(path, table)
    try:
        found = msgspec.convert(table, Config)
    except msgspec.ValidationError as error:
        raise ConfigError(*_explain(path, table, str(error))) from error
    _check_retries(path, found.retries)
    _check_service(path, "reviewer", found.reviewer)
    _check_service(path, "recall", found.recall)
    return found


def _parsed(path: str, data: bytes) -> dict[str, object]:
    if not data:
        return {}
    import tomllib

    try:
        text = data.decode("utf-8")
        if re.search(_LONG_KEY, text, re.ASCII):
            msg = f"{path}: a key has more than {_LEVELS_MAX} parts."
            raise ConfigError(msg)
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, UnicodeDecodeError, too many digits
        msg = f"{path}: not valid TOML: {error}."
        raise ConfigError(msg) from error


def _check_values(path: str, table: dict[str, object]) -> None:
    """Refuse what no field takes: nan, infinities, whole numbers beyond 64 bits, and deep nesting."""
    for field, value in _values(path, table):
        endless = isinstance(value, float) and not math.isfinite(value)
        if endless or (isinstance(value, int) and abs(value) >= _WHOLE_END):
            shown = str(value) if endless else "a number of more than 18 digits"
            msg = f"{path}: {field}: expected a finite number within the field's bounds; found {shown}."
            raise ConfigError(msg)


def _values(path: str, value: object, field: str = "", level: int = 0) -> Iterator[tuple[str, object]]:
    """Every value that is no table or list, with its field."""
    if level > _LEVELS_MAX:
        msg = f"{path}: nested more than {_LEVELS_MAX} levels deep."
        raise ConfigError(msg)
    if isinstance(value, dict):
        for name, below in value.items():
            yield from _values(path, below, f"{field}.{name}" if field else name, level + 1)
    elif isinstance(value, list):
        for below in value:
            yield from _values(path, below, field, level + 1)
    else:
        yield field, value


def _check_retries(path: str, retries: Policy) -> None:
    """The bounds of [retries], whose type is the protocol's own."""
    for name in retries.__struct_fields__:
        value = getattr(retries, name)
        least = 0 if name in _MAY_BE_ZERO else 1
        most = RETRY_SECONDS_MAX if "seconds" in name else RETRIES_MAX
        if not least <= value <= most:
            msg = f"{path}: retries.{name}: expected `int` >= {least} and <= {most}; found {value}."
            raise ConfigError(msg)


def _check_service(path: str, table: str, service: Reviewer | Recall) -> None:
    """What the types of [reviewer] and [recall] do not say."""
    for name in service.__struct_fields__:
        value = getattr(service, name)
        if isinstance(value, str) and not value.isprintable():
            msg = f"{path}: {table}.{name}: expected one line of printable text; found {value!r}."
            raise ConfigError(msg)
    if not service.base_url:
        return
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(service.base_url)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        msg = f"{path}: {table}.base_url: expected an http or https URL with a host."
        raise ConfigError(msg, advice='For example: base_url = "https://api.example.com/v1".')


def _read(path: str) -> bytes:
    """The beginning of a regular file; nothing else is waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            msg = f"{path}: not a regular file."
            raise ConfigError(msg)
        data = b""
        while len(data) <= CONFIG_BYTES_MAX and (chunk := os.read(descriptor, CONFIG_BYTES_MAX + 1)):
            data += chunk
        return data
    finally:
        os.close(descriptor)


def _explain(path: str, table: dict[str, object], fault: str) -> tuple[str]:
    """Name file, field, what was found and what is allowed (S-05)."""
    reason, _, where = fault.partition(" - at `$")
    parts = [part for part in where.rstrip("`").split(".") if part]
    found: object = table
    allowed: list[str] = []
    kind: object = Config
    for part in parts:
        found = found.get(part) if isinstance(found, dict) else None
        kind = _field_type(kind, part)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        allowed = [field.name for field in msgspec.structs.fields(kind)]
    elif choices := getattr(kind, "__args__", None):
        allowed = [repr(choice) for choice in choices if not isinstance(choice, type)]
    field = ".".join(parts) or "the top level"
    message = f"{path}: {field}: {reason[0].lower()}{reason[1:]}"
    if not isinstance(found, dict):
        message += f"; found {found!r}"
    if allowed:
        message += f"; allowed: {', '.join(allowed)}"
    return (f"{message}.",)


def _field_type(kind: object, name: str) -> object:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        for field in msgspec.structs.fields(kind):
            if field.encode_name == name:
                return field.type
    return None
