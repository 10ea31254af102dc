"""From a message to the durable statements in it.

A sentence is a finding when a rule of some language matches it, no refusal of that language does, and
what is left would still mean something in another chat. Precision comes first: what is not plain is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from perdure.provider.rule_english import ENGLISH
from perdure.provider.rule_french import FRENCH
from perdure.provider.rule_german import GERMAN
from perdure.provider.rule_language import (
    CODE,
    NAME,
    PROGRAMS,
    RANK,
    Importance,
    Kind,
    Language,
    Rationale,
    Rule,
    compiled,
    found,
)
from perdure.provider.rule_other import OTHERS
from perdure.provider.rule_sentences import Sentence, mask_of, sentences
from perdure.provider.rule_spanish import SPANISH

LANGUAGES: Final[tuple[Language, ...]] = (ENGLISH, GERMAN, FRENCH, SPANISH, *OTHERS)
ABBREVIATIONS: Final = frozenset[str]().union(*(language.abbreviations for language in LANGUAGES))
OPENERS_MAX: Final = 8
TEXT_CHARS_MIN: Final = 4
"""For scripts without spaces, where words cannot be counted."""
KEY_CHARS_MAX: Final = 60

_SECRET_WORD = re.compile(
    r"\b(?:password|passwort|passwd|passphrase|pwd|contraseña|mot de passe|secret|token|api[ _-]?key|"
    r"credentials?|private key|access key|client[ _-]?id|bearer|pin code)\b\W{0,3}"
    r"(?:\b(?:for|of|to|für|pour|para)\b[^.]{0,40}?)?(?:\b(?:is|are|ist|lautet|est|es)\b|[:=])",
    re.IGNORECASE,
)
_SECRET_SHAPE = re.compile(
    r"(?<![\w/.])(?=[\w+=-]*\d)(?=[\w+=-]*[A-Za-z])[\w+=-]{20,}(?![\w/.])|\b[0-9a-f]{16,}\b"
)
_REDACTED = re.compile(
    r"[\[<({‹«⟦]\s*(?:redacted|removed|secret|masked|hidden|filtered)\b|\*{4,}|█{2,}", re.IGNORECASE
)
_SYMBOLS = re.compile(
    r"=>|->|[{}]|;\s(?![a-z]+ [a-z])|;$|\)\.|\w\(\)?[^)]*\)\s*\{|===?|!=|&&|\|\||::|^\W*\w+\s*[+*/]?=\s|<\w+[^>]*>"
)
_UNUSABLE = re.compile(r"[\ud800-\udfff\ufffd]")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SHOUT = re.compile(r"\b(?:ALWAYS|NEVER|MUST|IMMER|NIEMALS|NIE|TOUJOURS|JAMAIS|SIEMPRE|NUNCA)\b")
_WORDS_TOO: Final = "(?:make|just|go|task|mix|stack|bundle|black|poetry|composer|rails|swift|helm|bun|deno|rake|jest|turbo|prettier)"
_KEEPS_CASE = re.compile(rf"(?!{_WORDS_TOO}$)(?:{PROGRAMS})|\w*\d\w*|\w+[A-Z_]\w*|.*[^\w'’-].*")
_FIRST_PERSON = re.compile(r"(?:i|my|ich|mein\w*|je|j'|mon|ma|yo|mi)\b", re.IGNORECASE)
_LIST_ITEM: Final = Rule("explicit", "project", "", "high")
_END_MARKS = " .!…。！,;:–—-"


class Finding(msgspec.Struct, frozen=True):
    """One durable statement of a human, as it would enter memory. `turned_down` is what a correction
    says not to use ("npm" of "use pnpm, not npm"), or "".
    """

    text: str
    kind: Kind
    key: str | None
    importance: Importance
    rationale: Rationale
    evidence: tuple[str, ...]
    turned_down: str = ""

    @property
    def rank(self) -> int:
        """The smaller, the more important; high importance goes first within a rationale."""
        return RANK[self.rationale] * 3 + ("high", "normal", "low").index(self.importance)


class _Statement(msgspec.Struct, frozen=True):
    """A sentence without openers and closers; `core` is the mask of `text`."""

    text: str
    core: str
    corrects: bool


class Read(msgspec.Struct, frozen=True):
    """What one message says: its findings, and whether it starts by taking back the message before."""

    findings: tuple[Finding, ...]
    retracts_before: bool


def read_message(text: str, line_id: str) -> Read:
    """Find the durable statements of one message of a human. Later words may take back earlier ones."""
    findings: list[Finding] = []
    retracts_before = False
    for place, sentence in enumerate(sentences(text, ABBREVIATIONS)):
        if any(found(language.retracts, sentence.mask) for language in LANGUAGES):
            retracts_before = retracts_before or place == 0
            findings.clear()
            continue
        finding = judge(sentence, line_id)
        if finding is not None:
            findings.append(finding)
    return Read(tuple(findings), retracts_before)


def judge(sentence: Sentence, line_id: str) -> Finding | None:
    """Say what durable statement a sentence makes, if any. The first language with one decides."""
    if _unfit(sentence.text):
        return None
    for language in LANGUAGES:
        finding = _judge_in(sentence, language, line_id)
        if finding is not None:
            return finding
    return None


def _judge_in(sentence: Sentence, language: Language, line_id: str) -> Finding | None:
    """Judge a sentence by one language's table."""
    statement = _statement(sentence, language)
    for rule, match in _matches(statement.core, sentence, language):
        if any(
            found(refusal, part) for refusal in language.refusals for part in (sentence.mask, sentence.lead)
        ):
            return None
        begin, end = _kept_span(match, statement.core, language)
        body, text = statement.core[begin:end], statement.text[begin:end]
        if found(language.vague, body) or not _enough(body, rule.words_min):
            continue
        corrects = statement.corrects and rule.rationale != "explicit"
        return Finding(
            text=finished(_verb_second(text, body, language)),
            kind=_kind(rule, body, language),
            key=_key(rule, match, statement.text),
            importance="high" if corrects or _SHOUT.search(text) else rule.importance,
            rationale="correction" if corrects else rule.rationale,
            evidence=(line_id,),
            turned_down=_group(match, "old", statement.text).strip(_END_MARKS),
        )
    return None


