# ruff: noqa: E501 - data: a text is one piece
"""Secrets at the edges: pass phrases, pairs, rare files, deep escapes, marks inside blocks (E-03)."""

from __future__ import annotations

import base64
import time
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.core import secrets as removal
from perdure.core.secret_values import is_wordlike
from perdure.core.secret_views import UNESCAPE_LEVELS_MAX
from perdure.core.secrets import find_secrets, redact
from tests.quality.secret_corpus import Maker

MARK = "[secret removed: password]"
WORDS = (
    "walrus",
    "green",
    "dance",
    "lamp",
    "purple",
    "horse",
    "battery",
    "staple",
    "river",
    "kettle",
    "Wolke",
    "forêt",
)


@pytest.mark.requirement("E-03")
@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(
        ["the passphrase is {}", "passphrase: {}", "Passphrase = {}", "the pass phrase for the wifi is {}", "our passphrase is: `{}`"]
    ),
    st.lists(st.sampled_from(WORDS), min_size=4, max_size=9),
    st.sampled_from(["", ".", " and that is all", " for the whole office", "\nnext line"]),
)  # fmt: skip
def test_a_pass_phrase_of_plain_words_goes_whole(sentence: str, words: list[str], rest: str) -> None:
    """E-03: four plain words or more that are called a pass phrase are one; what follows them stays."""
    phrase = " ".join(words)
    left = redact(sentence.format(phrase) + rest)[0]
    assert left == sentence.format(MARK) + rest


@pytest.mark.requirement("E-03")
@pytest.mark.parametrize(
    "text",
    [
        "the passphrase is stored in the vault",
        "the passphrase is asked for on every start",
        "passphrase: string used when encrypting keys",
        "The passphrase is prompted whenever users log in",
        "the passphrase is kept in the keyring of root",
        "passphrase policy: four plain words minimum",
        "the passphrase for our store is correct horse battery staple",
        "the passphrase is short today",
        "use a pin in the map, it is Marker",
        "token: AccessToken",
        'password = "https://vault.example/kv"',
        'password = "user_password"',
        'password = "settings.database.password"',
        "username and password are long and complicated",
        "the user and password are read and checked",
        "the user and token are bob and rotated",
        "the name and the password are required",
        "the host and the password are bob and walrus",
        "see -----END PRIVATE KEY----- in the manual",
    ],
)
def test_what_is_said_about_a_secret_stays(text: str) -> None:
    """E-03: where it is kept, what type it has and what its policy asks are facts, and facts are welcome."""
    assert redact(text) == (text, ())


@pytest.mark.requirement("E-03")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "sentence",
    [
        "the PIN and password are {pin} and {word}",
        "the PIN and the password are `{pin}` and `{word}`.",
        "PIN and password: {pin} and {word}, in that order",
        "my PIN und Passwort sind {pin} und {word}",
        "the PIN, and the passcode, are not shown; PIN and passcode are {pin} / {word}",
    ],
)
def test_two_facts_in_one_sentence(sentence: str, seed: int) -> None:
    """E-03: of "PIN and password are ... and ..." both values go."""
    maker = Maker(seed)
    pin, word = str(maker.dice.randrange(1000, 9999)), maker.password()
    left = redact(sentence.format(pin=pin, word=word))[0]
    assert pin not in left
    assert word not in left
    assert left.startswith(sentence.partition("{")[0])


@pytest.mark.requirement("E-03")
def test_the_second_of_a_pair_goes_alone() -> None:
    """E-03: a user's name beside a password or a token stays; a plain password goes if a PIN stands before it."""
    token = Maker(21).run(30)
    assert (
        redact(f"user and token are bob and {token}")[0]
        == "user and token are bob and [secret removed: token]"
    )
    assert (
        redact("the login and password are: bob and S3cretly!")[0]
        == f"the login and password are: bob and {MARK}"
    )
    assert (
        redact("the PIN and password are 4711 and walrus.")[0]
        == f"the PIN and password are {MARK} and {MARK}."
    )


@pytest.mark.requirement("E-03")
@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("DB_PASSWORD=walrus", "walrus"),
        ("the safe: pin=4815162342108199", "4815162342108199"),
        ("door pin: 48151623", "48151623"),
        ("my password is walrusGreen", "walrusGreen"),
        ('token = "{consonants}"', "{consonants}"),
        ('VAULT_SECRET_ID="{uuid}"', "{uuid}"),
        ("the key is {run}", "{run}"),
        ("{run} is my password", "{run}"),
        ('"{run}" is the password', "{run}"),
    ],
)
def test_rare_ways_to_tell_a_secret(text: str, secret: str) -> None:
    """E-03: plain words in an environment, digits, humps, vowelless runs and UUIDs go where a name asks for it."""
    maker = Maker(22)
    values = {
        "run": maker.run(24),
        "uuid": str(uuid.UUID(int=maker.dice.getrandbits(128))),
        "consonants": maker.run(20, "bcdfghjklm"),
    }
    assert secret.format(**values) not in redact(text.format(**values))[0]


