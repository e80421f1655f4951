"""Numerical error of one user's contribution: distance of the engine's result from the exact one (EMD 8.5)."""

import math

from emdp.base.errors import UsageError
from emdp.expressions.analysis.checker import analyse
from emdp.expressions.cells.aggregation import Aggregation, HatAxis
from emdp.expressions.cells.hat_bounds import hat_rates
from emdp.expressions.numbers.bounds import Analysis
from emdp.expressions.numbers.fixed_point import ERROR_UNITS, PAIR_BITS, SPLIT_UNITS, fixed_point_exponent
from emdp.expressions.numbers.outward import add_up, mul_up, sum_up
from emdp.spaces.base import Space

__all__ = ["aggregation_errors", "aggregation_sum_error"]

SCALING_UNITS = 1.5
"""Bound, in units, on what the doubles of ``sum (cap/sum of weights)`` lose, per record that the cap allows.

Two conversions of integers (DuckDB rounds a negative HUGEINT twice), a quotient and a product: at most six roundings by
``2**-53`` of ``2**51 cap`` units.
"""


def aggregation_errors(aggregation: Aggregation, space: Space, *, is_cumulative: bool = False) -> tuple[float, ...]:
    """Return for each value a bound on |computed - exact| of one user's contribution to one coordinate.

    The contribution is the user's mean without a cap and the user's total with one. Under a cap "exact" is the total
    ``sum_x a_x v(x) w_k(x)`` with the weights ``a_x >= 0``, ``sum_x a_x <= cap``, that the engine's own integers give,
    for which the bounds of :func:`emdp.expressions.cells.bounds.aggregation_spread` hold.

    What an engine does (:mod:`emdp.expressions.numbers.fixed_point`): it rounds ``v 2**k`` to an integer, at most
    ``2**51`` in size, where ``k`` is ``fixed_point_exponent`` of the value; splits that over each hat axis in turn;
    sums up integers exactly; divides by the user's number of records, or shifts or scales the total, in doubles; and
    rounds to an integer. In units of ``2**-k`` that is

    - half for the record and :data:`SPLIT_UNITS` for each hat axis of more than one node;
    - without a cap what :data:`ERROR_UNITS` counts: with the half above, half for the division, half for the last
      rounding, half as margin;
    - with a cap the first item times ``cap``, :data:`SCALING_UNITS` times ``cap``, and as much for the last rounding
      and margin; an engine that scales users of as many records together, in integers, stays below that as far as two
      neighbouring tables differ (``tables/statements/cells.py``);
    - where coordinates are summed up along the last axis, a last rounding for each of its nodes instead of one. No
      other item is multiplied: the integers of a record have one sign and add up to the record's, so all cells before a
      node get all, or one part of a split, or nothing; and errors relative to a sum add up to those of the total.

    To that comes, once a user (``cap`` times with a cap), the evaluation error of the value and ``max |v|`` times the
    sum of the axes' place errors (:func:`emdp.expressions.cells.hat_bounds.place_error`), since no product of weights,
    and no ramp, changes faster than the sum of the places. Labels are compared exactly.

    Parameters
    ----------
    is_cumulative : bool
        Whether coordinates are summed up along the last axis before noise.

    Returns
    -------
    tuple of float
        One number a value, in its unit, rounded up.

    >>> from emdp.expressions import col
    >>> from emdp.spaces import Interval
    >>> aggregation_errors(Aggregation((col("x"),)), Interval("x", 0, 1)) == (2.0**-50,)
    True
    """
    hats = [hat_rates(axis, space) for axis in aggregation.axes if isinstance(axis, HatAxis) and axis.size > 1]
    places = sum_up(hat.error for hat in hats)
    roundings = float(aggregation.axes[-1].size) if is_cumulative else 1.0
    units = ERROR_UNITS + SPLIT_UNITS * len(hats) + (roundings - 1.0) / 2
    if aggregation.cap is not None:
        record = 0.5 + SPLIT_UNITS * len(hats) + SCALING_UNITS
        units = aggregation.cap * record + (roundings + 1.0) / 2
    return tuple(
        _error(analyse(value, space), places, units, float(aggregation.cap or 1)) for value in aggregation.values
    )


def aggregation_sum_error(aggregation: Aggregation, space: Space) -> float:
    """Return a bound on the sum over the coordinates of |computed - exact| of one user's mean, for the value 1.

    Any sum of coordinates is within it. With ``h`` hat axes and at most as many base cells of a user as there are cells
    it is ``2**h + h/2 + 1/4 + cells 2**(h - 11)`` units of ``2**-51``, as the text of ``tables/statements/cells.py``
    proves for means in one scan (in two scans it is less), and twice the sum of the axes' place errors. What a user
    without records counts with is computed in doubles, within ``h`` units of ``2**-53`` of what it is.

    Of pairs each of a user's means of the first axes is rounded down by less than ``2**-48`` in place of the last
    rounding above, ``cells 2**h`` of them in all; with ``e`` the bound for these means the products are within
    ``e (2 + e)`` of the exact ones, whose sum is 1, and their sums over users are exact.

    Parameters
    ----------
    aggregation : Aggregation
        The one value 1, without a cap.

    >>> from emdp.expressions import col
    >>> from emdp.expressions.nodes.base import Constant
    >>> from emdp.spaces import Interval
    >>> tents = HatAxis(col("x"), start=0, step=0.5, size=3)
    >>> aggregation_sum_error(Aggregation((Constant(1.0),), (tents,)), Interval("x", 0, 1)) < 1e-14
    True
    """
    if aggregation.cap is not None or [getattr(value, "value", None) for value in aggregation.values] != [1.0]:
        raise UsageError("aggregation must be the mean of the value 1 over cells; pass a histogram's.")
    one = aggregation.of_one
    hats = [hat_rates(axis, space) for axis in one.axes if isinstance(axis, HatAxis) and axis.size > 1]
    places = sum_up(hat.error for hat in hats)
    count = len(hats)
    exponent = fixed_point_exponent(analyse(one.values[0], space))
    last = 2.0 ** (exponent - PAIR_BITS) if aggregation.pairs else 2.0**-11
    units = 2.0**count + count / 2 + 0.25 + one.cells * 2.0**count * last
    found = add_up(math.ldexp(units, -exponent), mul_up(2.0, places))
    return mul_up(found, add_up(2.0, found)) if aggregation.pairs else found


def _error(known: Analysis, places: float, units: float, records: float) -> float:
    if known.computed_low == known.computed_high == known.magnitude == known.rounding == 0:
        # Every integer that the engine makes of the value is 0.
        return 0.0
    computed = mul_up(records, add_up(known.rounding, mul_up(known.magnitude, places)))
    return add_up(computed, math.ldexp(units, -fixed_point_exponent(known)))
