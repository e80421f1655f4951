"""Sensitivity of values spread over cells: to a move of a record, and to the replacement of a user.

Let ``F(x) = (s_i v_i(x) w_k(x))`` be a record's scaled vector, ``V = (s_i v_i)`` and ``W = (w_k)``, the product of
the axes' weights: ``w_k >= 0``, and the 1-norm of ``W``, hence its 2-norm, is at most 1. With ``M_i = max |v_i|`` the
norm of ``V`` is at most the norm ``A`` of ``(s_i M_i)``.

**Moves.** The parts of the space are moved one after another (EMD 2, "Product spaces"). Let part ``q`` move by ``t``.

- If the item stays in its cell, or in none, along every label axis of ``q``, then ``F' - F = (V' - V) W' + V (W' - W)``
  changes by at most ``t`` times the norm of ``(s_i L_q(v_i))``, plus ``A`` times the change of the hat weights
  (:mod:`emdp.expressions.cells.hat_bounds`).
- Otherwise ``t >= 1/G``, with ``1/G`` the least distance between two items of ``q`` in different cells, or one in a
  cell and one in none. ``F`` and ``F'`` are then not 0 in different cells: ``|F' - F|_1 <= 2 A t G`` and
  ``|F' - F|_2 <= sqrt(2) A t G``; and ``A t G`` in both norms where there is one cell, since then one of them is 0.

The larger of the two holds. For a 0/1 part a change is also at most the range of ``F``; for a truncated part the
constant is at least that range, or what it is at the domain's diameter (EMD 2, "Truncated ground metrics"). The
constant is ``max_q L_q/share_q``.

**Cumulative.** The last axis then has ``G_j = sum_{k <= j} w_k = clamp(j + 1 - u, 0, 1)`` for ``j < size - 1`` and 1
at the end, with ``u`` the place on it. These ramps slope on disjoint intervals of length 1, so that
``sum_j |G_j(u') - G_j(u)| = |u' - u|``, a bound in the 2-norm as well. They lie in [0, 1]: their 1-norm is at most
``size``, their 2-norm at most ``sqrt(size)``. So ``sum_j |F'_j - F_j| <= |v| |u' - u| + size |v' - v|``, and the
general bound is the one above with ``W`` replaced by the product of the other axes' weights and ``G``. The single
ramps' constants would add up to ``size`` times as much.

**Replacement.** Without a cap a user's vector is in the convex hull of the ``F(x)``, where no two points are farther
apart than two of the ``F(x)``. For one value ``|v w - v' w'|_1 <= |v| + |v'| <= 2 M``. Its squared 2-norm
``v^2 |w|^2 + v'^2 |w'|^2 - 2 v v' w.w'`` is at most ``2 M^2`` if ``v v' >= 0``, since ``w.w' >= 0``, else at most
``(v - v')^2``. With a cap a user's vector is ``sum_x a_x F(x)`` with ``a_x >= 0`` and ``sum_x a_x <= cap``: ``cap``
times a point of the convex hull of 0 and the ``F(x)``, whose diameter is the larger of ``max |F|`` and
``max |F - F'|``. This asks nothing of ``chosen`` but to be at least 0, and nothing of values but their ranges.

**Removal.** If all records of a user appear or vanish, a capped total moves by the user's vector itself, ``cap`` times
a point of the convex hull of 0 and the ``F(x)``: in any norm at most ``cap max |F|``, since a norm is convex. In groups
of records that is half of the 1-norm of a replacement, where one record leaves a group and another enters one.

**Elsewhere.** Where the space has the point elsewhere, at distance ``rho`` of every item, ``F`` is 0 there. A pair of
an item and that point is at distance ``rho``, and ``|F(x) - 0| = |F(x)|``; a pair of items is as before. So the
constant is the larger of the one above and ``max |F|/rho``, in any norm. A move changes the values of an item and
whether there is one never both at once, so constants are not added: of ``((e - m), s)`` with ``|e - m| <= h`` the
constant is ``max(L, (h + s)/rho)`` in the 1-norm, and a share ``s <= rho L - h`` beside it costs nothing. By
replacement a user's vector is in the convex hull of 0 and the ``F(x)``, so that ``max |F|`` joins the largest change; a
constant is none there.

**Ends.** Two values ``e - a`` and ``b - e`` that are never negative add up to ``b - a``. With scales ``s, t`` both
norms of the pair are convex in ``e``, so at most ``max(s, t) (b - a)``, where ``M_i`` one by one would add up to ``(s +
t) (b - a)``: in ``A`` the pair has that one entry. Between two cells the squared 2-norm of the pair's change is at most
twice the entry's square, as for one value of one sign, since the pair's entries are at least 0.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from emdp.base.checks import check_positive
from emdp.base.classes import dataclass
from emdp.base.errors import NotLipschitzError, UsageError
from emdp.expressions.analysis.checker import analyse, largest_quotient, too_large
from emdp.expressions.analysis.fixed_parts import discrete_scales
from emdp.expressions.analysis.vectors import analyse_vector
from emdp.expressions.cells.aggregation import Aggregation, HatAxis, LabelAxis
from emdp.expressions.cells.errors import aggregation_errors
from emdp.expressions.cells.hat_bounds import HatRates, hat_rates, joint_change, product_change
from emdp.expressions.cells.label_bounds import crossing_constant
from emdp.expressions.cells.reference import label_cells
from emdp.expressions.nodes.arithmetic import Multiply, Subtract
from emdp.expressions.nodes.base import Constant, Expression
from emdp.expressions.numbers.bounds import Analysis
from emdp.expressions.numbers.fixed_point import WEIGHT_BITS
from emdp.expressions.numbers.outward import add_up, div_up, mul_up, norm_up, sqrt_up
from emdp.spaces.base import Space

__all__ = ["aggregation_errors", "aggregation_lipschitz", "aggregation_removal", "aggregation_spread"]

NORMS = (1, 2)


def aggregation_lipschitz(
    aggregation: Aggregation, scales: Sequence[float], space: Space, *, is_cumulative: bool = False
) -> tuple[float, float]:
    """Return the constants of one record's vector ``(s_i v_i(x) w_k(x))`` per unit of ``d_X``.

    A user's mean changes by at most that times ``d_em`` (EMD 2, Theorem 4.1 of the paper).

    Parameters
    ----------
    aggregation : Aggregation
        Values and axes; without a cap, for a capped total is not bounded by ``d_em``.
    scales : sequence of float
        One positive number a value.
    space : Space
        The item space; its weights and truncation are included.
    is_cumulative : bool
        Whether coordinates are summed up along the last axis, a ``HatAxis``.

    Returns
    -------
    tuple of float
        In the 1-norm and in the 2-norm, rounded up.

    Raises
    ------
    NotLipschitzError
        If there is no finite constant.
    UsageError
        If the arguments do not fit one another, or the space.

    Examples
    --------
    One-hot over categories times a function of the place, and the distribution function of a column:

    >>> from emdp.expressions import col
    >>> from emdp.spaces import Categories, Interval, Product
    >>> space = Product(Interval("x", 0, 1), Categories("kind", ["cafe", "bar"]))
    >>> kinds = LabelAxis("kind", (("cafe",), ("bar",)))
    >>> aggregation_lipschitz(Aggregation((col("x"),), (kinds,)), [1.0], space)[0]
    4.0
    >>> steps = HatAxis(col("x"), start=0, step=0.125, size=9)
    >>> aggregation_lipschitz(Aggregation((Constant(1.0),), (steps,)), [1.0], Interval("x", 0, 1), is_cumulative=True)
    (8.0, 8.0)
    """
    if aggregation.cap is not None:
        raise UsageError("a capped total has no constant per unit of d_em; use aggregation_spread, at the user level.")
    scales = _check(aggregation, scales, is_cumulative)
    if aggregation.axes:
        shape = _Shape.of(aggregation, scales, space, is_cumulative)
        constants = [
            largest_quotient([shape.part_constant(part, norm) for part in range(len(space.parts))], space)
            for norm in NORMS
        ]
    else:
        constants = _plain_constants(aggregation, scales, space)
    if space.elsewhere is not None:
        lengths = _lengths(aggregation, scales, space, is_cumulative)
        constants = [max(one, div_up(own, space.elsewhere)) for one, own in zip(constants, lengths, strict=True)]
    if not all(map(math.isfinite, constants)):
        raise too_large(", ".join(map(str, aggregation.values)))
    return constants[0], min(constants)


def aggregation_spread(
    aggregation: Aggregation, scales: Sequence[float], space: Space, *, is_cumulative: bool = False
) -> tuple[float, float]:
    """Return how far one user's contribution moves at most when all the user's records are replaced.

    Without a cap the contribution is the mean over the user's records (or the neutral item's vector), which counts
    ``1/n`` in the answer; with a cap it is the user's capped total. Parameters as for :func:`aggregation_lipschitz`.

    Returns
    -------
    tuple of float
        In the 1-norm and in the 2-norm, rounded up.

    Raises
    ------
    NotLipschitzError, UsageError
        As :func:`aggregation_lipschitz`; and if ``chosen`` leaves [0, 1], or is not computed to within 2**-25.

    >>> from emdp.expressions import col
    >>> from emdp.spaces import Interval
    >>> space = Interval("x", 2, 5)
    >>> aggregation_spread(Aggregation((col("x"),)), [1.0], space)
    (3.0, 3.0)
    >>> aggregation_spread(Aggregation((col("x"),), cap=10), [1.0], space)
    (50.0, 50.0)
    """
    shape = _Shape.of(aggregation, _check(aggregation, scales, is_cumulative), space, is_cumulative)
    _check_chosen(aggregation, space)
    changes = [shape.spread(norm) for norm in NORMS]
    if space.elsewhere is not None:
        changes = [max(change, shape.length(norm)) for norm, change in zip(NORMS, changes, strict=True)]
    if aggregation.cap is not None:
        changes = [
            mul_up(float(aggregation.cap), max(change, shape.length(norm)))
            for norm, change in zip(NORMS, changes, strict=True)
        ]
    if not all(map(math.isfinite, changes)):
        raise too_large(", ".join(map(str, aggregation.values)))
    return changes[0], min(changes)


def aggregation_removal(aggregation: Aggregation, scales: Sequence[float], space: Space) -> tuple[float, float]:
    """Return how far a capped total moves at most when all records of one user appear or vanish.

    Parameters are those of :func:`aggregation_lipschitz`; the aggregation has a cap.

    Returns
    -------
    tuple of float
        In the 1-norm and in the 2-norm, rounded up.

    Raises
    ------
    NotLipschitzError, UsageError
        As :func:`aggregation_spread`; and if there is no cap, since a mean over users is divided by their number.

    >>> from emdp.spaces import Categories, Interval, Product
    >>> kinds = LabelAxis("kind", (("cafe",), ("bar",)))
    >>> by_kind = Aggregation((Constant(1.0),), (kinds,), cap=10)
    >>> space = Product(Interval("x", 2, 5), Categories("kind", ["cafe", "bar"]))
    >>> aggregation_removal(by_kind, [1.0], space)[0], aggregation_spread(by_kind, [1.0], space)[0]
    (10.0, 20.0)
    """
    if aggregation.cap is None:
        raise UsageError("a mean over users is divided by their public number; pass an aggregation with a cap.")
    shape = _Shape.of(aggregation, _check(aggregation, scales, False), space, False)
    _check_chosen(aggregation, space)
    changes = [mul_up(float(aggregation.cap), shape.magnitude(norm)) for norm in NORMS]
    if not all(map(math.isfinite, changes)):
        raise too_large(", ".join(map(str, aggregation.values)))
    return changes[0], min(changes)


def _check_chosen(aggregation: Aggregation, space: Space) -> None:
    if aggregation.chosen is None:
        return
    weight = analyse(aggregation.chosen, space)
    if weight.low < 0 or weight.high > 1:
        raise UsageError(f"chosen must stay in [0, 1], `{aggregation.chosen}` does not; clamp it.")
    # else a weight of 0 could be computed as a negative number of units
    if weight.rounding >= 2.0 ** -(WEIGHT_BITS + 1):
        raise UsageError(f"chosen is computed too roughly, within {weight.rounding:.1g}; flatten it.")


@dataclass(frozen=True)
class _Shape:
    """Values of an aggregation with their scales, and its hat and label axes, as bounds need them."""

    aggregation: Aggregation
    scales: tuple[float, ...]
    space: Space
    values: tuple[Analysis, ...]
    hats: tuple[HatRates, ...]
    last: HatRates | None
    """The axis along which coordinates are summed up, which is then not among ``hats``."""
    labels: tuple[tuple[int, LabelAxis], ...]
    """Label axes, each with the part that it divides."""

    @classmethod
    def of(cls, aggregation: Aggregation, scales: tuple[float, ...], space: Space, is_cumulative: bool) -> "_Shape":
        values = tuple(analyse(value, space) for value in aggregation.values)
        hats = tuple(hat_rates(axis, space) for axis in aggregation.axes if isinstance(axis, HatAxis))
        last = hats[-1] if is_cumulative else None
        axes = [axis for axis in aggregation.axes if isinstance(axis, LabelAxis)]
        labels = tuple((label_cells(axis, space)[0], axis) for axis in axes)
        return cls(aggregation, scales, space, values, hats[:-1] if is_cumulative else hats, last, labels)

    def part_constant(self, index: int, norm: int) -> float:
        """Return the constant of a part per unit of its truncated distance."""
        part = self.space.parts[index]
        constant = max(self._staying(index, norm), self._crossing(index, norm))
        scale = discrete_scales(self.space)[index]
        spread = self.spread(norm)
        if scale is not None:
            constant = min(constant, mul_up(spread, scale))
        if part.is_truncated and constant > 0:
            constant = max(constant, min(spread, mul_up(constant, div_up(part.domain_diameter, part.diameter))))
        return constant

    def magnitude(self, norm: int) -> float:
        """Return a bound of the norm of ``(s_i v_i(x))``."""
        return norm_up([length for length, _ in self._entries], norm)

    @cached_property
    def _entries(self) -> tuple[tuple[float, float], ...]:
        """Largest length of each value, or of two that are one another's ends, and of its change between cells."""
        ends = [*_ends(self.aggregation.values, self.values)]
        paired = {place for first, second, _ in ends for place in (first, second)}
        pairs = [(max(mul_up(self.scales[i], u), mul_up(self.scales[j], v)), 0.0) for i, j, (u, v) in ends]
        alone = [
            (mul_up(scale, known.magnitude), mul_up(scale, known.spread))
            for place, (scale, known) in enumerate(zip(self.scales, self.values, strict=True))
            if place not in paired
        ]
        return tuple((length, max(mul_up(sqrt_up(2.0), length), change)) for length, change in pairs + alone)

    def length(self, norm: int) -> float:
        """Return a bound of ``|F(x)|`` over all items."""
        return mul_up(self.magnitude(norm), self.ramps(norm))

    def ramps(self, norm: int) -> float:
        """Return the largest norm of the ramps of a cumulative axis; 1 without one."""
        if self.last is None:
            return 1.0
        return float(self.last.axis.size) if norm == 1 else sqrt_up(float(self.last.axis.size))

    def spread(self, norm: int) -> float:
        """Return a bound of ``|F(x) - F(x')|`` over all pairs of items."""
        if self.last is not None and len(self.aggregation.axes) == 1:
            # all coordinates but the last lie between 0 and v
            ramps = float(self.last.axis.size - 1)
            factor = ramps if norm == 1 else sqrt_up(ramps)
            rows = (norm_up([mul_up(_reach(known), factor), known.spread], norm) for known in self.values)
            return self._norm(rows, norm)
        if self.aggregation.cells == 1:
            is_always_in = all(isinstance(axis, HatAxis) for axis in self.aggregation.axes)
            return self._norm((known.spread if is_always_in else _reach(known) for known in self.values), norm)
        if norm == 1:
            return mul_up(mul_up(2.0, self.magnitude(norm)), self.ramps(norm))
        return mul_up(norm_up([change for _, change in self._entries], norm), self.ramps(norm))

    def _staying(self, index: int, norm: int) -> float:
        moving = self._norm((known.parts[index] for known in self.values), norm)
        change = product_change(*joint_change(self.hats, index, self.space), norm)
        if self.last is not None:
            change = add_up(mul_up(change, self.ramps(norm)), self.last.parts[index])
        return add_up(mul_up(moving, self.ramps(norm)), mul_up(self.magnitude(norm), change))

    def _crossing(self, index: int, norm: int) -> float:
        own = [axis for place, axis in self.labels if place == index]
        if not own:
            return 0.0
        gap_constant = max(crossing_constant(axis, self.space.parts[index]) for axis in own)
        if not math.isfinite(gap_constant):
            raise NotLipschitzError(
                "puts values at distance 0 into different cells",
                expression=", ".join(map(str, self.aggregation.values)),
                offending=own[0].column,
                remedy="group by another column, or put such values into one cell",
            )
        ends = 1.0 if all(axis.size == 1 for axis in own) else 2.0 if norm == 1 else sqrt_up(2.0)
        return mul_up(mul_up(mul_up(ends, self.magnitude(norm)), self.ramps(norm)), gap_constant)

    def _norm(self, rows: Iterable[float], norm: int) -> float:
        return norm_up([mul_up(scale, row) for scale, row in zip(self.scales, rows, strict=True)], norm)


