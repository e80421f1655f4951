"""Privacy-loss distributions on a grid: the smallest level of a batch whose parameters were fixed beforehand.

**Theorem** (EMD 7). Let releases be fixed in advance, each dominated, between neighbours at distance ``d``, by one of
these pairs: Laplace noise moved by ``a_i d`` scales; Gaussian noise moved by ``mu d`` deviations; the randomised
response of an ``(a_i d, delta_i)`` guarantee, whose loss is infinite with probability ``delta_i`` and else ``±a_i d``
(Kairouz, Oh, Viswanath 2015). Let ``F(c, d)`` be the hockey-stick divergence of their product at ``exp(c d)``. Then
``F(c, d) <= F(c, 1)`` for every real ``c`` and ``d`` in [0, 1]. So the batch is ``(alpha, F(alpha, 1))`` d_EM-DP: its
loss distribution at ``d = 1`` decides.

*Proof.* Without responses the noise has a log-concave density ``p`` and moves along a line, so that the exponent
``c d + ln p(z + d v) - ln p(z)`` is concave in ``d`` and 0 at 0. Once negative it falls; hence
``F(c, d) = E (1 - exp(exponent))_+`` never falls as ``d`` grows. Add one response, whose probability of the loss
``+a d`` is ``(1 - delta_i) pi(d)``, ``pi(d) = 1/(1 + exp(-a d))``, which rises with ``d``:

    ``F'(c, d) = delta_i + (1 - delta_i) (pi(d) F(c - a, d) + (1 - pi(d)) F(c + a, d))``.

Both ``F`` on the right rise with ``d``, and the first, which gains weight, is the larger, as ``F`` falls in ``c``. So
``F'`` rises with ``d`` as well, and still falls in ``c``. ∎

*Vectors.* Product Laplace noise moved by ``v`` with ``‖v‖_1 <= a`` (in scales) is dominated by one Laplace moved by
``a``; two coordinates ``v_1, v_2 > 0`` are enough. With ``g_v(e) = 1 - H_{exp(e)}``, for one Laplace equal to
``min(1, exp(e), exp((e - v)/2))``, the claim is ``E g_{v_2}(e - L) >= g_{v_1+v_2}(e)``. Here ``L`` is the loss of the
first: 1/2 at ``v_1``, ``exp(-v_1)/2`` at ``-v_1``, density ``exp((l - v_1)/2)/4`` between. Where
``|e| >= v_1 + v_2`` both sides agree. Otherwise put ``T = exp((e - v_1 - v_2)/2) = g_{v_1+v_2}(e)``. The upper atom
and the losses above ``e + v_2`` together give ``T/2``, and so do the lower atom and the losses below ``e - v_2``; the
losses between add what is not negative. ∎ Gaussian noise depends on the length of the move alone, and squares add.

*Numerics.* Losses are split between the two nearest grid points so that both laws keep their mass ("connect the
dots": a mean-preserving spread of the likelihood ratio, hence never optimistic). Losses above the window become
infinite, those below are raised to its lower end. Convolutions are direct sums of numbers that are not negative, so
that their error is relative, at most ``(points) 2^-52`` each. A convolution by Fourier transform has an absolute
error near 1e-16, which at delta = 1e-14 is per cents and not on the safe side; that is why dp_accounting is compared
in the tests and not used here.
"""

import math
from collections.abc import Sequence

import numpy as np

from emdp.base.arrays import Floats
from emdp.base.classes import dataclass
from emdp.privacy.quadrature import unit_quadrature

__all__ = ["SMALLEST_DELTA", "LossPairs", "smallest_level"]

SMALLEST_DELTA = 1e-200
"""Smaller targets are refused: products of masses would leave the floats."""
_HALF = 8192
"""Grid points on each side of loss 0, at least; the window is set for each batch."""
_LEFT_OUT = 1e-5
"""Part of the target delta that may lie beyond the window."""
_LOWEST_LOG = 1500.0
"""Width, below a Laplace release's largest loss, beyond which its mass underflows."""
_LARGEST = 1e12
"""Largest sum of levels that is priced: far beyond it the rounding of the losses would no longer be small."""
_STEPS = 200
"""Bisection steps at most; about 60 reach neighbouring doubles."""


@dataclass(frozen=True)
class LossPairs:
    """The dominating pairs of a batch at one distance."""

    laplace: tuple[float, ...] = ()  # For each Laplace release the shift in scales, at least 0: its largest loss
    gaussian: float = 0.0  # Root of the sum of the Gaussian releases' squared shifts in deviations, at least 0
    others: tuple[tuple[float, float], ...] = ()  # For each other release its `(epsilon, delta)` at this distance


