"""Means in the shuffle model: every user sends mixed bits of the own means, and the answer is nearly a curator's.

As in the local model a bit's mean is the user's own mean, for any number of records. Mixed among all users' bits it
may be far stronger for the same ``alpha`` (:mod:`emdp.mechanisms.local.shuffled_bits`); several bits of each mean, each
mixed apart, leave little of the bits' rounding. At user level they are digits of the mean, some signs of each
(:mod:`emdp.mechanisms.local.shuffled_planes`), by the number of digits that errs least; in ``d_em`` a digit promises
nothing, and all bits are drawn alike. Means fill a box, whose directions would err ``pi/2`` times as much in variance
as its coordinates do: they serve balls (:mod:`emdp.mechanisms.user_vector.directions`).
"""

import math
from dataclasses import replace
from functools import lru_cache

from emdp.base.errors import UsageError
from emdp.estimators.mean.linear import LinearNeeds, LinearQuery, linear_needs, plan_linear
from emdp.estimators.mean.local import (
    LARGEST_EPSILON,
    LocalMeans,
    LocalRow,
    bit_coordinates,
    message_columns,
    plan_local_means,
)
from emdp.estimators.messages import SPLIT, TRUST, WEIGHING, MessagePlan
from emdp.estimators.plan import Plan
from emdp.mechanisms.local.one_bit import OneBitCoordinate
from emdp.mechanisms.local.shuffled_bits import DELTA_SHARE, ShuffledOneBit
from emdp.mechanisms.local.shuffled_planes import ShuffledPlanes, plane_variance
from emdp.mechanisms.vector.cube import LARGEST_PLANES, plane_gains
from emdp.privacy import EmdDP, GuaranteeEvent
from emdp.privacy.rounding import quotient_up
from emdp.privacy.shuffle.metric_product import LARGEST_SIGNS, signs_alpha0
from emdp.privacy.shuffle.planes import enough_messages, likely_strengths, plane_strengths
from emdp.privacy.shuffle.users import shuffle_epsilon0
from emdp.questions.comparison import ROOT_MEAN_SQUARE, ComparedMethod
from emdp.questions.reading import Reading
from emdp.spaces import Space

__all__ = ["DRAWN", "check_varying", "plan_shuffled_means"]

MOST_MESSAGES = 64
"""Most bits of each mean that are chosen without being asked for."""

ENOUGH = 2.25
"""Variance over that of ever more bits at which more are not chosen."""

NEAR = 1.1
"""The same of planes, over the least variance of so many bits."""


def plan_shuffled_means(query: LinearQuery, *, space: Space, users: int) -> Plan | MessagePlan:
    """Return the plan of a linear query in the shuffle model.

    Parameters
    ----------
    query : Mean or VectorMean
        The query; its ``messages`` is how many bits of each mean a user sends.
    users : int
        The public number of users.

    Raises
    ------
    NotLipschitzError
        If an expression has no finite constant.
    UsageError
        If an expression does not fit the space, is the same for every item, or there are too many messages.

    Guarantee
    ---------
    ``(alpha, delta)`` unbounded d_EM-DP or ``(epsilon, delta)`` user-level, in the shuffle model:
    shuffle-known-randomizers.md 4.

    >>> from emdp.expressions import col
    >>> from emdp.questions import mean
    >>> from emdp.spaces import Interval
    >>> query = mean(col("x"), alpha=1.0, delta=1e-9, model="shuffle", messages=1)
    >>> plan = plan_shuffled_means(query, space=Interval("x", 0, 1), users=10_000)
    >>> plan.guarantee.kind_name, round(plan.mechanisms[0].standard_deviation, 5)
    ('unbounded shuffle EmdDP', 0.00511)
    """
    needs = linear_needs(query, space, 1)
    if needs.change_1 == 0:
        return plan_linear(query, space=space, users=users)
    check_varying(needs)
    kind = query.price.promise("shuffle")
    mechanism = _mechanism(query.messages, needs, users)
    return MessagePlan(
        reading=Reading("means", by_user=True, expressions=needs.expressions),
        releaser=LocalMeans.of(mechanism, needs, space),
        event=GuaranteeEvent(kind.at_level(needs.alpha, needs.delta), "mixed bits of users", mechanism.slack_epsilon),
        columns=message_columns(needs, mechanism),
        choice=_choice(mechanism, query.messages),
        finisher=LocalRow(needs.names, mechanism),
        weighing=WEIGHING,
        notes=(DRAWN,),
        assumptions=(*TRUST["shuffle"], *SPLIT[: mechanism.bits_per_user > 1]),
        comparison=_compared(query, mechanism, needs, space, users),
    )


