"""Thresholds on keys with discrete Laplace noise: truncated, and plain for comparison.

Let ``r`` and ``L`` be as in :mod:`emdp.mechanisms.keys.threshold`, ``b = r L/epsilon``, ``q = exp(-1/b)``.

**Plain.** ``P(z)`` proportional to ``q^|z|`` on the integers. *Theorem.* With ``p = q^(tau - 1)/(1 + q)`` the release
is ``(epsilon, 1 - (1 - p)^L)``, and no smaller delta is true at ``epsilon`` when ``r L`` counts move. *Proof.* ``P(Z >=
tau
- 1) = p`` is a geometric series. The counts of common keys move by at most ``r L`` in the 1-norm, so they are
``epsilon``-indistinguishable, and theorem 1 of that module gives the delta. A user with ``L`` keys that nobody else
has, who is removed or replaced by one without any, attains it: outcomes that show one of them have probability 0 after.
∎

**Truncated** at ``k``: ``P(z)`` proportional to ``q^|z|`` on ``-k, ..., k``, released where ``D + Z > k``, so ``tau = k
+ 1``. *Theorem* (Desfontaines, Voss, Gipson and Mandayam 2020, for ``L = 1``, where it is optimal). With ``d = P(Z =
k)`` the release is ``(epsilon, 1 - (1 - d)^(r L))``, and no smaller delta is true at ``epsilon``. *Proof.* Give *every*
possible key a count, 0 where nobody has it: ``0 + Z <= k`` is never released, so the outcome is the same function of
all noisy counts. So at most ``r L`` counts move, by 1 each. Of two counts ``D`` and ``D'`` that are 1 apart the laws
are ``q``-proportional where both are positive, with a ratio of at most ``1/q = e^(epsilon/(r L))``, and the first has
mass ``d`` where the second has none. So with probability ``(1 - d)^(r L)`` all ``r L`` moved counts are where both laws
are positive; there the ratio is at most ``e^epsilon``, and the rest, ``1 - (1 - d)^(r L)``, is the delta. Where these
keys have many other users, nothing is hidden by the threshold and that rest is attained. ∎

``d <= d_0`` if and only if ``q^k ((1 - q) + 2 d_0 q) <= d_0 (1 + q)``, that is ``k >= b ln((e^(1/b) + 2 d_0 -
1)/((e^(1/b) + 1) d_0))``; ``d_0`` is the share of delta, ``1 - (1 - d_0)^(r L) = delta``. The noise itself pays for a
new key, which is why the threshold is lower than the plain one's by up to a half, and there is no tail beyond ``k``.
"""

import math
from functools import cached_property
from typing import ClassVar

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.classes import dataclass
from emdp.mechanisms.keys.threshold import MARGIN, KeyThreshold, NoisyKeys, chance_within, new_keys_delta
from emdp.noise.discrete_laplace import (
    discrete_laplace_quantile,
    discrete_laplace_standard_deviation,
    draw_discrete_laplace_bulk,
)
from emdp.noise.truncated_laplace import (
    draw_truncated_laplace,
    truncated_laplace_edge,
    truncated_laplace_standard_deviation,
)
from emdp.privacy.events.table import Event, GuaranteeEvent
from emdp.privacy.guarantees.kinds import Guarantee
from emdp.privacy.rounding import as_decimal, float_at_least

__all__ = ["LaplaceKeys", "TruncatedKeys", "laplace_new_key", "laplace_threshold"]


class _LaplaceScale(KeyThreshold):
    """Scale of Laplace noise, in both relations."""

    @cached_property
    def scale(self) -> float:
        """``b = r L/epsilon``, rounded up."""
        return float_at_least(self.moves / as_decimal(self.epsilon))


