"""The law of a sum of many independent Laplace or K-norm coordinates: the difference of two Gamma variables.

The 2-norm K-norm law of scale ``w`` on R^d has the characteristic function ``(1 + w^2 |t|^2)^(-(d+1)/2)`` (it is a
Gaussian vector whose variance is mixed over a Gamma law: ``exp(-|x|/w)`` is Student's characteristic function, and this
is its transform). So one coordinate has ``(1 + w^2 t^2)^(-(d+1)/2)``; a Laplace variable is the case ``d = 1``. The
sum of ``n`` independent ones has the power ``n`` of it, ``(1 - i w t)^(-s) (1 + i w t)^(-s)`` with ``s = n (d + 1)/2``:
the law of ``G - G'`` for independent ``G, G'`` of law Gamma(s, w). Its variance is ``2 s w^2`` and its mean absolute
value ``2 w Gamma(s + 1/2)/(sqrt(pi) Gamma(s))``.

``P(G - G' > x) = E P(G > x + G')`` is integrated over ``G'`` by Gauss-Legendre panels that halve towards both ends.
"""

import itertools
import math
from functools import lru_cache

import numpy as np

from emdp.base.checks import check_positive, check_unit_interval

__all__ = ["gamma_difference_mean_absolute", "gamma_difference_quantile", "gamma_difference_tail"]

_PANELS, _NODES = 40, 24
# Panels that halve towards each end of (0, 1), and nodes in each: tails down to 1e-12 to a relative 1e-9.

_MARGIN = 1e-7
# Relative, taken off a tail before it is inverted and added to the quantile: above the error of both steps.

_STEPS = 200
# Bisections; the interval is a double's spacing long before.


def gamma_difference_tail(x: float, shape: float) -> float:
    """Return ``P(G - G' > x)`` for independent Gamma variables of that shape and scale 1, ``x >= 0``.

    >>> round(gamma_difference_tail(1.0, 1.0), 9) == round(0.5 * math.exp(-1.0), 9)
    True
    """
    from scipy.special import gammaincc, gammaincinv

    u, weights = _nodes()
    other = gammaincinv(check_positive("shape", shape), u)
    return float(np.dot(weights, gammaincc(shape, x + other)))


def gamma_difference_quantile(tail: float, shape: float) -> float:
    """Return a ``q >= 0`` with ``P(|G - G'| > q) <= tail``, rounded outward.

    Parameters
    ----------
    tail : float
        In (0, 1), at least 1e-12.
    shape : float
        Above 0: ``n (d + 1)/2`` for the sum of ``n`` coordinates of ``d``-dimensional K-norm draws of scale 1.

    >>> round(gamma_difference_quantile(0.05, 1.0), 4), round(-math.log(0.05), 4)
    (2.9957, 2.9957)
    """
    half = 0.5 * check_unit_interval("tail", tail) * (1.0 - _MARGIN)
    deviation = math.sqrt(2.0 * check_positive("shape", shape))
    low, high = 0.0, deviation
    while gamma_difference_tail(high, shape) > half:
        low, high = high, 2.0 * high
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if gamma_difference_tail(middle, shape) > half:
            low = middle
        else:
            high = middle
    return high * (1.0 + _MARGIN)


def gamma_difference_mean_absolute(shape: float) -> float:
    """Return ``E|G - G'|`` for scale 1.

    >>> gamma_difference_mean_absolute(1.0)
    1.0
    """
    shape = check_positive("shape", shape)
    if shape > 1e6:
        # The ratio of Gamma functions is sqrt(shape) up to a relative 1/(8 shape).
        return 2.0 * math.sqrt(shape / math.pi)
    return float(round(2.0 / math.sqrt(math.pi) * math.exp(math.lgamma(shape + 0.5) - math.lgamma(shape)), 12))


@lru_cache(maxsize=1)
def _nodes() -> tuple[np.ndarray, np.ndarray]:
    points, weights = np.polynomial.legendre.leggauss(_NODES)
    edges = [0.0, *(0.5 ** np.arange(_PANELS, 0, -1))]
    panels = list(itertools.pairwise(edges))
    u = np.concatenate([0.5 * (low + high) + 0.5 * (high - low) * points for low, high in panels])
    w = np.concatenate([0.5 * (high - low) * weights for low, high in panels])
    return np.concatenate([u, 1.0 - u]), np.concatenate([w, w])
