"""Quantiles: a smoothed distribution function released as one vector, made monotone and inverted.

:mod:`emdp.estimators.quantiles.ramps` says what is released and proves the intervals. The vector's constant is
``L(e)/h`` in the 1-norm without a filter, so Laplace noise has the scale ``L(e)/(h n alpha)`` at every node, whatever
their number; the axis clamps, so its last coordinate is ``E[c]``, the share of the chosen records, or without a filter
the constant 1, which is known and not read off the noisy vector. Where the space has the point elsewhere, ``c`` is 0
there, so that the share is never known, and quantiles are those of the records that are somewhere. Under user-level
epsilon a replaced user may move all nodes by ``1/n``.

The pitch. Where the density is ``1/(high - low)``, an interval reaches about ``h`` (lemma 2 of ramps.py) and ``(high -
low) w`` to each side, ``w`` the half-width of a node's own interval. With ``J = (high - low)/h`` nodes ``w = w_1 J^p``
(``p = 1`` under ``alpha``, ``p = 1/2`` for Gaussian noise under ``epsilon``): the sum ``1/J + w_1 J^p`` is least at
``J^(p+1) = 1/(p w_1)``, which under ``alpha`` is ``h = sqrt(3.0 L(e) (high - low)/(n alpha))``. The two unknowns are
measured at two numbers of nodes, for the smallest group of users.
"""

import math
from collections.abc import Sequence
from dataclasses import field
from fractions import Fraction
from functools import cached_property

import numpy as np
import polars as pl

from emdp.base.checks import check_positive, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators.columns.fieller import PairLaw
from emdp.estimators.columns.ordering import ordered
from emdp.estimators.plan import Plan
from emdp.estimators.quantiles.ramps import Ramps
from emdp.estimators.user_groups import (
    Change,
    GroupKeys,
    change_of,
    check_names,
    level_of_each,
    mechanism_of,
    noise_of_groups,
)
from emdp.expressions.analysis.checker import analyse
from emdp.expressions.cells.aggregation import Aggregation, HatAxis
from emdp.expressions.nodes.base import Constant
from emdp.mechanisms import AdditiveMechanism
from emdp.privacy.rounding import as_decimal
from emdp.questions.assumed import Assumed, came_out
from emdp.questions.columns import PlannedColumn, Released
from emdp.questions.select import QuantileQuery
from emdp.questions.shape import Shape
from emdp.spaces import Space
from emdp.spaces.base import Floats

__all__ = ["FEWEST_RAMPS", "MOST_COORDINATES", "MOST_RAMPS", "QuantileRows", "plan_quantiles"]

FEWEST_RAMPS, MOST_RAMPS = 2, 512
"""Number of ramps that is chosen where the analyst names no step."""

MOST_COORDINATES = 200_000
"""Most released numbers, over all groups of users: some seconds of exact noise."""

_MEASURED = (32, 128)
# Numbers of ramps at which the noise is measured.

_ROUNDED = Fraction(1, 10**9)
# Of a step: more than a range's outward rounding.


