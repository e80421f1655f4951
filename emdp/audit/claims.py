"""Claimed loss of a release at one distance: the epsilon that an audit's bound is held against."""

import math
from collections.abc import Sequence
from fractions import Fraction

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.privacy import (
    BatchEvent,
    DiscreteEmdDP,
    EmdDP,
    Event,
    GaussianEvent,
    gaussian_alpha,
    price_batch,
)
from emdp.privacy.rounding import as_decimal, float_down, float_up

__all__ = ["LARGER_DELTA", "Claim", "claims_at", "default_distances", "joint_claims"]

LARGER_DELTA = 0.01
"""Second delta at which Gaussian noise is audited, by its profile: no number of draws sees events of 1e-9."""

LOSSES = (0.5, 1.0, 2.0, 4.0)
"""Claimed losses at whose distances a release under ``EmdDP`` is audited, unless distances are given: smaller ones
drown in the error of counting, larger ones ask for events too rare to be counted."""

WHOLE = (0.25, 1.0)
"""Distances for guarantees that do not depend on them."""


@dataclass(frozen=True)
class Claim:
    """A promise: ``P(E) <= exp(epsilon) Q(E) + delta`` for every event."""

    epsilon: float
    delta: float


def claims_at(event: Event, distance: float) -> tuple[Claim, ...]:
    """Return what an event promises for two bags at a distance.

    ``alpha d`` (or the epsilon of a guarantee that does not depend on the distance) plus the slack, at its delta; for
    Gaussian noise also the epsilon of its profile at ``LARGER_DELTA``: by the event's second statement
    (:mod:`emdp.privacy.events.table`), ``H_{t e^s}(P‖Q) <= e^s H_t + slack_delta`` with ``H_t`` that of ``N(mu d, 1)``
    and ``N(0, 1)``.

    Parameters
    ----------
    distance : float
        ``d_em``, in [0, 1].

    Raises
    ------
    UsageError
        If nothing is promised at this distance.

    >>> from emdp.privacy import EmdDP, GuaranteeEvent
    >>> claims_at(GuaranteeEvent(EmdDP(2.0)), 0.5)
    (Claim(epsilon=1.0, delta=0.0),)
    """
    guarantee = event.guarantee
    slack, slack_delta = event.slack
    if isinstance(guarantee, DiscreteEmdDP) and distance > guarantee.r:
        raise UsageError(f"nothing is promised beyond r = {guarantee.r}, got a distance of {distance}; pass less.")
    factor = as_decimal(distance) if isinstance(guarantee, EmdDP) else Fraction(1)
    stated = float_up(as_decimal(guarantee.level) * factor + as_decimal(slack))
    found = [Claim(stated, guarantee.delta)]
    mu = event.gaussian_mu
    if mu is not None and guarantee.delta < LARGER_DELTA:
        room = float_down((Fraction(LARGER_DELTA) - as_decimal(slack_delta)) * Fraction(math.exp(-slack) * (1 - 1e-12)))
        profile = gaussian_alpha(float_up(as_decimal(mu) * factor), room)
        found.append(Claim(float_up(as_decimal(profile) + as_decimal(slack)), LARGER_DELTA))
    return tuple(found)


def joint_claims(events: Sequence[Event], distance: float) -> tuple[Claim, ...]:
    """Return what several releases promise together: the sums of what each does (EMD 7).

    >>> from emdp.privacy import EmdDP, GuaranteeEvent, UserDP
    >>> joint_claims([GuaranteeEvent(EmdDP(2.0)), GuaranteeEvent(UserDP(1.0))], 0.5)
    (Claim(epsilon=2.0, delta=0.0),)
    """
    stated = [claims_at(event, distance)[0] for event in events]
    epsilon = float_up(sum((as_decimal(claim.epsilon) for claim in stated), Fraction(0)))
    delta = float_up(sum((as_decimal(claim.delta) for claim in stated), Fraction(0)))
    found = [Claim(epsilon, delta)]
    if all(isinstance(event, GaussianEvent) for event in events) and len({e.guarantee.kind for e in events}) == 1:
        batch: BatchEvent = price_batch(events)
        found += claims_at(batch, distance)[1:]
    return tuple(found)


def default_distances(events: Sequence[Event]) -> tuple[float, ...]:
    """Return the distances at which releases are audited unless others are asked for, rising.

    >>> from emdp.privacy import EmdDP, GuaranteeEvent
    >>> default_distances([GuaranteeEvent(EmdDP(2.0))])
    (0.25, 0.5, 1.0)
    """
    guarantees = [event.guarantee for event in events]
    radii = [guarantee.r for guarantee in guarantees if isinstance(guarantee, DiscreteEmdDP)]
    if radii:
        return (min(radii),)
    levels = (as_decimal(guarantee.level) for guarantee in guarantees if isinstance(guarantee, EmdDP))
    alpha = float_up(sum(levels, Fraction(0)))
    if alpha == 0 or any(not isinstance(guarantee, EmdDP) for guarantee in guarantees):
        return WHOLE
    found = sorted({min(loss / alpha, 1.0) for loss in LOSSES})
    return tuple(found)
