"""One error tree with stable codes and few exit statuses.

A message says what was found, what was expected and what to do next. Exit statuses (the same for
every command): 0 done; 1 a check found something; 2 wrong use or configuration; 3 refused, nothing
changed (stale plan, limit, secret, lock); 4 nothing found; 5 storage is damaged or failing;
6 a provider or its budget is not available.
"""

from __future__ import annotations


class PerdureError(Exception):
    """Base of all that Perdure raises on purpose."""

    code = "error"
    exit_status = 1

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.message} {self.advice}".strip()


class UsageError(PerdureError):
    """The command or call was used wrongly."""

    code = "usage"
    exit_status = 2


class ConfigError(PerdureError):
    """Configuration names something that is not allowed; the message names file, field and choices (S-05)."""

    code = "config"
    exit_status = 2


class Refused(PerdureError):
    """A rule forbids the change; nothing was changed."""

    code = "refused"
    exit_status = 3


class TextRefused(Refused):
    """Text may not enter memory (M-10). `code` says which check refused it."""

    def __init__(self, code: str, message: str, *, advice: str = "") -> None:
        super().__init__(message, advice=advice)
        self.code = code


class StaleBranch(Refused):
    """The branch changed since the plan was made (M-05)."""

    code = "stale"


class CapacityRefused(Refused):
    """The branch has no room for the text (M-07)."""

    code = "capacity"


class LockTimeout(Refused):
    """Another process holds the lock longer than the wait allows; the message names it."""

    code = "locked"


class NotFound(PerdureError):
    """Nothing has that id, key or text."""

    code = "not-found"
    exit_status = 4


class Removed(NotFound):
    """The branch was removed; its tombstone stands (rule 15)."""

    code = "removed"


class Ambiguous(Refused):
    """Several entries match; the message lists them."""

    code = "ambiguous"


class StorageError(PerdureError):
    """A record is damaged, conflicting or of a newer version, or the disk failed."""

    code = "storage"
    exit_status = 5


class Damaged(StorageError):
    """A record cannot be read as what its path says it is. `reason` is a short code."""

    code = "damaged"

    def __init__(self, path: str, reason: str, *, advice: str = "") -> None:
        super().__init__(f"{path}: {reason}.", advice=advice)
        self.path = path
        self.reason = reason


class Inaccessible(Damaged):
    """A file cannot be opened or read now, whatever its bytes are: permissions, descriptors, the medium.

    Its item waits like that of a damaged record, but nothing that stands there may be taken for wrong.
    """


class NewerVersion(StorageError):
    """A record or the home was written by a newer Perdure; it is left untouched."""

    code = "newer"


class Conflict(StorageError):
    """Other content stands at an immutable path (D-03)."""

    code = "conflict"


class DiskFailed(StorageError):
    """A sync or write failed; Perdure stops writing until it is safe again."""

    code = "disk"


class DiskFull(StorageError):
    """No space or inodes for one write. Whoever made the write says what stands all the same."""

    code = "full"


class OutputFailed(StorageError):
    """Standard output cannot be written, for example because its disk is full."""

    code = "output"


class ProviderUnavailable(PerdureError):
    """No model, credential, price or budget for a provider call."""

    code = "provider"
    exit_status = 6
