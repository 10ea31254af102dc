"""Dates that a question names, absolute or relative to now, and how well a day fits them.

English month names and the relative words of English; years and days as digits. Days are UTC days.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

import msgspec

_MONTHS = {
    name: number
    for number, name in enumerate(
        ("january february march april may june july august september october november december").split(),
        start=1,
    )
}
_WEEKDAYS = {
    name: number
    for number, name in enumerate("monday tuesday wednesday thursday friday saturday sunday".split())
}
_TIMES = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|recently|week|weekend|month|year|since|\d{4}"
    r"|\d+(?:st|nd|rd|th)|(?:mon|tues|wednes|thurs|fri|satur|sun)day|" + "|".join(_MONTHS) + r")\b",
    re.IGNORECASE,
)
_ASKS_WHEN = re.compile(
    r"\s*(?:when|how long|what date|what year|which month|in which|what month|since when)\b", re.IGNORECASE
)
_YEAR = re.compile(r"\b((?:19|20)\d\d)\b")
_ISO = re.compile(r"\b((?:19|20)\d\d)-(\d\d)-(\d\d)\b")
_DAY = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)?\b")
_AGO = re.compile(r"\b(\d{1,3}|an?|two|three|four|five|six) (day|week|month|year)s? ago\b")
_LAST = re.compile(r"\b(last|this|past) (week|month|year)\b")
_WEEKDAY = re.compile(r"\b(?:on|last|since) (" + "|".join(_WEEKDAYS) + r")\b")
_COUNTS = {"a": 1, "an": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_SLACK = {"day": 0, "week": 3, "month": 10, "year": 120}

_OFF = -0.3
"""What a day that a question's month, year or span excludes is worth."""


class Asked(msgspec.Struct, frozen=True):
    """Months, years and days that a question names, and the span of days that it means, if it does."""

    months: frozenset[int] = frozenset()
    years: frozenset[int] = frozenset()
    days: tuple[int, ...] = ()
    first: date | None = None
    last: date | None = None

    def fits(self, day: date) -> float:
        """How well a day fits, from -0.6 (excluded) over 0 (nothing asked) to 2.5 (all that was asked)."""
        worth = 0.0
        if self.first is not None and self.last is not None:
            worth += 1.5 if self.first <= day <= self.last else _OFF
        if self.months:
            worth += 1.0 if day.month in self.months else _OFF
            if self.days and day.month in self.months:
                worth += max(0.0, 1 - min(abs(day.day - each) for each in self.days) / 7)
        if self.years:
            worth += 0.5 if day.year in self.years else _OFF
        return worth


def asked_dates(question: str, now_ms: int) -> Asked | None:
    """Read the dates of a question; None if it names none. `now_ms` 0: what is relative is not read.

    "May" counts as a month with its capital inside a sentence only.
    """
    low = question.casefold()
    months = {
        _MONTHS[word]
        for word in re.findall(r"[a-z]+", low)
        if word in _MONTHS and not (word == "may" and " May" not in question)
    }
    years = {int(year) for year in _YEAR.findall(low)}
    days = tuple(int(number) for number in _DAY.findall(_YEAR.sub(" ", low)))
    first, last = _span(low, now_ms)
    if not months and not years and first is None:
        return None
    if first is not None:
        months, days = set(), ()
    return Asked(frozenset(months), frozenset(years) if first is None else frozenset(), days, first, last)


def day_of(when_ms: int) -> date | None:
    """The UTC day of a time in milliseconds; None for 0 and for what no calendar has."""
    if not when_ms:
        return None
    try:
        return datetime.fromtimestamp(when_ms / 1000, UTC).date()
    except (ValueError, OverflowError, OSError):
        return None


def asks_when(question: str) -> bool:
    """Say whether a question asks for a time."""
    return _ASKS_WHEN.match(question) is not None


def tells_when(text: str) -> bool:
    """Say whether a text holds a word of time."""
    return _TIMES.search(text) is not None


def _span(low: str, now_ms: int) -> tuple[date, date] | tuple[None, None]:
    exact = _ISO.search(low)
    if exact:
        try:
            day = date(*map(int, exact.groups()))
        except ValueError:
            return None, None
        return day, day
    today = day_of(now_ms)
    return _relative(low, today) if today is not None else (None, None)


def _relative(low: str, today: date) -> tuple[date, date] | tuple[None, None]:
    found: Sequence[int] = ()  # days back: the earliest and the latest
    if re.search(r"\byesterday\b", low):
        found = 1, 1
    elif re.search(r"\b(?:today|tonight|this morning)\b", low):
        found = 0, 0
    elif ago := _AGO.search(low):
        back = (_COUNTS.get(ago[1]) or int(ago[1])) * _DAYS[ago[2]]
        found = back + _SLACK[ago[2]], back - _SLACK[ago[2]]
    elif last := _LAST.search(low):
        found = _calendar(last[1], last[2], today)
    elif weekday := _WEEKDAY.search(low):
        back = (today.weekday() - _WEEKDAYS[weekday[1]]) % 7 or 7
        found = back, back
    if not found:
        return None, None
    return today - timedelta(days=found[0]), today - timedelta(days=found[1])


def _calendar(which: str, unit: str, today: date) -> tuple[int, int]:
    """Days back to the first and the last day of this or the last week, month or year."""
    starts = {
        "week": today - timedelta(days=today.weekday()),
        "month": today.replace(day=1),
        "year": today.replace(month=1, day=1),
    }
    start = (today - starts[unit]).days
    if which != "last":
        return (start, 0) if which == "this" else (_DAYS[unit], 0)
    ends = starts[unit] - timedelta(days=1)
    before = {
        "week": ends - timedelta(days=6),
        "month": ends.replace(day=1),
        "year": ends.replace(month=1, day=1),
    }
    return (today - before[unit]).days, start + 1
