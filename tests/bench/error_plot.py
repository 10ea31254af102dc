"""The plot of errors against load, as SVG text: predicted ones as lines, measured ones as points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import msgspec

_WIDTH, _HEIGHT = 720, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 24, 48, 56
_COLOURS = ("#b3261e", "#7a5c00", "#0b57d0")
_DEVIATIONS = 1.96
"""Of a normal distribution, for an interval of 95%."""


class Curve(msgspec.Struct, frozen=True):
    """Predicted errors at some dimensions: pairs of facts in a trace and chance of a wrong decoding."""

    dimensions: int
    line: tuple[tuple[int, float], ...]


class Point(msgspec.Struct, frozen=True):
    """Measured errors: `wrong` of `decoded` keys of traces of so many facts."""

    dimensions: int
    facts: int
    wrong: int
    decoded: int


def interval(wrong: int, decoded: int) -> tuple[float, float]:
    """Give the 95% interval of a share (Wilson 1927)."""
    share, square = wrong / decoded, _DEVIATIONS**2
    middle = share + square / (2 * decoded)
    half = _DEVIATIONS * math.sqrt(share * (1 - share) / decoded + square / (4 * decoded**2))
    whole = 1 + square / decoded
    return max(0.0, (middle - half) / whole), min(1.0, (middle + half) / whole)


def draw(curves: Sequence[Curve], points: Sequence[Point]) -> str:
    """Draw curves and points over a logarithmic axis of facts; the same input gives the same text."""
    facts = [count for curve in curves for count, _ in curve.line]
    low, high = min(facts), max(facts)

    def x(count: float) -> float:
        share = math.log(count / low) / math.log(high / low)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(share: float) -> float:
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)

    parts = [_head(), *_axes(x(low), x(high), y(0), y(1))]
    ticks = [2**power for power in range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)]
    parts += [_text(x(tick), _HEIGHT - _BOTTOM + 18, str(tick), "middle") for tick in ticks]
    for tenth in range(0, 11, 2):
        parts.append(_line(x(low), y(tenth / 10), x(high), y(tenth / 10), "#dddddd"))
        parts.append(_text(_LEFT - 8, y(tenth / 10) + 4, f"{10 * tenth}%", "end"))
    for number, curve in enumerate(curves):
        colour = _COLOURS[number % len(_COLOURS)]
        path = " ".join(f"{x(count):.1f},{y(share):.1f}" for count, share in curve.line)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(_text(_LEFT + 14, _TOP + 20 + 18 * number, f"D = {curve.dimensions:,}", colour=colour))
        for point in points:
            if point.dimensions == curve.dimensions:
                below, above = interval(point.wrong, point.decoded)
                at = x(point.facts)
                parts.append(_line(at, y(below), at, y(above), colour))
                parts.append(
                    f'<circle cx="{at:.1f}" cy="{y(point.wrong / point.decoded):.1f}" r="4" fill="{colour}"/>'
                )
    return "\n".join([*parts, "</svg>\n"])


def _head() -> str:
    box = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    title = "Wrong decodings by facts in one trace, predicted and measured"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" font-family="sans-serif" font-size="13">\n'
        f"<title>{title}</title>\n"
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>'
    )


def _axes(left: float, right: float, bottom: float, top: float) -> list[str]:
    words = "wrong of all keys decoded, as many values competing as there are facts"
    return [
        _text(_LEFT - 48, _TOP - 22, words),
        _text(
            (left + right) / 2,
            _HEIGHT - 14,
            "facts in one trace (lines: predicted; points: measured, 95%)",
            "middle",
        ),
        _line(left, bottom, right, bottom, "#333333"),
        _line(left, bottom, left, top, "#333333"),
    ]


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _text(x: float, y: float, words: str, anchor: str = "start", *, colour: str = "#333333") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'
