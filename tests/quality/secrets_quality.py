"""Measures secret removal: `python -m tests.quality.secrets_quality [SEEDS]` (E-03)."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections import Counter
from pathlib import Path

from perdure.core.secret_views import View, folded, unescaped
from perdure.core.secrets import redact
from tests.quality.secret_corpus import make

OUTPUT = Path("build/secrets.json")
SEEDS = 20
HARMLESS_CHANGED_PERCENT_MAX = 3.0


def shows(secret: str, stored: str) -> bool:
    """Say whether a reader could still see the secret, also after undoing escapes and line breaks."""
    view = View(stored)
    copies = [stored]
    for step in (folded, unescaped, unescaped, unescaped):
        view = step(view) or view
        copies.append(view.text)
    plain = unicodedata.normalize("NFKC", secret)
    packed = "".join(plain.split())
    return any(plain in copy or packed in "".join(c for c in copy if c not in ' \n\\"+') for copy in copies)


def measure(seeds: int) -> tuple[Counter[str], Counter[str], int, int]:
    """Give the kinds that leaked, the harmless texts that changed, and how many of each there were."""
    leaked, changed = Counter[str](), Counter[str]()
    secrets = harmless = 0
    for seed in range(seeds):
        bad, good = make(seed)
        secrets += len(bad)
        harmless += len(good)
        leaked.update(item.kind for item in bad if shows(item.secret, redact(item.text)[0]))
        changed.update(item.kind for item in good if redact(item.text)[0] != item.text)
    return leaked, changed, secrets, harmless


def main() -> int:
    """Print the figures and write them to `OUTPUT`; 1 when a target is missed."""
    leaked, changed, secrets, harmless = measure(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS)
    rate = 100 * changed.total() / harmless
    figures = [
        {
            "name": "secrets leaked",
            "value": leaked.total(),
            "unit": f"of {secrets}",
            "reference": secrets,
            "ratio": leaked.total() / secrets,
            "target": 0,
            "holds": leaked.total() == 0,
        },
        {
            "name": "harmless texts changed",
            "value": round(rate, 3),
            "unit": "%",
            "reference": harmless,
            "ratio": changed.total() / harmless,
            "target": HARMLESS_CHANGED_PERCENT_MAX,
            "holds": rate < HARMLESS_CHANGED_PERCENT_MAX,
        },
    ]
    for figure in figures:
        verdict = "ok" if figure["holds"] else "MISSED"
        print(f"{figure['name']:24} {figure['value']} {figure['unit']}, target {figure['target']}: {verdict}")
    for title, kinds in (("leaked", leaked), ("changed", changed)):
        for kind, count in kinds.most_common(40):
            print(f"  {title}: {kind} x{count}")
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0 if all(figure["holds"] for figure in figures) else 1


if __name__ == "__main__":
    raise SystemExit(main())
