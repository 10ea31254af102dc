"""The releases before this one, as they were published: unpacked, to be run beside the current code."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "data" / "releases"
PREVIOUS = "perdure-0.1.0-py3-none-any.whl"
SHA256 = "84331b70632e15a1f79a5ad4bfe7420842723c294b5f94ef31b8bce7127e6eda"


def unpack(target: Path) -> Path:
    """The folder of the previous release's modules, to be put on PYTHONPATH. Raises ValueError."""
    wheel = FOLDER / PREVIOUS
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != SHA256:
        msg = f"{wheel.name} is not the release that was published"
        raise ValueError(msg)
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(target)
    return target
