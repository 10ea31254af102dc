"""Measure the offline reviewer on labelled messages: `python -m tests.quality.rules_quality`.

Prints precision and recall with 95% Wilson intervals, overall and per language, then every miss, and
writes build/rules.json. A message counts as caught only with exactly the text that it is labelled with;
any other text counts against precision and recall.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from perdure.core.evidence import EvidenceLine
from perdure.provider.rule_operations import findings
from tests.quality.rules_sentences import SENTENCES, Labelled

PRECISION_TARGET: Final = 0.95
RECALL_TARGET: Final = 0.8
Z_95: Final = 1.959964
REPORT: Final = Path("build/rules.json")


class Counts(NamedTuple):
    """How many messages were caught rightly, caught wrongly and missed."""

    right: int
    wrong: int
    missed: int

    @property
    def caught(self) -> int:
        """All that was proposed."""
        return self.right + self.wrong

    @property
    def wanted(self) -> int:
        """All that should have been proposed."""
        return self.right + self.missed


def caught(message: str) -> list[str]:
    """The texts that the reviewer would remember of one message."""
    return [finding.text for finding in findings((EvidenceLine(line_id="e1", role="user", text=message),))]


def count(labelled: Iterable[Labelled]) -> Counts:
    """Compare what is caught with what is labelled."""
    right = wrong = missed = 0
    for one in labelled:
        texts = caught(one.message)
        hit = one.kept is not None and one.kept in texts
        right += hit
        wrong += len(texts) - hit
        missed += one.kept is not None and not hit
    return Counts(right, wrong, missed)


def wilson(hits: int, total: int) -> tuple[float, float]:
    """The 95% interval of a share by Wilson's score method; (0, 1) when nothing was counted."""
    if total == 0:
        return 0.0, 1.0
    share, square = hits / total, Z_95 * Z_95
    middle = (share + square / (2 * total)) / (1 + square / total)
    spread = (
        Z_95 / (1 + square / total) * math.sqrt(share * (1 - share) / total + square / (4 * total * total))
    )
    return max(0.0, middle - spread), min(1.0, middle + spread)


def _groups() -> dict[str, list[Labelled]]:
    groups = {"all": list(SENTENCES)}
    for part in dict.fromkeys(one.part for one in SENTENCES):
        groups[f"part {part}"] = [one for one in SENTENCES if one.part == part]
    for name in dict.fromkeys(one.language for one in SENTENCES):
        groups[name] = [one for one in SENTENCES if one.language == name]
    return groups


def _share(hits: int, total: int) -> str:
    low, high = wilson(hits, total)
    return f"{hits / total:5.3f} [{low:.2f}, {high:.2f}]" if total else "    -             "


def main() -> int:
    """Print the table and the misses, write the report; 1 when a target is missed."""
    rows = []
    print(f"{'group':<12}{'messages':>9}{'right':>9}{'wrong':>9}{'missed':>9}  precision          recall")
    for name, group in _groups().items():
        counts = count(group)
        precision, recall = _share(counts.right, counts.caught), _share(counts.right, counts.wanted)
        figures = "".join(f"{figure:>9}" for figure in (len(group), *counts))
        print(f"{name:<12}{figures}  {precision} {recall}")
        for measure, total, target in (
            ("precision", counts.caught, PRECISION_TARGET),
            ("recall", counts.wanted, RECALL_TARGET),
        ):
            value = counts.right / total if total else None
            rows.append(
                {
                    "name": f"rules {measure} {name}",
                    "value": value,
                    "unit": "share",
                    "reference": list(wilson(counts.right, total)),
                    "ratio": None,
                    "target": target if name == "all" else None,
                    "holds": value is None or name != "all" or value >= target,
                }
            )
    for one in SENTENCES:
        texts = caught(one.message)
        if texts != ([] if one.kept is None else [one.kept]):
            print(f"  {one.part} {one.language}: {one.message!r}\n    wanted {one.kept!r}, caught {texts}")
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0 if all(row["holds"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
