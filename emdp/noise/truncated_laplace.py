"""The truncated discrete Laplace law: ``P(z)`` proportional to ``exp(-|z|/scale)`` on ``-reach, ..., reach``.

With ``q = exp(-1/scale)`` the weights add up to ``1 + 2 q (1 - q^reach)/(1 - q)``, a geometric series, so that

    ``P(Z = reach) = (1 - q) q^reach/((1 - q) + 2 q (1 - q^reach))``.

Sampling is exact, by refusal, in one of two ways with the same law:

- ``reach >= scale``: a draw of :mod:`emdp.noise.discrete_laplace` is kept if it lies within the reach. The
  law given that it does is the one above, and that happens with probability above ``1 - 2/e > 0.26``.
- ``reach < scale``: an integer ``z`` uniform on ``-reach, ..., reach`` is kept with probability ``exp(-|z|/scale)``,
  which is above ``1/e``. The coin is decided as in :mod:`emdp.noise.flips`: by float64 where the interval of its
  uniform variable is further from the chance than a factor ``1 + 2^-30``, else by rational bounds and more bits.
"""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt

from emdp.base.arrays import Integers
from emdp.base.checks import check_count, check_range
from emdp.base.errors import UsageError
from emdp.noise.choices import draw_below
from emdp.noise.discrete_laplace import MAX_BULK_SCALE, MIN_BULK_SCALE, draw_discrete_laplace_bulk
from emdp.noise.exact import LazyUniform, exp_bounds
from emdp.noise.rng import random_words

__all__ = ["draw_truncated_laplace", "truncated_laplace_edge", "truncated_laplace_standard_deviation"]

_LARGEST_REACH = 2**60
# Twice it, and one more, is a limit that integers below it are drawn for.

_FLOAT_MARGIN = 2.0**-30
# Relative gap at which float64 settles a coin: see the module's text.

_EDGE_MARGIN = 2.0**-40
# Relative, outward: an argument of exp is at most 745, rounded by 2^-53, which moves its value by less than 2^-43.


def draw_truncated_laplace(scale: float, reach: int, size: int) -> Integers:
    """Draw independent integers, ``P(z)`` proportional to ``exp(-|z|/scale)`` for ``|z| <= reach``, exactly.

    Parameters
    ----------
    scale : float
        In [2^-10, 2^46], taken as the exact rational that the float is.
    reach : int
        Largest absolute value, from 0 to 2^60.
    size : int
        How many, at least 0.

    >>> bool(abs(draw_truncated_laplace(3.0, 2, 100)).max() <= 2), draw_truncated_laplace(3.0, 0, 1)
    (True, array([0]))
    """
    scale, reach = _check(scale, reach)
    size = check_count("size", size, minimum=0)
    drawn = np.empty(size, dtype=np.int64)
    pending = np.arange(size)
    while pending.size:
        if reach >= scale:
            drawn[pending] = draw_discrete_laplace_bulk(scale, pending.size)
            refused = np.abs(drawn[pending]) > reach
        else:
            drawn[pending] = draw_below(np.full(pending.size, 2 * reach + 1)) - reach
            refused = ~_is_kept(np.abs(drawn[pending]), scale)
        pending = pending[refused]
    return drawn


def truncated_laplace_edge(scale: float, reach: int) -> float:
    """Return ``P(Z = reach)``, rounded up.

    >>> round(truncated_laplace_edge(1.0, 7), 9)
    0.000421603
    """
    scale, reach = _check(scale, reach)
    step, inside = -math.expm1(-1.0 / scale), -math.expm1(-reach / scale)
    exact = step * math.exp(-reach / scale) / (step + 2.0 * math.exp(-1.0 / scale) * inside)
    return min(1.0, exact * (1.0 + _EDGE_MARGIN) + 5e-324)


def truncated_laplace_standard_deviation(scale: float, reach: int) -> float:
    """Return the standard deviation, to a relative 1e-6 or so.

    >>> round(truncated_laplace_standard_deviation(1.0, 2**20), 6), truncated_laplace_standard_deviation(1.0, 0)
    (1.356962, 0.0)
    """
    scale, reach = _check(scale, reach)
    # Beyond 60 scales nothing is left; with many steps a scale the sum is thinned out evenly.
    last = min(reach, math.ceil(60 * scale) + 1)
    steps = np.arange(1, last + 1, max(1, last // 2**20), dtype=np.float64)
    weights = np.exp(-steps / scale)
    spacing = float(steps[1] - steps[0]) if steps.size > 1 else 1.0
    total = 1.0 + 2.0 * spacing * math.fsum(weights.tolist())
    return math.sqrt(2.0 * spacing * math.fsum((weights * steps**2).tolist()) / total)


def _check(scale: float, reach: int) -> tuple[float, int]:
    number = check_range("scale", scale, MIN_BULK_SCALE, MAX_BULK_SCALE)
    if check_count("reach", reach, minimum=0) > _LARGEST_REACH:
        raise UsageError(f"reach must be at most 2^60, got {reach}; pass a smaller one.")
    return number, int(reach)


def _is_kept(magnitude: Integers, scale: float) -> npt.NDArray[np.bool_]:
    words = random_words(magnitude.size)
    real = words.astype(np.float64)
    chance = np.exp(magnitude / -scale) * 2.0**64
    kept = ((real + 1.0) * (1.0 + _FLOAT_MARGIN) < chance) | (magnitude == 0)
    for index in np.flatnonzero(~(kept | (real > chance * (1.0 + _FLOAT_MARGIN)))).tolist():
        uniform = LazyUniform(int(words[index]), 64)
        kept[index] = uniform.is_below(partial(exp_bounds, int(magnitude[index]) / Fraction(scale)))
    return np.asarray(kept)