@dataclass(frozen=True)
class LaplaceKeys(_LaplaceScale):
    """Discrete Laplace noise and a threshold: parameters as in :class:`emdp.mechanisms.keys.threshold.KeyThreshold`.

    >>> LaplaceKeys(1.0, 1e-9, 10, "remove").threshold, LaplaceKeys(1.0, 1e-9, 10, "replace").threshold
    (225, 449)
    """

    name: ClassVar[str] = "discrete Laplace"

    @cached_property
    def threshold(self) -> int:
        """``tau``: the least with a delta within the price."""
        return laplace_threshold(self.scale, self.keys, self.delta)

    @property
    def new_key(self) -> float:
        return laplace_new_key(self.scale, self.threshold)

    @property
    def price(self) -> float:
        """``1 - (1 - p)^L``, rounded up."""
        return new_keys_delta(self.new_key, self.keys)

    @property
    def standard_deviation(self) -> float:
        return discrete_laplace_standard_deviation(self.scale)

    def _noise_event(self, kind: Guarantee) -> Event:
        return GuaranteeEvent(kind.at_level(self.epsilon, 0.0), mechanism=self.theorem)

    def _half_width(self, tail: float) -> float:
        return float(discrete_laplace_quantile(tail, self.scale))

    def _draw(self, counts: Integers) -> NoisyKeys:
        return _passing(counts + draw_discrete_laplace_bulk(self.scale, counts.size), self.threshold)


@dataclass(frozen=True)
class TruncatedKeys(_LaplaceScale):
    """Truncated discrete Laplace noise and its threshold: parameters as in
    :class:`emdp.mechanisms.keys.threshold.KeyThreshold`.

    >>> keys = TruncatedKeys(1.0, 1e-9, 1, "remove")
    >>> keys.reach, keys.people, round(keys.standard_deviation, 1)
    (20, 21, 1.4)
    """

    name: ClassVar[str] = "truncated discrete Laplace"

    @cached_property
    def reach(self) -> int:
        """``k``: the least with a delta within the price."""
        share, step = chance_within(self.delta, self.moves), 1.0 / self.scale
        needed = math.log1p(2.0 * share / math.expm1(step)) + math.log(math.tanh(0.5 * step)) - math.log(share)
        reach = max(1, math.ceil(self.scale * needed) - 1)
        while self._delta_at(reach) > self.delta:
            reach += 1
        while reach > 1 and self._delta_at(reach - 1) <= self.delta:
            reach -= 1
        return reach

    @property
    def threshold(self) -> int:
        return self.reach + 1

    @property
    def new_key(self) -> float:
        """``p = P(Z = k)``, rounded up."""
        return truncated_laplace_edge(self.scale, self.reach)

    @property
    def price(self) -> float:
        """``1 - (1 - d)^(r L)``, rounded up."""
        return self._delta_at(self.reach)

    @property
    def standard_deviation(self) -> float:
        return truncated_laplace_standard_deviation(self.scale, self.reach)

    def events(self, kind: Guarantee | None = None) -> tuple[Event, ...]:
        """Return the one event: the delta of this noise holds the threshold's already."""
        return (self.event(kind),)

    def _delta_at(self, reach: int) -> float:
        return new_keys_delta(truncated_laplace_edge(self.scale, reach), self.moves)

    def _noise_event(self, kind: Guarantee) -> Event:
        return self.event(kind)

    def _half_width(self, tail: float) -> float:
        # Given that it lies within the reach, noise is less often far from 0 than without that.
        return float(min(self.reach, discrete_laplace_quantile(tail, self.scale)))

    def _draw(self, counts: Integers) -> NoisyKeys:
        return _passing(counts + draw_truncated_laplace(self.scale, self.reach, counts.size), self.threshold)


def laplace_new_key(scale: float, threshold: int) -> float:
    """Return ``P(1 + Z >= threshold)`` of discrete Laplace noise on counts, rounded up; the threshold is at least 1.

    >>> round(laplace_new_key(2.0, 8), 9)
    0.018796643
    """
    return math.exp(-(threshold - 1) / scale) / (1.0 + math.exp(-1.0 / scale)) * (1.0 + MARGIN)


def laplace_threshold(scale: float, keys: int, delta: float) -> int:
    """Return the least threshold at which one of ``keys`` keys of one person passes with at most ``delta``.

    Parameters
    ----------
    scale : float
        Of discrete Laplace noise on counts of users.
    keys : int
        ``L``.
    delta : float
        Of the threshold alone.

    >>> laplace_threshold(1.0, 1, 1e-9), laplace_threshold(3.0, 3, 1e-6)
    (22, 45)
    """
    needed = -math.log(chance_within(delta, keys)) - math.log1p(math.exp(-1.0 / scale))
    threshold = max(1, math.ceil(scale * needed))
    while new_keys_delta(laplace_new_key(scale, threshold), keys) > delta:
        threshold += 1
    return threshold


def _passing(noisy: Integers, threshold: int) -> NoisyKeys:
    index = np.flatnonzero(noisy >= threshold)
    return NoisyKeys(index, noisy[index].astype(np.float64))
