"""Plans over a public partition of users: one mechanism a group, one price, key columns of its rows."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import NotLipschitzError, UsageError
from emdp.estimators.mean.linear import NAMED
from emdp.estimators.plan import parallel_event
from emdp.expressions.cells.aggregation import Aggregation
from emdp.expressions.cells.bounds import aggregation_errors, aggregation_lipschitz, aggregation_spread
from emdp.expressions.cells.errors import aggregation_sum_error
from emdp.mechanisms import AdditiveMechanism, Choice, GaussianMechanism, KNormMechanism, LaplaceMechanism, choose
from emdp.mechanisms.central.additive import independent_tail
from emdp.mechanisms.central.gaussian import least_gaussian_delta
from emdp.privacy import Event
from emdp.privacy.calibration import LARGEST_ALPHA
from emdp.privacy.rounding import quotient_up
from emdp.questions.columns import PlannedColumn
from emdp.questions.means import VectorNoise
from emdp.questions.price import Price
from emdp.questions.select import People
from emdp.spaces import Space

__all__ = [
    "Change",
    "GroupKeys",
    "GroupNoise",
    "change_of",
    "check_names",
    "level_of_each",
    "mechanism_of",
    "noise_of_groups",
]


@dataclass(frozen=True, eq=False)
class GroupKeys:
    """Key columns of rows that repeat for every group of users.

    >>> GroupKeys(("city",), (("Rome",), ("Oslo",))).series(2)[0].to_list()
    ['Rome', 'Rome', 'Oslo', 'Oslo']
    """

    columns: tuple[str, ...] = ()  # Public user columns; none where users are not grouped
    values: tuple[tuple[object, ...], ...] = ((),)  # For each group its values

    @classmethod
    def of(cls, people: People | None) -> "GroupKeys":
        """Return the keys of a query's users."""
        return cls() if people is None else cls(people.columns, people.values)

    def series(self, rows: int) -> list[pl.Series]:
        """Return the key columns for ``rows`` rows a group, groups one after another."""
        groups = pl.Series(np.repeat(np.arange(len(self.values)), rows))
        return [
            pl.Series(column, [values[place] for values in self.values]).gather(groups)
            for place, column in enumerate(self.columns)
        ]


@dataclass(frozen=True)
class Change:
    """Sensitivity of the coordinates to the contribution of one user.

    Parameters
    ----------
    norm_1, norm_2 : float
        Bounds in the two norms: under ``alpha`` per unit of ``d_em``, under ``epsilon`` for replacement of all records.
    lipschitz : float
        Constant of the vector of one record per unit of ``d_X`` in the 1-norm; infinite where it has none, which only
        ``epsilon`` allows.
    error : float
        Bound on |computed - exact| of a coordinate of one user's contribution.
    dimension : int
        Number of coordinates.
    """

    norm_1: float
    norm_2: float
    lipschitz: float
    error: float
    dimension: int


@dataclass(frozen=True, eq=False)
class GroupNoise:
    """The noise of a release, for disjoint groups of users."""

    mechanisms: tuple[AdditiveMechanism, ...]
    event: Event
    choice: str

    @property
    def widest(self) -> AdditiveMechanism:
        """The mechanism with the largest noise: the smallest group's."""
        return max(self.mechanisms, key=lambda mechanism: mechanism.scale)

    def share_column(self, named: Any, expression: str, lipschitz: float, *, note: str = "") -> PlannedColumn:
        """Return the preview of shares with this noise, under the name and spelling of a query."""
        widest = self.widest
        return PlannedColumn(
            name=named.name,
            expression=expression,
            lipschitz=lipschitz,
            low=0.0,
            high=1.0,
            noise_scale=widest.scale,
            expected_error=widest.expected_absolute_error,
            interval_95=widest.interval_half_width(0.95),
            note=note,
            written=named.written,
        )


def change_of(aggregation: Aggregation, space: Space, price: Price, *, is_cumulative: bool = False) -> Change:
    """Return how far one user moves the coordinates of an aggregation with values in [-1, 1], not scaled.

    Raises
    ------
    NotLipschitzError
        Under ``alpha``, if the vector has no finite constant.
    """
    if aggregation.pairs:
        return _change_of_pairs(aggregation, space, price)
    scales = (1.0,) * len(aggregation.values)
    try:
        norms = aggregation_lipschitz(aggregation, scales, space, is_cumulative=is_cumulative)
    except NotLipschitzError:
        if not price.is_user_level:
            raise
        norms = (math.inf, math.inf)
    lipschitz = norms[0]
    if price.is_user_level:
        norms = aggregation_spread(aggregation, scales, space, is_cumulative=is_cumulative)
    # What is constant has no error that depends on the neighbour, and needs no noise.
    error = max(aggregation_errors(aggregation, space, is_cumulative=is_cumulative)) if norms[0] > 0 else 0.0
    return Change(*norms, lipschitz, error, aggregation.dimension)


