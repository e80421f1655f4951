"""Frequencies of all items of a finite space: which methods fit, which is best, and its plan (EMD 6).

Methods are compared by the expected distance, in the unit of ``d_em``, of their estimates to the truth after
projection onto the simplex, planned from public numbers alone (:mod:`emdp.estimators.frequency_planning`) at two
public priors, all items alike and falling shares. A method that does not fit space, price or model says why.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from emdp.errors import EmdpError, InternalError, RefusedError, UsageError
from emdp.estimators.frequency_geometry import Geometry
from emdp.estimators.frequency_models import ErrorModel, IndependentErrors
from emdp.estimators.frequency_planning import falling_prior, planned_errors
from emdp.estimators.item_rows import CountRows
from emdp.estimators.itemwise import plan_itemwise
from emdp.estimators.itemwise_release import ItemwiseRelease
from emdp.estimators.messages import TRUST, MessagePlan
from emdp.estimators.share_rows import PooledRows, ShareRows, check_adjustable, check_columns
from emdp.estimators.share_spread import share_spread
from emdp.estimators.unequal_errors import UnequalErrors
from emdp.estimators.user_histograms import HistogramRelease, OracleRelease, share_bits
from emdp.expressions.columns import PlannedColumn
from emdp.expressions.item_frequencies import ItemFrequencies
from emdp.expressions.itemwise import Itemwise
from emdp.expressions.reading import Reading
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, LaplaceMechanism
from emdp.mechanisms.exponential import Exponential
from emdp.mechanisms.finite_randomizer import FiniteRandomizer
from emdp.mechanisms.gaussian import least_gaussian_delta
from emdp.mechanisms.gkrr import GKRR
from emdp.mechanisms.krr import KRR
from emdp.mechanisms.oracle import LARGEST_DOMAIN, FrequencyOracle
from emdp.mechanisms.oracle_hadamard_bit import OneBitHadamardOracle
from emdp.mechanisms.oracle_hadamard_response import HadamardResponseOracle
from emdp.mechanisms.oracle_krr import KRROracle
from emdp.mechanisms.oracle_projective import ProjectiveOracle
from emdp.mechanisms.oracle_rappor import RapporOracle
from emdp.mechanisms.oracle_subset import SubsetOracle
from emdp.mechanisms.oracle_unary import UnaryOracle
from emdp.privacy import EmdDP, Event, Guarantee, GuaranteeEvent, UserDP, shuffle_alpha, shuffle_alpha0
from emdp.privacy.rounding import as_decimal, float_up, quotient_up
from emdp.spaces import Clusters, Grid, Space, count_items, neutral_code
from emdp.spaces.base import Floats

__all__ = ["plan_item_frequencies"]

ORACLES: dict[str, type[FrequencyOracle]] = {
    "hadamard": OneBitHadamardOracle,
    "krr": KRROracle,
    "rappor": RapporOracle,
    "unary": UnaryOracle,
    "subset": SubsetOracle,
    "projective": ProjectiveOracle,
    "response": HadamardResponseOracle,
}
"""Oracles of users by the name of their method."""

FASTEST = ("histogram", "krr", "unary", "rappor", "hadamard", "response", "projective", "subset")
"""Methods by the time that they take, about: of those with nearly the least error the first is taken."""

NEAR = 1.01
"""How much more error counts as nearly the least."""

MOST_SET_WORK = 2**33
"""Most of ``users (items + 16 size)`` for subset selection, as :class:`SubsetOracle` has it for one draw."""

WEIGHING = "every user counts once, whatever the number of records"


@dataclass(frozen=True, eq=False)
class Candidate:
    """One method on one space, priced.

    Parameters
    ----------
    method : str
        Its name.
    releaser : Releaser
        What draws.
    event : Event
        What it costs.
    model : ErrorModel
        Its errors where all items are alike.
    at : callable
        Its errors at given shares of the items.
    accounted : str
        How it was priced, in a few words.
    """

    method: str
    releaser: HistogramRelease | OracleRelease
    event: Event
    model: ErrorModel
    at: Callable[[Floats], ErrorModel]
    accounted: str


def plan_item_frequencies(
    query: ItemFrequencies, *, space: Space, users: int, records: int | None = None
) -> MessagePlan:
    """Return the plan of the frequencies of all items of a finite space.

    Parameters
    ----------
    query : ItemFrequencies
        The query.
    space : Space
        The table's item space, finite.
    users : int
        The public number of users.
    records : int or None
        The public number of records of every user, where it is declared; for item-wise release.

    Raises
    ------
    UsageError
        If the space is a continuum, or no method fits price and model.

    >>> from emdp.spaces import Categories
    >>> query = ItemFrequencies(model="local", epsilon=1.0)
    >>> plan = plan_item_frequencies(query, space=Categories("kind", ["bar", "cafe", "park"]), users=10_000)
    >>> plan.guarantee.kind_name, plan.guarantee.level <= 1.0
    ('local UserDP', True)
    """
    items = _checked_items(space)
    check_columns(space, query.name, query.adjust)
    check_adjustable(space, query.adjust)
    if query.method == "itemwise" or query.sizes is not None:
        return _itemwise(query, space, users, records)
    if query.model == "shuffle" and query.epsilon is None:
        raise UsageError("the shuffle model mixes one message a user, at user level; pass epsilon= instead of alpha=.")
    found, refused = _candidates(query, space, users, items)
    if not found:
        reasons = "; ".join(f"{method}: {reason}" for method, reason in refused.items())
        raise UsageError(f"method={query.method!r} has no answer in the {query.model} model ({reasons}); change one.")
    geometry = _geometry(space, items)
    errors = {one.method: _expected(one, geometry) for one in found}
    least = min(errors.values())
    best = next(one for one in sorted(found, key=_by_speed) if errors[one.method] <= NEAR * least)
    rows = ShareRows(space, query.name, best.releaser.intervals, query.adjust)
    listed = ", ".join(
        f"{one.method} {errors[one.method]:.3g}" for one in sorted(found, key=lambda o: errors[o.method])
    )
    missing = "".join(f"; {method} has none ({reason})" for method, reason in refused.items())
    deviation = math.sqrt(float(best.model.variances.max()))
    middle = np.full(items, 1.0 / items)
    low, high = best.releaser.intervals(middle, 0.95, False)
    column = PlannedColumn(
        name=query.name,
        expression=f"share of each item in the average user's records, by {best.method}",
        lipschitz=share_spread(space) if query.alpha is not None else math.nan,
        low=0.0,
        high=1.0,
        noise_scale=deviation,
        expected_error=deviation * math.sqrt(2.0 / math.pi),
        interval_95=float((high - low).max() / 2.0),
        note="noise_scale is the standard deviation of an item's share, all items alike",
    )
    return MessagePlan(
        reading=Reading("bags", by_user=True),
        releaser=best.releaser,
        event=best.event,
        columns=(column,),
        choice=(
            f"frequencies by {best.method} ({best.accounted}); expected distance to the truth in d_em, "
            f"after projection, of nearly equal ones the fastest: {listed}{missing}."
        ),
        finisher=rows,
        weighing=WEIGHING,
        notes=rows.notes,
        assumptions=TRUST[query.model],
    )


def _checked_items(space: Space) -> int:
    items = count_items(space)
    if items is None:
        raise UsageError(
            f"a {space.kind} space has no public list of items; give cells= a pitch, read the table with "
            "space=emdp.Grid(...), or list the values."
        )
    if items < 2:
        raise UsageError("the space has one item, whose share is 1; ask for frequencies of at least two.")
    if items > LARGEST_DOMAIN:
        raise UsageError(
            f"the space has {items} items, and frequencies of at most {LARGEST_DOMAIN} are estimated; use a coarser "
            "space, or leave out a part."
        )
    return items


def _candidates(query: ItemFrequencies, space: Space, users: int, items: int) -> tuple[list[Candidate], dict[str, str]]:
    """Return the methods that fit, and why others do not."""
    builders: dict[str, Callable[[], Candidate]] = {}
    if query.model == "central":
        builders["histogram"] = lambda: _histogram(query, space, users, items)
    else:
        for method, kind in ORACLES.items():
            builders[method] = lambda kind=kind, method=method: _oracle(  # type: ignore[misc]
                query, space, users, items, kind, method
            )
    if query.method != "auto" and query.method not in builders:
        fits = "central" if query.method == "histogram" else "local or shuffle"
        return [], {query.method: f"it needs model={fits}"}
    found, refused = [], {}
    for method, build in builders.items():
        if query.method in ("auto", method):
            try:
                found.append(build())
            except EmdpError as error:
                refused[method] = str(error).rstrip(".")
    return found, refused


def _histogram(query: ItemFrequencies, space: Space, users: int, items: int) -> Candidate:
    spread = 1.0 if query.alpha is None else share_spread(space)
    level = query.alpha if query.alpha is not None else float(query.epsilon or 0.0)
    shared = {
        "alpha": level,
        "dimension": items,
        "statistic_error": math.ldexp(1.0, -share_bits(users)) / users,
        "magnitude": 1.0,
    }
    found: list[AdditiveMechanism] = [
        LaplaceMechanism(sensitivity=quotient_up(2.0 * spread, users), **shared)  # type: ignore[arg-type]
    ]
    if query.delta > least_gaussian_delta(items):
        root = math.nextafter(math.sqrt(2.0) * spread, math.inf)
        found.append(
            GaussianMechanism(sensitivity=quotient_up(root, users), delta=query.delta, **shared)  # type: ignore[arg-type]
        )
    best = min(found, key=lambda mechanism: mechanism.standard_deviation)
    kind: Guarantee = EmdDP(0.0) if query.alpha is not None else UserDP(0.0)
    is_laplace = isinstance(best, LaplaceMechanism)
    model = IndependentErrors(items, best.standard_deviation**2, law="laplace" if is_laplace else "normal")
    release = HistogramRelease(best, neutral_code(space))
    return Candidate(
        "histogram", release, best.event(kind), model, lambda _: model, f"{best.name} noise on the averaged histogram"
    )


def _oracle(
    query: ItemFrequencies, space: Space, users: int, items: int, kind: type[FrequencyOracle], method: str
) -> Candidate:
    guarantee: Guarantee
    if query.model == "shuffle":
        wanted = float(query.epsilon or 0.0)
        oracle = kind(items, users, _message_strength(wanted, users, query.delta))
        reached = shuffle_alpha(oracle.epsilon, 1, users, query.delta, 1.0)
        guarantee = UserDP(reached, query.delta, "shuffle")
        accounted = f"epsilon0 = {oracle.epsilon:.4g} a user, {users} users mixed"
    elif query.epsilon is not None:
        oracle = kind(items, users, query.epsilon)
        guarantee, accounted = UserDP(oracle.epsilon, 0.0, "local"), "one message a user"
    else:
        spread = share_spread(space)
        alpha = float(query.alpha or 0.0) / spread
        oracle = kind(items, users, math.log1p(alpha) * (1.0 - 2.0**-50))
        reached = float_up(as_decimal(oracle.alpha_em) * as_decimal(spread))
        guarantee, accounted = EmdDP(reached, 0.0, "unbounded", "local"), "one message a user"
    if isinstance(oracle, SubsetOracle):
        _check_sets(oracle)
    event = GuaranteeEvent(guarantee, f"frequencies by {oracle.name}")
    theorem = "one message a user, shuffled: exact clone steps for m = 1 (EMD 3)" if query.model == "shuffle" else ""
    model = IndependentErrors(items, float(oracle.variances().mean()))
    release = OracleRelease(oracle, neutral_code(space), theorem)
    return Candidate(method, release, event, model, lambda shares: UnequalErrors(oracle.variances(shares)), accounted)


@lru_cache(maxsize=32)
def _message_strength(epsilon: float, users: int, delta: float) -> float:
    """Return the strength of one message of each user that costs epsilon once all are mixed."""
    return shuffle_alpha0(epsilon, 1, users, delta, 1.0)


def _check_sets(oracle: SubsetOracle) -> None:
    """Refuse before the charge what the oracle would refuse while it draws, whatever the blocks."""
    if oracle.users * (oracle.items + 16 * oracle.size) > MOST_SET_WORK:
        raise RefusedError(f"sets of {oracle.size} items for {oracle.users} users are minutes of work")


def _itemwise(query: ItemFrequencies, space: Space, users: int, records: int | None) -> MessagePlan:
    kind: type[FiniteRandomizer] = Exponential
    if isinstance(space, Clusters):
        kind = GKRR
    elif space.structure == "discrete":
        kind = KRR
    inner = Itemwise(kind, query.alpha, query.epsilon, query.delta, query.model, query.sizes, query.name)
    plan = plan_itemwise(inner, space=space, users=users, records=records)
    if not isinstance(plan.releaser, ItemwiseRelease) or not isinstance(plan.releaser.randomizer, FiniteRandomizer):
        raise InternalError("item-wise release of a finite space has no finite randomizer; please report it.")
    size, sampled = plan.releaser.size, query.sizes is not None
    counts = CountRows(plan.releaser.randomizer, query.name, users * size, sampled)
    if not counts.is_estimated:
        raise UsageError("item-wise release leaves no estimate of shares on this space; use method='auto'.")
    rows = PooledRows(counts, query.name, query.adjust, is_local=query.model == "local")
    return replace(plan, finisher=rows, columns=counts.planned, notes=(*plan.notes, *rows.notes))


def _by_speed(one: Candidate) -> int:
    return FASTEST.index(one.method)


def _expected(one: Candidate, geometry: Geometry) -> float:
    """Return the mean over two public priors, at each of which the method has its own errors."""
    prior = falling_prior(one.model.size)
    falling = planned_errors(one.at(prior), geometry, prior=prior).d_em
    return 0.5 * (planned_errors(one.model, geometry).d_em + falling)


def _geometry(space: Space, items: int) -> Geometry:
    if isinstance(space, Grid):
        return Geometry.of(space)
    if space.labels is not None and len(space.labels) == items:
        return Geometry.of(space)
    return Geometry("other", items)
