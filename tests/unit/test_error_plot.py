"""The plot of errors: intervals that are right, and a picture that is the same for the same figures."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.bench.error_plot import Curve, Point, draw, interval

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("wrong", "decoded", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (1, 100, 0.0018, 0.0545)],
)
def test_intervals_are_wilsons(wrong: int, decoded: int, low: float, high: float) -> None:
    """The 95% interval of a share, also where nothing or everything is wrong."""
    assert interval(wrong, decoded) == pytest.approx((low, high), abs=1e-4)


def test_each_curve_and_point_is_drawn() -> None:
    """One line per curve and one dot per point, higher for more errors; no dot leaves the picture."""
    curves = [Curve(dimensions=64, line=((16, 0.0), (32, 0.2), (64, 1.0)))]
    points = [
        Point(dimensions=64, facts=16, wrong=0, decoded=9),
        Point(dimensions=64, facts=64, wrong=9, decoded=9),
    ]
    picture = draw(curves, points)
    assert picture == draw(curves, points)
    tree = ET.fromstring(picture)  # noqa: S314 - our own text
    dots = [(float(dot.get("cx", "")), float(dot.get("cy", ""))) for dot in tree.iter(f"{SVG}circle")]
    assert len(list(tree.iter(f"{SVG}polyline"))) == 1
    assert dots[0][0] < dots[1][0]
    assert dots[0][1] > dots[1][1]
    assert all(0 < x < 720 and 0 < y < 440 for x, y in dots)


def test_the_picture_in_the_documentation_is_one_of_ours() -> None:
    """The page about holographic memory shows it, and it has a title for those who cannot see it."""
    page = (ROOT / "docs/explanation/holographic.md").read_text(encoding="utf-8")
    assert "](holographic-error.svg)" in page
    tree = ET.parse(ROOT / "docs/explanation/holographic-error.svg")  # noqa: S314 - our own file
    assert "Wrong decodings" in (tree.findtext(f"{SVG}title") or "")