def _statement(sentence: Sentence, language: Language) -> _Statement:
    """Take the openers and closers off a sentence."""
    start, corrects = _after_openers(sentence.mask, language)
    core = sentence.mask[start:].rstrip(_END_MARKS + "\"'")
    closer = compiled(language.closers).search(core)
    core = (core[: closer.start()] if closer else core).rstrip(_END_MARKS)
    return _Statement(sentence.text[start : start + len(core)], core, corrects)


def _matches(core: str, sentence: Sentence, language: Language) -> Iterator[tuple[Rule, re.Match[str]]]:
    """Yield the rules that match, in order; an item of a list that was led in as lasting needs none."""
    for rule in language.rules:
        match = compiled(rule.pattern).search(core)
        if match is not None:
            yield rule, match
    if sentence.lead and found(language.list_lead, sentence.lead):
        match = compiled(r"^.+$").search(core)
        if match is not None:
            yield _LIST_ITEM, match


def _kept_span(match: re.Match[str], core: str, language: Language) -> tuple[int, int]:
    """The part of a statement to keep: the group `body` without openers of its own, or all."""
    if match.groupdict().get("body") is None:
        return 0, len(core)
    begin, end = match.span("body")
    return begin + _after_openers(core[begin:end], language)[0], end


def _after_openers(mask: str, language: Language) -> tuple[int, bool]:
    """Where the statement starts once "No," and "please" are taken off, and whether they correct."""
    start, corrects = 0, False
    for _ in range(OPENERS_MAX):
        opener = compiled(language.openers).match(mask[start:])
        if opener is None or opener.end() == 0 or start + opener.end() >= len(mask):
            break
        corrects = corrects or found(language.corrects, mask[start:])
        start += opener.end()
    return start, corrects


