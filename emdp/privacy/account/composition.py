"""The price of a batch of releases whose parameters were fixed in advance (EMD 7).

Three bounds hold for such a batch, once every event is stated in one kind; the functions return the smallest:

1. *Sums*: levels add, deltas add.
2. *Gaussians as such*: releases of ratios ``mu_i`` are together one of ratio ``mu``, ``mu^2 = sum mu_i^2``. Its exact
   profile is paid with what the other releases leave of the wanted delta; their levels add.
3. *Loss distributions* (:mod:`emdp.privacy.account.losses`): everything at once, at distance 1, which decides.

The slacks of the events (:mod:`emdp.privacy.events.table`) go along. Let ``S`` be the sum of ``slack_epsilon``, ``T``
that of the Gaussians' ``slack_delta``, and ``delta'`` what the ideal releases have at ``alpha``. By the events'
inequality, applied one release after the other to the hockey-stick curve of those that follow (a mixture of curves
``t -> (1 - s t)_+``), the batch is ``(alpha d + S, exp(S) (delta' + T))``. Bounds 2 and 3 therefore use
``delta' = (1 - S) delta - T``. In bound 3 a Laplace event counts ``dimension * grid/scale`` more in ``S``: its law on
the grid exceeds that of continuous noise, rounded, by a factor of at most ``exp(grid/(4 scale))``, and is less by a
factor of at most ``exp((grid/scale)^2/8)``.

None of this may be used for parameters that were chosen after seeing answers: see :mod:`emdp.privacy.account.filter`.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_range, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.privacy.account.losses import SMALLEST_DELTA, LossPairs, smallest_level
from emdp.privacy.account.restating import restated
from emdp.privacy.calibration import gaussian_alpha
from emdp.privacy.events.base import check_event
from emdp.privacy.events.table import BatchEvent, Event, LaplaceEvent
from emdp.privacy.guarantees.conversions import conversion_factor
from emdp.privacy.guarantees.kinds import EmdDP, Guarantee
from emdp.privacy.rounding import as_decimal, float_down, float_up, root_up

__all__ = ["Total", "check_price", "compose", "epsilon_curve", "price_batch", "tight"]

_PRICE_TOLERANCE = Fraction(1, 10**9)
"""Relative, on a batch's price: what another machine's rounding may change in a price that it computed."""


@dataclass(frozen=True)
class Total:
    """Guarantee of several releases together.

    Parameters
    ----------
    guarantee : Guarantee
        Level and delta.
    slack_epsilon : float
        Additive epsilon beside it, from rounding: at distance ``d`` the loss is ``alpha d + slack_epsilon``.

    >>> print(Total(EmdDP(3.0), 1e-11))
    alpha = 3.0 per unit of d_em, delta = 0.0 (unbounded central EmdDP), with 1e-11 more epsilon for rounding
    """

    guarantee: Guarantee
    slack_epsilon: float = 0.0

    def __str__(self) -> str:
        slack = f", with {self.slack_epsilon!r} more epsilon for rounding" if self.slack_epsilon else ""
        return f"{self.guarantee}{slack}"


def compose(events: Sequence[Event], delta: float | None = None, *, kind: Guarantee | None = None) -> Total:
    """Return the total of a batch by sums, Gaussian releases composed as such where that is less.

    Parameters
    ----------
    events : sequence of Event
        At least one; parameters fixed in advance.
    delta : float, optional
        The delta to state the total at, in [0, 1); by default the sum of the events' deltas, and plain sums.
    kind : Guarantee, optional
        Any guarantee of the kind to state the total in; by default the events' own, which must then agree.

    Returns
    -------
    Total

    Raises
    ------
    UsageError
        If an event does not convert to the kind, or the delta is too small for any bound.

    >>> from emdp.privacy.events.table import GuaranteeEvent
    >>> print(compose([GuaranteeEvent(EmdDP(0.1))] * 3))
    alpha = 0.3 per unit of d_em, delta = 0.0 (unbounded central EmdDP)
    """
    return _smallest(_collect(events, kind), delta, with_losses=False)


def tight(events: Sequence[Event], delta: float, *, kind: Guarantee | None = None) -> Total:
    """Return the total of a batch by the best bound there is, loss distributions included.

    Parameters
    ----------
    events, kind
        As in :func:`compose`.
    delta : float
        The delta to state the total at, in [0, 1); at 0 only sums apply.

    Raises
    ------
    UsageError
        As in :func:`compose`.

    References
    ----------
    EMD 7; the theorem and its numerics: :mod:`emdp.privacy.account.losses`.

    >>> from emdp.privacy.events.table import GuaranteeEvent
    >>> round(tight([GuaranteeEvent(EmdDP(0.1))] * 100, 1e-6).guarantee.level, 2)
    4.77
    """
    return _smallest(_collect(events, kind), check_unit_interval("delta", delta, zero=True), with_losses=True)


def price_batch(events: Sequence[Event], delta: float | None = None) -> BatchEvent:
    """Return the event that charges a batch fixed in advance as one release, at the best price.

    Parameters
    ----------
    events : sequence of Event
        At least one, all of one kind; batches among them are replaced by their own events.
    delta : float, optional
        The delta to pay with; by default plain sums.

    >>> from emdp.privacy.events.table import GuaranteeEvent
    >>> price_batch([GuaranteeEvent(EmdDP(0.1)), GuaranteeEvent(EmdDP(0.2))]).alpha
    0.3
    """
    parts = _collect(events, None)
    total = _smallest(parts, delta, with_losses=delta is not None)
    return BatchEvent(parts.events, total.guarantee.level, total.guarantee.delta, total.slack_epsilon)


@lru_cache(maxsize=4096)
def check_price(batch: BatchEvent) -> None:
    """Check that a batch's price covers its events, by one of the bounds that :func:`price_batch` chooses from.

    Sums are compared exactly, the other bounds to a relative 1e-9 (a ledger may come from another machine).

    Raises
    ------
    UsageError
        If ``alpha`` and ``slack_epsilon`` are less than every bound at the batch's ``delta``.

    >>> from emdp.privacy.events.table import GuaranteeEvent
    >>> check_price(price_batch([GuaranteeEvent(EmdDP(0.1))] * 100, 1e-6))
    """
    parts = _collect(batch.events, None)
    level, slack = as_decimal(batch.alpha), as_decimal(batch.slack_epsilon)
    if parts.delta <= as_decimal(batch.delta) and parts.level <= level and parts.slack <= slack:
        return
    share = 1 - _PRICE_TOLERANCE
    for least, slack_needed in _finer_bounds(parts, batch.delta, 1.0, with_losses=True):
        if level >= as_decimal(least) * share and slack >= as_decimal(slack_needed) * share:
            return
    raise UsageError(
        f"alpha = {batch.alpha} with delta = {batch.delta} and slack_epsilon = {batch.slack_epsilon} is less than "
        "the batch's events cost; take price_batch(events, delta)."
    )


def epsilon_curve(
    events: Sequence[Event], delta: float, distances: Iterable[float], *, kind: Guarantee | None = None
) -> npt.NDArray[np.float64]:
    """Return the epsilon of a batch at given earth-mover distances: a finer statement than ``alpha d``.

    Parameters
    ----------
    events, kind
        As in :func:`compose`; the kind must be an ``EmdDP``.
    delta : float
        The delta of every point of the curve, in [0, 1).
    distances : iterable of float
        In [0, 1].

    Returns
    -------
    numpy.ndarray
        Shape (number of distances,): rounded up, ``slack_epsilon`` included; each at most ``tight``'s
        ``alpha d + slack_epsilon``.

    >>> from emdp.privacy.events.table import GuaranteeEvent
    >>> epsilon_curve([GuaranteeEvent(EmdDP(2.0))], 0.0, [0.0, 0.25, 1.0])
    array([0. , 0.5, 2. ])
    """
    parts = _collect(events, kind)
    check_unit_interval("delta", delta, zero=True)
    if not isinstance(distances, Iterable):
        raise UsageError(f"distances must be a sequence of numbers, not {type(distances).__name__}; pass a list.")
    if not isinstance(parts.kind, EmdDP):
        raise UsageError(f"epsilon_curve needs events stated as EmdDP, not as {parts.kind.kind_name}; pass those.")
    line = _smallest(parts, delta, with_losses=True)
    values = []
    for distance in distances:
        d = check_range("distance", distance, 0.0, 1.0)
        level = as_decimal(line.guarantee.level) * as_decimal(d)
        bounds = [level + as_decimal(line.slack_epsilon)]
        if 0 < d < 1:
            bounds += [as_decimal(a) + as_decimal(slack) for a, slack in _bounds(parts, delta, d, with_losses=True)]
        values.append(float_up(min(bounds)))
    return np.array(values)


@dataclass(frozen=True)
class _Parts:
    """A batch in one kind: ``levels`` and ``deltas`` event by event, and what the finer bounds need."""

    kind: Guarantee
    events: tuple[Event, ...]
    levels: tuple[Fraction, ...]
    mu: float
    laplace: tuple[Fraction, ...]
    others: tuple[tuple[Fraction, float], ...]
    slack: Fraction
    grid_slack: Fraction
    gaussian_slack: Fraction

    @property
    def delta(self) -> Fraction:
        """The sum of the events' deltas."""
        return _sum(as_decimal(event.guarantee.delta) for event in self.events)

    @property
    def level(self) -> Fraction:
        """The sum of the events' levels."""
        return _sum(self.levels)


