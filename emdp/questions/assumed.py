"""Assumed share of the records that a condition chooses: from the public space alone, before any record is read.

Records are taken as spread evenly over the space. Of listed values a condition chooses then as many as it lists: 3 of
24 are 12.5 %, ``=`` is one of them, ``NOT`` is the rest, and ``OR`` of conditions on one part counts each value once;
conditions on different parts that ``AND`` joins multiply. A ramp of a number chooses its length of the range. A
condition on a place or a vector alone chooses an area, of which the square root is taken, which compares lengths there
too: people ask about places where records are, and those crowd.

Groups of records are conditions as well: ``k`` listed values make ``k`` groups of a share of ``1/k`` each. What is
assumed of a row of the answer is the mean over the groups that the filter leaves. Nothing of a guarantee rests on it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import field

import numpy as np

from emdp.base.classes import dataclass
from emdp.expressions.analysis.checker import analyse
from emdp.expressions.analysis.evaluate import evaluate
from emdp.expressions.cells.reference import OUTSIDE, label_cells
from emdp.expressions.nodes.arithmetic import Multiply
from emdp.expressions.nodes.base import Expression
from emdp.expressions.nodes.parts import part_items
from emdp.questions.select import GroupColumn, QuantileQuery, Select
from emdp.spaces.base import Floats, Space
from emdp.spaces.items import part_counts

__all__ = ["Assumed", "assumed_share", "came_out", "in_words"]

MOST_ITEMS, AT_ONCE = 2**17, 2**13
"""Most items of listed values that are all looked at, and items that are looked at together: both bound the memory."""

OTHERWISE = "OPTIONS (expected_share = ...) in SQL and share= in Python say otherwise"
"""Remedy in a note: how an analyst states another share."""

FILLED_SLOTS = 0.5
"""Share of the slots that is assumed to hold records, where a table has some."""

LEAST_SHARE = 1e-9
"""Smallest assumed share, in place of 0: dividing by it still gives a number."""

WORSE = 1.1
"""Ratio of an error to the previewed one, from which on an answer notes it."""


@dataclass(frozen=True)
class Assumed:
    """The share of the records that a row of an answer is taken to be about before the data is looked at."""

    share: float  # In (0, 1]
    is_stated: bool = False  # Whether the analyst said so
    is_grouped: bool = False  # Whether it is the share of one group of several
    is_of_slots: bool = False  # Whether it is a share of slots, filled or not, in place of records

    @classmethod
    def of(cls, query: Select | QuantileQuery, space: Space) -> "Assumed":
        """Return the numbers that a statement states, or what is assumed for it."""
        groups = query.groups if isinstance(query, Select) else ()
        stated = query.expected_share
        # A cap counts records, whatever the slots.
        is_of_slots = space.slots is not None and getattr(query, "cap", None) is None
        share = assumed_share(query.where, groups, space) * (FILLED_SLOTS if is_of_slots else 1.0)
        return cls(share if stated is None else stated, stated is not None, bool(groups), is_of_slots)

    @property
    def text(self) -> str:
        """Assumed share and its reason, and how to state another one."""
        of = "slots hold records that match" if self.is_of_slots else "records match"
        matched = f"that {in_words(self.share)} of {of}{' in each group' if self.is_grouped else ''}"
        return f"{matched} ({'as was stated' if self.is_stated else OTHERWISE})"


def came_out(expected: float, found: Sequence[tuple[float, float]], *, is_count: bool = False) -> tuple[str, ...]:
    """Say where a released share is certainly smaller than the one that a preview assumed, so that errors are larger by
    a tenth or more, from released numbers alone.

    Parameters
    ----------
    expected : float
        What the preview assumed, above 0.
    found : sequence of (float, float)
        For each row what was released, and the upper end of its 95 % interval.
    is_count : bool
        Whether these are numbers of records in place of shares.

    >>> came_out(0.125, [(0.02, 0.03), (0.2, 0.21)])[0].split(":")[0]
    'in 1 of 2 rows fewer records match than the 12.5 % that the preview assumed'
    """
    smaller = [(amount, most) for amount, most in found if most < expected and amount * WORSE <= expected]
    if not smaller:
        return ()
    where = f"in {len(smaller)} of {len(found)} rows " if len(found) > 1 else ""
    least, most = min(smaller)

    def shown(amount: float) -> str:
        return f"{max(amount, 0.0):.4g}" if is_count else in_words(max(amount, 0.0))

    lowest = " in the smallest" if len(smaller) > 1 else ""
    verb = "are counted" if is_count else "match"
    worse = f"about {expected / least:.2g} times the previewed ones" if least > 0 else "far above the previewed ones"
    return (
        f"{where}fewer records {verb} than the {shown(expected)} that the preview assumed: {shown(least)}{lowest}, at "
        f"most {shown(most)} with 95 % confidence, so that errors there are {worse}",
    )


def assumed_share(where: Expression | None, groups: Sequence[GroupColumn], space: Space) -> float:
    """Return the share of the records that a row of the answer is taken to be about, in (0, 1].

    Parameters
    ----------
    where : Expression or None
        Weight of a record in [0, 1], such as a category or a ramp.

    >>> from emdp.expressions import category_is, col, ramp
    >>> from emdp.spaces import Categories, Interval, Product
    >>> space = Product(Categories("hh", list(range(24))), Interval("x", 0, 10))
    >>> assumed_share(category_is(1, 2, 3, column="hh"), (), space)
    0.125
    >>> round(assumed_share(category_is(1, 2, 3, column="hh") * ramp(col("x"), 6, 4), (), space), 3)
    0.062
    """
    share = 1.0
    for cluster in _clusters(where, groups, space):
        share *= cluster.share(space)
    return min(max(share, LEAST_SHARE), 1.0)


def in_words(share: float) -> str:
    """Return a share as a percentage with three digits.

    >>> in_words(0.125), in_words(1 / 3)
    ('12.5 %', '33.3 %')
    """
    return f"{100.0 * share:.3g} %"


@dataclass
class _Cluster:
    """Conditions that must be looked at together, since they are about the same parts."""

    touched: set[int]
    factors: list[Expression] = field(default_factory=list)
    cells: dict[int, Floats] = field(default_factory=dict)
    """Cell of each code, for each part that is grouped by."""

    def join(self, other: "_Cluster") -> None:
        self.touched |= other.touched
        self.factors += other.factors
        self.cells |= other.cells

    def share(self, space: Space) -> float:
        """Return the mean weight of evenly spread items, over the groups that have any."""
        total, filled, count = 0.0, set[tuple[int, ...]](), 0
        for items in _even_items(space, sorted(self.touched)):
            weights = np.ones(len(items))
            for factor in self.factors:
                weights = weights * np.clip(evaluate(factor, space, items), 0.0, 1.0)
            codes = [self.cells[index][part_items(space, index, items)[:, 0].astype(np.intp)] for index in self.cells]
            for own in codes:
                weights = np.where(own == OUTSIDE, 0.0, weights)
            count += len(items)
            total += float(weights.sum())
            if codes:
                filled |= set(map(tuple, np.unique(np.column_stack(codes)[weights > 0], axis=0).tolist()))
        share = total / count / max(len(filled), 1)
        parts = [space.parts[index] for index in self.touched]
        is_area = not self.cells and len(parts) == 1 and part_counts(parts[0]) is None and parts[0].width > 1
        return math.sqrt(share) if is_area else share


def _clusters(where: Expression | None, groups: Sequence[GroupColumn], space: Space) -> list[_Cluster]:
    found: list[_Cluster] = []
    for group in groups:
        index, cells = label_cells(group.axis, space)
        found.append(_Cluster({index}, [], {index: cells.astype(np.float64)}))
    for factor in _factors(where):
        constants = analyse(factor, space).parts
        own = _Cluster({index for index, constant in enumerate(constants) if constant > 0}, [factor])
        for other in [cluster for cluster in found if cluster.touched & own.touched]:
            found.remove(other)
            own.join(other)
        found.append(own)
    return found


def _factors(where: Expression | None) -> list[Expression]:
    if where is None:
        return []
    return [*_factors(where.left), *_factors(where.right)] if isinstance(where, Multiply) else [where]


def _even_items(space: Space, touched: Sequence[int]) -> Iterator[Floats]:
    """Yield blocks of items that are spread evenly over some parts, and neutral in the others.

    Every combination of listed values occurs equally often, unless there are too many of them to look at.
    """
    parts = [space.parts[index] for index in touched]
    listed = [_listed(part) for part in parts]
    if math.prod(count or 1 for count in listed) > MOST_ITEMS:
        listed = [None] * len(parts)
    counts = [count for count in listed if count is not None]
    combinations = math.prod(counts)
    width = sum(part.width for part, count in zip(parts, listed, strict=True) if count is None)
    loose = _even_points(max(AT_ONCE // combinations, 1) if width else 1, width)
    for start in range(0, combinations * len(loose), AT_ONCE):
        numbers = np.arange(start, min(start + AT_ONCE, combinations * len(loose)))
        codes = iter(np.unravel_index(numbers // len(loose), counts) if counts else ())
        columns = iter(loose[numbers % len(loose)].T)
        own = {
            index: part.items_at(
                np.column_stack([next(columns) for _ in range(part.width)])
                if count is None
                else ((next(codes) + 0.5) / count)[:, None]
            )
            for index, part, count in zip(touched, parts, listed, strict=True)
        }
        neutral = np.repeat(space.items_space.neutral_item, len(numbers), axis=0)
        yield np.hstack([own.get(index, part_items(space, index, neutral)) for index in range(len(space.parts))])


def _listed(part: Space) -> int | None:
    """Return how many values or cells a finite part lists, a neutral item beside them not counted; None for others."""
    counts = part_counts(part)
    return None if counts is None else len(part.labels or ()) or counts[0]


def _even_points(count: int, dimension: int) -> Floats:
    """Return points that fill the unit cube evenly: midpoints of equal pieces, or Roberts' generalised golden ratio."""
    if dimension < 2:
        return ((np.arange(count) + 0.5) / count)[:, None][:, :dimension]
    ratio = 2.0
    for _ in range(60):
        ratio = (1.0 + ratio) ** (1.0 / (dimension + 1))
    steps = ratio ** -np.arange(1.0, dimension + 1.0)
    return np.mod(0.5 + np.arange(count)[:, None] * steps[None, :], 1.0)
