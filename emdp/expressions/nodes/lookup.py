"""A public number for every listed value of a finite part: the column of a joined public table."""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_finite
from emdp.base.classes import dataclass
from emdp.base.errors import NotLipschitzError, UsageError
from emdp.expressions.nodes.label_distances import Codes, distance_blocks
from emdp.expressions.nodes.leaves import Leaf
from emdp.expressions.nodes.parts import Located, check_columns, freeze_point, part_items, resolve_part
from emdp.expressions.numbers.bounds import Analysis, Domain, constant_analysis, part_analysis
from emdp.expressions.numbers.outward import TINY, div_up, mul_up
from emdp.spaces.base import Floats, FunctionBounds, Space
from emdp.spaces.listed.clusters import Clusters
from emdp.spaces.rounding import UNIT_ROUNDOFF, difference_up

__all__ = ["LabelValue"]

RATIO_ROUNDING = 1 + 16 * UNIT_ROUNDOFF
"""Covers a subtraction, a product and a quotient in doubles."""


@dataclass(frozen=True, eq=False, repr=False)
class LabelValue(Leaf):
    """A public number for every listed value of a finite part, as a many-to-one join gives it.

    Proof: over a move of the part from ``a`` to ``b`` it changes by ``|f(a) - f(b)|``, at most the largest
    ``|f(a) - f(b)|/d(a, b)`` over all pairs of the part's items times ``d(a, b)``; for a 0/1 distance that is the range
    (EMD 2, "Product spaces"). Numbers are doubles and are looked up, so there is no rounding.

    Raises
    ------
    UsageError
        If a label comes twice, a number is not finite, or there is no label at all.

    >>> from emdp.expressions import analyse
    >>> from emdp.spaces import Categories
    >>> rent = LabelValue((("bar", 7.0), ("inn", 9.5)), 0.0, "kind", "places.rent")
    >>> rent, analyse(rent, Categories("kind", ["bar", "inn", "zoo"])).parts
    (places.rent, (9.5,))
    """

    # Labels, each once; those that the part does not list are passed over, since no item has them.
    values: tuple[tuple[Any, float], ...]
    otherwise: float  # The number of every other listed value, and of a neutral item that is none
    column: tuple[str, ...] | None = None  # The part's column; needed where several parts list the values
    text: str = "lookup"  # How it prints, such as `"stations.rent"`

    def __post_init__(self) -> None:
        values = tuple(
            (freeze_point("label", label), check_finite("a looked-up number", number)) for label, number in self.values
        )
        if not values or len({label for label, _ in values}) < len(values):
            raise UsageError("values must give at least one label its number, and none twice; pass distinct labels.")
        if not isinstance(self.text, str) or not self.text:
            raise UsageError(f"text must be a non-empty text, got {self.text!r}; pass how the column is written.")
        self._freeze(
            values=values,
            otherwise=check_finite("otherwise", self.otherwise),
            column=check_columns(self.column),
        )
        super().__post_init__()

    def locate(self, space: Space) -> Located[Floats]:
        """Return the part that the labels belong to, with the number of each code of its items."""
        return resolve_part(space, self.column, self._numbers, self.text)

    def bounds_on(self, domain: Domain, operands: tuple[Analysis, ...]) -> Analysis:
        located = self.locate(domain.space)
        position = domain.fixed.get(located.index, -1.0)
        if position >= 0:
            return constant_analysis(domain, float(located.found[int(position)]))
        low, high = float(located.found.min()), float(located.found.max())
        bounds = FunctionBounds(_slope(self, located.part), low, high, 0.0)
        return part_analysis(domain, located.index, bounds)

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        located = self.locate(space)
        codes = part_items(space, located.index, items)[:, 0].astype(np.intp)
        return np.asarray(located.found[codes], dtype=np.float64)

    def _numbers(self, part: Space) -> Floats:
        if part.labels is None:
            raise UsageError(f"{part.noun} has no listed values to look up; join on a categorical column.")
        return _numbers_of(self, part)


@lru_cache(maxsize=64)
def _numbers_of(leaf: LabelValue, part: Space) -> Floats:
    labels = part.labels or ()
    known = {label: number for label, number in leaf.values if type(label) is type(labels[0])}
    if known.keys().isdisjoint(labels):
        raise UsageError(f"`{leaf.text}` has a number for none of the values of {part.columns[0]!r}; join on its key.")
    numbers = [known.get(label, leaf.otherwise) for label in labels]
    if part.neutral_item[0, 0] == len(labels):
        numbers.append(leaf.otherwise)
    found = np.array(numbers)
    found.flags.writeable = False
    return found


@lru_cache(maxsize=64)
def _slope(leaf: LabelValue, part: Space) -> float:
    """Return the largest change per unit of the part's ``d_i`` before truncation, rounded up."""
    numbers = _numbers_of(leaf, part)
    low, high = float(numbers.min()), float(numbers.max())
    spread = difference_up(high, low)
    if low == high:
        return 0.0
    if part.structure == "discrete":
        return mul_up(spread, div_up(part.diameter, part.domain_diameter))
    if isinstance(part, Clusters):
        return max(spread, div_up(_spread_within(part, numbers), part.within))
    return mul_up(_steepest(leaf, part, numbers), part.diameter)


def _spread_within(part: Clusters, numbers: Floats) -> float:
    """Return the largest difference of two numbers of one cluster, rounded up."""
    clusters = part.cluster_codes(np.arange(len(numbers), dtype=np.float64)[:, None])
    lows, highs = np.full(clusters.max() + 1, np.inf), np.full(clusters.max() + 1, -np.inf)
    np.minimum.at(lows, clusters, numbers)
    np.maximum.at(highs, clusters, numbers)
    widths = highs - lows
    # of those that round alike the widest
    widest = np.flatnonzero(widths == widths.max())
    return max(difference_up(float(highs[cluster]), float(lows[cluster])) for cluster in widest)


def _steepest(leaf: LabelValue, part: Space, numbers: Floats) -> float:
    """Return the largest difference over distance of two items, rounded up."""
    steepest = 0.0

    def needed(rows: Codes, columns: Codes, floors: Floats) -> npt.NDArray[np.bool_]:
        changes = np.abs(np.subtract.outer(numbers[rows], numbers[columns]))
        return np.asarray((changes > 0) & ((floors <= 0) | (changes >= floors * steepest)))

    with np.errstate(over="ignore"):  # what is infinite is refused by the analysis
        for rows, columns, distances in distance_blocks(part, len(numbers), needed):
            changes = np.abs(np.subtract.outer(numbers[rows], numbers[columns]))
            is_change = changes > 0
            if (distances[is_change] <= 0).any():
                raise NotLipschitzError(
                    "has different numbers at values that are at distance 0",
                    expression=str(leaf),
                    offending=str(leaf),
                    remedy="give such values the same number, or use a distance or a similarity",
                )
            ratios = np.divide(changes, distances, out=np.zeros_like(changes), where=is_change)
            steepest = max(steepest, float(ratios.max()))
    return steepest * RATIO_ROUNDING + 2 * TINY
