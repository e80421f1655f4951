"""Functions that jump between listed values, which lie apart: indicators and cases (EMD 2)."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from emdp.base.classes import dataclass
from emdp.base.errors import NotLipschitzError, UsageError
from emdp.expressions.nodes.base import Expression
from emdp.expressions.nodes.leaves import Leaf
from emdp.expressions.nodes.parts import Located, check_columns, freeze_point, part_items, resolve_part
from emdp.expressions.numbers.bounds import Analysis, Domain, constant_analysis, largest_parts, part_analysis
from emdp.expressions.numbers.outward import add_up, div_up, mul_up
from emdp.spaces.base import Floats, FunctionBounds, Mask, Space

__all__ = ["Case", "CategoryIs", "Labelled", "covers_domain", "indicator_bounds"]

EXACT_KINDS = ("categories", "clusters", "distances")
"""Kinds of spaces whose distances are numbers that the owner gave, from which gaps between sets are read."""

LARGEST_GAP_TABLE = 1_000_000
"""Most distances computed to find the gap around a set of values; above it each value's own gap is used."""


@dataclass(frozen=True, eq=False, repr=False)
class Labelled(Leaf):
    """Base of the nodes that depend on which listed value a finite part has."""

    def locate(self, space: Space) -> Located[tuple[float, ...]]:
        """Return the part that the values belong to, with their positions in its encoding.

        Raises
        ------
        UsageError
            If the part has no listed values or not this one, or several parts fit and ``column`` names none.
        """
        return resolve_part(space, self._named_columns, self._positions, self)

    def locate_in(self, domain: Domain) -> Located[tuple[float, ...]]:
        """Return what :meth:`locate` does, asking the space only once for a domain."""
        if id(self) not in domain.located:
            domain.located[id(self)] = self.locate(domain.space)
        found: Located[tuple[float, ...]] = domain.located[id(self)]
        return found

    @property
    @abstractmethod
    def mentioned(self) -> tuple[Any, ...]:
        """Listed values that the node names."""

    @property
    @abstractmethod
    def _named_columns(self) -> tuple[str, ...] | None:
        """The columns that the node names its part by, if any."""

    def _positions(self, part: Space) -> tuple[float, ...]:
        for value in self.mentioned:
            part.label_bounds(value)
        return tuple(float(part.encode_point(value)[0, 0]) for value in self.mentioned)


