"""Events by removal of a user, stated by replacement: twice the epsilon, a larger delta, twice the slack.

**Theorem.** A release that is ``(epsilon + z, delta)`` by removal, ``z`` its slack, is ``(2 epsilon + 2 z,
delta (1 + exp(epsilon + z)))`` by replacement. *Proof.* Theorem 2 of
:mod:`emdp.privacy.guarantees.conversions` at the level ``epsilon + z``. The new slack is ``2 z``. ∎

A Gaussian release becomes a plain guarantee on the way: its ``mu`` and slacks are stated for one user who appears or
vanishes, so a reserve of ``mu^2`` for replacement does not pay for it. All other conversions keep delta and slack, and
leave events as they are.
"""

from collections.abc import Sequence

from emdp.privacy.events.base import Event
from emdp.privacy.events.table import GuaranteeEvent
from emdp.privacy.guarantees.conversions import changes_delta, convert
from emdp.privacy.guarantees.kinds import Guarantee
from emdp.privacy.rounding import as_decimal, float_up

__all__ = ["in_one_kind", "restated"]


def restated(event: Event, kind: Guarantee) -> Event:
    """Return an event as it is accounted in a kind: itself, unless it is by removal and the kind by replacement.

    Parameters
    ----------
    event : Event
        Its guarantee must convert to the kind; of a batch the price must have been checked.

    Raises
    ------
    UsageError
        If its delta would reach 1.

    >>> from emdp.privacy.guarantees.kinds import UserDP
    >>> event = GuaranteeEvent(UserDP(0.5, 1e-9, neighbours="remove"), "count", slack_epsilon=1e-12)
    >>> found = restated(event, UserDP(0))
    >>> found.guarantee.level, round(found.guarantee.delta, 12), found.slack_epsilon
    (1.0, 2.649e-09, 2e-12)
    >>> restated(event, UserDP(0, neighbours="remove")) == event
    True
    """
    stated = event.guarantee
    if not changes_delta(stated, kind):
        return event
    slack = as_decimal(event.slack_epsilon)
    loss = stated.at_level(float_up(as_decimal(stated.level) + slack), stated.delta)
    delta = convert(loss, kind).delta
    guarantee = kind.at_level(float_up(2 * as_decimal(stated.level)), delta)
    return GuaranteeEvent(guarantee, f"{type(event).__name__}, by replacement", float_up(2 * slack))


def in_one_kind(events: Sequence[Event], kind: Guarantee) -> list[Event]:
    """Return events of one kind as they are, and of several kinds all as what they cost in a kind.

    >>> from emdp.privacy.guarantees.kinds import EmdDP, UserDP
    >>> several = [GuaranteeEvent(EmdDP(1.0)), GuaranteeEvent(UserDP(0.5))]
    >>> [event.guarantee.level_name for event in in_one_kind(several, UserDP(0))]
    ['epsilon', 'epsilon']
    >>> [event.guarantee.level_name for event in in_one_kind(several[:1], UserDP(0))]
    ['alpha']
    """
    if len({event.guarantee.kind for event in events}) == 1:
        return list(events)
    return [_stated(restated(event, kind), kind.kind) for event in events]


def _stated(event: Event, kind: Guarantee) -> Event:
    if event.guarantee.kind == kind:
        return event
    return GuaranteeEvent(convert(event.guarantee, kind), f"{type(event).__name__}, converted", event.slack_epsilon)