def _ends(values: Sequence[Expression], known: Sequence[Analysis]) -> Iterator[tuple[int, int, tuple[float, float]]]:
    """Yield places of values ``f (e - a)`` and ``g (b - e)`` that are at least 0, each place once, with their most.

    The two mosts are ``f (b - a)`` and ``g (b - a)``: with weights the larger weighted one bounds the weighted sum.
    """
    free = {place for place in range(len(values)) if known[place].low >= 0}
    for second, value in enumerate(values):
        below, own = _without_factor(value)
        if second not in free or not isinstance(below, Subtract) or not isinstance(below.left, Constant):
            continue
        for first in sorted(free - {second}):
            other, factor = _without_factor(values[first])
            above, least = _from_below(other)
            if above == below.right:
                free -= {first, second}
                length = add_up(below.left.value, -least)
                yield first, second, (mul_up(factor, length), mul_up(own, length))
                break


def _without_factor(value: Expression) -> tuple[Expression, float]:
    """Return ``e`` and ``f`` of ``f e``, ``f`` positive and rounded up; of any other value the value and 1."""
    if isinstance(value, Multiply):
        for factor, rest in ((value.left, value.right), (value.right, value.left)):
            if isinstance(factor, Constant) and factor.value > 0:
                inner, own = _without_factor(rest)
                return inner, mul_up(factor.value, own)
    return value, 1.0