@dataclass(frozen=True, eq=False, repr=False)
class CategoryIs(Labelled):
    """Indicator of listed values: 1 where a finite part has one of them, else 0.

    Proof: it changes by 1 only between a value inside the set and one outside, which are at least
    ``gap = min d`` apart, so ``1/gap``: 1 for a 0/1 distance.
    """

    values: tuple[Any, ...]  # At least one value of the part
    column: tuple[str, ...] | None = None  # The part's column; needed where several parts list the values

    def __post_init__(self) -> None:
        values = tuple(freeze_point("value", value) for value in self.values)
        if not values:
            raise UsageError("category_is needs a value; pass one or several.")
        if len(set(values)) < len(values):
            raise UsageError("category_is names a value twice; name each once.")
        self._freeze(values=values, column=check_columns(self.column))
        super().__post_init__()

    @property
    def mentioned(self) -> tuple[Any, ...]:
        return self.values

    @property
    def _named_columns(self) -> tuple[str, ...] | None:
        return self.column

    def bounds_on(self, domain: Domain, operands: tuple[Analysis, ...]) -> Analysis:
        located = self.locate_in(domain)
        if located.index in domain.fixed:
            return constant_analysis(domain, float(domain.fixed[located.index] in located.found))
        bounds = indicator_bounds(located.part, self.values, located.found)
        if not math.isfinite(bounds.lipschitz):
            raise NotLipschitzError(
                "jumps between values at distance 0",
                expression=str(self),
                offending=str(self),
                remedy="use a distance or a similarity, which are equal at such values",
            )
        return part_analysis(domain, located.index, bounds)

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        located = self.locate(space)
        own = part_items(space, located.index, items)
        return _is_among(located.part, own, self.values).astype(np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class Case(Labelled):
    """``CASE`` over categories: one expression where a finite part has some listed values, another for the rest.

    Proof: while the part stays within one branch only that branch's expression changes; between branches
    ``k`` and ``l`` the value changes by at most the larger of ``high_k - low_l`` and ``high_l - low_k``,
    over a distance of at least the gap between their sets.
    """

    groups: tuple[tuple[Any, ...], ...]  # For each branch the values that choose it, disjoint
    branches: tuple[Expression, ...]  # For each branch its expression
    otherwise: Expression  # The expression at all other values, the neutral item's included
    column: tuple[str, ...] | None = None  # The part's column; needed where several parts list the values

    def __post_init__(self) -> None:
        groups = tuple(tuple(freeze_point("value", value) for value in group) for group in self.groups)
        named = [value for group in groups for value in group]
        if not groups or not all(groups) or len(groups) != len(self.branches):
            raise UsageError("a case needs at least one branch, each with its values; pass {value: expression}.")
        if len(set(named)) < len(named):
            raise UsageError("a case names a value in two branches; name each once.")
        self._freeze(groups=groups, branches=tuple(self.branches), column=check_columns(self.column))
        super().__post_init__()

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (*self.branches, self.otherwise)

    @property
    def mentioned(self) -> tuple[Any, ...]:
        return tuple(value for group in self.groups for value in group)

    @property
    def _named_columns(self) -> tuple[str, ...] | None:
        return self.column

    def bounds_on(self, domain: Domain, operands: tuple[Analysis, ...]) -> Analysis:
        located = self.locate_in(domain)
        positions = self._split(located.found)
        if located.index in domain.fixed:
            return operands[_branch_of(domain.fixed[located.index], positions)]
        known = [
            indicator_bounds(located.part, group, own).lipschitz
            for group, own in zip(self.groups, positions, strict=True)
        ]
        if covers_domain(located.part, located.found):
            operands = operands[:-1]
        else:
            # every way out of the last branch leads into a named one, whose own constant bounds it
            known.append(max(known))
        parts = list(largest_parts(branch.parts for branch in operands))
        for (first, leaving), (second, entering) in combinations(zip(operands, known, strict=True), 2):
            jump = max(add_up(first.high, -second.low), add_up(second.high, -first.low), 0.0)
            parts[located.index] = max(parts[located.index], mul_up(jump, min(leaving, entering)))
        return Analysis(
            tuple(parts),
            min(branch.low for branch in operands),
            max(branch.high for branch in operands),
            max(branch.rounding for branch in operands),
        )

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        located = self.locate(space)
        own = part_items(space, located.index, items)
        chosen = operands[-1]
        for group, values in zip(self.groups, operands[:-1], strict=True):
            chosen = np.where(_is_among(located.part, own, group), values, chosen)
        return chosen

    def _split(self, positions: Sequence[float]) -> list[tuple[float, ...]]:
        remaining = iter(positions)
        return [tuple(next(remaining) for _ in group) for group in self.groups]


def indicator_bounds(part: Space, values: Sequence[Any], positions: Sequence[float]) -> FunctionBounds:
    """Return the known bounds of the indicator of a set of listed values of a part.

    The largest of the single constants is valid, since leaving the set means leaving one of its values;
    where the distances are the owner's own numbers, the gap between the set and the rest is read off them.
    """
    known = [part.label_bounds(value) for value in values]
    largest = max(bounds.lipschitz for bounds in known)
    if covers_domain(part, positions):
        return FunctionBounds(0.0, 1.0, 1.0, 0.0)
    low, high = max(bounds.low for bounds in known), max(bounds.high for bounds in known)
    rounding = max(bounds.rounding for bounds in known)
    return FunctionBounds(min(largest, _gap_constant(part, positions)), low, high, rounding)


def covers_domain(part: Space, positions: Sequence[float]) -> bool:
    """Say whether every item, the neutral one included, is at one of the positions."""
    named = set(positions)
    return len(named) == len(part.labels or ()) and float(part.neutral_item[0, 0]) in named


def _gap_constant(part: Space, positions: Sequence[float]) -> float:
    labels = part.labels or ()
    if part.kind not in EXACT_KINDS or len(positions) == 1 or len(positions) * len(labels) > LARGEST_GAP_TABLE:
        return float("inf")
    inside = set(positions)
    outside = [position for position in map(float, range(len(labels))) if position not in inside]
    if part.neutral_item[0, 0] not in inside:
        outside.append(float(part.neutral_item[0, 0]))
    distances = part.natural_distances(np.array(positions)[:, None], np.array(outside)[:, None])
    gap = float(distances.min())
    return div_up(part.diameter, gap) if gap > 0 else float("inf")


def _branch_of(position: float, groups: Sequence[Sequence[float]]) -> int:
    for index, group in enumerate(groups):
        if position in group:
            return index
    return len(groups)


def _is_among(part: Space, items: Floats, values: Sequence[Any]) -> Mask:
    chosen = np.zeros(len(items), dtype=np.bool_)
    for value in values:
        chosen |= part.label_values(items, value) > 0
    return chosen
