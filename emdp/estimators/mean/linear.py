"""Linear queries: means over users of the mean over their records (EMD 2).

What to aggregate, how sensitive it is, which noise is best, and the event that pays for it, all from public
numbers: the space, the number of users and the query. Where the space has the point elsewhere, every expression is 0
there: ranges hold 0, and constants are those of :mod:`emdp.expressions.cells.bounds`, ``max(l, max |F|/rho)``.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError
from emdp.estimators.plan import Plan
from emdp.expressions import Expression, analyse_vector
from emdp.expressions.analysis.vectors import VectorAnalysis
from emdp.expressions.cells.aggregation import Aggregation
from emdp.expressions.cells.bounds import aggregation_lipschitz, aggregation_spread
from emdp.expressions.numbers.fixed_point import fixed_point_error
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, KNormMechanism, LaplaceMechanism, choose
from emdp.privacy import Guarantee
from emdp.privacy.rounding import quotient_up
from emdp.questions import Mean, VectorMean
from emdp.questions.columns import PlannedColumn, Released
from emdp.questions.shape import Shape
from emdp.spaces import Space

__all__ = ["LinearNeeds", "LinearQuery", "MeansRow", "OneRow", "linear_needs", "noise_for", "plan_linear"]

LinearQuery = Mean | VectorMean

NAMED: Mapping[str, type[AdditiveMechanism]] = MappingProxyType(
    {"laplace": LaplaceMechanism, "k_norm": KNormMechanism, "gaussian": GaussianMechanism}
)
"""Mechanism of each ``noise`` that a query may ask for by name."""

ROUNDED_SPREAD = 1e-9
"""A constant's range is wider than a point by outward rounding alone: far less than this, relative to its size."""


@dataclass(frozen=True, eq=False)
class OneRow:
    """An answer of one row without keys; subclasses give its intervals."""

    names: tuple[str, ...]

    @property
    def shape(self) -> Shape:
        return Shape("rows")

    def exact(self, statistics: Any) -> pl.DataFrame:
        return pl.DataFrame({name: [float(value)] for name, value in zip(self.names, statistics[0], strict=True)})


@dataclass(frozen=True)
class MeansRow(OneRow):
    """An answer of one row: released coordinates, each with an interval from the noise's law."""

    mechanism: AdditiveMechanism

    def frame(self, released: Released, level: float, *, together: bool = False) -> pl.DataFrame:
        width = self.mechanism.simultaneous_half_width(level) if together else self.mechanism.interval_half_width(level)
        data: dict[str, list[float]] = {}
        for name, value in zip(self.names, map(float, released[0]), strict=True):
            data[name] = [value]
            data[f"{name}_low"] = [value - width]
            data[f"{name}_high"] = [value + width]
        return pl.DataFrame(data)


def plan_linear(query: LinearQuery, *, space: Space, users: int) -> Plan:
    """Return the plan of a linear query.

    Under ``alpha`` the sensitivity per unit of ``d_em`` is ``lipschitz/users`` for records of any number (EMD 2,
    "Answer"); under ``epsilon`` it is the range divided by ``users``, for replacement of a user's records.

    Raises
    ------
    NotLipschitzError
        If an expression has no finite constant.
    UsageError
        If an expression does not fit the space, or the noise does not fit the parameters.

    >>> from emdp.expressions import col
    >>> from emdp.questions import mean
    >>> from emdp.spaces import Interval
    >>> plan_linear(mean(col("x"), alpha=2.0), space=Interval("x", 0, 10), users=100).mechanisms[0].scale
    0.05
    """
    needs = linear_needs(query, space, users)
    mechanism, choice = noise_for(needs)
    return Plan(
        aggregation=Aggregation(needs.expressions),
        scales=(1.0,) * len(needs.expressions),
        mechanisms=(mechanism,),
        event=mechanism.event(needs.kind),
        columns=needs.columns(
            noise_scale=mechanism.scale,
            errors=(mechanism.expected_absolute_error,) * len(needs.names),
            halves=(mechanism.interval_half_width(0.95),) * len(needs.names),
        ),
        choice=choice,
        finisher=MeansRow(needs.names, mechanism),
    )


