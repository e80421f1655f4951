"""Leaves that measure an item against a public point: distances and inner products (EMD 2)."""

from abc import abstractmethod
from typing import Any

import numpy as np

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.expressions.nodes.base import Expression
from emdp.expressions.nodes.parts import (
    Located,
    check_columns,
    freeze_point,
    part_items,
    resolve_part,
)
from emdp.expressions.numbers.bounds import Analysis, Domain, part_analysis
from emdp.spaces.base import Floats, FunctionBounds, Space
from emdp.spaces.listed.embedding import Embedding

__all__ = ["DistanceTo", "Dot", "Leaf", "Similarity"]


@dataclass(frozen=True, eq=False, repr=False)
class Leaf(Expression):
    """Base of the leaves that may name their part by ``column``, a column of it or several."""

    @abstractmethod
    def locate(self, space: Space) -> Located[Any]:
        """Return the part that the leaf speaks of, with what it asked of the part."""

    def _freeze(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False, repr=False)
class DistanceTo(Leaf):
    """Natural distance of the item to a point, or to the nearest of several.

    Proof: by the triangle inequality ``|d(x, p) - d(x', p)| <= d(x, x')``, one diameter per unit of ``d_X``;
    the nearest of several is their minimum.
    """

    points: tuple[Any, ...]  # At least one point, as `Space.encode_point` takes it; a point may lie outside the box
    column: tuple[str, ...] | None = None  # Columns of the part that the distance is of; needed where several parts fit
    far_point: bool = False  # Whether a place is meant though it lies farther from the box than the box is wide

    def __post_init__(self) -> None:
        points = tuple(freeze_point("point", point) for point in self.points)
        if not points:
            raise UsageError("distance_to needs a point; pass one or several.")
        self._freeze(points=points, column=check_columns(self.column))
        super().__post_init__()

    def locate(self, space: Space) -> Located[tuple[Floats, ...]]:
        """Return the part that the distance is of, with the encoded points."""
        return resolve_part(space, self.column, self._encoded_points, self)

    def bounds_on(self, domain: Domain, operands: tuple[Analysis, ...]) -> Analysis:
        located = self.locate(domain.space)
        if not self.far_point:
            for point, encoded in zip(self.points, located.found, strict=True):
                _check_near(located.part, point, encoded)
        known = [located.part.distance_bounds(point) for point in located.found]
        nearest = FunctionBounds(
            max(bounds.lipschitz for bounds in known),
            min(bounds.low for bounds in known),
            min(bounds.high for bounds in known),
            max(bounds.rounding for bounds in known),
        )
        return part_analysis(domain, located.index, nearest)

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        located = self.locate(space)
        own = part_items(space, located.index, items)
        values = located.part.distance_values(own, located.found[0])
        for point in located.found[1:]:
            values = np.minimum(values, located.part.distance_values(own, point))
        return values

    def _encoded_points(self, part: Space) -> tuple[Floats, ...]:
        encoded = tuple(part.encode_point(point) for point in self.points)
        part.distance_bounds(encoded[0])
        return encoded


@dataclass(frozen=True, eq=False, repr=False)
class Dot(Leaf):
    """Inner product of the item's vector with a constant one.

    Proof: ``|<x, v> - <x', v>| <= |v|_2 |x - x'|_2`` (Cauchy and Schwarz), so ``|v|_2 diameter``.
    """

    vector: tuple[float, ...]  # One number a dimension of the part
    column: tuple[str, ...] | None = None  # Columns of the part; needed where several parts fit

    def __post_init__(self) -> None:
        entries = freeze_point("vector", self.vector)
        is_vector = isinstance(entries, tuple) and entries
        if not is_vector or not all(isinstance(entry, int | float) for entry in entries):
            raise UsageError(f"vector must be a sequence of finite numbers, got {entries!r}; pass a list of numbers.")
        self._freeze(vector=tuple(map(float, entries)), column=check_columns(self.column))
        super().__post_init__()

    def locate(self, space: Space) -> Located[Floats]:
        """Return the part that the inner product is in, with the vector as an array."""
        return resolve_part(space, self.column, self._checked_vector, self)

    def bounds_on(self, domain: Domain, operands: tuple[Analysis, ...]) -> Analysis:
        located = self.locate(domain.space)
        return part_analysis(domain, located.index, located.part.inner_bounds(located.found))

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        located = self.locate(space)
        return located.part.inner_values(part_items(space, located.index, items), located.found)

    def _checked_vector(self, part: Space) -> Floats:
        vector = np.array(self.vector)
        part.inner_bounds(vector)
        return vector


@dataclass(frozen=True, eq=False, repr=False)
class Similarity(Leaf):
    """Inner product of the item's vector with the vector of a listed label, such as a word; proof as for
    ``Dot``.
    """

    label: Any
    column: tuple[str, ...] | None = None  # The part's column; needed where several parts know the label

    def __post_init__(self) -> None:
        self._freeze(label=freeze_point("label", self.label), column=check_columns(self.column))
        super().__post_init__()

    def locate(self, space: Space) -> Located[Floats]:
        """Return the part that knows the label, with the label's vector."""
        return resolve_part(space, self.column, self._vector, self)

    def bounds_on(self, domain: Domain, operands: tuple[Analysis, ...]) -> Analysis:
        located = self.locate(domain.space)
        return part_analysis(domain, located.index, located.part.inner_bounds(located.found))

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        located = self.locate(space)
        return located.part.inner_values(part_items(space, located.index, items), located.found)

    def _vector(self, part: Space) -> Floats:
        if not isinstance(part, Embedding):
            raise UsageError(f"{part.noun} has no vectors of labels; use a space such as Words or Embedding.")
        return part.vector_of(self.label)


def _check_near(part: Space, point: Any, encoded: Floats) -> None:
    """Refuse a place that is so far away that its numbers are probably in the wrong order."""
    found = part.misplaced(encoded)
    if found is None:
        return
    problem, other = found
    remedy = f"the latitude comes first, here and in the box, so pass {other}" if other else "pass a nearer one"
    raise UsageError(
        f"the point {point} {problem}; {remedy}, or distance_to(..., far_point=True) (--far-point on the command line) "
        "if it is meant."
    )
