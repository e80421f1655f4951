"""Plans of one message a user for several readers, in the local model: tier 1's plan, and a view for each other.

The messages are drawn once. Their law is that of one message a user at the weakest level; with its key each tier has
the law of its own (:mod:`emdp.mechanisms.local.tiered_bits`, :mod:`emdp.mechanisms.oracles.tiered`).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from emdp.base.errors import EmdpError, InternalError, UsageError
from emdp.estimators.frequency.histograms import OracleRelease
from emdp.estimators.frequency.items import checked_items, plan_item_frequencies
from emdp.estimators.frequency.rows import ShareRows, check_adjustable, check_columns
from emdp.estimators.frequency.spread import share_spread
from emdp.estimators.keyed import KeyedMeans, KeyedRelease, KeyedShares
from emdp.estimators.mean.linear import linear_needs, plan_linear
from emdp.estimators.mean.local import LocalRow, one_bit_coordinate
from emdp.estimators.messages import SIMULATED, WEIGHING, MessagePlan
from emdp.estimators.plan import Plan
from emdp.expressions import evaluate
from emdp.expressions.numbers.fixed_point import fixed_point_exponent
from emdp.mechanisms.local.one_bit import LocalOneBit
from emdp.mechanisms.local.tiered_bits import TieredBits
from emdp.mechanisms.oracles.oracle import FrequencyOracle
from emdp.mechanisms.oracles.tiered import TIERED_METHODS, TieredOracle
from emdp.privacy import EmdDP, Guarantee, GuaranteeEvent, UserDP
from emdp.privacy.rounding import as_decimal, float_up
from emdp.questions.columns import PlannedColumn
from emdp.questions.item_frequencies import ItemFrequencies
from emdp.questions.keyed import MOST_KEYED
from emdp.questions.means import Mean, VectorMean
from emdp.questions.price import Price
from emdp.questions.reading import Reading
from emdp.spaces import Space, neutral_code
from emdp.spaces.items import finite_items

__all__ = ["KeyedPlan", "plan_local_tiers"]

MOST_ITEMS = 2**16
"""Most items: each is named in the file of messages."""

APART = (
    "an answer with keys holds the messages and all keys: write them by answer.write_messages, each file for its reader"
)


@dataclass(frozen=True, eq=False)
class KeyedPlan(MessagePlan):
    """The plan of tier 1, with those of the weaker tiers.

    Parameters
    ----------
    weaker : tuple of MessagePlan
        Tier 2 and on: public facts and rows of each, with its guarantee. None of them is charged or released by itself.
    """

    weaker: tuple[MessagePlan, ...] = ()

    has_keys: ClassVar[bool] = True

    def lowered(self, released: Any) -> tuple[Any, ...]:
        """Return the answers of the weaker tiers, made of the messages alone."""
        if not isinstance(self.releaser, KeyedRelease):
            raise InternalError("messages with keys were planned by another release; please report it.")
        return tuple(self.releaser.lowered(released, tier) for tier in range(2, len(self.weaker) + 2))


def plan_local_tiers(query: Any, *, space: Space, users: int) -> KeyedPlan:
    """Return the plan of a mean or of frequencies of all items in the local model, whose price has tiers.

    Parameters
    ----------
    query : Mean, VectorMean or ItemFrequencies
        In the local model.
    space, users
        Public facts of the table.

    Raises
    ------
    UsageError
        If the question has no tiers, or there are too many users.
    RefusedError
        If two levels are too near.

    Guarantee
    ---------
    All of it the first level's; of tier ``j`` and weaker ones together that of level ``j``.

    >>> from emdp.expressions import col
    >>> from emdp.questions import mean
    >>> from emdp.questions.tiers import tiers
    >>> from emdp.spaces import Interval
    >>> query = mean(col("x"), epsilon=tiers([2, 1]), model="local")
    >>> plan = plan_local_tiers(query, space=Interval("x", 0, 1), users=100)
    >>> plan.guarantee, plan.weaker[0].guarantee.level
    (UserDP(epsilon=2.0, delta=0.0, model='local'), 1.0)
    """
    if users > MOST_KEYED:
        raise UsageError(
            f"tiers of messages keep one of each user, at most {MOST_KEYED}, not {users}; leave model out."
        )
    if isinstance(query, ItemFrequencies):
        return _shares(query, space, users)
    if isinstance(query, Mean | VectorMean) and len(getattr(query, "expressions", (None,))) == 1:
        return _mean(query, space, users)
    raise UsageError(
        "tiers of messages are for one mean of all records, or frequencies of all items, in the local model; ask such "
        "a question, or leave model out."
    )


def _levels(price: Price) -> tuple[Price, ...]:
    return tuple(replace(price, level=level, weaker=()) for level in (price.level, *price.weaker))


def _mean(query: Mean | VectorMean, space: Space, users: int) -> KeyedPlan:
    needs = [linear_needs(replace(query, price=price), space, 1) for price in _levels(query.price)]
    (entry,), (single,) = needs[0].analysis.entries, needs[0].singles
    if needs[0].wanted != "auto":
        raise UsageError("noise has no tiers of messages, which are one bit a user; leave it out.")
    if needs[0].change_1 == 0 or entry.spread == 0:
        raise UsageError("the expression is the same for all records, so that it needs no messages; leave tiers out.")
    kind = query.price.promise("local")
    bits = TieredBits(tuple(LocalOneBit((one_bit_coordinate(own.alpha, entry, single, kind),), users) for own in needs))
    (expression,), exponent = needs[0].expressions, fixed_point_exponent(entry)
    facts = {
        "what": "mean",
        "name": needs[0].names[0],
        "users": users,
        "bits": [
            [getattr(own.coordinates[0], name) for name in ("low", "high", "rate", "error")] for own in bits.tiers
        ],
    }
    releaser = KeyedMeans(bits, float(evaluate(expression, space, space.neutral_item)[0]), exponent, facts)
    middle = 0.5 * entry.low + 0.5 * entry.high
    columns, events = [], []
    for own, law in zip(needs, bits.tiers, strict=True):
        low, high = law.interval(0, middle, 0.95)
        columns.append(
            own.columns(
                noise_scale=law.noise_scale,
                errors=(law.expected_absolute_error(0),),
                halves=(0.5 * (high - low),),
            )
        )
        events.append(GuaranteeEvent(kind.at_level(own.alpha, 0.0), "one bit a user, with keys", law.slack_epsilon))
    finishers = [LocalRow(needs[0].names, law) for law in bits.tiers]
    reading = Reading("means", by_user=True, expressions=needs[0].expressions)
    parts = list(zip(columns, events, finishers, strict=True))
    best = plan_linear(replace(query, price=_levels(query.price)[0], model="central"), space=space, users=users)
    return _plan(query.price, reading, releaser, parts, "one bit a user", best)


def _shares(query: ItemFrequencies, space: Space, users: int) -> KeyedPlan:
    items = checked_items(space)
    if items > MOST_ITEMS:
        raise UsageError(
            f"tiers of messages are for at most {MOST_ITEMS} items, and the space has {items}; merge items."
        )
    check_columns(space, query.name, query.adjust)
    check_adjustable(space, query.adjust)
    if query.sizes is not None or query.method not in ("auto", *TIERED_METHODS):
        raise UsageError("tiers of messages are by method='krr' or 'hadamard', without sizes=; pass one of these.")
    spread = None if query.price.is_user_level else share_spread(space)
    levels = [
        price.level if spread is None else math.log1p(price.level / spread) * (1.0 - 2.0**-50)
        for price in _levels(query.price)
    ]
    oracle, why = _best(query, items, users, tuple(levels))
    listed = finite_items(space)
    facts = {
        "what": "frequencies",
        "name": query.name,
        "users": users,
        "method": oracle.method,
        "items": {} if listed is None else {name: list(map(str, own)) for name, own in space.decode(listed).items()},
        "epsilons": list(levels),
    }
    releaser = KeyedShares(oracle, neutral_code(space), facts)
    parts = [_tier_of_shares(query, space, own, spread, releaser.neutral) for own in oracle.tiers]
    asked = replace(query, price=_levels(query.price)[0], model="central", method="histogram", listed=None)
    best = plan_item_frequencies(asked, space=space, users=users)
    return _plan(query.price, Reading("bags", by_user=True), releaser, parts, why, best)


def _tier_of_shares(
    query: ItemFrequencies, space: Space, oracle: FrequencyOracle, spread: float | None, neutral: int
) -> tuple[tuple[PlannedColumn, ...], GuaranteeEvent, ShareRows]:
    """Return the columns, the price and the rows of one tier."""
    law = OracleRelease(oracle, neutral)
    rows = ShareRows(space, query.name, law.intervals, query.adjust, law.radius)
    deviation = math.sqrt(float(oracle.variances().mean()))
    low, high = law.intervals(np.full(oracle.items, 1.0 / oracle.items), 0.95, False)
    guarantee: Guarantee = UserDP(oracle.epsilon, 0.0, "local")
    if spread is not None:
        reached = float_up(as_decimal(oracle.alpha_em) * as_decimal(spread))
        guarantee = EmdDP(reached, 0.0, "unbounded", "local")
    column = PlannedColumn(
        name=query.name,
        expression=f"share of each item in the average user's records, by {oracle.name}",
        lipschitz=math.nan if spread is None else spread,
        low=0.0,
        high=1.0,
        noise_scale=deviation,
        expected_error=deviation * math.sqrt(2.0 / math.pi),
        interval_95=float((high - low).max() / 2.0),
        note="noise_scale is the standard deviation of an item's share, all items alike",
        written=query.written,
    )
    return (column,), GuaranteeEvent(guarantee, f"frequencies by {oracle.name}, with keys"), rows


def _best(query: ItemFrequencies, items: int, users: int, levels: tuple[float, ...]) -> tuple[TieredOracle, str]:
    """Return the oracle whose worst tier is least above the best of its level."""
    wanted = TIERED_METHODS if query.method == "auto" else (query.method,)
    found: dict[str, TieredOracle] = {}
    refused: EmdpError | None = None
    for method in wanted:
        try:
            found[method] = TieredOracle(method, items, users, levels)  # type: ignore[arg-type]  # of TIERED_METHODS
        except EmdpError as error:
            refused = error
    if refused is not None and not found:
        raise refused
    spreads = {method: [float(own.variances().mean()) for own in one.tiers] for method, one in found.items()}
    least = [min(own) for own in zip(*spreads.values(), strict=True)]
    worst = {
        method: max(own / best for own, best in zip(spread, least, strict=True)) for method, spread in spreads.items()
    }
    best = min(worst, key=lambda method: worst[method])
    shown = ", ".join(f"{method} {math.sqrt(worst[method]):.3g}" for method in sorted(worst, key=worst.__getitem__))
    return found[best], f"{best} (its worst tier's error over the best method's there: {shown})"


def _plan(
    price: Price,
    reading: Reading,
    releaser: KeyedRelease,
    parts: list[tuple[tuple[PlannedColumn, ...], GuaranteeEvent, Any]],
    why: str,
    best: Plan | MessagePlan,
) -> KeyedPlan:
    """Return the plan of tier 1 with its views."""
    levels = (price.level, *price.weaker)
    shown = "; ".join(
        f"tier {number} {price.kind} = {level:g}, expected error {columns[0].expected_error:.3g}"
        for number, (level, (columns, _, _)) in enumerate(zip(levels, parts, strict=True), 1)
    )
    notes = (
        *getattr(parts[0][2], "notes", ()),
        SIMULATED,
        f"tiers: {shown}; charged once, at {levels[0]:g}, where a message for each would cost {math.fsum(levels):g}",
        "tiers of messages are for users who trust no curator; where the data are with one, leave model out: an "
        f"expected error of {best.columns[0].expected_error:.3g} in place of {parts[0][0][0].expected_error:.3g} at "
        f"{price.kind} = {levels[0]:g}, and no keys to guard",
        APART,
    )
    plans = [
        MessagePlan(
            reading=reading,
            releaser=releaser,
            event=event,
            columns=columns,
            choice=f"local model, {why}, as tier {number} of {len(levels)}.",
            finisher=finisher,
            weighing=WEIGHING,
            notes=notes if number == 1 else (*notes[:-1], _coalition(number, price)),
        )
        for number, (columns, event, finisher) in enumerate(parts, 1)
    ]
    inherited: Mapping[str, Any] = {item.name: getattr(plans[0], item.name) for item in fields(MessagePlan)}
    return KeyedPlan(**inherited, weaker=tuple(plans[1:]))


def _coalition(number: int, price: Price) -> str:
    return (
        f"{price.kind} = {price.weaker[number - 2]:g} is what readers of tier {number} alone are promised; with a key "
        "of a lower number they know that tier's answer and have its promise"
    )
