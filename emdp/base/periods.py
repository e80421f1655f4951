"""Names of periods in order: listed one by one, or from one to another."""

import re
from calendar import monthrange
from collections.abc import Iterable, Sequence
from datetime import date, timedelta

from emdp.base.checks import check_period
from emdp.base.errors import UsageError

__all__ = ["meeting", "period_names"]

BETWEEN = ".."
"""Sign between the first and the last name of a range."""

MOST = 4096
"""Most periods of a range."""

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_WEEK = re.compile(r"(\d{4})-W(\d{2})")
_MONTH = re.compile(r"(\d{4})-(\d{2})")
_YEAR = re.compile(r"\d{4}")


def period_names(periods: object) -> tuple[str, ...]:
    """Return names of periods, in order and each once.

    Parameters
    ----------
    periods : sequence of str, or str
        Names; or ``"2026-W01..2026-W52"``, all ISO weeks (or days ``2026-01-01``, or months ``2026-01``) between two.

    Raises
    ------
    UsageError
        If one is no name, stands twice, or the range is none.

    >>> period_names("2026-W52..2027-W02")
    ('2026-W52', '2026-W53', '2027-W01', '2027-W02')
    >>> period_names("2026-02-27..2026-03-01"), period_names("2026-12..2027-01"), period_names(["a", "b"])
    (('2026-02-27', '2026-02-28', '2026-03-01'), ('2026-12', '2027-01'), ('a', 'b'))
    """
    if isinstance(periods, str):
        first, sign, last = periods.partition(BETWEEN)
        names = _between(first, last) if sign else (periods,)
    elif isinstance(periods, Sequence) and periods:
        names = tuple(check_period(name) for name in periods)
    else:
        raise UsageError("periods must be names in order, or a range such as '2026-W01..2026-W52'; pass some.")
    for name in names:
        check_period(name)
    if len(set(names)) < len(names):
        raise UsageError("periods must have each name once, in the order of time; leave the second one out.")
    return tuple(names)


def meeting(names: Iterable[str], others: Iterable[str]) -> tuple[str, str] | None:
    """Return two days, ISO weeks, months or years with a day in common, one of them of the first names; None if none.

    Other names say nothing of their days.

    >>> meeting(["2026-01"], ["2025-W52", "2026-W05"]), meeting(["2026-02"], ["2026-01", "2026-W04", "a", "2026-02"])
    (('2026-01', '2026-W05'), None)
    """
    asked = set(names)
    known = [(days, name) for name in {*asked, *others} if (days := _days(name)) is not None]
    # In the order of their first days each is held against the one before it that ends last.
    latest: tuple[tuple[date, date], str] | None = None
    for own in sorted(known):
        if latest is not None and own[0][0] <= latest[0][1] and asked & {own[1], latest[1]}:
            first, second = sorted((own[1], latest[1]), key=lambda name: name not in asked)
            return first, second
        latest = own if latest is None or own[0][1] > latest[0][1] else latest
    return None


def _days(name: str) -> tuple[date, date] | None:
    """Return the first and the last day of a day, ISO week, month or year by its name; None of other names."""
    try:
        if _DAY.fullmatch(name):
            return date.fromisoformat(name), date.fromisoformat(name)
        if _WEEK.fullmatch(name):
            return date.fromisoformat(f"{name}-1"), date.fromisoformat(f"{name}-7")
        if _MONTH.fullmatch(name):
            first = date.fromisoformat(f"{name}-01")
            return first, first.replace(day=monthrange(first.year, first.month)[1])
        if _YEAR.fullmatch(name):
            return date.fromisoformat(f"{name}-01-01"), date.fromisoformat(f"{name}-12-31")
    except ValueError:
        pass
    return None


def _between(first: str, last: str) -> tuple[str, ...]:
    try:
        if _DAY.fullmatch(first) and _DAY.fullmatch(last):
            start, end = date.fromisoformat(first), date.fromisoformat(last)
            names = [(start + timedelta(days)).isoformat() for days in range(min((end - start).days, MOST) + 1)]
        elif _WEEK.fullmatch(first) and _WEEK.fullmatch(last):
            start, end = date.fromisoformat(f"{first}-1"), date.fromisoformat(f"{last}-1")
            monday = [start + timedelta(7 * week) for week in range(min((end - start).days // 7, MOST) + 1)]
            names = ["{}-W{:02}".format(*day.isocalendar()[:2]) for day in monday]
        elif _MONTH.fullmatch(first) and _MONTH.fullmatch(last):
            one, other = (int(text[:4]) * 12 + date.fromisoformat(f"{text}-01").month - 1 for text in (first, last))
            names = [f"{month // 12:04}-{month % 12 + 1:02}" for month in range(one, min(other, one + MOST) + 1)]
        else:
            names = []
    except ValueError:
        names = []
    if not names:
        raise UsageError(
            f"periods must be from one day, ISO week or month to a later one, got {first + BETWEEN + last!r}; write as "
            "'2026-W01..2026-W52', or list the names."
        )
    return tuple(names)