def _from_below(value: Expression) -> tuple[Expression, float]:
    """Return ``e`` and ``a`` of ``e - a``; of any other value the value and 0."""
    if isinstance(value, Subtract) and isinstance(value.right, Constant):
        return value.left, value.right.value
    return value, 0.0


def _reach(known: Analysis) -> float:
    """Return the length of the smallest interval with the range and 0 in it."""
    return add_up(max(known.high, 0.0), max(-known.low, 0.0))


def _lengths(
    aggregation: Aggregation, scales: tuple[float, ...], space: Space, is_cumulative: bool
) -> tuple[float, ...]:
    """Return bounds of ``|F(x)|`` over all items, in the 1-norm and the 2-norm."""
    shape = _Shape.of(aggregation, scales, space, is_cumulative)
    return tuple(shape.length(norm) for norm in NORMS)


def _plain_constants(aggregation: Aggregation, scales: Sequence[float], space: Space) -> list[float]:
    if len(set(scales)) == 1:
        known = analyse_vector(aggregation.values, space)
        return [mul_up(scales[0], known.lipschitz(norm)) for norm in NORMS]
    scaled = [Multiply(Constant(scale), value) for scale, value in zip(scales, aggregation.values, strict=True)]
    known = analyse_vector(scaled, space)
    return [known.lipschitz(norm) for norm in NORMS]


def _check(aggregation: Aggregation, scales: Sequence[float], is_cumulative: bool) -> tuple[float, ...]:
    if len(scales) != len(aggregation.values) or not scales:
        raise UsageError(f"scales must be one number for each of {len(aggregation.values)} values; pass those.")
    if is_cumulative:
        last = aggregation.axes[-1] if aggregation.axes else None
        if not isinstance(last, HatAxis) or last.is_periodic:
            raise UsageError("is_cumulative needs a last axis that is a HatAxis with two ends; add one.")
    return tuple(check_positive("a scale", scale) for scale in scales)
