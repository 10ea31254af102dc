"""Where calls of clients meet memory: one thread, in order, whatever many clients ask at once.

A call that waits is dropped when its client cancels it. One that has begun is finished, so that a change is
whole and durable or was never made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from perdure.app import App
from perdure.hosts.conversation import Conversation

T = TypeVar("T")

PROJECTS_MAX = 32
"""So many projects are kept ready; which one was asked for longest ago gives way."""


class Desk:
    """Memory of any project for one server process. Opened at the first call, and then kept warm."""

    def __init__(self, *, session: str, open_app: Callable[[], App] = App.open) -> None:
        self._session, self._open = session, open_app
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="perdure-memory")
        self._app: App | None = None
        self._conversations: dict[str, Conversation] = {}

    async def ask(self, folder: str, use: Callable[[Conversation], T]) -> T:
        """Do `use` with the memory of a folder's project.

        Raises what it raises, and NotFound while there is no home; the next call looks again.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: use(self._conversation(folder)))

    def close(self) -> None:
        """Finish what has begun, drop what waits, and close the home."""
        self._thread.submit(self._close)
        self._thread.shutdown(wait=True, cancel_futures=False)

    def _close(self) -> None:
        if self._app is not None:
            self._app.close()
        self._app = None
        self._conversations.clear()

    def _conversation(self, folder: str) -> Conversation:
        if self._app is None:
            self._app = self._open()
        project = self._app.project(folder)
        found = self._conversations.pop(project.key, None)
        if found is None:
            found = Conversation(self._app, project, host="mcp", session=self._session)
            if len(self._conversations) >= PROJECTS_MAX:
                del self._conversations[next(iter(self._conversations))]
        self._conversations[project.key] = found
        return found
