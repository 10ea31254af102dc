"""Credentials: where they are looked for, and that they never show."""

from __future__ import annotations

import pickle
import secrets
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator

import pytest

from perdure.provider.credentials import Credential, usable

OPENAI = "https://api.openai.com/v1"


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], str]:
    """Stand in for the OS keyring: a dictionary of (service, user name) -> password."""
    entries: dict[tuple[str, str], str] = {}
    put_keyring(monkeypatch, lambda service, account: entries.get((service, account)))
    return entries


def put_keyring(monkeypatch: pytest.MonkeyPatch, get: Callable[[str, str], str | None]) -> None:
    """Install a keyring module with this `get_password`."""
    module = types.ModuleType("keyring")
    module.__dict__["get_password"] = get
    monkeypatch.setitem(sys.modules, "keyring", module)


@pytest.fixture
def key() -> str:
    """Make a key up."""
    return secrets.token_urlsafe(24)


@pytest.mark.requirement("E-08")
def test_the_environment_comes_first_and_then_the_keyring(
    keyring: dict[tuple[str, str], str], key: str
) -> None:
    """The usual variable wins over the keyring; without it the keyring's entry for the kind is used."""
    keyring["perdure", "openai"] = "kept-" + key
    assert Credential("openai", base_url=OPENAI, environ={"OPENAI_API_KEY": key})() == key
    assert Credential("openai", base_url=OPENAI, environ={})() == "kept-" + key


def test_the_second_usual_variable_is_read_when_the_first_is_empty(
    keyring: dict[tuple[str, str], str], key: str
) -> None:
    """Gemini's two variables are read in order; an empty one is as good as none."""
    assert not keyring
    base_url = "https://generativelanguage.googleapis.com"
    environ = {"GEMINI_API_KEY": "  ", "GOOGLE_API_KEY": f" {key}\n"}
    assert Credential("gemini", base_url=base_url, environ=environ)() == key


@pytest.mark.requirement("E-08")
@pytest.mark.parametrize(
    "base_url",
    [
        "https://openrouter.ai/api/v1",
        "http://127.0.0.1:11434/v1",
        "http://api.openai.com/v1",
        "https://api.openai.com.evil.example/v1",
        "https://api.openai.com:8443/v1",
        "https://api.openai.com@evil.example/v1",
    ],
)
def test_a_vendors_key_is_not_sent_to_another_address(
    keyring: dict[tuple[str, str], str], key: str, base_url: str
) -> None:
    """The usual variable and the kind's keyring entry belong to the vendor's own address alone."""
    keyring["perdure", "openai"] = key
    environ = {"OPENAI_API_KEY": key, "ROUTER_KEY": "r" + key}
    assert Credential("openai", base_url=base_url, environ=environ)() is None
    assert Credential("openai", base_url=base_url, name="ROUTER_KEY", environ=environ)() == "r" + key


def test_another_address_has_a_keyring_entry_of_its_own(
    keyring: dict[tuple[str, str], str], key: str
) -> None:
    """The user name of the entry is the address's host and port."""
    keyring["perdure", "llm.example:8000"] = key
    assert Credential("openai", base_url="https://llm.example:8000/v1", environ={})() == key


def test_a_name_in_configuration_is_the_only_one_looked_up(
    keyring: dict[tuple[str, str], str], key: str
) -> None:
    """A configured name means that variable and that keyring entry, not the usual ones as well."""
    keyring["perdure", "openai"] = key
    environ = {"OPENAI_API_KEY": key}
    assert Credential("openai", base_url=OPENAI, name="MINE", environ=environ)() is None
    keyring["perdure", "MINE"] = "m" + key
    assert Credential("openai", base_url=OPENAI, name="MINE", environ=environ)() == "m" + key


def test_a_key_that_is_added_later_is_found(keyring: dict[tuple[str, str], str], key: str) -> None:
    """Nothing found is not remembered; something found is."""
    credential = Credential("openai", base_url=OPENAI, environ={})
    assert credential() is None
    keyring["perdure", "openai"] = key
    assert credential() == key
    keyring.clear()
    assert credential() == key


@pytest.mark.parametrize("error", [RuntimeError("locked"), OSError("no bus"), ValueError("broken")])
def test_a_broken_keyring_is_not_found(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Whatever a keyring backend raises, there is just no credential."""

    def fail(_service: str, _account: str) -> str | None:
        raise error

    put_keyring(monkeypatch, fail)
    assert Credential("openai", base_url=OPENAI, environ={})() is None


def test_a_missing_keyring_package_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is optional."""
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert Credential("openai", base_url=OPENAI, environ={})() is None


@pytest.fixture
def stuck_keyring(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Stand in for a keyring that waits for a dialog; yields the questions it was asked."""
    questions: list[str] = []
    release = threading.Event()

    def hang(_service: str, account: str) -> str | None:
        questions.append(account)
        release.wait(10)
        return None

    put_keyring(monkeypatch, hang)
    yield questions
    release.set()


def test_a_stuck_keyring_is_bounded_in_time_and_asked_once(stuck_keyring: list[str]) -> None:
    """A keyring that never answers costs its time limit, and no second thread is left behind."""
    credential = Credential("openai", base_url=OPENAI, environ={}, keyring_seconds=0.05)
    started = time.monotonic()
    assert credential() is None
    assert credential() is None
    assert time.monotonic() - started < 2
    assert stuck_keyring == ["openai"]


@pytest.mark.requirement("E-08")
def test_a_credential_never_shows_its_value(keyring: dict[tuple[str, str], str], key: str) -> None:
    """Neither repr nor str nor a pickle holds the key, before and after it was read."""
    assert not keyring
    credential = Credential("openai", base_url=OPENAI, environ={"OPENAI_API_KEY": key})
    assert credential() == key
    assert key not in repr(credential)
    assert key not in str(credential)
    with pytest.raises(TypeError):
        pickle.dumps(credential)


@pytest.mark.parametrize(
    "value", [None, "", " \n", "two words", "line\nbreak", "tab\tkey", "schlüssel", "k" * 5_000]
)
def test_what_cannot_stand_in_a_header_is_no_key(value: str | None) -> None:
    """A pasted accident is reported as a missing key before any call, and cannot smuggle a header in."""
    assert usable(value) is None
