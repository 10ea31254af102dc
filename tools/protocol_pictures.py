"""Pictures of the protocol, drawn from its own tables and functions, so that they stay right."""

from __future__ import annotations

import itertools

import msgspec

from perdure.core import protocol
from perdure.core.admission import completion, intent_tombstone, receipt
from perdure.core.attempt import TRANSITIONS
from perdure.core.transaction import Step, TransactionFacts, next_transaction_step
from tools.protocol_golden import golden_intent

_ORDER = (
    ("capture", ("job",)),
    ("worker", ("claim", "reserved", "fate", "request", "result", "decision")),
    ("project", ("intent", "branch", "revision", "completion", "receipt")),
    ("any worker", ("outcome", "event")),
)
_NO_RECORD = "request"
_HEAD = """\
# The protocol in pictures

Made by `make protocol` from the tables and functions in `perdure.core`; do not edit it by hand. The words
around it stand in [the format](../format.md).
"""


def pictures() -> str:
    """The page with all pictures."""
    parts = (_HEAD, _order(), _attempts(), _transaction())
    return "\n".join(parts)


def documented_order() -> list[str]:
    """The order as the docstring of `perdure.core.protocol` states it, the one place where it is decided."""
    text = " ".join((protocol.__doc__ or "").split())
    chain = text[text.index("job -> ") :].partition(" is durable before")[0]
    return [name.strip().removeprefix("(the ").removesuffix(")") for name in chain.split("->")]


def _order() -> str:
    """The order of records: what stands left is durable before anything to its right starts."""
    chain = [name for _, names in _ORDER for name in names]
    if chain != documented_order():
        msg = f"perdure.core.protocol says {documented_order()}; bring the groups of _ORDER in line"
        raise ValueError(msg)
    lines = ["flowchart LR"]
    for number, (who, names) in enumerate(_ORDER):
        lines.append(f'  subgraph g{number}["{who}"]')
        lines += [
            f'    {name}(["the one request"])' if name == _NO_RECORD else f'    {name}["{name}"]'
            for name in names
        ]
        lines.append("  end")
    lines += [f"  {left} --> {right}" for left, right in itertools.pairwise(chain)]
    return (
        "## The order of records\n\nWhat stands left is durable before anything to its right begins.\n\n"
        + _fenced(lines)
    )


def _attempts() -> str:
    """The states of an attempt, as a picture and as the table that it comes from."""
    arrows = [(state, event, after) for state, row in TRANSITIONS.items() for event, after in row.items()]
    lines = ["stateDiagram-v2", "  [*] --> reserved"]
    lines += [f"  {state} --> {after}: {event}" for state, event, after in arrows]
    lines += [f"  {state} --> [*]" for state, row in TRANSITIONS.items() if not row]
    events = sorted({event for _, event, _ in arrows})
    table = ["| state | " + " | ".join(events) + " |", "| --- |" + " --- |" * len(events)]
    for state, row in TRANSITIONS.items():
        cells = [row.get(event, "illegal") for event in events]
        cells = [
            "no change" if _leads_to(state, event) and cell == "illegal" else cell
            for event, cell in zip(events, cells, strict=True)
        ]
        table.append(f"| {state} | " + " | ".join(cells) + " |")
    return (
        "## The states of an attempt\n\n"
        + _fenced(lines)
        + "\nAn event that led to a state may be repeated there; it then changes nothing.\n\n"
        + "\n".join(table)
        + "\n"
    )


def _leads_to(state: str, event: str) -> bool:
    return any(row.get(event) == state for row in TRANSITIONS.values())  # type: ignore[call-overload]  # any name


def _transaction() -> str:
    """The steps of a transaction for every set of records that can be found, asked of the function itself."""
    head = ["| the branch is | revision | completion | receipt | next step |", "| --- |" + " --- |" * 4]
    rows = [f"| {' | '.join(words)} | {_step_name(facts)} |" for words, facts in _situations()]
    return (
        "## The steps of a transaction\n\n"
        "For an applied review, from the records that are found. Whoever takes the project's lock\n"
        "takes these steps until there is none.\n\n" + "\n".join(head + rows) + "\n"
    )


def _situations() -> list[tuple[tuple[str, ...], TransactionFacts]]:
    intent = golden_intent()
    done = completion(intent)
    found = TransactionFacts(
        intent=intent,
        branch_digest=intent.base_digest,
        revision_present=False,
        completion=None,
        receipt=None,
    )
    after = msgspec.structs.replace(found, branch_digest=intent.result_digest)
    revised = msgspec.structs.replace(after, revision_present=True)
    completed = msgspec.structs.replace(revised, completion=done)
    received = msgspec.structs.replace(completed, receipt=receipt(intent, done))
    strange = msgspec.structs.replace(found, branch_digest="0" * 64)
    compacted = msgspec.structs.replace(received, intent=intent_tombstone(intent))
    return [
        (("the base", "–", "–", "–"), found),
        (("the result", "–", "–", "–"), after),
        (("the result", "found", "–", "–"), revised),
        (("neither", "–", "–", "–"), strange),
        (("any", "any", "found", "–"), completed),
        (("any", "any", "found", "found"), received),
        (("any, the intent is a tombstone", "any", "any", "any"), compacted),
    ]


def _step_name(facts: TransactionFacts) -> str:
    step: Step = next_transaction_step(facts)
    conflict = getattr(getattr(step, "completion", None), "conflict", False)
    words = {
        "PutBranch": "replace the branch",
        "PutRevision": "publish the revision",
        "Complete": "publish the completion" + (", as a conflict" if conflict else ""),
        "PutReceipt": "publish the receipt",
        "Compact": "replace the intent by its tombstone",
        "Finished": "nothing",
    }
    return words[type(step).__name__]


def _fenced(lines: list[str]) -> str:
    return "\n".join(["```mermaid", *lines, "```"]) + "\n"