DRAWN = "messages are drawn by the table's owner as each user's device would draw them, and mixed there"


def check_varying(needs: LinearNeeds) -> None:
    """Raise ``UsageError`` if a mean is public."""
    for entry, expression in zip(needs.analysis.entries, needs.expressions, strict=True):
        if entry.spread == 0:
            raise UsageError(
                f"`{expression}` is the same for every item, so that its mean is public; leave it out of the vector."
            )


def _mechanism(wanted: int | str, needs: LinearNeeds, users: int) -> ShuffledOneBit | ShuffledPlanes:
    """Return the bits of each mean: as many as asked for, or until more of them would help little."""
    most = LARGEST_SIGNS // len(needs.names)
    if most < 1:
        raise UsageError(f"at most {LARGEST_SIGNS} means fit the shuffle model, got {len(needs.names)}; ask for fewer.")
    if not isinstance(wanted, str) and wanted > most:
        raise UsageError(f"messages must be at most {most} for {len(needs.names)} means, got {wanted}; pass fewer.")
    if users >= 2 and not isinstance(needs.kind, EmdDP):
        planes, draws = _layout(wanted, min(MOST_MESSAGES, most), needs.alpha, users, needs.delta, len(needs.names))
        if planes == 1:
            return _bits(needs, users, draws)
        found, single = _planes(needs, users, planes, draws), _single(needs, users)
        # of few users the normal limit, by which planes are chosen, says little
        is_worse = isinstance(wanted, str) and single is not None and single.variance <= found.variance
        return single if is_worse and single is not None else found
    if not isinstance(wanted, str):
        return _bits(needs, users, wanted)
    strongest = max(own.strength for own in _bits(needs, users, 1).coordinates)
    return _bits(needs, users, min(enough_messages(strongest, ENOUGH), MOST_MESSAGES, most))


@lru_cache(maxsize=256)
def _layout(wanted: int | str, most: int, epsilon: float, users: int, delta: float, count: int) -> tuple[int, int]:
    """Return planes and signs of each: those of least likely error, or unasked the fewest that are near it.

    >>> _layout(4, 64, 1.0, 1000, 1e-5, 1), _layout("auto", 64, 1.0, 10**6, 1e-6, 1)
    ((4, 1), (10, 1))
    """
    given = None if isinstance(wanted, str) else wanted
    limit = most if given is None else given
    errors = {}
    for planes in range(1, min(limit, LARGEST_PLANES) + 1):
        share = limit // planes
        for draws in {share} if given else {2**power for power in range(share.bit_length())}:
            own = likely_strengths(epsilon, users, delta, plane_gains(planes), draws * count)
            errors[planes, draws] = plane_variance(own) / draws
    enough = min(errors.values()) * (1.0 if given else NEAR)
    return min((pair for pair, error in errors.items() if error <= enough), key=lambda pair: (pair[0] * pair[1], pair))


def _single(needs: LinearNeeds, users: int) -> ShuffledOneBit | None:
    """Return one bit of each mean; None where it would be too strong for its integers."""
    try:
        return _bits(needs, users, 1)
    except UsageError:
        return None


