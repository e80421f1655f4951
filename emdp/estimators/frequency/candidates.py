"""Methods for the frequencies of all items of a finite space, each priced on space, users and model (EMD 6).

*With* ``sizes`` the price is ``epsilon`` at a distance ``r``. Item-wise release meets it by sampling (EMD 5). Noise on
the averaged histogram and the oracles need no equal sizes: ``(alpha, delta)`` d_EM-DP with ``alpha = epsilon/r`` is
``(epsilon, delta)`` between bags within ``r`` (EMD 1), and user-level ``epsilon``, which holds between any two bags,
holds between those within ``r``; of the two each takes what allows less noise. So all are compared at one price.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial

from emdp.base.classes import dataclass
from emdp.base.errors import EmdpError, InternalError, RefusedError, UsageError
from emdp.estimators.frequency.histograms import HistogramRelease, OracleRelease, share_bits
from emdp.estimators.frequency.itemwise import check_weighable, itemwise_model, plan_item_shares
from emdp.estimators.frequency.models import DenseErrors, ErrorModel, IndependentErrors
from emdp.estimators.frequency.smoothed import plan_frequencies
from emdp.estimators.frequency.spread import share_spread
from emdp.estimators.frequency.unequal_errors import UnequalErrors
from emdp.estimators.messages import MessagePlan
from emdp.estimators.plan import Plan
from emdp.expressions.cells.aggregation import LabelAxis
from emdp.expressions.cells.place_graphs import MOST_PLACES
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, LaplaceMechanism
from emdp.mechanisms.central.edges import EdgeMechanism
from emdp.mechanisms.central.gaussian import least_gaussian_delta
from emdp.mechanisms.item_methods import METHODS
from emdp.mechanisms.oracles.hadamard_bit import OneBitHadamardOracle
from emdp.mechanisms.oracles.mixed import Mixed, mix
from emdp.mechanisms.oracles.oracle import FrequencyOracle
from emdp.mechanisms.oracles.subset import SubsetOracle
from emdp.mechanisms.strength import LARGEST_EPSILON
from emdp.privacy import EmdDP, Event, Guarantee, GuaranteeEvent, UserDP
from emdp.privacy.guarantees.conversions import convert, paying
from emdp.privacy.guarantees.kinds import DiscreteEmdDP
from emdp.privacy.rounding import as_decimal, float_down, float_up, quotient_up
from emdp.privacy.shuffle.users import shuffle_epsilon0
from emdp.questions.item_frequencies import ItemFrequencies
from emdp.questions.select import FrequencyQuery
from emdp.spaces import Space, neutral_code
from emdp.spaces.base import Floats
from emdp.spaces.listed.distances import Distances

__all__ = ["Candidate", "candidates", "histogram_of"]

MOST_SET_WORK = 2**33
"""Most of ``users (items + 16 size)`` for subset selection, as :class:`SubsetOracle` has it for one draw."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A priced method of frequencies on one space."""

    method: str
    event: Event
    model: ErrorModel  # Its errors where all items are alike
    at: Callable[[Floats], ErrorModel]  # Its errors at given shares of the items
    accounted: str  # How it was priced, in a few words
    releaser: HistogramRelease | OracleRelease | None = None  # What draws; None where there is a plan
    plan: Plan | MessagePlan | None = None


