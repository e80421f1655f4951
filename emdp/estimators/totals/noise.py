"""Coordinates, scales and law that answer a statement of totals in one draw; see :mod:`emdp.estimators.totals.totals`.

``SUM(e) = sum (e - m) + m COUNT`` and ``AVG(e) = m + sum (e - m)/COUNT``, with ``m`` the middle of ``e``'s range, of
width ``w``. In one group of records the vector ``(y, s (e - m))`` has a 1-norm of at most ``y + s w/2`` and moves
between records by at most ``s w``: with ``y = s w/2`` its sensitivity is that of ``s (e - m)`` alone, and the count
costs nothing.

Theorem (never worse than separate draws). Let column ``j`` have the share ``p_j`` of epsilon (``sum p_j = 1``) and,
drawn alone by Laplace noise with all of epsilon, the scales ``s^j`` with sensitivity 1. One draw with the scales ``s =
sum_j p_j s^j`` has a sensitivity of at most 1, and no coordinate of column ``j`` has more noise than in a draw of its
own with ``p_j`` of epsilon.

Proof. The sensitivity is a norm of ``s`` (a supremum of norms of ``(s_i v_i)``), so at most ``sum_j p_j``; and the
noise of a coordinate has a scale of at most ``1/(epsilon s_i) <= 1/(epsilon p_j s^j_i)``.

That draw is a candidate. Others move the count's scale, take SUM from the centred coordinate and the count instead of
a coordinate of its own, use Gaussian noise, or draw the two *ends*.

**Ends.** Let ``e`` be in ``[a, b]``, ``w = b - a``, ``A = sum (e - a)`` and ``B = sum (b - e)``. Then ``COUNT = (A +
B)/w``, ``SUM = (b A + a B)/w`` and ``AVG = (b A + a B)/(A + B)``. A record's pair ``(e - a, b - e)`` has a 1-norm of
``w``, whatever ``e``, where ``(y, s (e - m))`` has ``y + s w/2``. In groups of records, where a record leaves one group
and enters another, Laplace noise of ``A`` and ``B`` has the scale ``2 C w/epsilon``, so that COUNT has a deviation of
``4 C/epsilon`` and ``sum (e - m) = (A - B)/2`` one of ``2 C w/epsilon``, against ``4 sqrt(2) C/epsilon`` and ``2
sqrt(2) C w/epsilon`` with ``y = s w/2``: 29 % less in both. (It is K-norm noise whose unit ball is the hull of what a
record adds to a group, a square: a 1-norm ball turned by 45 degrees.)

**Removal.** Where all records of a user appear or vanish, the vector moves by its own norm, not by a difference of two
records, in groups or not. ``y + s w/2`` is then what ``(y, s (e - m))`` costs in one group as well, and the two ends
cost ``s w`` in any number of groups, half of what they cost under replacement. The theorem holds as it is: the
sensitivity is a supremum of norms of ``(s_i v_i)`` here too.

Errors are taken to first order and by the root mean square of the
noise; that of a quotient ``N/D`` is ``(Z_N - R Z_D)/D`` with ``|R| = w/4``, half of its largest, and that of a
variance ``B - A^2`` is ``(Z_B - 2 A Z_A - R Z_D)/D`` with ``|A| = w/4`` and ``|R| = w^2/16``. The candidate with the
least mean error relative to separate draws is taken, of those in which no column has a larger one. All of it is public.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError
from emdp.estimators.columns.sizes import check_values
from emdp.expressions.analysis.checker import analyse
from emdp.expressions.functions.smooth import Power
from emdp.expressions.nodes.arithmetic import Subtract
from emdp.expressions.nodes.base import Constant, Expression
from emdp.expressions.numbers.bounds import Analysis
from emdp.expressions.numbers.outward import add_up, mul_up
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, LaplaceMechanism
from emdp.mechanisms.central.gaussian import least_gaussian_delta
from emdp.privacy.calibration import LARGEST_ALPHA
from emdp.privacy.rounding import split
from emdp.questions.select import Item, Select
from emdp.spaces import Space

__all__ = ["QUOTIENTS", "Layout", "Part", "TotalsNoise", "least_noise", "root_mean_square"]

QUOTIENTS = ("avg", "variance", "stddev")
"""Kinds of items that divide by the count."""

_FACTORS = tuple(2.0 ** (step / 3) for step in range(-15, 16))
# Of the count's scale: from 1/32 to 32 of where it starts; errors are flat within a step.

_NO_WORSE = 1.0 + 1e-9
# How much a column's error may exceed that of its separate draw by rounding.

_NARROWEST = 2.0**-20
# A range narrower than this part of its size is scaled as if it were that wide, so that a constant has finite scales.


@dataclass(frozen=True, eq=False)
class Part:
    """Coordinates that one item is made of."""

    item: Item
    share: float  # Its share of epsilon; 0 for a public number
    # The coordinates that it is made of, with what their noise weighs in it to first order: its own ones, the count
    # last. None for a public number.
    weights: tuple[tuple[int, float], ...] = ()
    known: Analysis | None = None
    # middle, half: Middle of the expression's range, 0 where it is not centred, and how far the range reaches from its
    # middle.
    middle: float = 0.0
    half: float = 0.0


@dataclass(frozen=True, eq=False)
class Layout:
    """The coordinates of a statement."""

    values: tuple[Expression, ...]  # Functions of one record; the constant 1 comes first where the count is needed
    # sizes, spreads: Largest absolute value of each, and largest difference.
    sizes: tuple[float, ...]
    spreads: tuple[float, ...]
    units: tuple[float, ...]  # A positive size of each
    parts: tuple[Part, ...]
    cells: int
    ends: tuple[float, float] | None = None  # `a` and `b`, where the values are those of the two ends
    is_removal: bool = False  # Whether a neighbour lacks a user, and does not have another user's records instead

    @property
    def has_moving_count(self) -> bool:
        """Whether there is a count, and something else whose noise depends on its scale."""
        if self.ends is not None:
            return False
        has_count = any(part.item.kind == "count" or len(part.weights) > 1 for part in self.parts)
        return has_count and len(self.values) > 1

    def sensitivity(self, scales: Sequence[float], norm: int) -> float:
        """Return the theorem's bound for a cap of 1, to compare scales; a release uses ``aggregation_spread``."""
        rows = [
            (scale * size, scale * spread)
            for scale, size, spread in zip(scales, self.sizes, self.spreads, strict=True)
            if scale > 0
        ]
        factor = 2.0 if norm == 1 else math.sqrt(2.0)
        if self.is_removal:
            rows = [(length, 0.0) for length, _ in rows]
            rows = [(max(length for length, _ in rows), 0.0)] if self.ends is not None else rows
            return math.fsum(length for length, _ in rows) if norm == 1 else math.hypot(*(own for own, _ in rows))
        if self.ends is not None:
            within = math.fsum(spread for _, spread in rows) if norm == 1 else math.hypot(*(own for _, own in rows))
            rows = [(max(length for length, _ in rows), within)]
        if self.cells > 1:
            rows = [(length, max(factor * length, spread)) for length, spread in rows]
        return max(math.fsum(column) if norm == 1 else math.hypot(*column) for column in zip(*rows, strict=True))