def _planes(needs: LinearNeeds, users: int, planes: int, draws: int) -> ShuffledPlanes:
    rounds = draws * len(needs.names)
    # all of delta, as of few bits: a digit's chances are integers, so that no slack of rounding is to be covered
    strengths = plane_strengths(needs.alpha, users, needs.delta, plane_gains(planes), rounds)
    coordinates = bit_coordinates(needs, strengths[-1])
    return ShuffledPlanes(coordinates, users, messages=planes * draws, strengths=strengths)


def _bits(needs: LinearNeeds, users: int, messages: int) -> ShuffledOneBit:
    level, delta, count = needs.alpha, needs.delta * DELTA_SHARE, len(needs.names)
    if isinstance(needs.kind, EmdDP):
        # B of the message, by which the constant is divided; the rate follows from it once alpha0 is known
        halves = [OneBitCoordinate(entry.low, entry.high, 1.0).half for entry in needs.analysis.entries]
        slopes = tuple(quotient_up(single, half) for single, half in zip(needs.singles, halves, strict=True))
        unmixed, name = signs_alpha0(level, users, delta, slopes, messages), "alpha0"
    else:
        unmixed, name = _epsilon0(level, users, delta, count * messages), "epsilon0"
    coordinates = bit_coordinates(needs, unmixed)
    return ShuffledOneBit(coordinates, users, messages=messages, unmixed=unmixed, level=name)


@lru_cache(maxsize=256)
def _epsilon0(epsilon: float, users: int, delta: float, rounds: int) -> float:
    """Return ``epsilon0`` of each bit of a user, for so many that are mixed apart."""
    if users < 2:
        return epsilon / rounds * (1 - 2.0**-50)
    return min(shuffle_epsilon0(epsilon, users, delta, rounds, randomizer="binary"), LARGEST_EPSILON)


def _choice(mechanism: ShuffledOneBit | ShuffledPlanes, wanted: int | str) -> str:
    count = mechanism.messages
    bits = "one bit" if count == 1 else f"{count} bits"
    why = (
        "as asked for"
        if not isinstance(wanted, str)
        else "more would help little"
        if count > 1
        else "rounding is small"
    )
    if isinstance(wanted, str) and count == MOST_MESSAGES:
        why = "the most that are sent unasked"
    if isinstance(mechanism, ShuffledPlanes):
        bits += f", {mechanism.draws} of each of its {len(mechanism.strengths)} leading digits and of what is left,"
    return f"shuffle model, {bits} of each mean of every user ({why}); {mechanism.bits_per_user} bits per user."


def _compared(
    query: LinearQuery, own: ShuffledOneBit | ShuffledPlanes, needs: LinearNeeds, space: Space, users: int
) -> tuple[ComparedMethod, ...]:
    """Return the errors of all three models at this price, that of one bit beside that of several."""

    def line(method: str, variance: float, remark: str, *, is_chosen: bool = False) -> ComparedMethod:
        return ComparedMethod(method, math.sqrt(variance), is_chosen, remark, ROOT_MEAN_SQUARE)

    central = plan_linear(replace(query, model="central", messages="auto"), space=space, users=users).mechanisms[0]
    spread = central.interval_half_width(0.6826894921370859)
    bits = f"{own.bits_per_user} bits a user, mixed"
    lines = [
        line("central", spread**2, f"a curator adds {central.name} noise"),
        line("shuffle", own.variance, bits, is_chosen=True),
    ]
    single = _single(needs, users) if own.messages > 1 else None
    if single is not None:
        lines.append(
            line("shuffle, one bit of each mean", single.variance, f"{single.bits_per_user} bits a user, mixed")
        )
    local = plan_local_means(replace(query, model="local", messages="auto"), space=space, users=users)
    deviation = getattr(local.mechanisms[0], "standard_deviation", 0.0)
    return (*lines, line("local", deviation**2, "nobody is trusted; each user's message by itself"))