def candidates(
    query: ItemFrequencies, space: Space, users: int, items: int, records: int | None = None
) -> tuple[list[Candidate], dict[str, EmdpError]]:
    """Return the methods that fit, and why others do not.

    Parameters
    ----------
    query : ItemFrequencies
        What is asked for; with ``method="auto"`` all methods of its model are priced.
    space : Space
        A finite space.
    records : int or None
        The public number of records of every user, where it is declared.

    >>> from emdp.spaces import Categories
    >>> from emdp.questions.price import Price
    >>> query = ItemFrequencies(Price("epsilon", 1.0))
    >>> found, missing = candidates(query, Categories("kind", ["bar", "cafe"]), 100, 2)
    >>> [one.method for one in found], str(missing["itemwise"])
    (['histogram'], 'its price is alpha, or epsilon with sizes=.')
    """
    builders: dict[str, Callable[[], Candidate]] = {}
    if query.model == "central":
        builders["histogram"] = lambda: _central(query, space, users, items)
    else:
        for method, known in METHODS.items():
            if known.oracle is not None and (known.is_weighed or query.method == method):
                builders[method] = partial(_oracle, query, space, users, items, known.oracle(), method)
    if query.messages in ("auto", 1):
        builders["itemwise"] = lambda: _itemwise(query, space, users, records)
    if query.method != "auto" and query.method not in builders:
        fits = "central" if query.method == "histogram" else "local or shuffle"
        return [], {query.method: UsageError(f"it needs model={fits}.")}
    found: list[Candidate] = []
    refused: dict[str, EmdpError] = {}
    for method, build in builders.items():
        if query.method in ("auto", method):
            try:
                found.append(build())
            except EmdpError as error:
                refused[method] = error
    return found, refused


def _central(query: ItemFrequencies, space: Space, users: int, items: int) -> Candidate:
    """Return the histogram: of listed values with given distances with noise on edges, where that is less."""
    if query.listed is not None:
        return _listed(query, space, users, items)
    plain = (query.method, query.sizes, query.adjust, query.price.is_user_level) == ("auto", None, "none", False)
    if plain and space.elsewhere is None and isinstance(space, Distances) and items <= MOST_PLACES:
        axis = LabelAxis.alone(space.columns[0], space.values)
        listed = FrequencyQuery(axis, query.price, name=query.name, text=query.text, written=query.written)
        found = _listed(replace(query, listed=listed), space, users, items)
        if isinstance(found.plan, Plan) and isinstance(found.plan.mechanisms[0], EdgeMechanism):
            return found
    return _histogram(query, space, users, items)


def _histogram(query: ItemFrequencies, space: Space, users: int, items: int) -> Candidate:
    level, spread, _ = _central_price(query, space)
    shared = {
        "alpha": level,
        "dimension": items,
        "statistic_error": math.ldexp(1.0, -share_bits(users)) / users,
        "magnitude": 1.0,
    }
    found: list[AdditiveMechanism] = [
        LaplaceMechanism(sensitivity=quotient_up(2.0 * spread, users), **shared)  # type: ignore[arg-type]
    ]
    if query.price.delta > least_gaussian_delta(items):
        root = math.nextafter(math.sqrt(2.0) * spread, math.inf)
        found.append(
            GaussianMechanism(sensitivity=quotient_up(root, users), delta=query.price.delta, **shared)  # type: ignore[arg-type]
        )
    best = min(found, key=lambda mechanism: mechanism.standard_deviation)
    return histogram_of(query, space, HistogramRelease(best, neutral_code(space), share_bits(users)))


def histogram_of(query: ItemFrequencies, space: Space, release: HistogramRelease) -> Candidate:
    """Return the averaged histogram with given noise, priced as that noise is."""
    noise = release.mechanism
    model, kind = _noise_model(noise, noise.dimension), _central_price(query, space)[2]
    accounted = f"{noise.name} noise on the averaged histogram"
    return Candidate("histogram", _at_distance(noise.event(kind), query), model, lambda _: model, accounted, release)


def _central_price(query: ItemFrequencies, space: Space) -> tuple[float, float, Guarantee]:
    """Return the level of the noise, how fast shares move per unit of what it is of, and the kind of guarantee."""
    if query.sizes is not None:
        alpha = _alpha_at(query)
        spread = _spread_or_none(space)
        # At r itself: alpha r = epsilon against a change of min(1, spread r).
        if spread is not None and spread * query.sizes.r < 1.0:
            return alpha, spread, EmdDP(0.0)
    return query.price.level, 1.0 if query.price.is_user_level else share_spread(space), query.price.promise()


