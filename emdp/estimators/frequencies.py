"""Frequencies: the share of each cell in the average user's records, smoothed on a continuum (EMD 6).

The released vector holds for each cell ``E g_k``, the mean over users of the mean over their records of the weight
``g_k`` that a record has in cell ``k``: a linear query whose weights are a partition of unity (or one-hot, for listed
values). Its constant ``l`` in the norm of the noise gives the sensitivity ``l/n`` per unit of ``d_em`` for any number
of records (EMD 2, "Answer"); under user-level epsilon replacement of a user moves the vector by at most ``2/n`` in the
1-norm. Frequencies are released as they come: unbiased, so some may be negative and their sum is not exactly 1.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from emdp.estimators.grids import Cells, cells_of
from emdp.estimators.ordering import ordered
from emdp.estimators.plan import Plan
from emdp.estimators.user_groups import GroupKeys, change_of, check_names, level_of_each, noise_of_groups
from emdp.expressions.aggregation import Aggregation
from emdp.expressions.columns import PlannedColumn, Released
from emdp.expressions.nodes import Constant
from emdp.expressions.select import FrequencyQuery
from emdp.expressions.shape import Shape
from emdp.mechanisms import AdditiveMechanism
from emdp.spaces import Space
from emdp.spaces.base import Floats

__all__ = ["FrequencyRows", "plan_frequencies"]

RAW = "frequencies are unbiased and not adjusted: noise may take some below 0, and their sum off 1"


@dataclass(frozen=True, eq=False)
class FrequencyRows:
    """One row for each group of users and each cell, the cells running faster.

    Parameters
    ----------
    name : str
        Column of the frequencies.
    cells : Cells
        The cells.
    keys : GroupKeys
        Key columns of the groups of users.
    mechanisms : tuple of AdditiveMechanism
        The noise of each group.
    """

    name: str
    cells: Cells
    keys: GroupKeys
    mechanisms: tuple[AdditiveMechanism, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The answer's columns."""
        return (*self.keys.columns, *self.cells.columns, self.name, f"{self.name}_low", f"{self.name}_high")

    @property
    def shape(self) -> Shape:
        """Cells of a grid, or listed values, by group of users."""
        return self.cells.shape(self.keys.columns)

    def frame(self, released: Released, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return the answer, intervals from the exact law of the noise; see :class:`Finisher`."""
        values = _values(released)
        if together:
            level = level_of_each(level, len(self.mechanisms))
            widths = [mechanism.simultaneous_half_width(level) for mechanism in self.mechanisms]
        else:
            widths = [mechanism.interval_half_width(level) for mechanism in self.mechanisms]
        width = np.repeat(widths, self.cells.size)
        ends = [pl.Series(f"{self.name}_low", values - width), pl.Series(f"{self.name}_high", values + width)]
        return self._frame([pl.Series(self.name, values), *ends])

    def exact(self, statistics: Released) -> pl.DataFrame:
        """Return the exact frequencies."""
        return self._frame([pl.Series(self.name, _values(statistics))])

    def _frame(self, found: list[pl.Series]) -> pl.DataFrame:
        groups = len(self.mechanisms)
        shown = self.cells.frame()
        repeated = pl.concat([shown] * groups) if groups > 1 else shown
        return pl.DataFrame([*self.keys.series(self.cells.size), *repeated.get_columns(), *found])


def plan_frequencies(query: FrequencyQuery, *, space: Space, users: int) -> Plan:
    """Return the plan of a smoothed histogram, or of the frequencies of listed values.

    Parameters
    ----------
    query : FrequencyQuery
        The query.
    space : Space
        The table's item space.
    users : int
        The public number of users.

    Raises
    ------
    NotLipschitzError
        If listed values lie at distance 0 of one another.
    UsageError
        If the cells do not fit the space, or the noise does not fit the parameters.

    Guarantee
    ---------
    ``(alpha, delta)`` unbounded central d_EM-DP, or ``(epsilon, delta)`` user-level: EMD 6, and EMD 2 for the noise.

    >>> from emdp.expressions.select import Grid, Spending
    >>> from emdp.spaces import Interval
    >>> query = FrequencyQuery(Grid(2.5), Spending(alpha=2.0))
    >>> plan = plan_frequencies(query, space=Interval("x", 0, 10), users=100)
    >>> plan.columns[0].lipschitz, plan.mechanisms[0].scale, plan.aggregation.cells
    (8.0, 0.04, 5)
    """
    people = query.people
    sizes = (users,) if people is None else people.groups.sizes
    cells = cells_of(query.cells, space, groups=len(sizes))
    aggregation = Aggregation((Constant(1.0),), cells.axes, None if people is None else people.groups)
    change = change_of(aggregation, space, query.spending)
    noise = noise_of_groups(change, sizes, query.spending)
    rows = FrequencyRows(query.name, cells, GroupKeys.of(people), noise.mechanisms)
    check_names(rows.columns)
    widest = noise.widest
    column = PlannedColumn(
        name=query.name,
        expression=cells.text,
        lipschitz=change.lipschitz,
        low=0.0,
        high=1.0,
        noise_scale=widest.scale,
        expected_error=widest.expected_absolute_error,
        interval_95=widest.interval_half_width(0.95),
        note=f"errors in a group of {min(sizes)} users, the smallest" if len(set(sizes)) > 1 else "",
        written=query.written,
    )
    return Plan(
        aggregation=aggregation,
        scales=(1.0,),
        mechanisms=noise.mechanisms,
        event=noise.event,
        columns=(column,),
        choice=noise.choice,
        finisher=ordered(rows, query.order, limit=query.limit, offset=query.offset, columns=rows.columns),
        notes=(*cells.notes, RAW, *((people.text,) if people is not None and people.text else ())),
    )


def _values(released: Released) -> Floats:
    return np.array([float(value) for group in released for value in group], dtype=np.float64)
