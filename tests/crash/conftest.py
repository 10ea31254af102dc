"""Prints how many crash states a run has looked at."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Add up what the crash tests recorded, in whichever process they ran."""
    totals = dict.fromkeys(("crash_states", "crash_nested", "crash_exhaustive", "crash_sampled"), 0)
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name in totals and isinstance(value, int) and getattr(report, "when", "") == "call":
                    totals[name] += value
    if totals["crash_states"]:
        states, nested, exhaustive, sampled = totals.values()
        terminalreporter.write_line(
            f"crash states: {states:,} distinct, {nested:,} of them after a crash inside recovery; "
            f"{exhaustive:,} places covered exhaustively, {sampled:,} sampled"
        )
