# ruff: noqa: E501 - data: a text is one piece
"""Secrets are found in every guise and taken out; what only looks like one stays (E-03, M-10)."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perdure.core.secret_rules import INNER_RULES, VALUE_RULES, InnerRule, ValueRule
from perdure.core.secret_rules_context import NOUNS
from perdure.core.secret_rules_forms import FORMS
from perdure.core.secret_values import entropy, is_placeholder, is_sample, is_wordlike, looks_random
from perdure.core.secret_views import View, folded, joined, unescaped
from perdure.core.secrets import KINDS, Finding, find_secrets, redact
from tests.quality.secret_corpus import Maker, make
from tests.quality.secrets_quality import shows

SEEDS = (1, 2, 3, 2024, 99991)


@pytest.mark.requirement("E-03")
@pytest.mark.parametrize("seed", SEEDS)
def test_no_secret_of_the_corpus_is_left(seed: int) -> None:
    """E-03: every secret of the corpus is gone from what would be stored."""
    secrets, _ = make(seed)
    assert [item.text for item in secrets if shows(item.secret, redact(item.text)[0])] == []


@pytest.mark.requirement("E-03")
@pytest.mark.parametrize("seed", SEEDS)
def test_harmless_texts_come_through_unchanged(seed: int) -> None:
    """E-03: fewer than 3% of the harmless texts change."""
    _, harmless = make(seed)
    changed = [item.text for item in harmless if redact(item.text)[0] != item.text]
    assert len(changed) / len(harmless) < 0.03, changed


@pytest.mark.requirement("E-03")
@pytest.mark.parametrize("seed", SEEDS)
def test_removal_is_idempotent(seed: int) -> None:
    """E-03: removing secrets from what is left changes nothing, and finds nothing."""
    secrets, _ = make(seed)
    for item in secrets:
        once, kinds = redact(item.text)
        assert redact(once) == (once, ())
        assert set(kinds) <= KINDS


@pytest.mark.requirement("E-03")
@pytest.mark.parametrize("rule", VALUE_RULES, ids=lambda rule: f"{rule.kind}:{rule.prefixes[0]}")
@settings(
    max_examples=5,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_each_value_rule_takes_its_own_values(rule: ValueRule, data: st.DataObject) -> None:
    """E-03: whatever fits a rule's shape, and is neither a sample nor a name, goes whole."""
    prefix = data.draw(st.sampled_from(rule.prefixes))
    tail = data.draw(st.from_regex(re.compile(rule.tail, re.ASCII), fullmatch=True))
    value = prefix + tail
    mixed = re.search(r"\d|[a-z][A-Z]", value) is not None
    if is_sample(value) or not mixed or (rule.random and not looks_random(tail, 12)):
        return
    assert value not in redact(f"see {value} there")[0]