def _collect(events: Sequence[Event], kind: Guarantee | None) -> _Parts:
    if not isinstance(events, Sequence) or not events:
        raise UsageError("events must hold at least one event; pass a list of the batch's releases.")
    for event in events:
        check_event(event)
    if kind is not None and not isinstance(kind, Guarantee):
        raise UsageError(f"kind must be a Guarantee, not {type(kind).__name__}; pass a guarantee of that kind.")
    flat = tuple(m for event in events for m in (event.events if isinstance(event, BatchEvent) else (event,)))
    target = (flat[0].guarantee if kind is None else kind).kind
    for event in flat:
        if kind is None and event.guarantee.kind != target:
            raise UsageError(
                f"events must be of one kind, not a {target.kind_name} and a {event.guarantee.kind_name}; "
                "pass kind= to state them in one."
            )
    flat = tuple(restated(event, target) for event in flat)
    rows = [(event, conversion_factor(event.guarantee, target)) for event in flat]
    levels = tuple(as_decimal(event.guarantee.level) * factor for event, factor in rows)
    ratios = [(event.gaussian_mu, factor) for event, factor in rows]
    draws = [event for event in flat if isinstance(event, LaplaceEvent)]
    return _Parts(
        kind=target,
        events=flat,
        levels=levels,
        mu=root_up(_sum((Fraction(mu) * factor) ** 2 for mu, factor in ratios if mu is not None)),
        laplace=tuple(a for a, event in zip(levels, flat, strict=True) if isinstance(event, LaplaceEvent)),
        others=tuple((a, e.guarantee.delta) for a, e in zip(levels, flat, strict=True) if _is_other(e)),
        slack=_sum(as_decimal(event.slack_epsilon) for event in flat),
        grid_slack=_sum(event.dimension * Fraction(event.grid) / Fraction(event.scale) for event in draws),
        gaussian_slack=_sum(as_decimal(event.slack[1]) for event in flat if event.gaussian_mu is not None),
    )


