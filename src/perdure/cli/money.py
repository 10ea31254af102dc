"""budget show|reconcile, provider test."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from perdure.cli import values
from perdure.cli.command import Answer, Command, Context
from perdure.cli.shapes import NANODOLLARS, amount_json, amount_text, counted, dollars, exposure_json, table
from perdure.core.attempt import Usage
from perdure.core.budget import Amount, Exposure, Limits
from perdure.errors import ProviderUnavailable, UsageError
from perdure.service.budget import BudgetReport, ProviderNow, Unresolved
from perdure.service.probe import Probe

_DAY_MS = 86_400_000


def budget_show(context: Context) -> Answer:
    """What was spent for certain, what is held, what may have been spent."""
    report = context.app.budget_service().report()
    return Answer(_report_json(report), _report_text(context, report))


def budget_reconcile(context: Context) -> Answer:
    """The user's word on an attempt whose end or cost is unknown."""
    options = context.options
    context.app.begin_writing()
    usage = None
    if options.cost_usd is not None or options.tokens is not None:
        if options.cost_usd is None or options.tokens is None:
            msg = "--cost-usd and --tokens go together."
            raise UsageError(msg, advice="Leave both out to charge the full hold.")
        usage = Usage(options.tokens, 0, round(options.cost_usd * NANODOLLARS))
    done = context.app.budget_service().reconcile(options.attempt, reason=options.reason, usage=usage)
    charged = done.reconciled.usage if done.reconciled is not None else Usage(0, 0, 0)
    calls = 0 if done.reconciled is None else 1
    amount = Amount(calls, charged.tokens, charged.cost_nanodollars)
    data = {"attempt": done.attempt_id, "state": done.state, "charged": amount_json(amount)}
    said = f"{counted(charged.tokens, 'token')} and {dollars(charged.cost_nanodollars)} are charged."
    return Answer(data, f"Attempt {done.attempt_id} is {done.state}: {said}")


def provider_test(context: Context) -> Answer:
    """One announced, budgeted call."""
    app = context.app
    reviewer = app.config.reviewer
    if reviewer.provider in {"rules", "replay"}:
        missing = app.provider.ready()
        if missing is not None:
            raise ProviderUnavailable(missing)
        said = {"provider": reviewer.provider, "needed": False}
        return Answer(said, f"The reviewer {reviewer.provider!r} works offline; nothing has to be tested.")
    app.begin_writing()
    service = app.probe_service()
    probe = service.prepare()
    print(f"perdure: {_announced(app.provider.name, app.provider.model, probe)}", file=sys.stderr)
    if not context.confirm("Send it?"):
        return Answer({"provider": reviewer.provider, "needed": True, "sent": False}, "Nothing was sent.")
    done = service.send(probe)
    usage = done.usage
    data: dict[str, Any] = {
        "provider": app.provider.name,
        "model": app.provider.model,
        "needed": True,
        "sent": True,
        "answered": done.answered,
        "attempt": done.attempt_id,
        "outcome": done.outcome,
        "detail": done.detail,
        "usage": amount_json(Amount(1, usage.tokens, usage.cost_nanodollars)) if usage is not None else None,
    }
    cost = (
        f"{counted(usage.tokens, 'token')}, {dollars(usage.cost_nanodollars)}"
        if usage is not None
        else "cost unknown"
    )
    good = done.answered and done.outcome == "nothing"
    if good:
        return Answer(data, f"It works: a well-formed answer came ({cost}).")
    return Answer(data, f"It does not work: {done.outcome}: {done.detail} ({cost}).", 6)


def _announced(provider: str, model: str, probe: Probe) -> str:
    hold = probe.hold
    tokens = hold.input_tokens + hold.output_tokens
    most = f"at most {tokens:,} tokens and {dollars(hold.cost_nanodollars)}"
    return f"one test call to {provider} {model}, without anything of yours in it; {most}."


def _report_json(report: BudgetReport) -> dict[str, Any]:
    return {
        "today": report.today,
        "providers": [
            {
                "provider": now.provider,
                "counted": exposure_json(now.counted),
                "limits": _limits_json(now.limits),
                "left": _limits_json(now.left),
            }
            for now in report.providers
        ],
        "days": [
            {
                "day": row.day,
                "provider": row.provider,
                "attempts": row.attempts,
                "closed": row.closed,
            }
            | exposure_json(row.exposure)
            for row in report.days
        ],
        "unresolved": [_unresolved_json(found) for found in report.unresolved],
        "alerts": list(report.alerts),
    }