@pytest.mark.requirement("E-03")
@pytest.mark.parametrize("rule", INNER_RULES, ids=lambda rule: f"{rule.kind}:{rule.anchor}")
@settings(max_examples=5, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_each_inner_rule_takes_its_own_values(rule: InnerRule, data: st.DataObject) -> None:
    """E-03: a value known by a literal inside it goes whole."""
    value = data.draw(st.from_regex(re.compile(rule.pattern, re.ASCII), fullmatch=True))
    if sum(char.isdigit() for char in value) == 0:
        value = value.replace(value[0], "7", 1) if value[0].isalnum() else value
    if re.fullmatch(rule.pattern, value) and re.search(r"\d|[a-z][A-Z]", value):
        assert value not in redact(f"see {value} there")[0]


@pytest.mark.requirement("E-03")
def test_spans_are_places_in_the_original() -> None:
    """E-03: a finding names where the secret stands in the text as it was given, whatever hides it."""
    value = "ghp_" + Maker(5).run(36)
    hidden = value[:9] + "\u200b" + value[9:]
    text = f"ä 密 {hidden} and more"
    assert find_secrets(text) == (Finding("github-token", 4, 4 + len(hidden)),)
    assert redact(text) == ("ä 密 [secret removed: github-token] and more", ("github-token",))


@pytest.mark.requirement("E-03")
def test_several_secrets_are_ordered_and_apart() -> None:
    """E-03: findings come in order and never overlap, though several rules see the same value."""
    m = Maker(6)
    text = f"API_TOKEN=ghp_{m.run(36)} then password: {m.password()} and glpat-{m.run(20)}"
    findings = find_secrets(text)
    assert [finding.kind for finding in findings] == ["github-token", "password", "gitlab-token"]
    assert all(a.end <= b.start for a, b in pairwise(findings))


@pytest.mark.requirement("E-03")
@pytest.mark.parametrize("keep", [2, 4, 6])
def test_half_a_key_block_goes_too(keep: int) -> None:
    """E-03: a private key that is cut at either end leaves none of its lines behind."""
    lines = Maker(keep).pem("RSA PRIVATE KEY").split("\n")
    for part in (lines[: keep + 1], lines[keep:]):
        left = redact("some words before\n" + "\n".join(part) + "\n\nafter it all")[0]
        assert not [line for line in part if line in left]
        assert left.startswith("some words before\n")
        assert left.endswith("after it all")


@pytest.mark.requirement("E-03")
@pytest.mark.parametrize("name", ["password_hint", "passwordLabel", "token_type", "SECRET_NAME", "cache_key"])
def test_a_name_about_a_secret_is_not_its_name(name: str) -> None:
    """E-03: an identifier that speaks of a secret's label, type or place does not make its value one."""
    text = f'{name} = "{Maker(12).password()}"'
    assert redact(text) == (text, ())


@pytest.mark.requirement("E-03")
def test_a_public_block_stays() -> None:
    """E-03: certificates and public keys are no secrets, even where their base64 looks like one."""
    body = "x" * 3 + "/AKIA" + Maker(8).run(16, "ABCDEFGHIJKLMNOP234567") + "+" * 2 + Maker(8).base64(36)
    block = f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----"
    assert redact(block) == (block, ())


@pytest.mark.requirement("E-03")
def test_a_wrapped_value_goes_whole_and_the_next_word_stays() -> None:
    """E-03: a value broken over lines goes to its last piece; a plain word on the next line is not part of it."""
    value = "ghp_" + Maker(9).run(36)
    assert redact(f"use {value[:20]}\n  {value[20:]} now")[0] == "use [secret removed: github-token] now"
    assert redact(f"use {value}\nthen go on")[0] == "use [secret removed: github-token]\nthen go on"


@pytest.mark.requirement("E-03")
def test_a_mark_is_never_read_as_text_and_cannot_hide_a_secret() -> None:
    """E-03: marks of removals are passed over; a mark of no known kind is ordinary text."""
    mark = "[secret removed: password]"
    assert redact(f"password: {mark} is my password, token = {mark}")[1] == ()
    assert redact(f"{mark} is {Maker(10).password()}")[1] == ()
    value = "ghp_" + Maker(10).run(36)
    assert value not in redact(f"[secret removed: {value.lower()}] {value}")[0]
    assert value not in redact(f"password={mark}{value}")[0]


@pytest.mark.requirement("E-03")
@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_categories=[]), max_size=200))
def test_any_text_is_taken(text: str) -> None:
    """E-03: no text makes detection fail, spans lie in the text, and removal is idempotent."""
    findings = find_secrets(text)
    assert all(0 <= finding.start < finding.end <= len(text) for finding in findings)
    once, _ = redact(text)
    assert redact(once) == (once, ())


PIECES = (
    "password", "=", ": ", '"', "'", "\\n", "\n", "%41", "&amp;", "\\u0041", "-----BEGIN PRIVATE KEY-----", "-----END ", "://", "@", "a:b",
    "is ", "my ", "[secret removed: jwt]", "token", "Xy7", "aB3" * 9, "\u200b", "密码是", "curl -u ", "key", "sk-", "eyJ", ".", "<", ">",
)  # fmt: skip