def _is_other(event: Event) -> bool:
    return event.gaussian_mu is None and not isinstance(event, LaplaceEvent)


def _smallest(parts: _Parts, delta: float | None, *, with_losses: bool) -> Total:
    if delta is None:
        if parts.delta >= 1:
            raise UsageError("the deltas of the events add up to 1 or more, which says nothing; pass fewer.")
        stated = float_up(parts.delta)
        return Total(parts.kind.at_level(float_up(parts.level), stated), float_up(parts.slack))
    stated = check_unit_interval("delta", delta, zero=True)
    bounds = _bounds(parts, stated, 1.0, with_losses=with_losses)
    if not bounds:
        raise UsageError(
            f"delta = {stated} is too small for events whose deltas add up to {float_up(parts.delta)}; "
            "pass a larger one."
        )
    level, slack = min(bounds)
    return Total(parts.kind.at_level(level, stated), slack)


def _bounds(parts: _Parts, delta: float, d: float, *, with_losses: bool) -> list[tuple[float, float]]:
    """Return ``(epsilon at distance d, slack)`` of every bound that applies."""
    bounds = _finer_bounds(parts, delta, d, with_losses=with_losses)
    if parts.delta <= as_decimal(delta):
        bounds.append((float_up(parts.level * as_decimal(d)), float_up(parts.slack)))
    return bounds


def _finer_bounds(parts: _Parts, delta: float, d: float, *, with_losses: bool) -> list[tuple[float, float]]:
    """Return the bounds other than sums."""
    wanted, distance = as_decimal(delta), as_decimal(d)
    bounds = []
    mu = root_up((Fraction(parts.mu) * distance) ** 2)
    if mu > 0:
        left = wanted * (1 - parts.slack) - parts.gaussian_slack - _sum(as_decimal(b) for _, b in parts.others)
        target = float_down(max(left, Fraction(0)))
        if target > 0:
            plain = _sum([*parts.laplace, *(level for level, _ in parts.others)]) * distance
            level = plain + as_decimal(gaussian_alpha(mu, target))
            bounds.append((float_up(level), float_up(parts.slack)))
    if with_losses:
        total_slack = parts.slack + parts.grid_slack
        left = wanted * (1 - total_slack) - parts.gaussian_slack
        if left >= Fraction(SMALLEST_DELTA):
            pairs = LossPairs(
                laplace=tuple(float_up(level * distance) for level in parts.laplace),
                gaussian=mu,
                others=tuple((float_up(level * distance), delta_i) for level, delta_i in parts.others),
            )
            level_at = smallest_level(pairs, float_down(left))
            if math.isfinite(level_at):
                bounds.append((level_at, float_up(total_slack)))
    return bounds


def _sum(numbers: Iterable[Fraction]) -> Fraction:
    return sum(numbers, Fraction(0))
