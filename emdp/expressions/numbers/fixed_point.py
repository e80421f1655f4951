"""Values as whole multiples of a power of two, so that sums over records and users are exact and in any order.

An engine multiplies a value by ``2**exponent`` (exact in binary), rounds it to an integer, averages the integers of a
user, and rounds that mean to an integer again; sums of integers have no rounding at all. So other users' records
contribute *identical* integers to two neighbouring tables, and floating point costs only what it does to the one
user who changes: :data:`ERROR_UNITS` units and the evaluation error of the expression itself (EMD 8.5).

Over cells, a record's integer ``a`` is split along each hat axis in turn into ``hi = round(a f)`` and ``lo = a - hi``,
so the cells of a record add up to ``a`` exactly. Under a cap a record's weight is an integer ``C`` in units of
``2**-WEIGHT_BITS``, and what is summed is the exact product of ``C`` and the record's (split) integer: in 128 bits,
since a product has up to 75 and a user's total up to ``51 + log2(cap)`` before users are added.
"""

import math

from emdp.base.errors import InternalError
from emdp.expressions.numbers.bounds import Analysis

__all__ = ["ERROR_UNITS", "PAIR_BITS", "SPLIT_UNITS", "VALUE_BITS", "WEIGHT_BITS"]
__all__ += ["fixed_point_error", "fixed_point_exponent"]

VALUE_BITS = 51
"""Scaled values stay within ``2**51``: half a unit is then at least their relative error of ``2**-52`` in a mean."""

ERROR_UNITS = 2.0
"""Bound, in units of ``2**-exponent``, on one user's computed mean minus the exact mean of the computed values.

Half a unit for rounding each record, half for the division (relative error at most ``2**-52`` of at most ``2**51``
units: the integer sum is exact, its conversion and the quotient round once each), half for rounding the mean; the
rest is margin.
"""

SPLIT_UNITS = 0.75
"""Bound, in units, on one split of an integer ``a`` up to ``2**51`` in size over a hat axis.

The product ``a f`` in doubles is off by a quarter (``2**-53`` of ``2**51``), its rounding by half. ``lo`` is off by the
negative of what ``hi`` is off by, and a later split by another axis multiplies what went before by a number up to 1.
"""

WEIGHT_BITS = 24
"""Weights of records against a cap are rounded to multiples of ``2**-24``; 0 and 1 are exact.

That rounding is part of what a capped total *is*: any weights of at least 0 that add up to at most the cap have the
same sensitivity, so it costs no privacy, only ``2**-25`` of a record. If weights had more bits than the sums have room
for, or products were rounded record by record, the error of a user with many light records would have no bound.
"""

PAIR_BITS = 48
"""A user's means over cells are rounded down to multiples of ``2**-48`` before products of two of them are added up:
products have 96 bits, and sums over ``2**30`` users fit 128 bits, and 38 digits."""

EXPONENT_LIMIT = 1000
"""Keeps ``2**exponent`` and its inverse normal doubles."""


def fixed_point_exponent(analysis: Analysis) -> int:
    """Return the exponent of an expression's fixed-point form, from its public range alone.

    >>> fixed_point_exponent(Analysis((1.0,), 0.0, 1.0, 0.0))
    51
    """
    magnitude = max(abs(analysis.computed_low), abs(analysis.computed_high))
    if not math.isfinite(magnitude):
        raise InternalError("an expression without a finite range reached the engine.")
    if magnitude == 0:
        return 0
    mantissa, exponent = math.frexp(magnitude)
    if mantissa == 0.5:
        exponent -= 1
    return max(-EXPONENT_LIMIT, min(EXPONENT_LIMIT, VALUE_BITS - exponent))


def fixed_point_error(analysis: Analysis) -> float:
    """Return the bound on |computed - exact| of one user's mean, in the expression's unit, rounded up.

    >>> fixed_point_error(Analysis((1.0,), 0.0, 1.0, 0.0)) == 2.0**-50
    True
    """
    units = math.ldexp(ERROR_UNITS, -fixed_point_exponent(analysis))
    return units if analysis.rounding == 0 else math.nextafter(analysis.rounding + units, math.inf)
