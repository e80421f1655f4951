"""Ranges of sums and means that are chosen from what a part of epsilon says first: bins of users, and the rule.

Values are clamped to ``[-2^50, 2^50]``, and of each user the largest and the smallest are put in bins of signed
octaves: ``(-2^(j + 1), -2^j]``, ``(-2^-20, 0]``, ``(0, 2^-20]`` and ``(2^j, 2^(j + 1)]``. Of the smallest it is the bin
of its negative, so that both ends are the upper end of a bin. A user without a value is in none. All that follows is
computed of noisy numbers of users in these bins:

1. A bin is *sure* above ``scale ln(143/0.001)``: an empty one is with probability ``0.0005/143`` at most. The end is
   that of the highest sure bin; where none is sure it is that of the fullest, and the answer says so.
2. It goes up while the next bin shows two scales of noise: users who are there, and too few to be sure. An empty bin
   shows that much with probability ``exp(-2)/2``, and then the range is twice as wide as it need be.
3. A range that lies on one side of 0 and spans more than an octave begins at 0: few values below its end would move to
   it. Two ends that are one, or the wrong way round, are put in order, an octave apart.

Users whose largest value lies above are few, but what they have above is not bounded: no interval of the true total or
mean has an end.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import polars as pl

from emdp.questions.owned.parts import relations
from emdp.questions.owned.question import OwnedItem, OwnedSelect
from emdp.questions.owned.relations import Derived, Grouped, Joined, Public
from emdp.questions.owned.summaries import Summary
from emdp.questions.owned.totals import Key
from emdp.questions.price import Price
from emdp.rows.building import as_kind, call, case
from emdp.rows.nodes import Column, Literal, Node
from emdp.rows.types import Kind

__all__ = ["BINS", "ENDS", "chosen_end", "chosen_range", "end_bins", "extremes_question"]

_REAL = Kind.DOUBLE
_POWERS = tuple(2.0**power for power in range(-20, 51))

ENDS = (*(-power for power in reversed(_POWERS)), 0.0, *_POWERS)
"""Upper ends of the bins, in their order: the lowest bin holds its end alone."""

BINS = len(ENDS)

_SURE = 0.001
_SHOWN = 2.0
# Scales of noise that the next bin must show.


def extremes_question(query: OwnedSelect, nodes: Sequence[Node], price: Price) -> OwnedSelect:
    """Return the question for users by bin of their largest and of their smallest value of each argument: one scan.

    Its groups are the ends in their order (largest and smallest of the first argument, of the second, ...), and of each
    the bins. A user is in one bin of each end, or in none: in ``2 k`` groups at most.

    Parameters
    ----------
    price : Price
        Of all of them.
    """
    names = {getattr(one, "alias", "") for one in relations(query.relation)} | set(query.public)
    alias, source, ends = (
        next(name for number in range(len(names) + 1) if (name := f"{kind}_{number}") not in names)
        for kind in ("extremes", "places", "ends")
    )
    summaries = [summary for node in nodes for summary in _extremes(node)]
    held = tuple((f"end_{place}", own) for place, own in enumerate(summaries))
    place = Column(source, "place", Kind.BIGINT)
    of_place = [
        (call("equal", place, _whole(number)), Column(alias, name, _REAL)) for number, (name, _) in enumerate(held)
    ]
    rows = Joined(Grouped(query.relation, alias, (), held), Public(source, source), None)
    users = Derived(rows, ends, (("place", place), ("value", case(of_place))))
    keys = (
        Key("end", Column(ends, "place", Kind.BIGINT), tuple(range(len(held)))),
        Key("bin", _bin(Column(ends, "value", _REAL)), tuple(range(BINS))),
    )
    public = {**query.public, source: pl.DataFrame({"place": range(len(held))}, schema={"place": pl.Int64})}
    item = OwnedItem("users", "users", text="users by bin of their largest and smallest values")
    return OwnedSelect(users, (item,), price, keys, groups_cap=len(held), public=public, noise="laplace")


def _extremes(node: Node) -> tuple[Summary, Summary]:
    """Return a user's largest value, within the largest bins, and the largest negative one."""
    held = call("clamp", as_kind(node, _REAL) or node, Literal(ENDS[0], _REAL), Literal(ENDS[-1], _REAL))
    return Summary("max", held), Summary("max", call("negate", held))


def _bin(value: Node) -> Node:
    """Return the bin of a value, NULL where there is none: found by halves."""

    def among(first: int, last: int) -> Node:
        if first == last:
            return _whole(first)
        middle = (first + last) // 2
        return case(
            [(call("at_most", value, Literal(ENDS[middle], _REAL)), among(first, middle))], among(middle + 1, last)
        )

    return case([(call("at_most", value, Literal(ENDS[-1], _REAL)), among(0, BINS - 1))])


def _whole(number: int) -> Literal:
    return Literal(number, Kind.BIGINT)


def chosen_end(noisy: Sequence[Fraction], scale: float) -> tuple[int, bool]:
    """Return the bin whose upper end is an end of the range, and whether one stands out from the noise.

    >>> noisy = [Fraction(0)] * BINS
    >>> noisy[100], noisy[101] = Fraction(900), Fraction(70)
    >>> chosen_end(noisy, 20.0), chosen_end(noisy, 40.0)
    ((101, True), (100, True))
    """
    level = scale * math.log(BINS / _SURE)
    sure = [place for place, count in enumerate(noisy) if count > level]
    last = sure[-1] if sure else max(range(BINS), key=lambda place: noisy[place])
    while last + 1 < BINS and noisy[last + 1] > _SHOWN * scale:
        last += 1
    return last, bool(sure)


def chosen_range(
    highest: Sequence[Fraction], lowest: Sequence[Fraction], scale: float
) -> tuple[tuple[float, float], bool]:
    """Return a range by noisy users by bin of their largest and of their smallest value, and whether both are sure.

    >>> rows = [Fraction(0)] * BINS
    >>> high, low = list(rows), list(rows)
    >>> high[ENDS.index(64.0)], low[ENDS.index(8.0)] = Fraction(5000), Fraction(4000)
    >>> chosen_range(high, low, 20.0)
    ((-8.0, 64.0), True)
    """
    (above, is_high), (below, is_low) = chosen_end(highest, scale), chosen_end(lowest, scale)
    # The bins of negatives are those of values in reverse.
    low, high = sorted((BINS - 1 - below, above))
    if low == high:
        low, high = (low - 1, high) if low else (low, high + 1)
    least, most = ENDS[low], ENDS[high]
    if least > 0 and most > 2 * least:
        least = 0.0
    if most < 0 and least < 2 * most:
        most = 0.0
    return (least, most), is_high and is_low


def end_bins(noisy: Sequence[Fraction], *, of_lowest: bool) -> pl.DataFrame:
    """Return noisy numbers of users by bin as a table: above what, up to what, and users.

    Of the smallest values the bins are from their lower end, which belongs to them, to below the upper one.
    """
    users = [round(count) for count in noisy]
    if not of_lowest:
        return pl.DataFrame({"largest_above": [None, *ENDS[:-1]], "largest_up_to": ENDS, "users": users})
    froms = list(ENDS)
    return pl.DataFrame({"smallest_from": froms, "smallest_below": [*froms[1:], None], "users": users[::-1]})
