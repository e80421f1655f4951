"""``Vector``: numeric columns as one vector in a box or a ball, with the Euclidean distance."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from emdp.base.checks import check_positive, shown
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.spaces.base import Floats, FunctionBounds, Mask, OnInvalid, V, check_on_invalid
from emdp.spaces.formulas import Arithmetic
from emdp.spaces.part import Part, check_columns, check_diameter, check_unit, numeric_items
from emdp.spaces.ranges import GridLine, PointKind, Span, line_of
from emdp.spaces.rounding import (
    UNIT_ROUNDOFF,
    check_coordinate,
    difference_up,
    dot_error,
    norm_error,
    norm_up,
    product_up,
    widened,
)
from emdp.spaces.values import is_sequence

__all__ = ["Vector"]

MOST_GRIDDED = 3
"""Most columns of a vector that a grid may have: cells multiply with each."""

INSIDE = 1.0 - 1e-9
"""Factor that brings a vector from just outside of a ball into it."""

SMALLEST_RADIUS = 1e-140
"""Squares of coordinates that matter beside it are still normal numbers."""


@dataclass(frozen=True, init=False, repr=False)
class Vector(Part):
    """Vectors of numeric columns in a box or in a ball about 0, with the Euclidean distance.

    Parameters
    ----------
    columns : sequence of str
        The columns, one a coordinate.
    box : sequence of (low, high), optional
        Bounds of each coordinate, ``low < high``; either this or ``radius``.
    radius : float, optional
        Radius of the ball. Under ``on_invalid="clamp"`` a vector outside moves to the nearest point of the
        domain: coordinate by coordinate into a box, along its ray onto a ball (one with infinite coordinates
        along its limit direction). A vector with a NULL or NaN coordinate becomes ``neutral`` as a whole.
    diameter : float, optional
        Distance that counts as 1; default the box's diagonal or twice the radius, rounded outward.
    unit : str, optional
        Natural unit, for display.
    on_invalid : {"error", "clamp", "neutral", "elsewhere"}
        What is done with an invalid vector.
    neutral : sequence of float, optional
        The neutral item, inside the domain; default the centre.

    Raises
    ------
    UsageError
        If an argument is malformed.

    References
    ----------
    EMD 2: an inner product with ``v`` has the constant ``norm(v) * diameter``.

    >>> space = Vector(["x", "y"], box=[(0, 3), (0, 4)], on_invalid="clamp")
    >>> round(space.diameter, 12)
    5.0
    >>> space.pairwise({"x": [0], "y": [0]}, {"x": [3, 1.5], "y": [4, -1]}).round(9).tolist()
    [[1.0, 0.3]]
    """

    kind: ClassVar[str] = "vector"
    has_grid: ClassVar[bool] = True
    point_kind: ClassVar[PointKind] = "vector"
    columns: tuple[str, ...]
    box: tuple[tuple[float, float], ...] | None
    radius: float | None
    diameter: float
    domain_diameter: float
    unit: str | None
    on_invalid: OnInvalid
    neutral: tuple[float, ...]

    def __init__(
        self,
        columns: Sequence[str],
        *,
        box: Sequence[Sequence[float]] | None = None,
        radius: float | None = None,
        diameter: float | None = None,
        unit: str | None = None,
        on_invalid: OnInvalid = "error",
        neutral: Sequence[float] | None = None,
    ) -> None:
        if (box is None) == (radius is None):
            raise UsageError("exactly one of box and radius must be given; pass box=[(low, high), ...] or radius=.")
        names = check_columns("columns", columns)
        self._set(
            columns=names,
            box=None if box is None else _check_box(box, len(names)),
            radius=None if radius is None else _check_radius(radius),
            unit=check_unit(unit),
            on_invalid=check_on_invalid(on_invalid),
        )
        lows, highs = self.coordinate_bounds
        widths = [difference_up(high, low) for low, high in zip(lows.tolist(), highs.tolist(), strict=True)]
        domain_diameter = norm_up(widths) if self.radius is None else 2 * self._radius_up
        self._set(domain_diameter=domain_diameter, diameter=check_diameter(diameter, domain_diameter))
        centre = tuple((lows / 2 + highs / 2).tolist())
        self._set(neutral=centre if neutral is None else self._check_neutral(neutral))

    @property
    def coordinate_bounds(self) -> tuple[Floats, Floats]:
        """Lowest and highest value of each coordinate, two arrays of shape (columns,)."""
        if self.box is not None:
            bounds = np.array(self.box)
            return bounds[:, 0], bounds[:, 1]
        return np.full(len(self.columns), -self._radius_up), np.full(len(self.columns), self._radius_up)

    @property
    def spans(self) -> tuple[Span, ...]:
        """The range of each coordinate; of a ball those of the cube around it."""
        lows, highs = self.coordinate_bounds
        pairs = zip(self.columns, lows.tolist(), highs.tolist(), strict=True)
        return tuple(Span(name, low, high) for name, low, high in pairs)

    @property
    def is_box(self) -> bool:
        return self.radius is None

    @property
    def dimension(self) -> int:
        return len(self.columns)

    @property
    def neutral_item(self) -> Floats:
        return np.array([self.neutral])

    @property
    def _radius_up(self) -> float:
        """Bound of the exact norms of vectors whose computed norm is at most the radius; 0 for a box."""
        return 0.0 if self.radius is None else self.radius * (1 + (len(self.columns) + 8) * UNIT_ROUNDOFF)

    def _read(self, frame: object) -> Floats:
        return numeric_items(frame, self.columns)

    def _inside(self, items: Floats) -> Mask:
        if self.radius is not None:
            return np.asarray(_norms(items) <= self.radius, dtype=np.bool_)
        lows, highs = self.coordinate_bounds
        return np.asarray(((items >= lows) & (items <= highs)).all(axis=1), dtype=np.bool_)

    def _clamped(self, items: Floats) -> Floats:
        if self.radius is None:
            lows, highs = self.coordinate_bounds
            clamped = np.clip(items, lows, highs)
        else:
            # A little inside, so that the rounded norm of the result cannot exceed the radius.
            shrunk = self.radius * (1 - 4 * (len(self.columns) + 4) * UNIT_ROUNDOFF)
            clamped = _directions(items) * shrunk
        clamped[np.isnan(items).any(axis=1)] = np.nan
        return clamped

    def brought_inside(self, items: Floats) -> Floats:
        """Return points of the cube around a ball with those outside moved along their rays to just inside it."""
        if self.radius is None:
            return items
        norms = np.sqrt(np.square(items).sum(axis=1, keepdims=True))
        radius = self.radius * INSIDE
        return np.asarray(items * np.minimum(1.0, radius / np.maximum(norms, radius)), dtype=np.float64)

    def encode_point(self, point: Any) -> Floats:
        return np.array([_check_vector("point", point, len(self.columns))])

    def decode(self, items: Floats) -> dict[str, list[Any]]:
        return {name: items[:, place].tolist() for place, name in enumerate(self.columns)}

    def natural_distances(self, left: Floats, right: Floats) -> Floats:
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(left, right), dtype=np.float64)

    def column_bounds(self, column: str) -> FunctionBounds:
        """Return what is known of one coordinate: constant ``diameter``, range from the domain."""
        place = self._position(column)
        lows, highs = self.coordinate_bounds
        return FunctionBounds(self.diameter, float(lows[place]), float(highs[place]), 0.0)

    def column_values(self, items: Floats, column: str) -> Floats:
        return items[:, self._position(column)]

    def distance_bounds(self, point: Floats) -> FunctionBounds:
        """Return what is known of the Euclidean distance to a point, which may lie outside the domain."""
        at = point[0]
        if self.radius is not None:
            norm = norm_up(at)
            near, far = max(norm - self._radius_up, 0.0), norm + self._radius_up
        else:
            lows, highs = self.coordinate_bounds
            near = norm_up(np.maximum(np.maximum(lows - at, at - highs), 0.0))
            far = norm_up(np.maximum(np.abs(lows - at), np.abs(highs - at)))
        error = norm_error(len(at), far)
        low, high = widened(near, far, error)
        return FunctionBounds(self.diameter, max(low, 0.0), high, error)

    def distance_values(self, items: Floats, point: Floats) -> Floats:
        return _norms(items - point)

    def distance_formula(self, arithmetic: Arithmetic[V], left: Sequence[V], right: Sequence[V]) -> V:
        steps = [arithmetic.subtract(x, y) for x, y in zip(left, right, strict=True)]
        return arithmetic.root(arithmetic.total([arithmetic.multiply(step, step) for step in steps]))

    def joint_rates(self, alone: Mapping[str, float], steps: Mapping[str, float]) -> tuple[float, ...] | None:
        """Return each rate by itself: coordinates move together, by Cauchy and Schwarz."""
        return tuple(alone.values())

    def grid_refusal(self) -> str | None:
        """Return why a ball, or a vector of many columns, has no grid; else None."""
        named = " or ".join(map(repr, self.columns))
        if self.radius is not None:
            return f"{named} lies in a ball, which has no grid; declare the vector with box=, or ask for means"
        if len(self.columns) > MOST_GRIDDED:
            return (
                f"a grid has at most {MOST_GRIDDED} columns and {named} has {len(self.columns)}; ask for means instead"
            )
        return None

    def grid_lines(self, step: float) -> tuple[GridLine, ...]:
        """Return nodes along each column of a box, from its low edge to the first at or beyond its high edge."""
        if self.radius is not None:
            return super().grid_lines(step)
        return tuple(line_of(span, step) for span in self.spans)

    def inner_bounds(self, vector: Floats) -> FunctionBounds:
        weights = np.array(_check_vector("vector", vector, len(self.columns)))
        norm = norm_up(weights)
        if norm == 0:
            return FunctionBounds(0.0, 0.0, 0.0, 0.0)
        if self.radius is not None:
            magnitude = product_up(norm, self._radius_up)
            near, far = -magnitude, magnitude
        else:
            lows, highs = self.coordinate_bounds
            near = float(np.minimum(weights * lows, weights * highs).sum())
            far = float(np.maximum(weights * lows, weights * highs).sum())
            magnitude = float(np.maximum(np.abs(weights * lows), np.abs(weights * highs)).sum())
        error = dot_error(len(weights) + 2, magnitude)
        return FunctionBounds(product_up(norm, self.diameter), *widened(near, far, error), error)

    def inner_values(self, items: Floats, vector: Floats) -> Floats:
        return np.asarray(items @ np.array(_check_vector("vector", vector, len(self.columns))))

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "columns": list(self.columns),
            "box": None if self.box is None else [list(bounds) for bounds in self.box],
            "radius": self.radius,
            "diameter": self.diameter,
            "unit": self.unit,
            "on_invalid": self.on_invalid,
            "neutral": list(self.neutral),
        }

    def _check_neutral(self, neutral: object) -> tuple[float, ...]:
        values = _check_vector("neutral", neutral, len(self.columns))
        if not self._inside(np.array([values]))[0]:
            raise UsageError(f"neutral must lie in the domain, got {values}; pass a vector inside box or radius.")
        return values

    def _position(self, column: str) -> int:
        if column not in self.columns:
            raise UsageError(f"the space has no column {column!r}, only {list(self.columns)!r}; name one of them.")
        return self.columns.index(column)


def _check_box(box: object, dimension: int) -> tuple[tuple[float, float], ...]:
    if not is_sequence(box) or len(box) != dimension:
        raise UsageError(
            f"box must hold one (low, high) for each of {dimension} columns, got {shown(box)}; pass those."
        )
    bounds = []
    for pair in box:
        low, high = _check_vector("a pair of box", pair, 2)
        if low >= high:
            raise UsageError(f"box has low={low} not below high={high}; pass (low, high) in order.")
        bounds.append((low, high))
    return tuple(bounds)


def _check_vector(name: str, vector: object, dimension: int) -> tuple[float, ...]:
    """Return a vector of ``dimension`` finite numbers as a tuple of floats, or raise."""
    if not is_sequence(vector) or len(vector) != dimension:
        raise UsageError(f"{name} must be {dimension} numbers, got {shown(vector)}; pass a sequence of that length.")
    return tuple(check_coordinate(name, value) for value in vector)


def _norms(items: Floats) -> Floats:
    """Return the 2-norm of each row; infinite, without a warning, where a square overflows."""
    with np.errstate(over="ignore"):
        return np.asarray(np.sqrt(np.square(items).sum(axis=1)), dtype=np.float64)


def _check_radius(radius: object) -> float:
    number = check_coordinate("radius", check_positive("radius", radius))
    if number < SMALLEST_RADIUS:
        raise UsageError(f"radius must be at least {SMALLEST_RADIUS}, got {number}; rescale the columns.")
    return number


def _directions(items: Floats) -> Floats:
    """Return each row as a unit vector; a row with infinite coordinates as the limit of its ray."""
    infinite = np.isinf(items)
    rays = np.where(infinite.any(axis=1, keepdims=True), np.where(infinite, np.sign(items), 0.0), items)
    rays = rays / np.abs(rays).max(axis=1, keepdims=True)
    return np.asarray(rays / np.sqrt(np.square(rays).sum(axis=1, keepdims=True)), dtype=np.float64)
