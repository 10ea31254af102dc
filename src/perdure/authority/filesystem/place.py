"""Where the home is: PERDURE_HOME, or the platform's folder for user data."""

from __future__ import annotations

import os
import sys

from perdure.errors import ConfigError


def home_path() -> str:
    """An absolute path. Raises ConfigError for a relative PERDURE_HOME in a folder that is gone."""
    named = os.environ.get("PERDURE_HOME")
    if not named:
        return _data_folder()
    if not os.path.isabs(named):
        try:
            named = os.path.join(os.getcwd(), named)
        except OSError as error:
            msg = (
                f"PERDURE_HOME={named}: the current folder, to which that is relative, is not there any more."
            )
            raise ConfigError(msg, advice="Name the home with an absolute path.") from error
    if os.path.normpath(named) == named:
        return named
    from pathlib import Path  # takes out what says nothing, and leaves ".." to the links it may follow

    return str(Path(named))


def _data_folder() -> str:
    """As platformdirs has it, which costs a command as much again as its interpreter; on Linux without it."""
    if sys.platform == "linux" and os.environ.get("HOME"):
        given = os.environ.get("XDG_DATA_HOME", "")
        base = given if os.path.isabs(given) else os.path.join(os.path.expanduser("~"), ".local", "share")
        return os.path.join(base, "perdure")
    import platformdirs

    return platformdirs.user_data_dir("perdure", appauthor=False)