def smallest_level(pairs: LossPairs, delta: float) -> float:
    """Return the smallest epsilon at which the product of all pairs has this delta, rounded up.

    Parameters
    ----------
    delta : float
        At least ``SMALLEST_DELTA``.

    Returns
    -------
    float
        At least 0; infinity if the pairs' own deltas leave nothing, or their levels add up to more than 1e12.

    >>> one = LossPairs(laplace=(1.0,))
    >>> 1 - 1e-5 < smallest_level(one, 1e-6) < 1
    True
    >>> smallest_level(LossPairs(others=((1.0, 0.01),)), 0.01)
    inf
    """
    infinite = -math.expm1(math.fsum(math.log1p(-other) for _, other in pairs.others))
    levels = [*pairs.laplace, *(epsilon for epsilon, _ in pairs.others)]
    if max([*levels, pairs.gaussian]) > _LARGEST or math.fsum(levels) + pairs.gaussian**2 > _LARGEST:
        return math.inf
    step = _window(levels, pairs.gaussian, delta) / _HALF
    if step == 0:
        # every level is below 1e-300: what they add to delta is less than the rounding allowed for here
        return 0.0 if infinite <= delta * (1 - 2.0**-40) else math.inf
    parts = [_laplace(shift, step) for shift in pairs.laplace if shift > 0]
    parts += [_response(epsilon, step) for epsilon, _ in pairs.others if epsilon > 0]
    if pairs.gaussian > 0:
        part, beyond = _gaussian(pairs.gaussian, step, delta)
        parts.append(part)
        infinite += beyond
    # splitting moves a loss up by less than one step, so that no finite total leaves a window of this size
    half = _HALF + len(parts)
    masses = _Masses(0, np.ones(1))
    for part in sorted(parts, key=lambda part: part.values.size):
        masses, beyond = _convolve(masses, part, half)
        infinite += beyond
    return _invert(masses, infinite, step, delta / (1 + 2.0**-51 * (len(parts) + 1) * (2 * half + 1)))


@dataclass(frozen=True)
class _Masses:
    """Probabilities of the losses ``(first + i) * step``."""

    first: int
    values: Floats


def _window(levels: Sequence[float], mu: float, delta: float) -> float:
    """Return a loss that the total exceeds with a probability far below ``delta`` (Hoeffding's bound)."""
    mean = math.fsum(level * math.tanh(level / 2) for level in levels) + mu**2 / 2
    reach = math.sqrt(2 * math.log(1 / (_LEFT_OUT * delta)))
    widest = math.fsum(levels) + (mu**2 / 2 + mu * reach)
    # hypot, since the squares of small levels would vanish
    return min(mean + math.hypot(*levels, mu) * reach, widest)


def _laplace(shift: float, step: float) -> _Masses:
    lowest = max(-shift, shift - _LOWEST_LOG)
    nodes, lengths = _panels(lowest, shift, step, 1.0)
    inside = lengths * np.exp((nodes - shift) / 2) / 4
    losses = np.concatenate([nodes, [lowest, shift]])
    return _split(losses, np.concatenate([inside, [math.exp((lowest - shift) / 2) / 2, 0.5]]), step)


def _response(epsilon: float, step: float) -> _Masses:
    odds = math.exp(-epsilon)
    return _split(np.array([-epsilon, epsilon]), np.array([odds / (1 + odds), 1 / (1 + odds)]), step)


def _gaussian(mu: float, step: float, delta: float) -> tuple[_Masses, float]:
    """Return the losses ``N(mu^2/2, mu^2)`` within reach, and the mass above."""
    reach = math.sqrt(2 * math.log(1 / (_LEFT_OUT * delta)))
    centre = mu * mu / 2
    lowest, highest = centre - reach * mu, centre + reach * mu
    nodes, lengths = _panels(lowest, highest, step, mu / 4)
    inside = lengths * np.exp(-(((nodes - centre) / mu) ** 2) / 2) / (mu * math.sqrt(2 * math.pi))
    tail = math.erfc(reach / math.sqrt(2)) / 2
    return _split(np.append(nodes, lowest), np.append(inside, tail), step), tail


def _panels(low: float, high: float, step: float, width: float) -> tuple[Floats, Floats]:
    """Return quadrature nodes and weights on ``[low, high]``, cut at the grid and every ``width``."""
    grid = np.arange(math.ceil(low / step), math.floor(high / step) + 1) * step
    even = np.linspace(low, high, math.ceil((high - low) / width) + 1)
    cuts = np.unique(np.clip(np.concatenate([grid, even]), low, high))
    nodes, weights = unit_quadrature()
    lengths = np.diff(cuts)[:, None]
    return (cuts[:-1, None] + lengths * nodes).ravel(), (lengths * weights).ravel()


def _split(losses: Floats, masses: Floats, step: float) -> _Masses:
    """Split each mass between the grid points around its loss, keeping its mass under both laws."""
    cells = np.floor(losses / step).astype(np.int64)
    upper = np.clip(np.expm1(cells * step - losses) / math.expm1(-step), 0.0, 1.0) * masses
    first = int(cells.min())
    size = int(cells.max()) - first + 2
    values = np.bincount(cells - first, masses - upper, size)
    values = values + np.bincount(cells - first + 1, upper, size)
    return _Masses(first, values.astype(np.float64))


def _convolve(left: _Masses, right: _Masses, half: int) -> tuple[_Masses, float]:
    """Return the law of the sum within the window, and the mass above it."""
    first, values = left.first + right.first, np.convolve(left.values, right.values)
    beyond = values[max(half + 1 - first, 0) :]
    values = values[: values.size - beyond.size]
    raised = max(-half - first, 0)
    if raised:
        values = np.append(values[: raised + 1].sum(), values[raised + 1 :])
    return _Masses(first + raised, values), float(beyond.sum())


def _invert(masses: _Masses, infinite: float, step: float, delta: float) -> float:
    """Return the smallest epsilon at least 0 with ``infinite + E (1 - exp(epsilon - loss))_+ <= delta``."""
    if infinite > delta:
        return math.inf
    losses = (masses.first + np.arange(masses.values.size)) * step

    def is_good(epsilon: float) -> bool:
        above = losses > epsilon
        excess = -np.expm1(epsilon - losses[above]) @ masses.values[above]
        return infinite + float(excess) <= delta

    low, high = 0.0, max(float(losses[-1]), 0.0)
    if is_good(low):
        return 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if is_good(middle) else (middle, high)
    # Grid points are products that are rounded once; exp of them moves by as much.
    return high * (1 + 2.0**-45)
