"""Keys: the whole question is the key, is it misspelt, or only touches it; only the first two decide."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from perdure.core.text import normalize_key
from perdure.provider.words import is_common_word
from perdure.recall.keys import EDITS_MAX, KeyIndex, KeyMatch, edits_between

KEYS = (
    "test command",
    "unit test command",
    "deploy command",
    "node version",
    "code owner",
    "port 8080",
    "CI",
    "テストコマンド",
    "команда сборки",
    "Größe der Seite",
    "🚀 release",
    "C++ standard",
)


def index_of(*keys: str) -> KeyIndex:
    """An index of keys, each under itself as id."""
    index = KeyIndex()
    for key in keys:
        index.add(key, key)
    return index


def ways(matches: tuple[KeyMatch, ...]) -> list[tuple[str, str, bool]]:
    """What was found: id, way, and whether it decides."""
    return [(match.doc_id, match.way, match.decides) for match in matches]


@pytest.mark.requirement("R-01", "M-15")
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("dress", ["{}", "  {}  ", '"{}"?', "„{}“.", "「{}」。"])
def test_the_key_itself_decides(key: str, dress: str) -> None:
    """A key, in any case and width and with quotes or marks around it, is that key and nothing else."""
    index = index_of(*KEYS)
    for question in (dress.format(key), dress.format(key.upper())):
        assert ways(index.find(question)) == [(key, "exact", True)]
        assert index.exact(question) == index.find(question)


@given(st.lists(st.text(min_size=1, max_size=12).filter(str.strip), min_size=1, max_size=20))
@example(["?", "a?", "a"])
@example(["ß", "ss"])
@pytest.mark.requirement("R-01")
def test_any_key_is_found_exactly(keys: list[str]) -> None:
    """Whatever characters a key has, asking for it gives all entries of that key and no other."""
    index = index_of(*keys)
    for key in keys:
        same = {each for each in keys if normalize_key(each) == normalize_key(key)}
        found = index.exact(key)
        assert {match.doc_id for match in found} == same
        assert all(match.decides and match.share == 1 for match in found)


@pytest.mark.requirement("R-06")
def test_equal_matches_come_in_the_order_of_scopes() -> None:
    """Quality first: then the caller's order of scopes decides, not that of adding."""
    index = KeyIndex()
    index.add("user", "deploy command", scope=1)
    index.add("project", "Deploy Command", scope=0)
    index.add("agent", "deploy  command", scope=2)
    assert [match.doc_id for match in index.find("deploy command")] == ["project", "user", "agent"]
    assert [match.doc_id for match in index.find("deploy comand")] == ["project", "user", "agent"]
    assert index.find("deploy command")[0].key == "Deploy Command"
    index.add("near", "deploy comands", scope=0)
    assert index.find("deploy commands")[0].doc_id == "near"


@pytest.mark.requirement("R-01")
@pytest.mark.parametrize(
    ("question", "key"),
    [
        ("deploy comand", "deploy command"),
        ("dpeloy command?", "deploy command"),
        ("deploy-command", "deploy command"),
        ("DEPLOY COMMANDS", "deploy command"),
        ("nodee vresion", "node version"),
        ("команда зборки", "команда сборки"),
        ("テストコマント", "テストコマンド"),
        ("grösse der seiten", "Größe der Seite"),
        ("🚀 relaese", "🚀 release"),
        ("c++ standart", "C++ standard"),
    ],
)
def test_a_misspelt_key_decides(question: str, key: str) -> None:
    """One edit in a key, two in a longer one, in any writing, still mean that key."""
    found = index_of(*KEYS).find(question)
    assert ways(found)[0] == (key, "misspelt", True)
    assert found[0].edits in {1, 2}


@pytest.mark.requirement("R-05")
@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("code version", "code is a word of another key, so it is meant"),
        ("port 8081", "numbers are not misspelt"),
        ("port 808", "numbers are not misspelt"),
        ("cd", "a short key has no misspellings"),
        ("nude persian", "too many edits"),
    ],
)
def test_a_different_word_is_no_misspelling(question: str, reason: str) -> None:
    """What may well be another key never decides."""
    assert not any(match.decides for match in index_of(*KEYS).find(question)), reason