def _change_of_pairs(aggregation: Aggregation, space: Space, price: Price) -> Change:
    """Return the change of products of means ``v``: ``|vv - v'v'| <= |v - v'| (|v| + |v'|)``, with norms at most 1.

    At user level they are at least 0 with sum 1, as ``v`` is, and change by no more than the value 1 over cells may.
    """
    own = change_of(aggregation.of_one, space, price)
    factor = 1.0 if price.is_user_level else 2.0
    return Change(
        factor * own.norm_1,
        factor * own.norm_2,
        2.0 * own.lipschitz,
        aggregation_sum_error(aggregation, space),
        aggregation.dimension,
    )


def mechanism_of(
    change: Change, users: int, price: Price, noise: VectorNoise = "auto", *, k_norm: bool = True
) -> Choice:
    """Return the noise for the mean over ``users`` users: what the analyst asked for, else the least.

    Parameters
    ----------
    price : Price
        What may be spent.
    noise : {"auto", "laplace", "gaussian", "k_norm"}
        Law of the noise, if one was asked for.
    k_norm : bool
        Whether K-norm noise, whose coordinates are not independent, may be used.
    """
    norms = {1: quotient_up(change.norm_1, users), 2: quotient_up(change.norm_2, users)}
    shared: dict[str, Any] = {
        "alpha": price.level,
        "dimension": change.dimension,
        "statistic_error": quotient_up(change.error, users),
        "magnitude": 1.0,
    }
    if noise == "auto" and k_norm:
        return choose(sensitivity_1=norms[1], sensitivity_2=norms[2], delta=price.delta, **shared)
    if noise == "auto":
        return _least_independent(norms, price.delta, shared)
    kind = NAMED[noise]
    if kind is KNormMechanism and not k_norm:
        raise UsageError("noise must be laplace or gaussian for quantiles, got k_norm; leave noise out, or pass one.")
    spent = price.delta if kind is GaussianMechanism else 0.0
    mechanism = kind(sensitivity=norms[kind.norm], delta=spent, **shared)
    return Choice(mechanism, f"{mechanism.name} noise, as asked for.")


def noise_of_groups(
    change: Change, groups: Sequence[int], price: Price, noise: VectorNoise = "auto", *, k_norm: bool = True
) -> GroupNoise:
    """Return the noise of each of some disjoint groups of users, and the price of all (EMD 7, in parallel)."""
    found = {size: mechanism_of(change, size, price, noise, k_norm=k_norm) for size in set(groups)}
    mechanisms = tuple(found[size].mechanism for size in groups)
    reason = found[min(groups)].reason
    if len(found) > 1:
        reason = f"For the smallest group of users: {reason}"
    return GroupNoise(mechanisms, parallel_event(mechanisms, price.promise()), reason)


def level_of_each(level: float, groups: int) -> float:
    """Return the coverage that each group of users needs so that all groups together have ``level``.

    Groups have independent noise, so it is ``level ** (1/groups)``, rounded up.

    >>> level_of_each(0.95, 1), round(level_of_each(0.95, 2), 6)
    (0.95, 0.974679)
    """
    if groups == 1:
        return level
    return min(math.nextafter(1.0 - independent_tail(1.0 - level, groups), 1.0), math.nextafter(1.0, 0.0))


def check_names(names: Sequence[str]) -> None:
    """Raise ``UsageError`` if two columns of an answer, ends of intervals included, have one name.

    >>> check_names(["city", "q", "age", "age_low", "age_high"])
    """
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise UsageError(f"name makes two columns {twice[0]!r} of the answer; give the aggregate another name with AS.")


def _least_independent(norms: Mapping[int, float], delta: float, shared: Mapping[str, Any]) -> Choice:
    found: list[AdditiveMechanism] = [LaplaceMechanism(sensitivity=norms[1], **shared)]
    if delta > least_gaussian_delta(shared["dimension"]) and shared["alpha"] <= LARGEST_ALPHA:
        found.append(GaussianMechanism(sensitivity=norms[2], delta=delta, **shared))
    best, *others = sorted(found, key=lambda mechanism: mechanism.expected_absolute_error)
    against = "".join(f", against {other.expected_absolute_error:.3g} with {other.name}" for other in others)
    remark = "; Gaussian needs a delta" if delta == 0 else ""
    error = best.expected_absolute_error
    return Choice(best, f"{best.name} noise: expected error {error:.3g} a coordinate{against}{remark}.")