def _listed(query: ItemFrequencies, space: Space, users: int, items: int) -> Candidate:
    """Return the histogram of listed values that SQL has besides, with its own constant and choice of noise."""
    if query.listed is None:
        raise InternalError("a histogram of listed values was asked for without its query; please report it.")
    plan = plan_frequencies(query.listed, space=space, users=users)
    (mechanism,) = plan.mechanisms
    model = _noise_model(mechanism, items)
    return Candidate("histogram", plan.event, model, lambda _: model, plan.choice.rstrip("."), plan=plan)


def _noise_model(mechanism: AdditiveMechanism, items: int) -> ErrorModel:
    if isinstance(mechanism, EdgeMechanism) and mechanism.dimension == items <= MOST_PLACES:
        return DenseErrors(mechanism.covariance)
    law = "laplace" if isinstance(mechanism, LaplaceMechanism) else "normal"
    return IndependentErrors(items, mechanism.standard_deviation**2, law=law)  # type: ignore[arg-type]


def _oracle(
    query: ItemFrequencies, space: Space, users: int, items: int, kind: type[FrequencyOracle], method: str
) -> Candidate:
    guarantee: Guarantee
    theorem = ""
    spread = _spread_or_none(space) if query.sizes is not None else None
    if query.messages not in ("auto", 1):
        return _several(query, space, users, items, kind, method)
    if query.model == "shuffle":
        mixed, guarantee = _mixed(query, space, users, items, kind)
        oracle, theorem = mixed.oracle, mixed.theorem
        accounted = f"epsilon0 = {oracle.epsilon:.4g} a user, {users} users mixed"
    elif query.price.is_user_level and not (spread is not None and _is_near(query, spread)):
        oracle = kind(items, users, query.price.level)
        guarantee, accounted = UserDP(oracle.epsilon, 0.0, "local"), "one message a user"
    else:
        spread = share_spread(space) if spread is None else spread
        alpha = (_alpha_at(query) if query.price.is_user_level else query.price.level) / spread
        oracle = kind(items, users, math.log1p(alpha) * (1.0 - 2.0**-50))
        reached = float_up(as_decimal(oracle.alpha_em) * as_decimal(spread))
        guarantee, accounted = EmdDP(reached, 0.0, "unbounded", "local"), "one message a user"
    if isinstance(oracle, SubsetOracle):
        _check_sets(oracle)
    event = _at_distance(GuaranteeEvent(guarantee, f"frequencies by {oracle.name}"), query)
    model = IndependentErrors(items, float(oracle.variances().mean()))
    release = OracleRelease(oracle, neutral_code(space), theorem)
    return Candidate(method, event, model, lambda shares: UnequalErrors(oracle.variances(shares)), accounted, release)


def _several(
    query: ItemFrequencies, space: Space, users: int, items: int, kind: type[FrequencyOracle], method: str
) -> Candidate:
    """Return an oracle of a place and a sign of which each user sends several, each mixed apart.

    A round is one of place-sign messages (:mod:`emdp.privacy.shuffle.place_sign`); of users with several records by
    joint convexity. Rows of two items agree in half of their columns, where a user's message has one law for both. Yet
    that is no round which half of the users join: the signs in those columns are seen too, and tell of who is there.
    """
    count, price = int(query.messages), query.price
    if not issubclass(kind, OneBitHadamardOracle):
        raise UsageError("several messages are bits of Hadamard rows; it sends one.")
    if not price.is_user_level or query.sizes is not None:
        raise UsageError("several messages are priced at user level, by epsilon without sizes=.")
    each = _apart(price.level, users, price.delta, count) if users > 1 else 0.0
    pure = price.level / count * (1 - 2.0**-50)
    oracle = kind(items, users * count, min(max(each, pure), LARGEST_EPSILON))
    event = GuaranteeEvent(UserDP(price.level, price.delta, "shuffle"), f"frequencies by {oracle.name}, mixed apart")
    model = IndependentErrors(items, float(oracle.variances().mean()))
    theorem = f"{count} messages a user, mixed apart: so many rounds of places and signs"
    release = OracleRelease(oracle, neutral_code(space), theorem, count)
    accounted = f"{count} messages a user of epsilon0 = {oracle.epsilon:.4g}, {users} users mixed"
    return Candidate(method, event, model, lambda shares: UnequalErrors(oracle.variances(shares)), accounted, release)


