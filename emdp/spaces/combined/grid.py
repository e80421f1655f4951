"""``Grid``: the cells of a regular grid over a continuous space, at the distance of their centres."""

import math
from functools import cached_property
from typing import Any, ClassVar, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count, shown
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.spaces.base import Floats, FunctionBounds, Mask, OnInvalid, Space
from emdp.spaces.continuous.geo import Geo
from emdp.spaces.continuous.interval import Interval
from emdp.spaces.continuous.sphere import box_angle
from emdp.spaces.continuous.vector import Vector
from emdp.spaces.part import Part, check_diameter
from emdp.spaces.ranges import Span
from emdp.spaces.rounding import UNIT_ROUNDOFF, difference_up, norm_up
from emdp.spaces.values import is_sequence

__all__ = ["MOST_CELLS", "Grid", "GridAxis", "can_be_cut", "cut_axes"]

MOST_CELLS = 2**24
"""Most cells of a grid: their codes fit 32-bit integers with room, and one array of them 128 MB."""


@dataclass(frozen=True)
class GridAxis:
    """One axis of a grid: a public interval cut into cells of one width.

    A number ``x`` of the interval lies in the cell ``min(floor((x - low) * scale), count - 1)``, in doubles, with
    these operations in this order: what the engine computes too. Each operation is monotone, so a cell is an interval,
    half-open but for the last; an edge may lie a rounding off ``low + i (high - low)/count``.
    """

    low: float
    high: float
    count: int

    @property
    def scale(self) -> float:
        """Cells per unit; 0 for an interval of one point."""
        width = self.high - self.low
        return self.count / width if width > 0 else 0.0

    @property
    def centres(self) -> Floats:
        """Centre of each cell, shape (count,), inside the interval."""
        places = self.low + (np.arange(self.count) + 0.5) * ((self.high - self.low) / self.count)
        return np.clip(places, self.low, self.high)

    @cached_property
    def top(self) -> float:
        """The largest number of the interval that the minimum does not move: up to it ``floor`` alone is the cell."""
        low, high = self.low, self.high
        if math.floor((high - self.low) * self.scale) < self.count:
            return high
        # Numbers between the two ends are halved until none is left; places are monotone.
        while low < (middle := low / 2 + high / 2) < high:
            if math.floor((middle - self.low) * self.scale) < self.count:
                low = middle
            else:
                high = middle
        return low

    def cells(self, values: Floats) -> Floats:
        """Return the cell of each number of the interval, as whole doubles.

        >>> GridAxis(0.0, 1.0, 4).cells(np.array([0.0, 0.25, 0.999, 1.0])).tolist()
        [0.0, 1.0, 3.0, 3.0]
        """
        return np.minimum(np.floor((values - self.low) * self.scale), float(self.count - 1))