@dataclass(frozen=True, kw_only=True)
class LinearNeeds:
    """Public facts of a linear query, and the noise that it needs."""

    # expressions, names: What is averaged, and the answer's columns.
    expressions: tuple[Expression, ...]
    names: tuple[str, ...]
    wanted: str
    analysis: VectorAnalysis  # Constants and ranges
    singles: tuple[float, ...]  # Constant of each expression alone
    kind: Guarantee  # What the level is stated as, with level and delta 0
    alpha: float
    delta: float
    # change_1, change_2: Change of the statistic in the two norms, per unit of `d_em` or for a replaced user.
    change_1: float
    change_2: float
    # statistic_error, magnitude: As in `emdp.mechanisms.AdditiveMechanism`.
    statistic_error: float
    magnitude: float

    def columns(
        self, *, noise_scale: float, errors: tuple[float, ...], halves: tuple[float, ...]
    ) -> tuple[PlannedColumn, ...]:
        """Return the answer's columns with the errors that a release will have."""
        rows = zip(self.names, self.expressions, self.analysis.entries, self.singles, errors, halves, strict=True)
        return tuple(
            PlannedColumn(
                name=name,
                expression=str(expression),
                lipschitz=single,
                low=entry.low,
                high=entry.high,
                noise_scale=noise_scale,
                expected_error=error,
                interval_95=half,
                share=1 / len(self.expressions),
            )
            for name, expression, entry, single, error, half in rows
        )


def linear_needs(query: LinearQuery, space: Space, users: int) -> LinearNeeds:
    """Return the facts that a linear query needs when it is averaged over some users; 1 for a user's own message.

    Raises
    ------
    NotLipschitzError, UsageError
        As :func:`plan_linear`.
    """
    expressions, names, wanted = _entries(query)
    analysis = _analysed(expressions, space)
    if not query.price.is_user_level:
        change_1, change_2 = analysis.lipschitz_1, analysis.lipschitz_2
    elif space.elsewhere is not None:
        change_1, change_2 = aggregation_spread(Aggregation(expressions), (1.0,) * len(expressions), space)
    else:
        spreads = [entry.spread for entry in analysis.entries]
        change_1, change_2 = _up(math.fsum(spreads)), _up(math.hypot(*spreads))
    magnitude = max(entry.magnitude for entry in analysis.entries)
    if change_1 == 0 and max(entry.spread for entry in analysis.entries) > ROUNDED_SPREAD * (1 + magnitude):
        raise InternalError("an expression that varies was given the constant 0; please report the expression.")
    # A constant has no error that depends on the neighbour, and needs no noise.
    error = max(fixed_point_error(entry) for entry in analysis.entries) if change_1 > 0 else 0.0
    return LinearNeeds(
        expressions=expressions,
        names=names,
        wanted=wanted,
        analysis=analysis,
        singles=tuple(_analysed((expression,), space).lipschitz_1 for expression in expressions),
        kind=query.price.promise(),
        alpha=query.price.level,
        delta=query.price.delta,
        change_1=quotient_up(change_1, users),
        change_2=quotient_up(change_2, users),
        statistic_error=quotient_up(error, users),
        magnitude=magnitude,
    )


def noise_for(needs: LinearNeeds) -> tuple[AdditiveMechanism, str]:
    """Return the noise asked for, or the best for the parameters, and why."""
    shared: dict[str, Any] = {
        "alpha": needs.alpha,
        "dimension": len(needs.expressions),
        "statistic_error": needs.statistic_error,
        "magnitude": needs.magnitude,
    }
    if needs.wanted == "auto":
        choice = choose(delta=needs.delta, sensitivity_1=needs.change_1, sensitivity_2=needs.change_2, **shared)
        return choice.mechanism, choice.reason
    kind = NAMED[needs.wanted]
    mechanism = kind(
        delta=needs.delta if kind is GaussianMechanism else 0.0,
        sensitivity=needs.change_1 if kind.norm == 1 else needs.change_2,
        **shared,
    )
    return mechanism, f"{mechanism.name} noise, as asked for."


def _analysed(expressions: tuple[Expression, ...], space: Space) -> VectorAnalysis:
    """Return the constants and ranges of a vector that is 0 elsewhere."""
    analysis = analyse_vector(expressions, space)
    if space.elsewhere is None:
        return analysis
    constants = aggregation_lipschitz(Aggregation(expressions), (1.0,) * len(expressions), space)
    entries = tuple(replace(entry, low=min(entry.low, 0.0), high=max(entry.high, 0.0)) for entry in analysis.entries)
    return VectorAnalysis(entries, *constants)


def _entries(query: LinearQuery) -> tuple[tuple[Expression, ...], tuple[str, ...], str]:
    if isinstance(query, Mean):
        return (query.expression,), (query.name or "mean",), "auto"
    names = query.names or tuple(f"mean_{number}" for number in range(1, len(query.expressions) + 1))
    return query.expressions, names, query.noise


def _up(number: float) -> float:
    return math.nextafter(number, math.inf) if number > 0 else number