@lru_cache(maxsize=256)
def _apart(epsilon: float, users: int, delta: float, messages: int) -> float:
    """Return ``epsilon0`` of each of so many bits of Hadamard rows of a user."""
    return shuffle_epsilon0(epsilon, users, delta, messages, randomizer="place-sign")


def _mixed(
    query: ItemFrequencies, space: Space, users: int, items: int, kind: type[FrequencyOracle]
) -> tuple[Mixed, Guarantee]:
    """Return an oracle as strong as mixing its messages allows, and what it then guarantees.

    Total variation of two users' histograms is at most ``spread d_em``: ``alpha/spread`` per unit of it is alpha per
    unit of ``d_em``, and users within ``r`` are within ``spread r``.
    """
    level, delta = query.price.level, query.price.delta
    if delta == 0:
        raise UsageError("it mixes messages, which hides nothing without a delta.")
    if not query.price.is_user_level:
        unit = float_down(as_decimal(level) / as_decimal(share_spread(space)))
        return mix(kind, items, users, unit, delta, unit="alpha"), EmdDP(level, delta, "unbounded", "shuffle")
    if query.sizes is None:
        return mix(kind, items, users, level, delta), UserDP(level, delta, "shuffle")
    spread, r = _spread_or_none(space), query.sizes.r
    apart = 1.0 if spread is None else min(1.0, float_up(as_decimal(spread) * as_decimal(r)))
    return mix(kind, items, users, level, delta, apart=apart), DiscreteEmdDP(level, delta, r=r, model="shuffle")


def _is_near(query: ItemFrequencies, spread: float) -> bool:
    """Say whether alpha at the distance of ``sizes`` allows a stronger message than epsilon at user level."""
    epsilon = query.price.level
    return epsilon < 700.0 and _alpha_at(query) / spread > math.expm1(epsilon)


def _alpha_at(query: ItemFrequencies) -> float:
    """Return the alpha that costs epsilon between bags within the distance of ``sizes``, rounded down."""
    if query.sizes is None:
        raise InternalError("a distance was asked for that no sizes= names; please report it.")
    if not query.price.is_user_level:
        raise UsageError("its price with sizes= is epsilon at r.")
    return float_down(as_decimal(query.price.level) / as_decimal(query.sizes.r))


def _at_distance(event: Event, query: ItemFrequencies) -> Event:
    """Return the event as what it is between bags within the distance of ``sizes``, where there is one."""
    own = event.guarantee
    if query.sizes is None or isinstance(own, DiscreteEmdDP):
        return event
    kind = DiscreteEmdDP(0.0, 0.0, r=query.sizes.r, model=own.model)
    found = convert(own, kind) if isinstance(own, EmdDP) else kind.at_level(own.level, own.delta)
    return GuaranteeEvent(found, "frequencies", event.slack_epsilon)


def _spread_or_none(space: Space) -> float | None:
    try:
        return share_spread(space)
    except UsageError:
        return None


def _check_sets(oracle: SubsetOracle) -> None:
    """Refuse before the charge what the oracle would refuse while it draws, whatever the blocks."""
    if oracle.users * (oracle.items + 16 * oracle.size) > MOST_SET_WORK:
        raise RefusedError(f"sets of {oracle.size} items for {oracle.users} users are minutes of work.")


def _itemwise(query: ItemFrequencies, space: Space, users: int, records: int | None) -> Candidate:
    if query.method == "auto":
        check_weighable(query, space, records)
    plan = plan_item_shares(query, space=space, users=users, records=records)
    if query.method == "auto" and query.promises:
        # Refused here, for a method that no budget of the session pays is none to choose.
        paying(plan.guarantee, query.promises)
    model = itemwise_model(plan, users)
    return Candidate("itemwise", plan.event, model(None), model, plan.choice.rstrip("."), plan=plan)