@pytest.mark.requirement("E-03")
@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_removal_settles_on_texts_made_of_its_own_triggers(text: str) -> None:
    """E-03: removal is idempotent on the texts that are worst for it."""
    once, kinds = redact(text)
    assert redact(once) == (once, ())
    assert set(kinds) <= KINDS


FLOODS = (
    "a", "=", "-----BEGIN", "-----BEGIN PRIVATE KEY-----\n", "\\\\\\n", "%25", "eyJ", "sk-", "password is ", "password=", "://a:", "密码是",
    "ａ", "a\u200b", "<d>", "mnemonic abc ", "docker login a ", "cookie: a=bbbbbb; ", "[secret removed: jwt]", '"\'', "&amp;",
)  # fmt: skip


@pytest.mark.requirement("E-03")
@pytest.mark.parametrize("piece", FLOODS)
def test_a_flood_of_triggers_ends(piece: str) -> None:
    """E-03: no repetition makes detection slow beyond measure; the run ends and a secret after it is found."""
    value = "ghp_" + Maker(11).run(36)
    assert value not in redact(piece * (60_000 // len(piece)) + f" \n{value} ")[0]


def test_views_map_back_through_every_layer() -> None:
    """E-03: a span of a copy maps to the text it was made from, over several layers."""
    text = 'x "\\u0061%62\u200bｃ" y'
    first = folded(View(text))
    assert first is not None
    second = unescaped(first)
    assert second is not None
    at = second.text.index("abc")
    start, end = second.origin(at, at + 3)
    assert text[start:end] == "\\u0061%62\u200bｃ"
    assert second.origin(0, 1) == (0, 1)


def test_joining_needs_a_token_on_both_sides() -> None:
    """E-03: lines of plain words are not joined, and a text without joints has no joined copy."""
    assert joined(View("plain words\nand more plain words")) is None
    view = joined(View("ghp_abc123\n  def456ghi7 x"))
    assert view is not None
    assert view.text == "ghp_abc123def456ghi7 x"
    assert view.is_cut(10)
    assert view.cuts_within(0, 20) == [10]


@pytest.mark.parametrize(
    "value", ["<your password>", "${X}", "$X", "{{ x }}", "***", "xxxxxxxx", "changeme", "your-key", "None", "...", "%(x)s", "op://a/b", "", "os.environ['X']"]
)  # fmt: skip
def test_placeholders(value: str) -> None:
    """E-03: what stands for a value to be filled in is no secret."""
    assert is_placeholder(value)


@pytest.mark.parametrize(
    "value", ["claude-sonnet-4-5-20250929", "src/auth/token_store.py", "getAccessToken", "PROJ-12345", "v2.10.3", "order_id", "Donaudampfschiff"]
)  # fmt: skip
def test_names_are_no_random_strings(value: str) -> None:
    """E-03: names, versions and paths are told from random strings."""
    assert is_wordlike(value)
    assert not looks_random(value, 8)


def test_entropy_is_in_bits_per_character() -> None:
    """E-03: entropy is Shannon's, and 0 where there is nothing to tell."""
    assert entropy("") == 0
    assert entropy("aaaa") == 0
    assert entropy("abab") == pytest.approx(1)
    assert entropy("abcd") == pytest.approx(2)


def test_rules_are_well_formed() -> None:
    """E-03: every kind fits a removal mark, nouns and anchors are lower-case, forms have at most their groups."""
    assert all(re.fullmatch(r"[a-z0-9-]{1,40}", kind) for kind in KINDS)
    assert all(word == word.lower() for noun in NOUNS for word in noun.words)
    assert all(anchor == anchor.lower() for form in FORMS for anchor in form.anchors)