@pytest.mark.requirement("R-05")
@pytest.mark.parametrize(
    ("question", "key", "decides"),
    [
        ("code version", "node version", False),
        ("nude version", "node version", False),
        ("nodee version", "node version", True),
        ("nodes version", "node version", True),
        ("stating host", "staging host", False),
        ("stagign host", "staging host", True),
        ("deploy commands", "deploy command", True),
        ("http3", "http2", False),
        ("v2 api", "v1 api", False),
        ("port 8081", "port 8080", False),
        ("gpu-05 driver", "gpu-04 driver", False),
    ],
)
def test_an_ordinary_word_is_no_misspelling_of_another(question: str, key: str, decides: bool) -> None:
    """What is a word by itself means itself, in any inflection of the key's it means the key, and digits are
    never misspelt.
    """
    found = index_of(key).find(question, is_word=is_common_word)
    assert ways(found) == [(key, "misspelt", decides)]


@pytest.mark.requirement("R-06", "R-08")
def test_holders_of_a_key_come_in_the_order_of_scopes() -> None:
    """All entries of a key and no other, as long as they are there."""
    index = KeyIndex()
    index.add("user", "Port", scope=1)
    index.add("project", "port", scope=0)
    index.add("other", "port 2", scope=0)
    assert index.holders("PORT") == ("project", "user")
    index.remove("project")
    assert index.holders("port") == ("user",)
    assert index.holders('"port"') == ()


@pytest.mark.requirement("R-08")
def test_words_of_a_forgotten_key_count_no_longer() -> None:
    """What is no word of any key any more may be a misspelling again."""
    index = index_of(*KEYS)
    assert not index.find("code version")[0].decides
    index.remove("code owner")
    assert ways(index.find("code version")) == [("node version", "misspelt", True)]


@pytest.mark.requirement("R-06")
def test_quality_comes_before_the_order_of_scopes() -> None:
    """A misspelt key comes before a part of one, and a larger share before a smaller, in whatever scope."""
    index = KeyIndex()
    index.add("part", "cache limits of the queue", scope=0)
    index.add("more", "cache limits here", scope=1)
    index.add("meant", "cache limit", scope=2)
    found = index.find("cache limits")
    assert [(match.doc_id, match.way) for match in found] == [
        ("meant", "misspelt"),
        ("more", "partial"),
        ("part", "partial"),
    ]
    assert [match.doc_id for match in index.find("cache limits", limit=1)] == ["meant"]


def test_two_keys_that_are_as_near_decide_nothing() -> None:
    """Both are told, and other searches choose."""
    found = index_of("cache limit", "cache limix").find("cache limiz")
    assert ways(found) == [("cache limit", "misspelt", False), ("cache limix", "misspelt", False)]


@pytest.mark.requirement("R-05")
def test_a_part_of_a_key_is_found_and_decides_nothing() -> None:
    """All words of the question stand in the keys; the one that it covers best comes first."""
    found = index_of(*KEYS).find("unit command")
    assert ways(found) == [("unit test command", "partial", False)]
    assert {match.doc_id for match in index_of(*KEYS).find("command")} == {
        "test command",
        "unit test command",
        "deploy command",
    }
    assert ways(index_of(*KEYS).find("コマンド")) == [("テストコマンド", "partial", False)]


@given(
    st.sampled_from(KEYS),
    st.lists(st.text("abcdexyz", min_size=1, max_size=6), max_size=6),
    st.lists(st.text("abcdexyz", min_size=1, max_size=6), max_size=6),
)
@example("CI", ["when"], ["runs", "late"])
@pytest.mark.requirement("R-01", "R-05")
def test_a_short_common_key_never_captures_a_long_question(
    key: str, before: list[str], after: list[str]
) -> None:
    """A key that only stands in a question is told as named, and never decides.

    The rule: only a question that is a key, as a whole and up to `EDITS_MAX` edits, is decided by it.
    """
    question = " ".join([*before, key, *after])
    assume(sum(map(len, before + after)) > EDITS_MAX)
    index = index_of(*KEYS)
    assume(not index.exact(question))
    found = index.find(question, limit=100)
    assert (key, "named", False) in ways(found)
    assert not any(match.decides for match in found)


