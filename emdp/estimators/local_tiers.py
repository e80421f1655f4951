"""Plans of one message a user for several readers, in the local model: tier 1's plan, and a view for each other.

The messages are drawn once. Their law is that of one message a user at the weakest level; with its key each tier has
the law of its own (:mod:`emdp.mechanisms.local.tiered_bits`, :mod:`emdp.mechanisms.oracles.tiered`).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from emdp.base.classes import dataclass
from emdp.base.errors import EmdpError, InternalError, UsageError
from emdp.estimators.frequency.histograms import OracleRelease
from emdp.estimators.frequency.items import checked_items, plan_item_frequencies
from emdp.estimators.frequency.rows import ShareRows, check_adjustable, check_columns
from emdp.estimators.frequency.spread import share_spread
from emdp.estimators.keyed import MOST_MEANS, KeyedMeans, KeyedRelease, KeyedShares
from emdp.estimators.mean.linear import LinearNeeds, linear_needs, plan_linear
from emdp.estimators.mean.local import LocalRow, called, message_columns, neutral_means, one_bits
from emdp.estimators.mean.message_select import MessageItems
from emdp.estimators.messages import SIMULATED, WEIGHING, MessagePlan
from emdp.estimators.plan import Plan
from emdp.estimators.select import plan_select
from emdp.expressions.numbers.fixed_point import fixed_point_exponent
from emdp.mechanisms.local.one_bit import LocalOneBit
from emdp.mechanisms.local.tiered_bits import TieredBits
from emdp.mechanisms.oracles.oracle import FrequencyOracle
from emdp.mechanisms.oracles.tiered import TIERED_METHODS, TieredOracle
from emdp.privacy import EmdDP, Guarantee, GuaranteeEvent, UserDP
from emdp.privacy.rounding import as_decimal, float_up
from emdp.questions.columns import Finisher, PlannedColumn
from emdp.questions.item_frequencies import ItemFrequencies
from emdp.questions.keyed import MOST_KEYED
from emdp.questions.means import Mean, VectorMean
from emdp.questions.price import Price
from emdp.questions.reading import Reading
from emdp.questions.select import Select
from emdp.spaces import Space, neutral_code
from emdp.spaces.items import finite_items

__all__ = ["KeyedPlan", "plan_local_tiers"]

Part = tuple[tuple[PlannedColumn, ...], GuaranteeEvent, Any]
"""Columns, price and rows of one tier."""

MOST_ITEMS = 2**16
"""Most items: each is named in the file of messages."""

APART = (
    "an answer with keys holds the messages and all keys: write them by answer.write_messages, each file for its reader"
)


@dataclass(frozen=True, eq=False)
class KeyedPlan(MessagePlan):
    """The plan of tier 1, with those of the weaker tiers."""

    # Tier 2 and on: public facts and rows of each, with its guarantee. None of them is charged or released by itself.
    weaker: tuple[MessagePlan, ...] = ()

    has_keys: ClassVar[bool] = True

    def lowered(self, released: Any) -> tuple[Any, ...]:
        """Return the answers of the weaker tiers, made of the messages alone."""
        if not isinstance(self.releaser, KeyedRelease):
            raise InternalError("messages with keys were planned by another release; please report it.")
        return tuple(self.releaser.lowered(released, tier) for tier in range(2, len(self.weaker) + 2))


def plan_local_tiers(query: Any, *, space: Space, users: int) -> KeyedPlan:
    """Return the plan of means or of frequencies of all items in the local model, whose price has tiers.

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
    if not isinstance(query, Select):
        return _means(query, space, users, None)
    items = MessageItems.of(query, space)
    return _means(items.means, space, users, items)


def _levels(price: Price) -> tuple[Price, ...]:
    return tuple(replace(price, level=level, weaker=()) for level in (price.level, *price.weaker))


def _means(query: Mean | VectorMean, space: Space, users: int, items: MessageItems | None) -> KeyedPlan:
    levels = _levels(query.price)
    needs = [linear_needs(replace(query, price=price), space, 1) for price in levels]
    first = needs[0]
    if first.wanted != "auto":
        raise UsageError("noise has no tiers of messages, which are one bit a user; leave it out.")
    bits, why = _best_bits(needs, users)
    kind, law = query.price.promise("local"), bits.tiers[0]
    exponents = tuple(fixed_point_exponent(entry) for entry in first.analysis.entries)
    facts = {
        "what": "means",
        "names": list(first.names),
        "users": users,
        "each": 1 if law.is_dealt else len(first.names),
        "is_dealt": law.is_dealt,
        "bits": [
            [[getattr(one, name) for name in ("low", "high", "rate", "error")] for one in own.coordinates]
            for own in bits.tiers
        ],
    }
    if items is not None:
        facts["items"] = [[own.name, own.place, float(own.centre), own.below, own.low, own.high] for own in items.made]
        facts["listed"] = list(items.query.columns)
    releaser = KeyedMeans(bits, neutral_means(first, space), exponents, facts)
    parts = [_tier_of_means(own, law, kind, items) for own, law in zip(needs, bits.tiers, strict=True)]
    reading = Reading("means", by_user=True, expressions=first.expressions)
    best: Plan | MessagePlan
    if items is None:
        best = plan_linear(replace(query, price=levels[0], model="central"), space=space, users=users)
    else:
        best = plan_select(replace(items.query, price=levels[0], model="central"), space=space, users=users)
    return _plan(query.price, reading, releaser, parts, why, best, () if items is None else items.notes)