@dataclass(frozen=True, init=False, repr=False)
class Grid(Part):
    """The cells of a regular grid over ``inner``; two places in one cell are one and the same item.

    A record's item is the cell that holds it, and the distance of two cells is the natural distance of ``inner``
    between their centres, divided by ``diameter``.

    What is protected. The ground metric is that of the cells, and it is declared publicly: it is *another* metric than
    ``inner``'s. A move inside a cell changes no item, so it is hidden entirely; a move across an edge, however short,
    is a move between two centres, so it costs a whole step of the grid. A guarantee on a Grid is therefore *not* one
    on ``inner``: rounding to centres is no Lipschitz map for the inner metric (places on the two sides of an edge are
    as near as one likes, their cells are not). Hence Grid is a space of its own, and the budget of a table over
    ``inner`` cannot pay for it.

    Parameters
    ----------
    inner : Interval, Geo or Vector
        The space that is cut, a ``Vector`` with a box. Its columns, ``on_invalid`` rule and unit are the grid's; an
        invalid value follows the rule first and is then put into its cell; the neutral item is the cell of ``inner``'s
        neutral item. Its ``diameter`` means nothing here.
    shape : int or sequence of int
        Cells along each axis: one number for an ``Interval``, (rows of latitude, columns of longitude) for a ``Geo``,
        one a column for a ``Vector``. Cells are half-open, the last of an axis closed; there are at most
        ``MOST_CELLS``.
    diameter : float, optional
        Natural distance that counts as 1; default the largest distance between centres, rounded outward (for a ``Geo``
        an upper bound of it: that of the box that the outer centres span).

    Attributes
    ----------
    axes : tuple of GridAxis
        The axes, in the order of ``shape``.

    Notes
    -----
    An item is encoded as the number of its cell, row by row (C order), in one float64. A function of cells is that of
    their centres, so the constants of ``inner`` hold: centres are places of ``inner`` at the same distance. Only
    ``distance_to`` is offered: it is the distance of two centres, the item's and that of the cell that holds the point.

    Raises
    ------
    UsageError
        If ``inner`` cannot be cut, ``shape`` does not fit it, or cells are too narrow for doubles to tell apart.

    References
    ----------
    EMD 3 ("grid") and EMD 1, ground metrics.

    >>> space = Grid(Interval("price", 0, 10), 5)
    >>> space.encode({"price": [0, 1.9, 2, 10]})[:, 0].tolist(), space.diameter
    ([0.0, 0.0, 1.0, 4.0], 8.0)
    >>> space.pairwise({"price": [1.9]}, {"price": [0.1, 2, 10]}).tolist()
    [[0.0, 0.25, 1.0]]
    """

    kind: ClassVar[str] = "grid"
    width: ClassVar[int] = 1
    """Number of columns: one, the number of the cell."""
    is_box: ClassVar[bool] = True
    inner: Interval | Geo | Vector
    shape: tuple[int, ...]
    columns: tuple[str, ...]
    diameter: float
    domain_diameter: float
    unit: str | None
    on_invalid: OnInvalid

    def __init__(
        self, inner: Space, shape: int | tuple[int, ...] | list[int], *, diameter: float | None = None
    ) -> None:
        checked = _check_inner(inner)
        self._set(inner=checked, shape=_check_shape(shape, len(_bounds(checked)), checked.kind))
        self._set(columns=checked.columns, unit=checked.unit, on_invalid=checked.on_invalid)
        for axis in self.axes:
            _check_axis(axis)
        largest = _largest_distance(checked, self.axes)
        self._set(domain_diameter=largest, diameter=check_diameter(diameter, largest))

    def __repr__(self) -> str:
        return f"Grid({self.inner!r}, {self._given_shape!r}, diameter={self.diameter!r})"

    @cached_property
    def axes(self) -> tuple[GridAxis, ...]:
        """The axes, in the order of ``shape``."""
        return tuple(
            GridAxis(low, high, count) for (low, high), count in zip(_bounds(self.inner), self.shape, strict=True)
        )

    @property
    def strides(self) -> tuple[int, ...]:
        """Growth of the code along each axis."""
        return tuple(math.prod(self.shape[place + 1 :]) for place in range(len(self.shape)))

    @property
    def size(self) -> int:
        """Number of cells."""
        return math.prod(self.shape)

    @property
    def all_items(self) -> Floats:
        """Every encoded item, shape (size, 1)."""
        return np.arange(self.size, dtype=np.float64)[:, None]

    def items_at(self, units: Floats) -> Floats:
        """Return cells at points of the unit interval, each of as many as any other."""
        return np.minimum(np.floor(units * self.size), self.size - 1.0)

    @property
    def axis_steps(self) -> tuple[float | None, ...]:
        """Natural distance of neighbouring centres along each axis, to rounding; None where it is not constant.

        That is along longitudes, whose degrees are shorter near the poles, and along an axis of one cell.
        """
        steps: list[float | None] = [
            (axis.high - axis.low) / axis.count if axis.count > 1 else None for axis in self.axes
        ]
        if isinstance(self.inner, Geo):
            return (None if steps[0] is None else math.radians(steps[0]) * self.inner.radius, None)
        return tuple(steps)

    @property
    def structure(self) -> Literal["line", "discrete", "clusters", "general"]:
        """``"line"`` over an ``Interval`` whose distances a declared diameter does not cut, else ``"general"``."""
        return "line" if isinstance(self.inner, Interval) and not self.is_truncated else "general"

    @property
    def spans(self) -> tuple[Span, ...]:
        return self.inner.spans

    @property
    def tried_points(self) -> tuple[Any, ...]:
        """The centre of the neutral cell along the first axis: a place of a grid of one."""
        return (self.decode(self.neutral_item)[self.columns[0]][0],)

    @property
    def neutral_code(self) -> int:
        """Code of the cell of ``inner``'s neutral item."""
        return int(self.neutral_item[0, 0])

    @property
    def neutral_item(self) -> Floats:
        return self._coded(self.inner.neutral_item)

    def codes(self, items: Floats) -> npt.NDArray[np.intp]:
        """Return encoded items as integer codes, shape (n,)."""
        return items[:, 0].astype(np.intp)

    def centres(self, items: Floats) -> Floats:
        """Return the centre of each encoded item's cell as an encoded item of ``inner``, shape (n, axes).

        >>> Grid(Interval("x", 0, 10), 5).centres(np.array([[0.0], [4.0]])).tolist()
        [[1.0], [9.0]]
        """
        places = np.unravel_index(self.codes(items), self.shape)
        own = zip(self._axis_centres, places, strict=True)
        return np.column_stack([centres[place] for centres, place in own])

    def encode(self, frame: object) -> Floats:
        """Return the encoded items of a frame, shape (rows, 1), after ``inner``'s ``on_invalid`` rule."""
        return self._coded(self.inner.encode(frame))

    def encode_point(self, point: Any) -> Floats:
        """Return the cell that holds a point of ``inner``, shape (1, 1); the point lies in the domain."""
        place = self.inner.encode_point(point)
        if not self.inner._inside(place)[0]:
            raise UsageError(f"point must lie in the domain of the grid, got {shown(point)}; pass a place inside it.")
        return self._coded(place)

    def decode(self, items: Floats) -> dict[str, list[Any]]:
        """Return the centres of encoded items under the columns' names."""
        return self.inner.decode(self.centres(items))

    def natural_distances(self, left: Floats, right: Floats) -> Floats:
        """Return the matrix of ``inner``'s natural distances between the cells' centres."""
        return self._metric.natural_distances(self.centres(left), self.centres(right))

    def line(self, items: Floats) -> Floats:
        """Return positions whose absolute differences are ``d_X``; over an ``Interval`` that nothing cuts."""
        if self.structure != "line":
            return super().line(items)
        centres = self._axis_centres[0]
        return np.asarray((centres[self.codes(items)] - centres[0]) / self.diameter, dtype=np.float64)

    def column_bounds(self, column: str) -> FunctionBounds:
        """Raise: a cell holds many values of a column."""
        return self._refuse_column(column)

    def column_values(self, items: Floats, column: str) -> Floats:
        """Raise: a cell holds many values of a column."""
        return self._refuse_column(column)

    def distance_bounds(self, point: Floats) -> FunctionBounds:
        """Return what is known of the distance to the centre of an encoded cell: that of ``inner`` in its domain."""
        return self._metric.distance_bounds(self.centres(point))

    def distance_values(self, items: Floats, point: Floats) -> Floats:
        """Return the distance of each encoded item's centre to that of an encoded cell, shape (n,)."""
        return self._metric.distance_values(self.centres(items), self.centres(point))

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "inner": self.inner.to_json(),
            "shape": self._given_shape,
            "diameter": self.diameter,
        }

    @property
    def _given_shape(self) -> int | list[int]:
        return self.shape[0] if isinstance(self.inner, Interval) else list(self.shape)

    @cached_property
    def _axis_centres(self) -> tuple[Floats, ...]:
        return tuple(axis.centres for axis in self.axes)

    @cached_property
    def _metric(self) -> Part:
        """The inner space with the grid's diameter: accurate for such distances, and its constants are the grid's."""
        arguments = {key: value for key, value in self.inner.to_json().items() if key != "kind"}
        return type(self.inner)(**{**arguments, "diameter": self.diameter})

    def _read(self, frame: object) -> Floats:
        return self.inner._read(frame)

    def _inside(self, items: Floats) -> Mask:
        return self.inner._inside(items)

    def _coded(self, places: Floats) -> Floats:
        """Return encoded items of ``inner``, inside its domain, as cells, shape (n, 1)."""
        codes = np.zeros(len(places))
        for number, (axis, stride) in enumerate(zip(self.axes, self.strides, strict=True)):
            codes += axis.cells(places[:, number]) * stride
        return codes[:, None]

    def _refuse_column(self, column: str) -> NoReturn:
        if column not in self.columns:
            raise UsageError(f"the space has no column {column!r}, only {list(self.columns)!r}; name one of them.")
        raise UsageError(
            f"column {column!r} has many values in one cell of a grid space; use distance_to, or read the table with "
            "the space inside the grid."
        )