def _unresolved_json(found: Unresolved) -> dict[str, Any]:
    return {
        "attempt": found.attempt_id,
        "provider": found.provider,
        "state": found.state,
        "day": found.day,
        "age_ms": found.age_ms,
        "job": found.job_id,
    } | exposure_json(found.exposure)


def _limits_json(limits: Limits | None) -> dict[str, int | None] | None:
    if limits is None:
        return None
    return {
        "calls": limits.calls_per_day,
        "tokens": limits.tokens_per_day,
        "cost_nanodollars": limits.cost_nanodollars_per_day,
    }


def _report_text(context: Context, report: BudgetReport) -> str:
    paint = context.paint
    parts = [paint("bold", f"warning: {alert}") for alert in report.alerts]
    for now in report.providers:
        parts.append(paint("bold", f"{now.provider}, counted against today ({report.today} UTC)"))
        parts.append(_exposure_text(now.counted))
        parts.append(paint("dim", _left_text(now)))
    if report.days:
        rows = [
            (
                row.day,
                row.provider,
                counted(row.attempts, "attempt"),
                amount_text(row.exposure.actual),
                _doubt(row.exposure),
            )
            for row in report.days
        ]
        parts += [paint("bold", "days"), table(rows)]
    if report.unresolved:
        parts.append(paint("bold", "unresolved: perdure budget reconcile ATTEMPT --reason …"))
        parts.append(
            table(
                (
                    f.attempt_id,
                    f.state,
                    f"{counted(f.age_ms // _DAY_MS, 'day')} old",
                    amount_text(f.exposure.total),
                )
                for f in report.unresolved
            )
        )
    return "\n".join(parts)


def _exposure_text(exposure: Exposure) -> str:
    return table(
        [
            ("  actual", amount_text(exposure.actual)),
            ("  held", amount_text(exposure.held)),
            ("  unknown", amount_text(exposure.unknown)),
        ]
    )


def _doubt(exposure: Exposure) -> str:
    doubt = exposure.held + exposure.unknown
    return f"held or unknown: {amount_text(doubt)}" if doubt != Amount() else ""


def _left_text(now: ProviderNow) -> str:
    if now.left is None:
        return "  no limits: free of charge, or not the configured reviewer"
    calls, tokens, cost = now.left.calls_per_day, now.left.tokens_per_day, now.left.cost_nanodollars_per_day
    parts = [
        counted(calls, "call") if calls is not None else "",
        counted(tokens, "token") if tokens is not None else "",
        dollars(cost) if cost is not None else "",
    ]
    return f"  left today: {', '.join(part for part in parts if part)}"


def _reconcile_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("attempt", metavar="ATTEMPT", help="an attempt's id or its beginning")
    parser.add_argument("--reason", metavar="WHY", required=True, help="kept with the record")
    parser.add_argument(
        "--cost-usd", metavar="USD", type=values.dollars, help="what it cost; default: the full hold"
    )
    parser.add_argument("--tokens", metavar="N", type=values.tokens, help="what it really used")


COMMANDS = (
    Command(
        "budget show",
        "show what reviews have cost: for certain, held, and unknown",
        budget_show,
        examples=("perdure budget", "perdure budget show --json"),
    ),
    Command(
        "budget reconcile",
        "settle an attempt whose end or cost is unknown, by your word",
        budget_reconcile,
        _reconcile_arguments,
        examples=(
            'perdure budget reconcile 20260730-3f9c --reason "not on the bill" --cost-usd 0 --tokens 0',
            'perdure budget reconcile 20260730-3f9c --reason "cannot be known"',
        ),
        statuses=("3 its owner is still alive, or nothing is open about it", "4 there is no such attempt"),
    ),
    Command(
        "provider test",
        "make one announced, budgeted call to the configured reviewer",
        provider_test,
        takes=frozenset({"yes"}),
        examples=("perdure provider test --yes",),
        statuses=(
            "2 nobody could answer the question: add --yes",
            "6 something is missing, the budget refuses it, or no good answer came",
        ),
    ),
)