def _tier_of_means(own: LinearNeeds, law: LocalOneBit, kind: Guarantee, items: MessageItems | None) -> Part:
    """Return the columns, the price and the rows of one tier."""
    columns = message_columns(own, law)
    row: Finisher = LocalRow(own.names, law)
    if items is not None:
        columns, row = items.shown(columns, LocalRow(own.names, law))
    return columns, GuaranteeEvent(kind.at_level(own.alpha, 0.0), "one bit a user, with keys", law.slack_epsilon), row


def _best_bits(needs: Sequence[LinearNeeds], users: int) -> tuple[TieredBits, str]:
    """Return bits of all means or of one that is dealt out, whichever has the worst tier least above the best."""
    means = len(needs[0].names)
    if means > MOST_MEANS:
        raise UsageError(f"tiers of messages are for at most {MOST_MEANS} means, got {means}; ask for fewer.")
    ways = list(zip(*(one_bits(own, users) for own in needs), strict=True))
    if not ways or needs[0].change_1 == 0:
        raise UsageError("an expression is the same for all records, so that it needs no messages; leave tiers out.")
    made: dict[str, Callable[[], Any]] = {
        called(laws[0]): partial(TieredBits, laws)
        for laws in ways
        if users * (1 if laws[0].is_dealt else means) <= MOST_KEYED
    }
    if not made:
        raise UsageError(f"tiers of messages keep at most {MOST_KEYED}, one a user and mean; ask for fewer means.")
    best, name, shown = _least_lost(made, lambda law: law.variance)
    return best, "one bit a user" if means == 1 else f"{name} ({shown})"


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
    return _plan(query.price, Reading("bags", by_user=True), releaser, parts, why, best, tuple(parts[0][2].notes))


def _tier_of_shares(
    query: ItemFrequencies, space: Space, oracle: FrequencyOracle, spread: float | None, neutral: int
) -> Part:
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
    made: dict[str, Callable[[], Any]] = {
        method: partial(TieredOracle, method, items, users, levels)  # type: ignore[arg-type]  # of TIERED_METHODS
        for method in wanted
    }
    best, name, shown = _least_lost(made, lambda oracle: float(oracle.variances().mean()))
    return best, f"{name} ({shown})"


def _least_lost(made: Mapping[str, Callable[[], Any]], variance: Callable[[Any], float]) -> tuple[Any, str, str]:
    """Return the way whose worst tier's error is least above the best way's there, its name, and all in words.

    A way that is refused, as by levels too near for its integers, is left out; where all are, the last refusal stands.
    """
    found: dict[str, Any] = {}
    refused: EmdpError | None = None
    for name, make in made.items():
        try:
            found[name] = make()
        except EmdpError as error:
            refused = error
    if refused is not None and not found:
        raise refused
    spreads = {name: list(map(variance, one.tiers)) for name, one in found.items()}
    least = [min(own) for own in zip(*spreads.values(), strict=True)]
    worst = {name: max(own / best for own, best in zip(spread, least, strict=True)) for name, spread in spreads.items()}
    shown = ", ".join(f"{name} {math.sqrt(worst[name]):.3g}" for name in sorted(worst, key=worst.__getitem__))
    best = min(worst, key=worst.__getitem__)
    return found[best], best, f"its worst tier's error over the best method's there: {shown}"


def _plan(
    price: Price,
    reading: Reading,
    releaser: KeyedRelease,
    parts: list[Part],
    why: str,
    best: Plan | MessagePlan,
    of_rows: tuple[str, ...],
) -> KeyedPlan:
    """Return the plan of tier 1 with its views."""
    levels = (price.level, *price.weaker)
    shown = "; ".join(
        f"tier {number} {price.kind} = {level:g}, expected error {columns[0].expected_error:.3g}"
        for number, (level, (columns, _, _)) in enumerate(zip(levels, parts, strict=True), 1)
    )
    first = parts[0][0]
    of = f" (of {first[0].name})" if len(first) > 1 else ""
    notes = (
        *of_rows,
        SIMULATED,
        f"tiers: {shown}{of}; charged once, at {levels[0]:g}, where a message for each would cost "
        f"{math.fsum(levels):g}",
        "tiers of messages are for users who trust no curator; where the data are with one, leave model out: an "
        f"expected error of {best.columns[0].expected_error:.3g} in place of {first[0].expected_error:.3g} at "
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
