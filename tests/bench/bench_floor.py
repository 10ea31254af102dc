"""The floor beside itself: what the disk costs here, and how far two equal things come out apart.

A ratio of another measurement says something only beyond that noise.
"""

from __future__ import annotations

from pathlib import Path

from tests.bench.figures import Figure, interleaved, publish_barely, scratch, unpublish

SIZES_BYTES = (1_024, 16_384, 131_072)
ROUNDS = 60
NOISE_RATIO_MAX = 1.25


def main() -> list[Figure]:
    """Measure the floor against the floor, for small, usual and the largest records."""
    with scratch() as folder:
        return [_beside_itself(folder, size) for size in SIZES_BYTES]


def _beside_itself(folder: Path, size_bytes: int) -> Figure:
    payload = b"x" * size_bytes
    samples = interleaved(
        lambda index: publish_barely(folder, payload, f"again-{index}"),
        after=lambda index: unpublish(folder, f"again-{index}"),
        folder=folder,
        payload=payload,
        rounds=ROUNDS,
    )
    return samples.figure(f"floor, {size_bytes // 1_024} KiB", ratio_max=NOISE_RATIO_MAX)
