"""Frequencies of all items of a finite space: which methods fit, which is best, and its plan (EMD 6).

Methods are compared by the expected distance, in the unit of ``d_em``, of their estimates to the truth after
projection onto the simplex, planned from public numbers alone (:mod:`emdp.estimators.frequency_planning`) at two
public priors, all items alike and falling shares. A method that does not fit space, price or model says why.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from emdp.errors import EmdpError, UsageError
from emdp.estimators.frequency_geometry import Geometry
from emdp.estimators.frequency_models import ErrorModel, IndependentErrors
from emdp.estimators.frequency_planning import falling_prior, planned_errors
from emdp.estimators.itemwise import plan_itemwise
from emdp.estimators.messages import MessagePlan
from emdp.estimators.share_rows import ShareRows
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
from emdp.mechanisms.oracle import FrequencyOracle
from emdp.mechanisms.oracle_hadamard_bit import OneBitHadamardOracle
from emdp.mechanisms.oracle_hadamard_response import HadamardResponseOracle
from emdp.mechanisms.oracle_krr import KRROracle
from emdp.mechanisms.oracle_projective import ProjectiveOracle
from emdp.mechanisms.oracle_rappor import RapporOracle
from emdp.mechanisms.oracle_subset import SubsetOracle
from emdp.mechanisms.oracle_unary import UnaryOracle
from emdp.privacy import EmdDP, Event, Guarantee, GuaranteeEvent, UserDP, shuffle_alpha, shuffle_alpha0
from emdp.privacy.rounding import as_decimal, float_down, float_up, quotient_up
from emdp.spaces import Clusters, Grid, Space, count_items, item_codes

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

WEIGHING = "every user counts once, whatever the number of records"
SIMULATED = "messages are drawn by the table's owner as each user's device would draw them; nobody else need be trusted"
SHUFFLED = "whoever sees messages before they are mixed is trusted not to look (shuffle model)"


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
        Its errors.
    accounted : str
        How it was priced, in a few words.
    """

    method: str
    releaser: HistogramRelease | OracleRelease
    event: Event
    model: ErrorModel
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
    items = count_items(space)
    if items is None or items < 2:
        raise UsageError(
            f"a {space.kind} space has no public list of items; give cells= a pitch, read the table with "
            "space=emdp.Grid(...), list the values, or search them with emdp.HeavyHitterSearch."
        )
    if query.method == "itemwise" or query.sizes is not None:
        return _itemwise(query, space, users, records)
    found, refused = _candidates(query, space, users, items)
    if not found:
        reasons = "; ".join(f"{method}: {reason}" for method, reason in refused.items())
        raise UsageError(f"method={query.method!r} has no answer in the {query.model} model ({reasons}); change one.")
    geometry = _geometry(space, items)
    errors = {one.method: _expected(one.model, geometry) for one in found}
    best = min(found, key=lambda one: errors[one.method])
    rows = ShareRows(space, query.name, best.releaser.intervals)
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
        lipschitz=_spread(space, items) if query.alpha is not None else math.nan,
        low=0.0,
        high=1.0,
        noise_scale=deviation,
        expected_error=deviation * math.sqrt(2.0 / math.pi),
        interval_95=float((high - low).max() / 2.0),
        note="noise_scale is the standard deviation of an item's share",
    )
    model_notes = {"local": (SIMULATED,), "shuffle": (SHUFFLED,), "central": ()}[query.model]
    return MessagePlan(
        reading=Reading("bags", by_user=True),
        releaser=best.releaser,
        event=best.event,
        columns=(column,),
        choice=(
            f"frequencies by {best.method} ({best.accounted}); expected distance to the truth in d_em, "
            f"after projection: {listed}{missing}."
        ),
        finisher=rows,
        weighing=WEIGHING,
        notes=rows.notes,
        assumptions=model_notes,
    )


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
    spread = 1.0 if query.alpha is None else _spread(space, items)
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
    release = HistogramRelease(best, _neutral(space))
    return Candidate("histogram", release, best.event(kind), model, f"{best.name} noise on the averaged histogram")


def _oracle(
    query: ItemFrequencies, space: Space, users: int, items: int, kind: type[FrequencyOracle], method: str
) -> Candidate:
    guarantee: Guarantee
    if query.model == "shuffle":
        if query.epsilon is None:
            raise UsageError("the shuffle model is priced by epsilon at user level; pass epsilon")
        oracle = kind(items, users, shuffle_alpha0(query.epsilon, 1, users, query.delta, 1.0))
        reached = shuffle_alpha(oracle.epsilon, 1, users, query.delta, 1.0)
        guarantee = UserDP(reached, query.delta, "shuffle")
        accounted = f"epsilon0 = {oracle.epsilon:.4g} a user, {users} users mixed"
    elif query.epsilon is not None:
        oracle = kind(items, users, query.epsilon)
        guarantee, accounted = UserDP(oracle.epsilon, 0.0, "local"), "one message a user"
    else:
        spread = _spread(space, items)
        alpha = float(query.alpha or 0.0) / spread
        oracle = kind(items, users, math.log1p(alpha) * (1.0 - 2.0**-50))
        reached = float_up(as_decimal(oracle.alpha_em) * as_decimal(spread))
        guarantee, accounted = EmdDP(reached, 0.0, "unbounded", "local"), "one message a user"
    event = GuaranteeEvent(guarantee, f"frequencies by {oracle.name}")
    theorem = "one message a user, shuffled: exact clone steps for m = 1 (EMD 3)" if query.model == "shuffle" else ""
    model = IndependentErrors(items, float(oracle.variances().mean()))
    return Candidate(method, OracleRelease(oracle, _neutral(space), theorem), event, model, accounted)


def _itemwise(query: ItemFrequencies, space: Space, users: int, records: int | None) -> MessagePlan:
    kind: type[FiniteRandomizer] = Exponential
    if isinstance(space, Clusters):
        kind = GKRR
    elif space.structure == "discrete":
        kind = KRR
    inner = Itemwise(kind, query.alpha, query.epsilon, query.delta, query.model, query.sizes, query.name)
    return plan_itemwise(inner, space=space, users=users, records=records)


def _expected(model: ErrorModel, geometry: Geometry) -> float:
    flat = planned_errors(model, geometry).d_em
    falling = planned_errors(model, geometry, prior=falling_prior(model.size)).d_em
    return 0.5 * (flat + falling)


def _geometry(space: Space, items: int) -> Geometry:
    if isinstance(space, Grid):
        return Geometry.of(space)
    if space.labels is not None and len(space.labels) == items:
        return Geometry.of(space)
    return Geometry("other", items)


def _spread(space: Space, items: int) -> float:
    """Return 1 over the smallest distance of two items, rounded up: how much faster shares move than ``d_em``."""
    if space.structure == "discrete":
        return 1.0
    trial = KRR(space, 1.0)
    if not trial.w_min > 0:
        raise UsageError("some items are at distance 0 of each other, so shares have no constant; merge them")
    return quotient_up(1.0, float_down(as_decimal(trial.w_min)))


def _neutral(space: Space) -> int:
    return int(item_codes(space, space.neutral_item)[0])
