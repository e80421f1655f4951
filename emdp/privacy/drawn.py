"""Records drawn with replacement, each through a randomizer: what pure promise that is for bags of any sizes.

**Theorem.** Let ``R`` be an ``alpha0``-``d_X`` private randomizer of single items (EMD 4) on a space with distances of
at most 1, of which none between two items whose laws differ is below ``w`` (``w = 0``: nothing is known). Let ``M``
draw, for every user apart, ``k`` items independently and uniformly from the user's bag, with replacement, and put out
``R`` of each. Then ``M`` is ``(k C, 0)`` unbounded d_EM-DP, in the local model and so in every other,

    ``C = e^alpha0 (1 - e^(-alpha0 w))/w``, and ``C = alpha0 e^alpha0`` for ``w = 0``.

*Proof.* Let ``P`` and ``Q`` be two bags as laws on items, ``d = d_em(P, Q)``, ``pi`` an optimal coupling, ``y`` an
output, ``R(x)`` its probability (or density) at the item ``x``, and ``f(P) = sum P(x) R(x)``, the law of one draw's
output. If ``R`` is 0 at one item it is at all. Else let ``c`` be its infimum over items; then ``R(x) <= c e^alpha0``.
On the line ``P_t = Q + t (P - Q)`` all ``f(P_t) >= c``, so that

    ``d/dt ln f(P_t) = sum pi(x, x') (R(x) - R(x'))/f(P_t) <= sum pi(x, x') (R(x) - R(x'))_+/c``.

Let ``R(x) > R(x')`` and ``z = d_X(x, x')``, so ``z >= w``. As ``R(x') >= e^(-alpha0 z) R(x)``, ``(R(x) - R(x'))/c <=
(1 - e^(-alpha0 z)) R(x)/c <= e^alpha0 (1 - e^(-alpha0 z)) = z h(z)``, and ``h(z) = e^alpha0 (1 - e^(-alpha0 z))/z``
falls in ``z``: so it is at most ``z C``. The sum is at most ``C d``, hence ``f(P) <= e^(C d) f(Q)``. The ``k`` draws of
a user are independent, and so are users: their ratios multiply. ∎

The bound is attained: on two items at distance 1, all records at the less likely one and a share ``t`` moved,
``ln(1 + t (e^alpha0 - 1))/t`` tends to ``C = e^alpha0 - 1``. So ``k alpha0``, the price of ``k`` records that everybody
has exactly, does not hold here, nor does any rule that makes ``k`` records of bags of any sizes and keeps shares of
items on average: a bag with a share ``t/k`` at another item has it with probability ``t``, and the same ratio shows it.

*Beside the reduction* (:mod:`emdp.privacy.reduction`), which samples alike: that has ``(alpha q, delta, r)`` up to a
distance ``r``; here the loss falls with ``d``, without a delta, and no bag is too far.

*Numerics.* ``C`` is computed in doubles within some units of ``2^-52`` and raised by ``2^-40`` of itself.
"""

import math
from fractions import Fraction

from emdp.base.checks import check_count, check_positive, check_range, check_unit_interval
from emdp.base.errors import UsageError
from emdp.privacy.rounding import float_up

__all__ = ["DRAWN", "drawn_alpha", "drawn_alpha0"]

DRAWN = "k draws with replacement through an alpha0-d_X randomizer cost k e^alpha0 (1 - e^(-alpha0 w))/w"
"""The theorem in one line."""

MARGIN = 1 + Fraction(1, 2**40)
"""Factor that covers the rounding of the constant."""

LARGEST = 600.0
"""Largest strength of a randomizer, for the exponential of it to be a number with room."""

HALVINGS = 60


def drawn_alpha(alpha0: float, draws: int, w_min: float = 0.0) -> float:
    """Return the alpha of draws with replacement from bags of any sizes, each through a randomizer; rounded up.

    Parameters
    ----------
    alpha0 : float
        Strength of the randomizer, from 0 to 600.
    w_min : float
        Smallest distance of two items that it tells apart, in [0, 1]; 0 where nothing is known.

    Raises
    ------
    UsageError
        If an argument is out of its range.

    >>> round(drawn_alpha(0.5, 1, w_min=1.0), 6), round(drawn_alpha(0.5, 1), 6)
    (0.648721, 0.824361)
    """
    strength = check_range("alpha0", alpha0, 0.0, LARGEST)
    least = check_unit_interval("w_min", w_min, zero=True, one=True)
    # No product is rounded to a subnormal number; the strength is the limit, and above.
    change = -math.expm1(-strength * least) / least if strength * least > 2.0**-900 else strength
    return float_up(check_count("draws", draws) * Fraction(math.exp(strength) * change) * MARGIN)


def drawn_alpha0(alpha: float, draws: int, w_min: float = 0.0) -> float:
    """Return the largest strength of a randomizer at which draws cost at most an alpha, as :func:`drawn_alpha` says.

    >>> strength = drawn_alpha0(2.0, 4, w_min=1.0)
    >>> round(strength, 6), drawn_alpha(strength, 4, w_min=1.0) <= 2.0
    (0.405465, True)
    """
    # The constant is at least the strength itself.
    low, high = 0.0, min(check_positive("alpha", alpha) / check_count("draws", draws), LARGEST)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if drawn_alpha(middle, draws, w_min) <= alpha else (low, middle)
    if low == 0.0:
        raise UsageError(f"alpha must be larger for {draws} draws, got {alpha:g}; pass more, or fewer slots.")
    return low