def test_a_long_run_without_vowels_is_no_word() -> None:
    """E-03: sixteen letters that nobody can say are not a name."""
    assert not is_wordlike(Maker(23).run(20, "bcdfghjklm"))
    assert is_wordlike("documentation")


@pytest.mark.requirement("E-03")
def test_a_putty_key_goes_and_what_was_removed_in_it_stays_a_mark() -> None:
    """E-03: a PuTTY file is a private key; a mark at its end or in its middle is not removed again."""
    maker = Maker(24)
    head = f"PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: {MARK}"
    body = f"Private-Lines: 1\n{maker.base64(36)}"
    assert redact(f"see\n{head}\n{body}\n\nafter")[0].split("\n") == [
        "see", f"[secret removed: private-key]{MARK}[secret removed: private-key]", "", "after",
    ]  # fmt: skip
    assert redact(head)[0] == f"[secret removed: private-key]{MARK}"


@pytest.mark.requirement("E-03")
def test_marks_around_and_inside_a_key_block_are_kept() -> None:
    """E-03: of a key block in which something was removed before, all but the mark goes; marks beside it stay."""
    maker = Maker(25)
    block = f"-----BEGIN RSA PRIVATE KEY-----\n{maker.base64(48)}\n{MARK}{MARK}\n{maker.base64(48)}\n-----END RSA PRIVATE KEY-----"
    gone = "[secret removed: private-key]"
    assert redact(f"{MARK} {block} {MARK}")[0] == f"{MARK} {gone}{MARK}{MARK}{gone} {MARK}"


@pytest.mark.requirement("E-03")
@pytest.mark.parametrize("lines", [3, 40, 900])
def test_the_tail_of_a_key_goes_however_long(lines: int) -> None:
    """E-03: the lines before the end of a private key go with it, from the first one in the text."""
    maker = Maker(26)
    tail = "\n".join(maker.base64(48) for _ in range(lines)) + "\n-----END PRIVATE KEY-----"
    assert redact(tail)[0] == "[secret removed: private-key]"
    assert redact(f"some words\n{tail}")[0] == "some words\n[secret removed: private-key]"


@pytest.mark.requirement("E-03")
def test_base64_of_a_key_file_goes_only_if_it_is_private() -> None:
    """E-03: a private key in base64, as in a Kubernetes secret, goes; a public one stays."""
    maker = Maker(27)
    texts = {}
    for kind in ("PUBLIC", "PRIVATE"):
        pem = f"-----BEGIN {kind} KEY-----\n{maker.base64(48)}\n-----END {kind} KEY-----\n"
        texts[kind] = f"tls: {base64.b64encode(pem.encode()).decode()}"
    assert redact(texts["PUBLIC"])[0] == texts["PUBLIC"]
    assert redact(texts["PRIVATE"])[0] == "tls: [secret removed: private-key]"


@pytest.mark.requirement("E-03")
def test_layers_of_escapes_are_undone_up_to_a_bound() -> None:
    """E-03: a key under as many layers of URL escapes as are undone goes; endless layers cost no more time."""
    tail = Maker(28).run(36)
    for layers in range(1, UNESCAPE_LEVELS_MAX + 1):
        assert tail not in redact(f"x %{'25' * (layers - 1)}67hp_{tail} y")[0]
    endless = f"x %{'25' * 5_000}41 y"
    assert redact(endless) == (endless, ())


@pytest.mark.requirement("E-03")
def test_a_text_that_never_settles_is_given_up_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """E-03: if every look finds one more secret, nothing of the text is kept."""
    monkeypatch.setattr(removal, "ROUNDS_MAX", 1)
    text = f"words, password: {Maker(29).password()}"
    assert redact(text) == ("[secret removed: unresolved]", ("password", "unresolved"))
    assert redact("words") == ("words", ())


FLOODS = (
    "密码是", "password is ", "password = ", "docker login a ", "://", "passphrase is ", "pin and password are ", "7z", "_auth", "mysql",
    "sqlcmd", "sqlplus", "plink", "mosquitto_", "htpasswd -bbbb", "ldapsearch ", " as api key", "://a:@",
)  # fmt: skip


@pytest.mark.requirement("E-03")
@pytest.mark.parametrize("piece", FLOODS)
def test_a_flood_costs_time_in_proportion(piece: str) -> None:
    """E-03: 100,000 characters of one trigger take a fraction of a second, not the minutes of a square."""
    text = piece * (100_000 // len(piece))
    begun = time.process_time()
    find_secrets(text)
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("text", ["\u200b", "\u200b\u200b", "%", "\\u200b"])
def test_nothing_is_left_to_look_through(text: str) -> None:
    """A text of nothing but what is taken out before looking has no secret, and ends no search early."""
    assert find_secrets(text) == ()