@dataclass(frozen=True, eq=False)
class TotalsNoise:
    """A law with scales."""

    kind: type[AdditiveMechanism]
    layout: Layout
    scales: tuple[float, ...]  # One a coordinate, in units of the first one
    # For each column that is not public its error over that of a separate Laplace draw with its share of epsilon.
    relative: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean relative error."""
        return math.fsum(self.relative) / len(self.relative)

    @property
    def text(self) -> str:
        """Chosen noise and the reason for it."""
        if len(self.relative) == 1 and self.kind is LaplaceMechanism:
            return "Laplace noise, all of epsilon for the column."
        return (
            f"{self.kind.name} noise, one draw of {len(self.scales)} values for {len(self.relative)} columns: errors "
            f"are on average {100 * self.mean:.3g} %, at most {100 * max(self.relative):.3g} %, of those of separate "
            "Laplace draws with the columns' shares of epsilon."
        )


def least_noise(query: Select, space: Space, cells: int) -> TotalsNoise:
    """Return the law, coordinates and scales with the least mean relative error.

    Parameters
    ----------
    query : Select
        With at least one item that is not a public number.

    Raises
    ------
    NotLipschitzError, UsageError
        As :func:`emdp.expressions.analyse`; and if Gaussian noise is asked for with too small a delta.

    >>> from emdp.expressions import col
    >>> from emdp.questions.price import Price
    >>> from emdp.spaces import Interval
    >>> items = (Item("count", "n"), Item("sum", "total", col("x")), Item("avg", "mean", col("x")))
    >>> found = least_noise(Select(items, Price("epsilon", 1.0), cap=5), Interval("x", 0, 8), 1)
    >>> found.layout.values, found.kind.name, max(found.relative) < 0.8
    ((1, x - 4), 'Laplace', True)
    """
    direct, centred = (_layout(query, space, cells, is_direct=is_direct) for is_direct in (True, False))
    reference = [_alone(direct, part)[1] for part in direct.parts]
    found = []
    layouts = [direct] if centred.values == direct.values else [direct, centred]
    for layout in (*layouts, *_ends(direct, space)):
        starts = _starts(layout)
        for kind, unit in _laws(query, len(starts) * cells):
            for factor in _FACTORS if layout.has_moving_count else (1.0,):
                scales = (starts[0] * factor, *starts[1:])
                error = unit * layout.sensitivity(scales, kind.norm)
                relative = tuple(
                    part.share * error * root_mean_square(part.weights, scales) / alone if alone > 0 else 0.0
                    for part, alone in zip(layout.parts, reference, strict=True)
                    if part.weights
                )
                found.append(TotalsNoise(kind, layout, tuple(scale / scales[0] for scale in scales), relative))
    allowed = [one for one in found if query.noise == "gaussian" or max(one.relative) <= _NO_WORSE]
    return min(allowed, key=lambda one: one.mean)


def root_mean_square(weights: Iterable[tuple[int, float]], scales: Sequence[float]) -> float:
    """Return the size of ``sum_i weight_i Z_i/s_i`` for noise ``Z_i`` of size 1.

    >>> root_mean_square([(0, 3.0), (1, 8.0)], [1.0, 2.0])
    5.0
    """
    return math.hypot(*(weight / scales[place] for place, weight in weights))


def _layout(query: Select, space: Space, cells: int, *, is_direct: bool) -> Layout:
    """Return the coordinates: a sum has its own (direct), or is made of a centred one and the count where that is."""
    places: dict[Expression, int] = {}
    units: list[float] = []

    def place(value: Expression, unit: float) -> int:
        if value not in places:
            places[value] = len(units)
            units.append(unit)
        return places[value]

    has_count = any(item.kind in ("count", *QUOTIENTS) for item in query.items)
    if has_count:
        place(Constant(1.0), 1.0)
    shares = iter(split(1.0, tuple(item.weight for item in query.items if item.kind != "users")))
    parts = []
    for item in query.items:
        share = 0.0 if item.kind == "users" else next(shares)
        if item.expression is None:
            parts.append(Part(item, share, ((0, 1.0),) if item.kind == "count" else ()))
            continue
        known = analyse(item.expression, space)
        check_values(known, str(item.expression))
        middle = 0.5 * known.low + 0.5 * known.high
        half = max(add_up(known.high, -middle), add_up(middle, -known.low))
        width = max(2.0 * half, _NARROWEST * known.magnitude) or 1.0
        centred = item.expression if middle == 0 else Subtract(item.expression, Constant(middle))
        if item.kind == "sum" and (is_direct or not has_count or middle == 0):
            middle = 0.0
            weights = [(place(item.expression, max(known.magnitude, known.spread) or 1.0), 1.0)]
        elif item.kind == "sum":
            weights = [(place(centred, width), 1.0), (0, abs(middle))]
        elif item.kind == "avg":
            weights = [(place(centred, width), 1.0), (0, width / 4)]
        elif item.kind not in ("variance", "stddev"):
            raise InternalError(f"an aggregate of kind {item.kind!r} has no rule under a cap; please report this.")
        else:
            square = Subtract(Power(centred, 2.0), Constant(0.5 * mul_up(half, half)))
            weights = [(place(square, width**2 / 4), 1.0), (place(centred, width), width / 2), (0, width**2 / 16)]
        parts.append(Part(item, share, tuple(weights), known, middle, half))
    analyses = [analyse(value, space) for value in places]
    sizes, spreads = zip(*((known.magnitude, known.spread) for known in analyses), strict=True)
    is_removal = query.price.is_by_removal
    return Layout(tuple(places), sizes, spreads, tuple(units), tuple(parts), cells, is_removal=is_removal)


def _ends(direct: Layout, space: Space) -> tuple[Layout, ...]:
    """Return the layout of the two ends, where every item is a count, or a sum or mean of one expression."""
    expressions = {part.item.expression for part in direct.parts if part.item.expression is not None}
    is_made = all(part.item.kind in ("count", "sum", "avg", "users") for part in direct.parts)
    if len(expressions) != 1 or not is_made:
        return ()
    expression = expressions.pop()
    known = analyse(expression, space)
    width = known.spread
    if width <= _NARROWEST * known.magnitude:
        return ()
    above = expression if known.low == 0 else Subtract(expression, Constant(known.low))
    below = Subtract(Constant(known.high), expression)
    weights = {"count": (1.0 / width,) * 2, "sum": (known.high / width, known.low / width), "avg": (0.25, 0.75)}
    parts = tuple(
        replace(part, weights=tuple(enumerate(weights[part.item.kind])) if part.weights else ())
        for part in direct.parts
    )
    widths = (width, width)
    ends = (known.low, known.high)
    return (Layout((above, below), widths, widths, widths, parts, direct.cells, ends, direct.is_removal),)


def _starts(layout: Layout) -> list[float]:
    """Return the theorem's scales; of two ends, whose sensitivity is that of the larger scale, equal ones."""
    if layout.ends is not None:
        return [1.0, 1.0]
    own = [_alone(layout, part)[0] for part in layout.parts]
    return [math.fsum(column) for column in zip(*own, strict=True)]