def cut_axes(space: Space) -> int:
    """Return along how many axes a space can be cut into a ``Grid``; 0 where it cannot.

    >>> cut_axes(Interval("x", 0, 1)), cut_axes(Vector(["x", "y"], radius=1))
    (1, 0)
    """
    return len(space.spans) if isinstance(space, Interval | Geo | Vector) and space.is_box else 0


def can_be_cut(space: Space) -> bool:
    """Return whether a ``Grid`` over each part that lists no values makes the space finite.

    >>> from emdp.spaces import Cycle, Product
    >>> can_be_cut(Interval("x", 0, 1)), can_be_cut(Product(Interval("x", 0, 1), Cycle("hour", 24)))
    (True, False)
    """
    return all(part.labels is not None or isinstance(part, Grid) or cut_axes(part) > 0 for part in space.parts)


def _check_inner(inner: object) -> Interval | Geo | Vector:
    if not isinstance(inner, Interval | Geo | Vector):
        kind = inner.kind if isinstance(inner, Space) else type(inner).__name__
        raise UsageError(
            f"inner must be an Interval, a Geo or a Vector with a box, not {shown(kind)}; pass one of them."
        )
    if isinstance(inner, Vector) and inner.box is None:
        raise UsageError("inner is a Vector in a ball, which has no regular grid; pass one with a box.")
    return inner


