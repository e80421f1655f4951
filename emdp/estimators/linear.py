"""Linear queries: means over users of the mean over their records (EMD 2).

What to aggregate, how sensitive it is, which noise is best, and the event that pays for it, all from public
numbers: the space, the number of users and the query.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from emdp.errors import UsageError
from emdp.expressions import Expression, Mean, VectorMean, analyse_vector
from emdp.expressions.fixed_point import fixed_point_error
from emdp.mechanisms import (
    AdditiveMechanism,
    GaussianMechanism,
    KNormMechanism,
    LaplaceMechanism,
    choose,
    float_at_least,
)
from emdp.privacy import (
    EmdDP,
    Event,
    GaussianEvent,
    Guarantee,
    GuaranteeEvent,
    KNormEvent,
    LaplaceEvent,
    UserDP,
)
from emdp.spaces import Space

__all__ = ["LinearColumn", "LinearPlan", "LinearQuery", "plan_linear"]

LinearQuery = Mean | VectorMean

RELATIVE_SLACK = 1e-10
"""A Gaussian's ``slack_delta`` below this share of delta is covered by the excess its calibration keeps anyway."""


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
    mechanism, choice = _mechanism(
        wanted,
        level,
        query.delta,
        change_1=_share(change_1, users),
        change_2=_share(change_2, users),
        error=_share(max(fixed_point_error(entry) for entry in analysis.entries), users),
        magnitude=max(entry.magnitude for entry in analysis.entries),
        dimension=len(columns),
    )
    return LinearPlan(columns, mechanism, _event(mechanism, level, query.delta, kind), choice)


def _entries(query: LinearQuery) -> tuple[tuple[Expression, ...], tuple[str, ...], str]:
    if isinstance(query, Mean):
        return (query.expression,), (query.name or "mean",), "auto"
    names = query.names or tuple(f"mean_{number}" for number in range(1, len(query.expressions) + 1))
    return query.expressions, names, query.noise


def _mechanism(
    wanted: str,
    level: float,
    delta: float,
    *,
    change_1: float,
    change_2: float,
    error: float,
    magnitude: float,
    dimension: int,
) -> tuple[AdditiveMechanism, str]:
    # A constant has no error that depends on the neighbour, and needs no noise.
    error = 0.0 if change_1 == 0 else error
    shared = {"alpha": level, "statistic_error": error, "magnitude": magnitude, "dimension": dimension}
    named: dict[str, type[AdditiveMechanism]] = {"laplace": LaplaceMechanism, "k_norm": KNormMechanism}
    if wanted in named:
        kind = named[wanted]
        sensitivity = change_1 if kind.norm == 1 else change_2
        return kind(sensitivity=sensitivity, **shared), "the noise that was asked for"  # type: ignore[arg-type]
    if wanted == "gaussian":
        noise = GaussianMechanism(sensitivity=change_2, delta=delta, **shared)  # type: ignore[arg-type]
        return _with_room(noise, delta), "the noise that was asked for"
    choice = choose(sensitivity_1=change_1, sensitivity_2=change_2, delta=delta, **shared)  # type: ignore[arg-type]
    if isinstance(choice.mechanism, GaussianMechanism):
        return _with_room(choice.mechanism, delta), choice.reason
    return choice.mechanism, choice.reason


def _with_room(mechanism: GaussianMechanism, delta: float) -> GaussianMechanism:
    """Calibrate anew where the noise's discreteness takes a share of delta worth mentioning."""
    if mechanism.slack_delta <= RELATIVE_SLACK * delta:
        return mechanism
    room = delta - 2 * mechanism.slack_delta
    if room <= 0:
        raise UsageError(
            f"delta must be above {2 * mechanism.slack_delta:.3g} for Gaussian noise on a grid, got {delta}; "
            "pass a larger delta, or 0."
        )
    fields = {name: getattr(mechanism, name) for name in ("sensitivity", "alpha", "dimension")}
    return GaussianMechanism(
        **fields, delta=room, statistic_error=mechanism.statistic_error, magnitude=mechanism.magnitude
    )


def _event(mechanism: AdditiveMechanism, level: float, delta: float, kind: Guarantee) -> Event:
    if mechanism.is_exact:
        return GuaranteeEvent(kind.at_level(0.0, 0.0), mechanism="exact: the statistic is constant")
    shared = {
        "dimension": mechanism.dimension,
        "sensitivity": mechanism.sensitivity,
        "grid": mechanism.grid,
        "slack_epsilon": mechanism.slack_epsilon,
        "kind": kind,
    }
    if isinstance(mechanism, GaussianMechanism):
        return GaussianEvent(
            level, delta, sigma=mechanism.scale, slack_delta=mechanism.slack_delta, **shared  # type: ignore[arg-type]
        )
    if isinstance(mechanism, KNormMechanism):
        return KNormEvent(level, scale=mechanism.scale, **shared)  # type: ignore[arg-type]
    return LaplaceEvent(level, scale=mechanism.scale, **shared)  # type: ignore[arg-type]


def _share(total: float, users: int) -> float:
    return float_at_least(Fraction(total) / users)


def _up(number: float) -> float:
    return math.nextafter(number, math.inf) if number > 0 else number