def test_a_key_in_a_run_without_spaces_is_named() -> None:
    """Scripts that are written without spaces name keys within a run of characters."""
    assert ways(index_of(*KEYS).find("このテストコマンドは何ですか"))[0] == ("テストコマンド", "named", False)


def test_a_question_longer_than_any_key() -> None:
    """A long text is looked through for keys that it names, and nothing else."""
    found = index_of(*KEYS).find("word " * 200 + "deploy command, " + "another " * 200)
    assert ways(found) == [("deploy command", "named", False)]


@pytest.mark.parametrize("question", ["", "   ", "?!", "\x00", "zzzz"])
def test_a_question_that_is_no_key_finds_nothing(question: str) -> None:
    """An empty question, or one that has nothing in common, does not give the first fact."""
    assert index_of(*KEYS).find(question) == ()
    assert KeyIndex().find(question) == ()


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(KEYS), st.booleans()), max_size=40))
@pytest.mark.requirement("R-08")
def test_coming_and_going_leaves_what_is_there(steps: list[tuple[str, str, bool]]) -> None:
    """A removed or replaced key is found in no way, whenever lists were made in between."""
    index = KeyIndex()
    left: dict[str, str] = {}
    for number, (doc_id, key, keep) in enumerate(steps):
        if keep:
            index.add(doc_id, key)
            left[doc_id] = key
        else:
            assert index.remove(doc_id) == (left.pop(doc_id, None) is not None)
        if number % 3 == 0:
            index.find("deploy comand")
    assert len(index) == len(left)
    for key in KEYS:
        holders = {doc_id for doc_id, each in left.items() if each == key}
        assert {match.doc_id for match in index.find(key) if match.way == "exact"} == holders
        misspelt = {match.doc_id for match in index.find(f"{key}x") if match.way == "misspelt"}
        assert misspelt == (holders if len(key) >= 5 else set())


@pytest.mark.requirement("R-03")
def test_misspelt_keys_are_found_among_ten_thousand() -> None:
    """A letter that is missing, doubled, changed or swapped still finds its key, 95 of 100 times or more."""
    nouns = "cache queue index schema report session worker gateway billing search".split()
    things = "limit owner timeout format prefix region branch folder policy window".split()
    keys = [
        f"{one} {two} {three}{number}"
        for one in nouns
        for two in nouns
        for three in things
        for number in range(10)
    ]
    index = index_of(*keys)
    right = asked = 0
    for number, key in enumerate(keys[::23]):
        at = 1 + number % (len(key) - 3)
        asked_for = (
            key[:at] + key[at + 1 :],
            key[:at] + key[at] + key[at:],
            key[:at] + "q" + key[at + 1 :],
            key[:at] + key[at + 1] + key[at] + key[at + 2 :],
        )[number % 4]
        if asked_for != key:
            asked += 1
            right += any(match.doc_id == key and match.way == "misspelt" for match in index.find(asked_for))
    assert asked > 400
    assert right / asked >= 0.95


def plainly(one: str, other: str) -> int:
    """Edits by the plain recursion of optimal string alignment."""
    table = [[max(i, j) if not min(i, j) else 0 for j in range(len(other) + 1)] for i in range(len(one) + 1)]
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            best = min(
                table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (one[i - 1] != other[j - 1])
            )
            if i > 1 and j > 1 and one[i - 1] == other[j - 2] and one[i - 2] == other[j - 1]:
                best = min(best, table[i - 2][j - 2] + 1)
            table[i][j] = best
    return table[-1][-1]


@given(st.text("abc", max_size=9), st.text("abc", max_size=9), st.integers(0, 3))
def test_edits_are_counted_as_the_plain_recursion_does(one: str, other: str, limit: int) -> None:
    """The band around the diagonal leaves out nothing that is within the limit."""
    assert edits_between(one, other, limit) == min(plainly(one, other), limit + 1)
    assert edits_between(one, other, limit) == edits_between(other, one, limit)
