"""How well recall finds: facts, refusals and evidence, beside SQLite's full-text search, with intervals.

Run by `make quality ONLY=recall`. The data are not part of the repository: PERDURE_AGENT_FACTS and
PERDURE_LOCOMO name their files; a part without its file is skipped, and says so.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from perdure.provider.encoder import packaged
from perdure.recall.encoder import Encoder
from tests.bench.figures import BUILD_FOLDER, Figure, plain, table, write
from tests.quality import recall_evidence, recall_facts, recall_own, recall_static

Part = Callable[[Path, Encoder | None], list[Figure]]

PARTS: dict[str, Part] = {
    "PERDURE_AGENT_FACTS": recall_facts.measure,
    "PERDURE_LOCOMO": recall_evidence.measure,
}


def main() -> int:
    """Measure, print, write build/recall.json; 1 when a figure misses its target."""
    encoder = packaged()
    if encoder is None:
        print('The packaged encoder is not installed (extra "recall"): only what needs none is measured.')
    figures = recall_own.measure(encoder)
    for variable, measure in PARTS.items():
        path = os.environ.get(variable)
        if path is None:
            print(f"Skipped: {variable} does not name the data.")
            figures.append(plain(f"recall: skipped, without {variable}", 1, ""))
        else:
            figures += measure(Path(path), encoder)
    figures += recall_static.measure()
    print()
    print(table(figures))
    write(BUILD_FOLDER / "recall.json", figures)
    return int(any(figure.holds is False for figure in figures))


if __name__ == "__main__":
    raise SystemExit(main())