def _bounds(inner: Interval | Geo | Vector) -> tuple[tuple[float, float], ...]:
    return tuple((span.low, span.high) for span in inner.spans)


def _check_shape(shape: object, dimension: int, kind: str) -> tuple[int, ...]:
    given = (shape,) if dimension == 1 and not is_sequence(shape) else shape
    if not is_sequence(given) or len(given) != dimension:
        wanted = "a number of cells" if dimension == 1 else f"{dimension} numbers of cells"
        raise UsageError(f"shape must be {wanted} for a {kind} space, got {shown(shape)}; pass one for each axis.")
    counts = tuple(check_count("shape", count) for count in given)
    if math.prod(counts) > MOST_CELLS:
        raise UsageError(f"shape makes {math.prod(counts)} cells, more than {MOST_CELLS}; use fewer.")
    return counts


def _check_axis(axis: GridAxis) -> None:
    """Raise unless every cell holds its own centre, and the neighbours' centres are others."""
    if axis.low == axis.high and axis.count > 1:
        raise UsageError(f"shape cuts an axis of one point into {axis.count} cells; make it 1 there.")
    if not math.isfinite(axis.scale) or not np.array_equal(axis.cells(axis.centres), np.arange(axis.count)):
        raise UsageError(
            f"shape cuts [{axis.low}, {axis.high}] into {axis.count} cells too narrow for doubles to tell apart; "
            "use fewer."
        )


def _largest_distance(inner: Interval | Geo | Vector, axes: tuple[GridAxis, ...]) -> float:
    """Return an upper bound of the natural distances between centres, exact to rounding but for a wide Geo."""
    ends = [(float(axis.centres[0]), float(axis.centres[-1])) for axis in axes]
    if isinstance(inner, Geo):
        (south, north), (west, east) = ends
        return box_angle((south, west, north, east)) * inner.radius * (1 + 4 * UNIT_ROUNDOFF)
    spans = [difference_up(last, first) for first, last in ends]
    return norm_up(spans)
