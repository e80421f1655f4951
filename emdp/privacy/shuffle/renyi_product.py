"""Several shuffled rounds by the product of their likelihood ratios: sharper than Renyi divergences.

**Theorem.** Let round ``i``, whatever the earlier releases were, have a likelihood ratio below ``1 + X_i`` in convex
order under its second law (:mod:`emdp.privacy.shuffle.renyi_law`). Then the hockey-stick divergence at ``e^epsilon`` of
all rounds together, adaptive ones too, is at most ``E (prod (1 + X_i) - e^epsilon)_+``, the ``X_i`` independent.

*Proof.* Given the earlier releases, whose ratio is ``r``, the last round's part is ``E (r R - e^epsilon)_+``, convex in
its ratio ``R``: at most ``g(r) = E (r (1 + X) - e^epsilon)_+``. ``g`` is convex, so the same step applies to the round
before, and so on. ∎ (It is the composition of dominating pairs of Zhu, Dong and Wang 2022.)

**Numerics.** As in :mod:`emdp.privacy.account.losses`: under the first law ``1 + X`` has the loss ``ln(1 + X)`` and its
mass times ``1 + X``; losses are split between neighbours of an even grid so that both laws keep their mass, which
raises them in convex order; what falls below the window is raised to its end, what lies above counts as infinite. The
window comes from the Renyi divergences by Markov's inequality. Convolutions are direct sums of numbers that are not
negative: their rounding is relative, and delta is lowered by it. What Fourier transforms would lose below 1e-16 stays.
"""

import math
from collections.abc import Sequence

import numpy as np

from emdp.base.arrays import Floats
from emdp.privacy.shuffle.renyi_law import MARGIN, RatioLaw

__all__ = ["LARGEST_ROUNDS", "SMALLEST_DELTA", "product_epsilon"]

LARGEST_ROUNDS = 256
"""Most rounds, for time; Renyi divergences do nearly as well there."""
SMALLEST_DELTA = 1e-30
"""Smallest delta: the laws' lower ends, e^-98 of the mass, are moved down, which only a divergence about 1 allows."""
_HALF = 2500
"""Grid points on each side of the loss 0: an excess of about 1e-5 of epsilon at the most rounds."""
_LEFT_OUT = 1e-5
"""Part of delta that may lie beyond the window."""
_ORDERS = 1 + np.geomspace(0.5, 1e4, 60)


def product_epsilon(laws: Sequence[tuple[RatioLaw, int]], delta: float) -> float:
    """Return the epsilon at ``delta`` of rounds given by their laws and how often each occurs, rounded up.

    Parameters
    ----------
    laws : sequence of (RatioLaw, int)
        The rounds' laws, at most :data:`LARGEST_ROUNDS` in all.
    delta : float
        In (0, 1); ``inf`` is returned below :data:`SMALLEST_DELTA`.

    >>> import math
    >>> from emdp.privacy.shuffle.renyi_law import ratio_law
    >>> law = ratio_law(999, 1.0, math.exp(-1) * (1 - 1e-15), blocks=300)
    >>> [round(product_epsilon([(law, rounds)], 1e-6), 3) for rounds in (1, 2, 4)]
    [0.182, 0.264, 0.382]
    """
    if delta < SMALLEST_DELTA:
        return math.inf
    reach = _window(laws, delta)
    step = reach / _HALF
    total: Floats | None = None
    infinite = 0.0
    for law, count in laws:
        # what lies beyond in one factor is beyond at most that much in all, since masses add up to 1
        power, beyond = _losses(law, step)
        left = count
        while left > 0:
            if left % 2:
                total, out = (power, 0.0) if total is None else _convolve(total, power)
                infinite += out + beyond
            left //= 2
            if left > 0:
                power, out = _convolve(power, power)
                beyond = 2 * beyond + out
    terms = sum(count for _, count in laws)
    target = delta * (1 - 2.0**-52 * 4 * terms * (2 * _HALF + 1)) / (1 + MARGIN) ** (2 * terms)
    return math.inf if total is None else _invert(total, infinite, step, target)


def _window(laws: Sequence[tuple[RatioLaw, int]], delta: float) -> float:
    """Return a loss that the total exceeds with probability ``delta/1e5`` at most, by Markov's inequality."""
    allowance = -math.log(_LEFT_OUT * delta)
    bounds = [
        math.fsum(count * law.renyi(float(order)) for law, count in laws) + allowance / (order - 1) for order in _ORDERS
    ]
    # splitting raises each loss by less than a step, so that no total leaves a window of this size
    pure = math.fsum(count * law.largest for law, count in laws) / (1 - (sum(count for _, count in laws) + 1) / _HALF)
    return float(min(*bounds, pure) * (1 + 1e-9))


def _losses(law: RatioLaw, step: float) -> tuple[Floats, float]:
    """Return masses of the losses ``(i - half) step`` under the first law, and the mass above."""
    losses = np.log1p(law.values)
    with np.errstate(under="ignore"):
        masses = np.exp(law.log_weights + losses)
    cells = np.floor(losses / step)
    is_beyond = cells >= _HALF
    infinite = float(masses[is_beyond].sum())
    losses, masses, cells = losses[~is_beyond], masses[~is_beyond], cells[~is_beyond]
    raised = np.maximum(cells, -_HALF)
    # both laws keep their mass; a loss below the window is raised
    upper = np.where(raised > cells, 0.0, np.expm1(cells * step - losses) / math.expm1(-step))
    upper = np.clip(upper, 0.0, 1.0) * masses
    places = (raised + _HALF).astype(np.intp)
    values = np.bincount(places, masses - upper, 2 * _HALF + 1) + np.bincount(places + 1, upper, 2 * _HALF + 1)
    return values.astype(np.float64), infinite


def _convolve(first: Floats, second: Floats) -> tuple[Floats, float]:
    """Return the masses of the sum within the window, and the mass above it."""
    whole = np.convolve(first, second)
    values = whole[_HALF : 3 * _HALF + 1].copy()
    values[0] += whole[:_HALF].sum()
    return values, float(whole[3 * _HALF + 1 :].sum())


def _invert(masses: Floats, infinite: float, step: float, delta: float) -> float:
    """Return the smallest epsilon found with ``infinite + E (1 - exp(epsilon - loss))_+ <= delta``."""
    losses, above = step * np.arange(1, _HALF + 1), masses[_HALF + 1 :]

    def is_good(epsilon: float) -> bool:
        return infinite - float(np.expm1(np.minimum(epsilon - losses, 0.0)) @ above) <= delta

    low, high = 0.0, float(losses[-1])
    if not is_good(high):
        return math.inf
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if is_good(middle) else (middle, high)
    return high * (1 + 1e-12)