def _unfit(text: str) -> bool:
    """Say whether a text may not be remembered in any language: a secret, source code, broken text."""
    if _UNUSABLE.search(text) or _REDACTED.search(text):
        return True
    if _SECRET_WORD.search(text) or _SECRET_SHAPE.search(text):
        return True
    return _SYMBOLS.search(mask_of(text)) is not None


def _enough(body: str, words_min: int) -> bool:
    """Say whether a text has words enough to mean something, some of them its author's own."""
    if _WIDE.search(body):
        return len(body.strip()) >= TEXT_CHARS_MIN
    return len(body.split()) >= words_min and re.search(r"[^\W\d_]{2,}", body) is not None


def _kind(rule: Rule, body: str, language: Language) -> Kind:
    """Who a statement is about. "Remember that I ..." is about the user."""
    if rule.kind == "user" or (rule.rationale == "explicit" and _FIRST_PERSON.match(body)):
        return "user"
    return "agent" if found(language.agent, body) else rule.kind


def _key(rule: Rule, match: re.Match[str], text: str) -> str | None:
    """The key that a rule gives its statements, from the words of its group `name`."""
    name = _group(match, "name", text).casefold()
    if not name:
        return None
    name = re.sub(r"^(?:all|full|whole) ", "", name)
    name = re.sub(r"^(test|check|migration|benchmark)s$", r"\1", name)
    name = re.sub(r" tests$", " test", name)
    key = f"{name} {rule.key_suffix}".strip()
    return key if len(key) <= KEY_CHARS_MAX else None


def _group(match: re.Match[str], name: str, text: str) -> str:
    """What a group of the mask stands for in the text, or ""."""
    if match.groupdict().get(name) is None:
        return ""
    begin, end = match.span(name)
    return text[begin:end].strip()


def _verb_second(text: str, body: str, language: Language) -> str:
    """Turn a subordinate clause ("wir pnpm benutzen") into a sentence ("wir benutzen pnpm")."""
    if not found(language.verb_last, body):
        return text
    words = text.split(" ")
    return " ".join([words[0], words[-1], *words[1:-1]])


def finished(text: str) -> str:
    """Make a trimmed sentence with a capital letter and a full stop; names and code keep their case."""
    text = text.strip().strip(_END_MARKS).strip()
    first = text.split(" ", 1)[0]
    opaque = mask_of(text)[:1] in {CODE, NAME} or _KEEPS_CASE.fullmatch(first.rstrip(",:")) is not None
    if not opaque:
        text = text[:1].upper() + text[1:]
    return f"{text}。" if _WIDE.search(text) else f"{text}."


def confirmed_command(suggestion: str, confirmation: str) -> str | None:
    """Make the statement of "try <command>" and a later "that works, use that from now on".

    None when the two do not have these forms.
    """
    parts = sentences(suggestion, ABBREVIATIONS)
    if len(parts) != 1:
        return None
    sentence = parts[0]
    core = sentence.mask.rstrip(_END_MARKS)
    for language in LANGUAGES:
        match = compiled(language.suggests).search(core)
        if match is None or not _confirms(confirmation, language):
            continue
        command = _group(match, "command", sentence.text)
        if command and not _unfit(command):
            return finished(language.confirmed.format(command))
    return None


def _confirms(message: str, language: Language) -> bool:
    """Say whether a message says that the last command works and is to be used from now on."""
    read = sentences(message, ABBREVIATIONS)
    masks = [sentence.mask for sentence in read]
    whole = " ".join(masks[:2])
    return not any("?" in mask for mask in masks) and found(language.confirms, whole)