def _alone(layout: Layout, part: Part) -> tuple[list[float], float]:
    """Return an item's share times its Laplace scales of sensitivity 1 when drawn alone, and its error then."""
    scales = [0.0] * len(layout.units)
    if not part.weights:
        return scales, 0.0
    for place, weight in part.weights:
        scales[place] = math.sqrt(weight / layout.units[place])
    best, least = scales, math.inf
    for factor in _FACTORS if len(part.weights) > 1 else (1.0,):
        moved = [scales[0] * factor, *scales[1:]]
        error = layout.sensitivity(moved, 1) * root_mean_square(part.weights, moved)
        if error < least:
            best, least = moved, error
    whole = layout.sensitivity(best, 1) or 1.0
    return [part.share * (scale / whole) for scale in best], least


def _laws(query: Select, dimension: int) -> list[tuple[type[AdditiveMechanism], float]]:
    """Return the laws that may be used, each with its mean absolute error at sensitivity 1 in units of 1/epsilon."""
    price = query.price
    found: list[tuple[type[AdditiveMechanism], float]] = []
    if query.noise != "gaussian":
        found.append((LaplaceMechanism, 1.0))
    is_possible = price.delta > least_gaussian_delta(dimension) and price.level <= LARGEST_ALPHA
    if query.noise == "gaussian" or (query.noise == "auto" and is_possible):
        unit = GaussianMechanism(sensitivity=1.0, alpha=price.level, delta=price.delta, dimension=dimension)
        found.append((GaussianMechanism, unit.expected_absolute_error * price.level))
    return found
