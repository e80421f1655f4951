"""Vectors of means in few bits: every user reports some digits of some of the own means, chosen by the user.

``bits`` bounds what a user sends, places among it. The means are dealt into blocks; of each a user draws one and sends
its leading digits, in the local model or mixed (:mod:`emdp.mechanisms.local.shuffled_planes`). How many blocks and how
many digits is chosen by the predicted error, from public numbers alone. This is SQKR (compressed-estimation.md 4,
corrected) with digits. The sampling costs accuracy and nothing else is gained: where bits are free, all means are
better, and the comparison says by how much.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

from emdp.base.errors import UsageError
from emdp.estimators.mean.linear import LinearNeeds, linear_needs, plan_linear
from emdp.estimators.mean.local import LocalMeans, LocalRow, bit_coordinates, message_columns, plan_local_means
from emdp.estimators.mean.shuffled import DRAWN, check_varying, plan_shuffled_means
from emdp.estimators.messages import SIMULATED, SPLIT, TRUST, WEIGHING, MessagePlan
from emdp.mechanisms.local.shuffled_planes import ShuffledPlanes, plane_variance
from emdp.mechanisms.vector.cube import plane_gains, plane_shares
from emdp.privacy import GuaranteeEvent
from emdp.privacy.rounding import as_decimal, float_down
from emdp.privacy.shuffle.planes import likely_strengths, plane_strengths
from emdp.questions.comparison import ROOT_MEAN_SQUARE, ComparedMethod
from emdp.questions.means import VectorMean
from emdp.questions.reading import Reading
from emdp.spaces import Space

__all__ = ["plan_few_bits"]

MOST_DIGITS = 12
"""Most digits of a mean that are tried."""

MOST_MESSAGES = 256
"""Most messages of a user: more of them are priced by Renyi divergences, which take long."""

LARGEST_EPSILON = 30.0


def plan_few_bits(query: VectorMean, *, space: Space, users: int) -> MessagePlan:
    """Return the plan of a vector of means of which a user sends at most ``query.bits`` bits.

    Parameters
    ----------
    query : VectorMean
        The query, at user level, in the local or in the shuffle model.

    Raises
    ------
    NotLipschitzError
        If an expression has no finite constant.
    UsageError
        If an expression does not fit the space or is the same for every item, or the bits are too few for a message.

    Guarantee
    ---------
    ``epsilon`` local, or ``(epsilon, delta)`` in the shuffle model, at user level, for any records:
    multimessage-shuffle.md 1, local-shuffle-userlevel.md 4.2.

    >>> from emdp.expressions import col
    >>> from emdp.questions import vector_mean
    >>> from emdp.spaces import Interval
    >>> several = [abs(col("x") - place) for place in range(8)]
    >>> query = vector_mean(several, epsilon=1.0, delta=1e-6, model="shuffle", bits=4)
    >>> plan = plan_few_bits(query, space=Interval("x", 0, 8), users=10_000)
    >>> plan.mechanisms[0].mechanism.bits_per_user, plan.guarantee.kind_name
    (4, 'shuffle UserDP')
    """
    needs = linear_needs(query, space, 1)
    check_varying(needs)
    mechanism = _mechanism(query, needs, users)
    is_mixed = query.model == "shuffle"
    kind = query.price.promise(query.model)
    sent = f"{'mixed ' if is_mixed else ''}digits of sampled means"
    return MessagePlan(
        reading=Reading("means", by_user=True, expressions=needs.expressions),
        releaser=LocalMeans.of(mechanism, needs, space),
        event=GuaranteeEvent(kind.at_level(needs.alpha, needs.delta), sent, mechanism.slack_epsilon),
        columns=message_columns(needs, mechanism),
        choice=_choice(query, mechanism),
        finisher=LocalRow(needs.names, mechanism),
        weighing=WEIGHING,
        notes=(DRAWN if is_mixed else SIMULATED,),
        assumptions=(*TRUST["shuffle"], *SPLIT[: mechanism.reported * mechanism.messages > 1]) if is_mixed else (),
        comparison=_compared(query, mechanism, space, users),
    )


def _mechanism(query: VectorMean, needs: LinearNeeds, users: int) -> ShuffledPlanes:
    """Return the digits and blocks of least predicted error that the bits allow."""
    size, epsilon = len(needs.names), needs.alpha
    errors = {}
    for planes, draws, blocks in _layouts(int(query.bits or 0), size):
        rounds = draws * blocks
        if query.model == "local" or users < 2:
            own = _divided(epsilon, planes, rounds)
        else:
            own = likely_strengths(epsilon, users, needs.delta, plane_gains(planes), rounds)
        # the mean over means of how many share a block
        shared = math.fsum(((size - block + blocks - 1) // blocks) ** 2 for block in range(blocks)) / size
        errors[plane_variance(own, shared) / draws, planes * draws * blocks, planes, draws, blocks] = own
    if not errors:
        least = 1 + (size - 1).bit_length()
        raise UsageError(f"bits must be at least {least} for {size} means, a place and a sign, got {query.bits}.")
    (_, _, planes, draws, blocks), own = min(errors.items())
    if query.model == "shuffle" and users >= 2:
        own = plane_strengths(epsilon, users, needs.delta, plane_gains(planes), draws * blocks)
    coordinates = bit_coordinates(needs, own[-1])
    return ShuffledPlanes(
        coordinates, users, messages=planes * draws, strengths=own, blocks=blocks, is_mixed=query.model == "shuffle"
    )


def _layouts(bits: int, size: int) -> Iterator[tuple[int, int, int]]:
    """Yield planes, signs of each and blocks that fit so many bits.

    >>> list(_layouts(4, 8))
    [(1, 1, 1)]
    """
    tried = {1 << power for power in range(size.bit_length())} | {size, *range(1, min(size, 16) + 1)}
    for planes in range(1, MOST_DIGITS + 1):
        for blocks in sorted(one for one in tried if one <= size):
            each = 1 + (math.ceil(size / blocks) - 1).bit_length()
            fitting = min(bits // (planes * blocks * each), MOST_MESSAGES // (planes * blocks))
            yield from ((planes, 1 << power, blocks) for power in range(fitting.bit_length()))


def _divided(epsilon: float, planes: int, rounds: int) -> tuple[float, ...]:
    """Return strengths of digits that add up to epsilon, near the best division."""
    whole = as_decimal(min(epsilon, LARGEST_EPSILON)) / rounds
    return tuple(float_down(whole * as_decimal(share) * (1 - as_decimal(1e-12))) for share in plane_shares(planes))


def _choice(query: VectorMean, own: ShuffledPlanes) -> str:
    digits = len(own.strengths)
    return (
        f"{query.model} model, at most {query.bits} bits per user: {own.bits_per_user} are sent, "
        f"{'one sign' if digits == 1 else f'{digits} digits'} of {own.reported} of {len(own.coordinates)} means."
    )


def _compared(query: VectorMean, own: ShuffledPlanes, space: Space, users: int) -> tuple[ComparedMethod, ...]:
    """Return the errors of a curator, of this, and of the same model without a limit of bits."""
    plain = replace(query, bits=None)
    central = plan_linear(replace(plain, model="central"), space=space, users=users).mechanisms[0]
    free = plan_local_means if query.model == "local" else plan_shuffled_means
    best = free(plain, space=space, users=users).mechanisms[0]
    unlimited = getattr(getattr(best, "mechanism", None), "variance", 0.0)
    spread = central.interval_half_width(0.6826894921370859)

    def line(method: str, error: float, remark: str, *, is_chosen: bool = False) -> ComparedMethod:
        return ComparedMethod(method, error, is_chosen, remark, ROOT_MEAN_SQUARE)

    return (
        line("central", spread, f"a curator adds {central.name} noise; bits save nothing there"),
        line(
            f"{query.model}, {own.bits_per_user} bits a user", math.sqrt(own.variance), "as asked for", is_chosen=True
        ),
        line(f"{query.model}, any number of bits", math.sqrt(unlimited), "the best that the model has"),
    )
