"""Half widths of intervals of a mean of independent terms, by Bernstein, and by Berry and Esseen.

The mean of ``n`` independent terms of mean 0 has an error ``w``, for any ``tail``, that it exceeds with probability at
most that, whatever the terms are:

1. Bernstein. With variances of ``V`` at most on average, and terms within ``b``: ``P(|error| >= w) <= 2 exp(-n w^2/(2
   (V + b w/3)))``, solved for ``w``.
2. Berry and Esseen, with the constant 0.56 for terms of unlike laws (Shevtsova, Doklady Mathematics 82 (2010) 862).
   With ``r >= sum E|.|^3 sqrt(n)/(sum E|.|^2)^(3/2)``: ``P(|error| > w) <= 2 (1 - Phi(w sqrt(n/V))) + 1.12
   r/sqrt(n)``. What the second term takes is taken off the tail; where nothing is left there is no bound.
"""

import math

__all__ = ["bernstein_half", "normal_half"]

_BERRY_ESSEEN = 0.56
_MARGIN = 1e-9
# Relative, added to what is taken off a tail: above the rounding of its evaluation.


def bernstein_half(variance: float, bound: float, count: int, tail: float) -> float:
    """Return a half width by Bernstein's inequality.

    Parameters
    ----------
    variance : float
        ``V``, of one term.
    bound : float
        ``b``, of one term's absolute value.
    count : int
        ``n``.
    tail : float
        Both tails' probability, in (0, 1).

    >>> round(bernstein_half(1.0, 1.0, 10_000, 0.05), 4)
    0.0273
    """
    log = math.log(2.0 / tail) / count
    linear = log * bound / 3.0
    return linear + math.sqrt(linear * linear + 2.0 * log * variance)


def normal_half(variance: float, skew: float, count: int, tail: float) -> float:
    """Return a half width by the normal law, infinite where the terms are too few for it.

    Parameters
    ----------
    variance : float
        ``V``, of one term, the largest.
    skew : float
        ``r``.
    count : int
        ``n``.
    tail : float
        Both tails' probability, in (0, 1).

    >>> round(normal_half(1.0, 0.0, 10_000, 0.05), 4), normal_half(1.0, 1.0, 100, 0.05)
    (0.0196, inf)
    """
    from scipy.special import ndtri

    left = tail - 2.0 * _BERRY_ESSEEN * skew / math.sqrt(count) * (1.0 + _MARGIN)
    return math.inf if left <= 0.0 else -float(ndtri(0.5 * left)) * math.sqrt(variance / count)
