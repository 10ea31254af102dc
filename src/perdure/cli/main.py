"""The entry point. Nothing is imported here that a turn start would have to wait for."""

from __future__ import annotations

import sys


def main(argv: list[str] | None = None) -> int:
    """Run one command line, by default the process's own; returns the exit status."""
    words = sys.argv[1:] if argv is None else argv
    if words and words[0] == "hook" and not {"-h", "--help"} & set(words):
        from perdure.hosts.hook import end, hook

        return hook(words[1:]) if argv is not None else end(hook(words[1:]))
    if words and "inject" in words:
        from perdure.cli.quick_inject import quick_inject

        text = quick_inject(words)
        if text is not None:
            from perdure.cli.quick_inject import put

            return put(text)
    from perdure.cli.run import run

    return run(words)


if __name__ == "__main__":
    sys.exit(main())
