"""Credentials: from the environment or the OS keyring, never from a file of ours (E-08).

A vendor's usual variable is used only for the vendor's own address: the key of one service is never
sent to another because a base_url was changed. Any other address needs a name in configuration, of a
variable or a keyring entry, or a keyring entry under the address's host.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from urllib.parse import urlsplit

KEYRING_SERVICE = "perdure"
KEYRING_SECONDS = 5.0
"""How long the keyring may take; it may be waiting for a dialog that nobody sees."""

_CREDENTIAL_CHARS_MAX = 4_096

_VENDORS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "anthropic": ("api.anthropic.com", ("ANTHROPIC_API_KEY",)),
    "openai": ("api.openai.com", ("OPENAI_API_KEY",)),
    "gemini": ("generativelanguage.googleapis.com", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
}
"""Kind -> the vendor's own host, and the variables that hold its key, in order of precedence."""


class Credential:
    """Looks one key up whenever it is called; never shows it.

    `kind` is "anthropic", "openai" or "gemini"; `name` comes from configuration and then is both the only
    variable that is read and the user name of the keyring entry. Without it the entry's user name is the
    kind at the vendor's own address, and the host (with its port, if any) elsewhere. The entry's service
    is "perdure".
    A key that is found is kept for the life of the object; one that is not is looked for again.
    """

    def __init__(
        self,
        kind: str,
        *,
        base_url: str,
        name: str | None = None,
        environ: Mapping[str, str] | None = None,
        keyring_seconds: float = KEYRING_SECONDS,
    ) -> None:
        vendor_host, usual = _VENDORS[kind]
        parts = urlsplit(base_url)
        at_vendor = parts.scheme == "https" and parts.netloc == vendor_host
        self.account = name or (kind if at_vendor else parts.netloc)
        self.variables: tuple[str, ...] = (name,) if name else usual if at_vendor else ()
        self._environ = os.environ if environ is None else environ
        self._keyring_seconds = keyring_seconds
        self._lookup: _KeyringLookup | None = None
        self._found: str | None = None

    def __call__(self) -> str | None:
        """Return the key, or None if there is none that could be sent in a header."""
        if self._found is None:
            self._found = self._from_environment() or self._from_keyring()
        return self._found

    def __repr__(self) -> str:
        return f"Credential(account={self.account!r}, variables={self.variables!r})"

    def __reduce__(self) -> str:
        raise TypeError("A credential is not stored or sent to another process.")

    def _from_environment(self) -> str | None:
        for variable in self.variables:
            value = usable(self._environ.get(variable))
            if value is not None:
                return value
        return None

    def _from_keyring(self) -> str | None:
        """Ask the keyring in a thread of its own; while one question is open, no second is asked."""
        if self._lookup is None:
            self._lookup = _KeyringLookup(self.account)
            self._lookup.start()
        self._lookup.join(self._keyring_seconds)
        if self._lookup.is_alive():
            return None
        value, self._lookup = self._lookup.value, None
        return usable(value)


def usable(value: str | None) -> str | None:
    """Return the value without surrounding white space, or None if it cannot be a key in an HTTP header."""
    stripped = (value or "").strip()
    fits = 0 < len(stripped) <= _CREDENTIAL_CHARS_MAX
    return stripped if fits and all("!" <= character <= "~" for character in stripped) else None


class _KeyringLookup(threading.Thread):
    def __init__(self, account: str) -> None:
        super().__init__(name="keyring-lookup", daemon=True)
        self._account = account
        self.value: str | None = None

    def run(self) -> None:
        """Leave the password in `value`; a keyring that is missing, locked or broken leaves None."""
        try:
            import keyring

            self.value = keyring.get_password(KEYRING_SERVICE, self._account)
        except Exception:  # noqa: BLE001 - backends of other makers raise anything; all of it means "not found"
            self.value = None
