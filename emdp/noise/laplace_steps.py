"""The step from discrete Laplace noise to weaker discrete Laplace noise: what is added to the one to get the other.

Theorem. Let ``p = exp(-1/s)`` and ``q = exp(-1/t)``, ``0 < s < t``, and let ``L_p`` be the law ``P(k)`` proportional to
``p^|k|``. If ``Z`` is 0 with probability ``w = p (1 - q)^2/(q (1 - p)^2)`` and of the law ``L_q`` otherwise,
independent of ``X`` of law ``L_p``, then ``X + Z`` is of law ``L_q``, exactly.

Proof. On the unit circle ``L_p`` has the generating function ``(1 - p)^2/D_p(z)``, ``D_p(z) = (1 - p z)(1 - p/z) =
1 + p^2 - p (z + 1/z)``. As ``D_p = (p/q) D_q + c`` with ``c = 1 + p^2 - (p/q)(1 + q^2)`` constant, the quotient of the
generating functions of ``L_q`` and ``L_p`` is ``((1 - q)^2/(1 - p)^2) (p/q + c/D_q) = w + c' (1 - q)^2/D_q``; at
``z = 1`` both sides are 1, so ``c' = 1 - w``. And ``w < 1``, since ``p/(1 - p)^2`` rises with ``p``. ∎

So the chance ``w`` is the quotient of two values of ``x/(1 - x)^2``. It is irrational; the coin is thrown by comparing
a uniform variable with rational bounds of it, with more bits until that decides (:mod:`emdp.noise.exact`), so that no
probability is rounded, and no delta is spent on it.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count
from emdp.base.errors import UsageError
from emdp.noise.discrete_laplace import check_noise_scale, laplace_integers
from emdp.noise.exact import Bounds, LazyUniform, exp_bounds
from emdp.noise.rng import random_words

__all__ = ["draw_laplace_steps", "rest_bounds"]

_CANCELLED_BITS = 160
"""More bits than ``1 - p`` loses, which is at least 2^-57 at the largest scale."""


def draw_laplace_steps(strong: float, weak: float, size: int) -> list[int]:
    """Draw what takes discrete Laplace noise of one scale to that of a larger one; independent, exact.

    Parameters
    ----------
    strong, weak : float
        Scales in grid steps, ``strong < weak``, in [2^-20, 2^56], taken as the rationals that the floats are.
    size : int
        How many, at least 0.

    >>> len(draw_laplace_steps(1.0, 3.0, 4)), draw_laplace_steps(1.0, 3.0, 0)
    (4, [])
    """
    strong, weak = check_noise_scale(strong), check_noise_scale(weak)
    if not strong < weak:
        raise UsageError(f"weak must be above strong, got {weak} and {strong}; pass the smaller scale first.")
    size = check_count("size", size, minimum=0)
    moves = np.flatnonzero(~_rests(rest_bounds(strong, weak), size))
    steps = [0] * size
    for place, step in zip(moves.tolist(), _drawn(weak, moves.size), strict=True):
        steps[place] = step
    return steps


def rest_bounds(strong: float, weak: float) -> Bounds:
    """Return the function from a number of bits to rationals around the chance that nothing is added.

    >>> low, high = rest_bounds(1.0, 3.0)(64)
    >>> low < high, round(float(high), 6)
    (True, 0.103248)
    """

    def bounds(count: int) -> tuple[Fraction, Fraction]:
        strong_low, strong_high = exp_bounds(1 / Fraction(strong), count + _CANCELLED_BITS)
        weak_low, weak_high = exp_bounds(1 / Fraction(weak), count + _CANCELLED_BITS)
        return _odds(strong_low) / _odds(weak_high), min(_odds(strong_high) / _odds(weak_low), Fraction(1))

    return bounds


def _odds(p: Fraction) -> Fraction:
    # Rises with p.
    return p / (1 - p) ** 2


def _drawn(weak: float, size: int) -> Sequence[int]:
    drawn: list[int] = laplace_integers(weak, size).tolist()
    return drawn


def _rests(bounds: Bounds, size: int) -> npt.NDArray[np.bool_]:
    """Return coins of the chance: 64 bits decide nearly all of them, the rest get more."""
    low, high = bounds(64)
    words = random_words(size)
    rests = words < np.uint64(math.floor(low * 2**64))
    ceiling = math.ceil(high * 2**64)
    unsure = ~rests if ceiling >= 2**64 else ~rests & (words < np.uint64(ceiling))
    for place in np.flatnonzero(unsure).tolist():
        rests[place] = LazyUniform(int(words[place]), 64).is_below(bounds)
    return rests