@dataclass(frozen=True, eq=False)
class QuantileRows:
    """Rows of quantiles: one for each group of users and each level, the levels running faster."""

    name: str
    levels: tuple[float, ...]
    ramps: Ramps  # Of the distribution function
    keys: GroupKeys
    mechanisms: tuple[AdditiveMechanism, ...]  # The noise of each group
    is_filtered: bool = False  # Whether the last coordinate is a share that is not known to be 1
    expected: float = 1.0  # What that share was taken to be

    @property
    def columns(self) -> tuple[str, ...]:
        """The answer's columns."""
        return (*self.keys.columns, "q", self.name, f"{self.name}_low", f"{self.name}_high")

    @property
    def shape(self) -> Shape:
        """Quantiles by group of users."""
        return Shape("quantiles", keys=self.keys.columns, coordinates=("q",))

    def frame(self, released: Released, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return the answer with its intervals; see :class:`emdp.questions.columns.Finisher`.

        A share of the chosen records that its own noise reaches leaves no value, and the whole range as interval.
        """
        if together:
            level = level_of_each(level, len(self.mechanisms))
        rows: list[tuple[float | None, float, float]] = []
        known: dict[AdditiveMechanism, _Widths] = {}
        for values, mechanism in zip(released, self.mechanisms, strict=True):
            widths = known.setdefault(mechanism, _Widths(mechanism, level, together, self.is_filtered))
            rows += self._rows(_floats(values), widths)
        found = list(zip(*rows, strict=True))
        names = (self.name, f"{self.name}_low", f"{self.name}_high")
        return self._frame([pl.Series(name, own, dtype=pl.Float64) for name, own in zip(names, found, strict=True)])

    def remarks(self, released: Released) -> tuple[str, ...]:
        """Say where fewer records were chosen than was assumed."""
        if not self.is_filtered:
            return ()
        pairs = zip(released, self.mechanisms, strict=True)
        found = [(float(own[-1]), float(own[-1]) + noise.interval_half_width(0.95)) for own, noise in pairs]
        return came_out(self.expected, found)

    def exact(self, statistics: Released) -> pl.DataFrame:
        """Return the quantiles of the exact smoothed distribution function; none where no record is chosen."""
        found = [
            self.ramps.quantile(values[:-1] / values[-1], q) if values[-1] > 0 else None
            for values in map(_floats, statistics)
            for q in self.levels
        ]
        return self._frame([pl.Series(self.name, found, dtype=pl.Float64)])

    def _rows(self, values: Floats, widths: "_Widths") -> list[tuple[float | None, float, float]]:
        share = float(values[-1]) if self.is_filtered else 1.0
        if share <= widths.of_share:
            return [(None, self.ramps.low, self.ramps.high)] * len(self.levels)
        rows: list[tuple[float | None, float, float]] = []
        invert = self.ramps.joint_interval if widths.together else self.ramps.interval
        for q in self.levels:
            value = self.ramps.quantile(values[:-1] / share, q)
            low, high = invert(values[:-1] - q * share, widths.of_excess(q))
            rows.append((value, min(low, value), max(high, value)))
        return rows

    def _frame(self, found: list[pl.Series]) -> pl.DataFrame:
        groups = len(self.keys.values)
        levels = pl.Series("q", self.levels * groups, dtype=pl.Float64)
        return pl.DataFrame([*self.keys.series(len(self.levels)), levels, *found])


def plan_quantiles(query: QuantileQuery, *, space: Space, users: int) -> Plan:
    """Return the plan of quantiles of an expression among the (chosen) records.

    Raises
    ------
    NotLipschitzError
        If the expression or the filter has no finite constant.
    UsageError
        If a level, the step or the filter is out of range, or the expression is constant.

    Guarantee
    ---------
    ``(alpha, delta)`` unbounded central d_EM-DP, or ``(epsilon, delta)`` user-level, of a vector of linear queries (EMD
    2); all that follows is post-processing.

    >>> from emdp.expressions import col
    >>> from emdp.questions.price import Price
    >>> from emdp.spaces import Interval
    >>> query = QuantileQuery(col("x"), (0.5,), Price("alpha", 2.0), step=0.5)
    >>> plan = plan_quantiles(query, space=Interval("x", 0, 10), users=100)
    >>> plan.columns[0].lipschitz, plan.mechanisms[0].scale, plan.aggregation.cells
    (20.0, 0.1, 21)
    """
    levels = tuple(check_unit_interval("a quantile's level", level) for level in query.levels)
    if not levels:
        raise UsageError("levels is empty; ask for at least one quantile in (0, 1).")
    low, high = _check_range(query, space)
    people = query.people
    sizes = (users,) if people is None else people.groups.sizes
    assumed = Assumed.of(query, space)
    ramps = _ramps(query, space, low, high, sizes, assumed.share)
    aggregation = _aggregation(query, ramps)
    change = change_of(aggregation, space, query.price, is_cumulative=True)
    noise = noise_of_groups(change, sizes, query.price, query.noise, k_norm=False)
    is_filtered = _is_filtered(query, space)
    rows = QuantileRows(query.name, levels, ramps, GroupKeys.of(people), noise.mechanisms, is_filtered, assumed.share)
    check_names(rows.columns)
    return Plan(
        aggregation=aggregation,
        scales=(1.0,),
        is_cumulative=True,
        mechanisms=noise.mechanisms,
        event=noise.event,
        columns=(_column(query, ramps, change, noise.widest, sizes, assumed if is_filtered else None),),
        choice=noise.choice,
        finisher=ordered(rows, query.order, limit=query.limit, offset=query.offset, columns=rows.columns),
        notes=_notes(query, ramps, space),
    )


@dataclass
class _Widths:
    """Half-widths of one group's noise at one level, each computed once."""

    mechanism: AdditiveMechanism
    level: float
    together: bool
    is_filtered: bool
    known: dict[float, float] = field(default_factory=dict)

    @cached_property
    def of_node(self) -> float:
        """Half-width of a node, or of all nodes together."""
        mechanism = self.mechanism
        width = mechanism.simultaneous_half_width if self.together else mechanism.interval_half_width
        return width(self.level)

    @property
    def of_share(self) -> float:
        """Half-width of the share of the chosen records."""
        return self.of_node if self.is_filtered else 0.0

    def of_excess(self, q: float) -> float:
        """Half-width of a node minus q times the share."""
        if not self.is_filtered:
            return self.of_node
        if self.together:
            return (1 + q) * self.of_node
        if q not in self.known:
            self.known[q] = PairLaw.of(self.mechanism, 1.0, 1.0).quantile(q, self.level)
        return self.known[q]


def _check_range(query: QuantileQuery, space: Space) -> tuple[float, float]:
    analysis = analyse(query.expression, space)
    if not analysis.low < analysis.high:
        raise UsageError(
            f"expression `{query.expression}` is the constant {analysis.low:.6g} on the whole space; all its quantiles "
            "are that number, so ask for something else."
        )
    if query.where is not None:
        factor = analyse(query.where, space)
        if factor.low < 0 or factor.high > 1:
            raise UsageError(
                f"where must have values in [0, 1], `{query.where}` has others; pass a category or a ramp."
            )
    return analysis.low, analysis.high


def _aggregation(query: QuantileQuery, ramps: Ramps) -> Aggregation:
    axis = HatAxis(query.expression, ramps.low, ramps.step, ramps.count + 1)
    weight = Constant(1.0) if query.where is None else query.where
    return Aggregation((weight,), (axis,), None if query.people is None else query.people.groups)


def _ramps(query: QuantileQuery, space: Space, low: float, high: float, sizes: tuple[int, ...], share: float) -> Ramps:
    most = MOST_COORDINATES // len(sizes) - 1
    if query.step is not None:
        step = check_positive("step", query.step)
        # The range is rounded outward, which shall not cost a node; the axis clamps what lies beyond.
        count = max(1, math.ceil((as_decimal(high) - as_decimal(low)) / as_decimal(step) - _ROUNDED))
        if count > most:
            raise UsageError(
                f"step {step:g} makes {count} nodes in {len(sizes)} groups of users, more than {MOST_COORDINATES} "
                f"numbers; pass a step of at least {1.01 * (high - low) / max(most, 1):.3g}."
            )
        return Ramps(low, high, step, count)
    if most < FEWEST_RAMPS:
        raise UsageError(f"by makes {len(sizes)} groups of users, too many for quantiles; group by fewer columns.")
    count = min(_best_count(query, space, low, high, min(sizes), share), most)
    return Ramps(low, high, (high - low) / count, count)


def _best_count(query: QuantileQuery, space: Space, low: float, high: float, users: int, share: float) -> int:
    """Return the number of nodes that the module's text says; the fewest where nothing depends on the data."""
    widths = []
    for count in _MEASURED:
        aggregation = _aggregation(query, Ramps(low, high, (high - low) / count, count))
        change = change_of(aggregation, space, query.price, is_cumulative=True)
        mechanism = mechanism_of(change, users, query.price, query.noise, k_norm=False).mechanism
        widths.append(mechanism.interval_half_width(0.95) / share)
    if widths[0] == 0:
        return FEWEST_RAMPS
    few, many = _MEASURED
    power = min(max(math.log(widths[1] / widths[0]) / math.log(many / few), 0.25), 2.0)
    best: float = (few**power / (power * widths[0])) ** (1 / (1 + power))
    return round(min(max(best, FEWEST_RAMPS), MOST_RAMPS))


def _column(
    query: QuantileQuery,
    ramps: Ramps,
    change: Change,
    widest: AdditiveMechanism,
    sizes: tuple[int, ...],
    assumed: Assumed | None,
) -> PlannedColumn:
    width = ramps.high - ramps.low
    reach = width if assumed is None else width / assumed.share
    chosen = "" if assumed is None else f", assuming {assumed.text}"
    where = "" if query.where is None else f" where {query.where}"
    group = f" in a group of {min(sizes)} users, the smallest" if len(set(sizes)) > 1 else ""
    listed = ", ".join(f"{level:g}" for level in query.levels)
    return PlannedColumn(
        name=query.name,
        expression=f"quantiles {listed} of {query.expression}{where}",
        lipschitz=change.lipschitz,
        low=ramps.low,
        high=ramps.high,
        noise_scale=widest.scale,
        expected_error=min(reach * widest.expected_absolute_error, width),
        interval_95=min(reach * widest.interval_half_width(0.95) + ramps.step, width),
        note=f"lipschitz and noise_scale are of the distribution function; errors for an even density{chosen}{group}",
        written=query.written,
    )


def _is_filtered(query: QuantileQuery, space: Space) -> bool:
    """Say whether some records may not be chosen: by a condition, or since they are elsewhere."""
    return query.where is not None or space.elsewhere is not None


def _notes(query: QuantileQuery, ramps: Ramps, space: Space) -> tuple[str, ...]:
    people = query.people
    smoothed = (
        f"the distribution function is smoothed by {ramps.count} ramps of width {ramps.step:.6g}, each between its "
        "values half a width before and after; intervals allow for that and hold a quantile of the exact distribution"
    )
    filtered = "where weighs records, and quantiles are those of the weighted ones"
    return (
        smoothed,
        *((filtered,) if query.where is not None else ()),
        *(("quantiles are those of the records that are somewhere",) if space.elsewhere is not None else ()),
        *((people.text,) if people is not None and people.text else ()),
    )


def _floats(values: Sequence[Fraction]) -> Floats:
    return np.array([float(value) for value in values])
