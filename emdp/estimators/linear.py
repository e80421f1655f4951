"""Linear queries: means over users of the mean over their records (EMD 2).

What to aggregate, how sensitive it is, which noise is best, and the event that pays for it, all from public
numbers: the space, the number of users and the query.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from emdp.errors import InternalError
from emdp.expressions import Expression, Mean, VectorMean, analyse_vector
from emdp.expressions.fixed_point import fixed_point_error
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, KNormMechanism, LaplaceMechanism, choose
from emdp.privacy import EmdDP, Event, Guarantee, UserDP
from emdp.privacy.rounding import quotient_up
from emdp.spaces import Space

__all__ = ["LinearColumn", "LinearPlan", "LinearQuery", "plan_linear"]

LinearQuery = Mean | VectorMean

NAMED: Mapping[str, type[AdditiveMechanism]] = MappingProxyType(
    {"laplace": LaplaceMechanism, "k_norm": KNormMechanism, "gaussian": GaussianMechanism}
)
"""Mechanism of each ``noise`` that a query may ask for by name."""

ROUNDED_SPREAD = 1e-9
"""A constant's range is wider than a point by outward rounding alone: far less than this, relative to its size."""


@dataclass(frozen=True)
class LinearColumn:
    """One column of a linear query.

    Parameters
    ----------
    name : str
        Column of the answer.
    expression : Expression
        The function of one record.
    lipschitz : float
        Its constant per unit of ``d_X``.
    low, high : float
        Its range.
    """

    name: str
    expression: Expression
    lipschitz: float
    low: float
    high: float


@dataclass(frozen=True)
class LinearPlan:
    """Everything about a linear query that is settled before the data is touched.

    Parameters
    ----------
    columns : tuple of LinearColumn
        What is computed.
    mechanism : AdditiveMechanism
        The noise, for all columns together.
    event : Event
        What the ledger is charged.
    choice : str
        Why this noise.
    """

    columns: tuple[LinearColumn, ...]
    mechanism: AdditiveMechanism
    event: Event
    choice: str

    @property
    def guarantee(self) -> Guarantee:
        """What holds for the release."""
        return self.event.guarantee


def plan_linear(query: LinearQuery, *, space: Space, users: int) -> LinearPlan:
    """Return the plan of a linear query.

    Under ``alpha`` the sensitivity per unit of ``d_em`` is ``lipschitz/users`` for records of any number (EMD 2,
    "Answer"); under ``epsilon`` it is the range divided by ``users``, for replacement of a user's records.

    Parameters
    ----------
    query : Mean or VectorMean
        The query.
    space : Space
        The table's item space.
    users : int
        The public number of users.

    Raises
    ------
    NotLipschitzError
        If an expression has no finite constant.
    UsageError
        If an expression does not fit the space, or the noise does not fit the parameters.

    >>> from emdp.expressions import col, mean
    >>> from emdp.spaces import Interval
    >>> plan_linear(mean(col("x"), alpha=2.0), space=Interval("x", 0, 10), users=100).mechanism.scale
    0.05
    """
    expressions, names, wanted = _entries(query)
    analysis = analyse_vector(expressions, space)
    columns = tuple(
        LinearColumn(name, expression, single.lipschitz_1, entry.low, entry.high)
        for name, expression, entry, single in zip(
            names,
            expressions,
            analysis.entries,
            (analyse_vector([expression], space) for expression in expressions),
            strict=True,
        )
    )
    kind: Guarantee = EmdDP(0.0) if query.alpha is not None else UserDP(0.0)
    if query.alpha is not None:
        level = query.alpha
        change_1, change_2 = analysis.lipschitz_1, analysis.lipschitz_2
    else:
        level = float(query.epsilon or 0.0)
        spreads = [entry.spread for entry in analysis.entries]
        change_1, change_2 = _up(math.fsum(spreads)), _up(math.hypot(*spreads))
    magnitude = max(entry.magnitude for entry in analysis.entries)
    if change_1 == 0 and max(entry.spread for entry in analysis.entries) > ROUNDED_SPREAD * (1 + magnitude):
        raise InternalError("an expression that varies was given the constant 0; please report the expression.")
    # A constant has no error that depends on the neighbour, and needs no noise.
    error = max(fixed_point_error(entry) for entry in analysis.entries) if change_1 > 0 else 0.0
    needs = _Needs(
        alpha=level,
        delta=query.delta,
        change_1=quotient_up(change_1, users),
        change_2=quotient_up(change_2, users),
        statistic_error=quotient_up(error, users),
        magnitude=magnitude,
        dimension=len(columns),
    )
    mechanism, choice = _mechanism(wanted, needs)
    return LinearPlan(columns, mechanism, mechanism.event(kind), choice)


@dataclass(frozen=True, kw_only=True)
class _Needs:
    """What a mechanism must cover: changes in the two norms per unit of ``d_em``, and the fields of the same names."""

    alpha: float
    delta: float
    change_1: float
    change_2: float
    statistic_error: float
    magnitude: float
    dimension: int


def _entries(query: LinearQuery) -> tuple[tuple[Expression, ...], tuple[str, ...], str]:
    if isinstance(query, Mean):
        return (query.expression,), (query.name or "mean",), "auto"
    names = query.names or tuple(f"mean_{number}" for number in range(1, len(query.expressions) + 1))
    return query.expressions, names, query.noise


def _mechanism(wanted: str, needs: _Needs) -> tuple[AdditiveMechanism, str]:
    if wanted == "auto":
        choice = choose(
            alpha=needs.alpha,
            delta=needs.delta,
            sensitivity_1=needs.change_1,
            sensitivity_2=needs.change_2,
            dimension=needs.dimension,
            statistic_error=needs.statistic_error,
            magnitude=needs.magnitude,
        )
        return choice.mechanism, choice.reason
    kind = NAMED[wanted]
    mechanism = kind(
        alpha=needs.alpha,
        delta=needs.delta if kind is GaussianMechanism else 0.0,
        sensitivity=needs.change_1 if kind.norm == 1 else needs.change_2,
        dimension=needs.dimension,
        statistic_error=needs.statistic_error,
        magnitude=needs.magnitude,
    )
    return mechanism, f"{mechanism.name} noise, as asked for."


def _up(number: float) -> float:
    return math.nextafter(number, math.inf) if number > 0 else number
