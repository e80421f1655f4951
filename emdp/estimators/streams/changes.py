"""Changes since the period before: exact where they are numbers of the rows, else differences of two figures.

A mean over users is linear in the rows of a stream, so that its change is a weighted sum of periods like any other,
with the law of its noise. A quotient (a mean among some records, or where records may be elsewhere), a variance or a
true total is not: the finished figure of a difference is none of two finished figures.

**Theorem (difference of two intervals).** Let ``[l_t, h_t]`` and ``[l_s, h_s]`` each miss their exact numbers ``f_t``
and ``f_s`` with probability at most ``q/2``. Then ``[l_t - h_s, h_t - l_s]`` misses ``f_t - f_s`` with probability at
most ``q``. *Proof.* Where neither misses, ``l_t <= f_t <= h_t`` and ``l_s <= f_s <= h_s``, so that ``f_t - f_s`` lies
between those ends; the chance that one of them misses is at most the sum of their chances, whatever their joint law. ∎

So it holds for every plan of a stream, although the rows of two periods share noise, and for all intervals together
where each of the two frames holds so. A figure without a value, or without an end, leaves none in the difference.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from emdp.base.errors import InternalError
from emdp.estimators.columns.ordering import Ordered
from emdp.estimators.columns.values import Known, Mean, OutputColumn, Rows, level_below
from emdp.estimators.frequency.smoothed import FrequencyRows
from emdp.estimators.mean.linear import MeansRow
from emdp.questions.columns import Released

__all__ = ["difference", "of_linear"]


def of_linear(finisher: Any) -> Any:
    """Return the maker of rows of the difference of two statistics; None where their figures are not linear in them.

    Parameters
    ----------
    finisher : Finisher
        Of one statistic. Public numbers that it adds cancel in a difference.
    """
    if isinstance(finisher, Ordered):
        inner = of_linear(finisher.finisher)
        return None if inner is None else replace(finisher, finisher=inner)
    if isinstance(finisher, MeansRow | FrequencyRows):
        return finisher
    if not isinstance(finisher, Rows):
        return None
    columns = [_of_linear_column(column) for column in finisher.columns]
    known = tuple(column for column in columns if column is not None)
    return replace(finisher, columns=known) if len(known) == len(columns) else None


def difference(
    later: Any, earlier: Any, released: tuple[Released, Released], level: float, *, together: bool
) -> pl.DataFrame:
    """Return the rows of a figure's change, by the module's theorem.

    Parameters
    ----------
    later, earlier : Finisher
        Of the two periods, each with its noise.
    together : bool
        Whether all of them hold at once with that probability.
    """
    if isinstance(later, Ordered) and isinstance(earlier, Ordered):
        inner = later.finisher, earlier.finisher
        return later.arranged(lambda own, every: difference(*inner, released, own, together=every), level, together)
    if not isinstance(later, Rows) or not isinstance(earlier, Rows):
        raise InternalError("a stream has figures whose change is unknown; please report the question.")
    half = level_below((1.0 - level) / 2.0)
    new, old = (
        own.frame(values, half, together=together) for own, values in zip((later, earlier), released, strict=True)
    )
    made = {}
    for column in later.columns:
        name, low, high = column.name, f"{column.name}_low", f"{column.name}_high"
        made[name] = new[name] - old[name]
        made[low] = _outward(new[low] - old[high], -math.inf)
        made[high] = _outward(new[high] - old[low], math.inf)
    return new.with_columns(**made)


def _of_linear_column(column: OutputColumn) -> OutputColumn | None:
    if type(column) is Known:
        return replace(column, numbers=(column.numbers[0] * 0,) * len(column.numbers))
    if type(column) is not Mean or column.denominator is not None:
        return None
    numerator = replace(column.numerator, known=tuple(number * 0 for number in column.numerator.known))
    return replace(column, centre=column.centre * 0, numerator=numerator)


def _outward(ends: pl.Series, towards: float) -> pl.Series:
    """Return ends that a rounded subtraction has not moved inward; whole numbers are exact, and NULL stays so."""
    if not ends.dtype.is_float():
        return ends
    return pl.Series(ends.name, np.nextafter(ends.to_numpy(), towards)).fill_nan(None)
