"""Lipschitz bounds and rounding errors of the weights of hat axes.

With ``u`` the places of an item along the axes (each clamped, or round a cycle) and ``du`` the change of places over a
move of one part, the products ``W`` of the axes' weights change by at most

- ``2 |du|_1`` in the 1-norm: along the segment from ``u`` to ``u'`` the derivative by one place is two entries ``+-1``
  times the other axes' weights, which add up to 1;
- ``sqrt(|du|_2^2 + |du|_1^2)`` in the 2-norm: with ``f`` the place between two nodes and ``g = 2 f - 1``, the weights
  ``(1 - f, f)`` have the squared norm ``(1 + g^2)/2``, their derivative ``(-1, 1)`` has 2, and the two have the inner
  product ``g``. So the derivatives of ``W`` by the places have inner products of size at most 2 with themselves and 1
  with one another (EMD 6: ``sqrt(j + 1)`` for ``j`` equal axes).

What bounds ``|du|`` for a move of a part by ``t`` (in diameters ``D``, before truncation): an axis moves by at most
``L(e)/step`` times ``t``. Axes along columns of one ``Vector`` part move together: by Cauchy and Schwarz
``|du|_1 <= D t sqrt(sum_a 1/step_a^2)``, and ``|du|_2 <= D t/min step``.
So do latitude ``p`` and longitude ``l``: along the shortest path, an arc of length ``D t/R``, their derivatives by
arc length satisfy ``p'^2 + (l' cos p)^2 = 1``, and ``cos p`` is at least that of the middle of the arc between two
points at the box's largest |latitude| ``m`` and its width ``b`` apart, where ``tan p = tan(m)/cos(b/2)``.
(On a great circle ``tan p`` is a combination of ``cos l`` and ``sin l``; so between two points ``b' < pi`` apart in
longitude it is a combination of their tangents, with factors of at least 0 whose sum is at most ``1/cos(b'/2)``.)
Clamping moves no two places apart.
"""

from collections.abc import Sequence
from fractions import Fraction

from emdp.base.classes import dataclass
from emdp.expressions.analysis.checker import analyse
from emdp.expressions.cells.aggregation import HatAxis
from emdp.expressions.cells.reference import round_part
from emdp.expressions.nodes.base import Column
from emdp.expressions.numbers.outward import TINY, UNIT, add_up, div_up, mul_up, norm_up, sum_up
from emdp.spaces.base import Space
from emdp.spaces.rounding import fraction_up

__all__ = ["HatRates", "hat_rates", "joint_change", "place_error", "product_change"]


@dataclass(frozen=True)
class HatRates:
    """A hat axis on a space."""

    axis: HatAxis
    parts: tuple[float, ...]  # For each part a bound of the change of place per unit of `d_i` before truncation
    error: float  # Bound on |computed place - exact place| for any item


def hat_rates(axis: HatAxis, space: Space) -> HatRates:
    """Return how fast an item's place along a hat axis changes, and how well it is computed.

    Raises
    ------
    NotLipschitzError, UsageError
        As the analysis of the axis's expression; and if a periodic axis goes round no part of the space.

    >>> from emdp.spaces import Interval
    >>> hat_rates(HatAxis(Column("x"), start=0, step=0.5, size=5), Interval("x", 0, 2)).parts
    (4.0,)
    """
    zero = (0.0,) * len(space.parts)
    if axis.is_periodic:
        index, span = round_part(axis, space)
        period = Fraction(span.high)
        rate = fraction_up(Fraction(space.parts[index].arc_constant(span.column)) * axis.size / period)
        # the exact places are those of the step period/size, which the axis's own step is within a rounding of
        seam = fraction_up(abs(period / (axis.size * Fraction(axis.step)) - 1) * axis.size)
        parts = tuple(rate if own == index else 0.0 for own in range(len(space.parts)))
        return HatRates(axis, parts, add_up(place_error(axis, 0.0), seam))
    analysis = analyse(axis.expression, space)
    if axis.size == 1:
        return HatRates(axis, zero, 0.0)
    parts = tuple(div_up(constant, axis.step) for constant in analysis.parts)
    return HatRates(axis, parts, place_error(axis, analysis.rounding))


def place_error(axis: HatAxis, rounding: float) -> float:
    """Return a bound on |computed place - exact place|, given the evaluation error of the axis's expression.

    The error of the expression over the step, and at most three roundings (the difference, the quotient, and one for an
    engine that multiplies by the inverse step), relative to a place that counts only up to ``size``, since beyond it
    both are clamped. No hat weight changes faster than the place.
    """
    own = add_up(mul_up(4 * UNIT, float(axis.size)), TINY)
    return min(1.0, add_up(mul_up(div_up(rounding, axis.step), 1 + 4 * UNIT), own))


def joint_change(hats: Sequence[HatRates], part: int, space: Space) -> tuple[float, float]:
    """Return bounds of ``|du|_1`` and ``|du|_2`` over a move of one part, per unit of its ``d_i`` before truncation.

    >>> from emdp.spaces import Vector
    >>> space = Vector(["x", "y"], box=[(0, 3), (0, 4)])
    >>> hats = [hat_rates(HatAxis(Column(name), start=0, step=1, size=5), space) for name in ("x", "y")]
    >>> one, two = joint_change(hats, 0, space)
    >>> round(one / 2**0.5, 12), two
    (5.0, 5.0)
    """
    rates = [hat.parts[part] for hat in hats]
    alone = sum_up(rates), norm_up(rates, 2)
    columns = [hat for hat in hats if hat.parts[part] > 0 and isinstance(hat.axis.expression, Column)]
    if len(columns) < 2 or len({hat.axis.expression for hat in columns}) < len(columns):
        return alone
    together = _columns_change(columns, part, space.parts[part])
    if together is None:
        return alone
    others = [hat.parts[part] for hat in hats if hat not in columns]
    joint = sum_up([together[0], *others]), norm_up([together[1], *others], 2)
    return min(alone[0], joint[0]), min(alone[1], joint[1])


def product_change(change_1: float, change_2: float, norm: int) -> float:
    """Return a bound of the change of the product of hat weights, in the 1-norm or 2-norm, given ``|du|`` in both.

    >>> product_change(3.0, 4.0, 1), product_change(3.0, 4.0, 2)
    (6.0, 5.0)
    """
    return mul_up(2.0, change_1) if norm == 1 else norm_up([change_1, change_2], 2)


def _columns_change(columns: Sequence[HatRates], index: int, part: Space) -> tuple[float, float] | None:
    """Return the joint bounds of axes along distinct columns of one part; None where there are none better."""
    named = {str(hat.axis.expression.name): hat for hat in columns if isinstance(hat.axis.expression, Column)}
    rates = part.joint_rates(
        {name: hat.parts[index] for name, hat in named.items()}, {name: hat.axis.step for name, hat in named.items()}
    )
    return None if rates is None else (norm_up(rates, 2), max(rates))
