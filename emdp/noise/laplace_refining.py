"""Stronger discrete Laplace noise, given the weaker noise that was made of it: the step of a refinement, backwards.

Setting. ``X`` has the law ``L_p`` (``P(k)`` proportional to ``p^|k|``), ``Y = X + Z`` with the step ``Z`` of
:mod:`emdp.noise.laplace_steps` the law ``L_q``, ``p = exp(-1/s)``, ``q = exp(-1/t)``, ``s < t``. ``Y = b`` is known;
``X`` is drawn from its law given that. Then ``(X, Y)`` has the law that it would have if ``X`` had been drawn first.

Theorem. Let ``b >= 0`` (else turn signs), ``r = p/q``. Given ``Y = b``, ``X = b`` because ``Z`` rests with probability
``r^(b+1) (1 - q^2)/(1 - p^2)``. Otherwise ``X`` has a law proportional to ``p^|a| q^|b - a|``, which is, up to the
factor ``q^b``: on ``a < 0`` a geometric series of quotient ``p q`` and sum ``p q/(1 - p q)``; on ``0 <= a <= b`` one of
quotient ``r`` and sum ``(1 - r^(b+1))/(1 - r)``; on ``a > b`` one of quotient ``p q`` and sum ``r^b p q/(1 - p q)``.

Proof. ``P(X = b, Z rests) = w (1 - p)/(1 + p) p^b`` over ``P(Y = b) = (1 - q)/(1 + q) q^b``, with ``w = p (1 - q)^2/(q
(1 - p)^2)``, is the first claim. The law of ``X`` where ``Z`` is drawn is proportional to ``L_p(a) L_q(b - a)``. ∎

All quotients are exponentials of rationals: ``p q = exp(-(1/s + 1/t))``, ``r = exp(-(1/s - 1/t))``. So every choice
compares a uniform variable with rational bounds, and every series is inverted exactly (:mod:`emdp.noise.exact`).
One draw takes about a millisecond.
"""

import math
from fractions import Fraction

from emdp.base.errors import UsageError
from emdp.noise.discrete_laplace import check_noise_scale, floor_log
from emdp.noise.exact import Bounds, LazyUniform, exp_bounds
from emdp.noise.rng import random_below, random_bytes

__all__ = ["draw_stronger", "piece_bounds"]

_CANCELLED_BITS = 200
"""More bits than the differences of exponentials lose."""

_MARGIN = 2.0**-30
"""How far from a chance float64 decides."""

Interval = tuple[Fraction, Fraction]


def draw_stronger(weaker: int, strong: float, weak: float) -> int:
    """Draw the noise of a smaller scale of which noise of a larger one was made.

    Parameters
    ----------
    weaker : int
        The noise of scale ``weak``, in grid steps.
    strong, weak : float
        Scales in grid steps, ``strong < weak``.

    >>> type(draw_stronger(5, 1.0, 3.0))
    <class 'int'>
    """
    strong, weak = check_noise_scale(strong), check_noise_scale(weak)
    if not strong < weak:
        raise UsageError(f"weak must be above strong, got {weak} and {strong}; pass the smaller scale first.")
    b = abs(weaker)
    piece = _piece(b, strong, weak)
    both, quotient = 1 / Fraction(strong) + 1 / Fraction(weak), 1 / Fraction(strong) - 1 / Fraction(weak)
    if piece == 0:
        found = b
    elif piece == 1:
        found = -1 - floor_log(1 / both)
    elif piece == 2:
        found = _within(b, quotient)
    else:
        found = b + 1 + floor_log(1 / both)
    return found if weaker >= 0 else -found


def _piece(b: int, strong: float, weak: float) -> int:
    """Return which piece the noise is in: one uniform variable against the chances of the first, the first two, ...

    Where it is further than ``2^-30`` from a chance in float64, whose error is below ``2^-35``, that decides.
    """
    uniform = _uniform()
    first = uniform.bits * 2.0**-64
    pairs = zip(_approximate(b, strong, weak), piece_bounds(b, strong, weak), strict=True)
    for place, (chance, bounds) in enumerate(pairs):
        if first < chance - _MARGIN or (first <= chance + _MARGIN and uniform.is_below(bounds)):
            return place
    return 3


def _approximate(b: int, strong: float, weak: float) -> tuple[float, float, float]:
    fast, slow = 1.0 / strong, 1.0 / weak
    # The difference of the rates in exact arithmetic, since b may be large.
    rate = 1 / Fraction(strong) - 1 / Fraction(weak)
    rho, deep = -float(rate), -min(float((b + 1) * rate), 800.0)
    rest = math.exp(deep) * math.expm1(-2 * slow) / math.expm1(-2 * fast)
    left = 1.0 / math.expm1(fast + slow)
    middle = math.expm1(deep) / math.expm1(rho)
    right = math.exp(deep - rho) * left
    total = left + middle + right
    return rest, rest + (1 - rest) * (left / total), rest + (1 - rest) * ((left + middle) / total)


def piece_bounds(b: int, strong: float, weak: float) -> tuple[Bounds, Bounds, Bounds]:
    """Return bounds of the chances that the noise rests, rests or is below 0, and is not above ``b``.

    Parameters
    ----------
    b : int
        The weaker noise, at least 0.
    strong, weak : float
        Scales in grid steps.

    >>> [round(float(bounds(64)[0]), 4) for bounds in piece_bounds(0, 1.0, 3.0)]
    [0.2889, 0.4373, 0.8517]
    """

    def of(pieces: int) -> Bounds:
        return lambda count: _chances(b, strong, weak, count)[pieces]

    return of(0), of(1), of(2)


def _chances(b: int, strong: float, weak: float, count: int) -> tuple[Interval, Interval, Interval]:
    bits = count + _CANCELLED_BITS
    slow, fast = 1 / Fraction(weak), 1 / Fraction(strong)
    rho, deep = exp_bounds(fast - slow, bits), exp_bounds((b + 1) * (fast - slow), bits)
    both = exp_bounds(fast + slow, bits)
    p_square, q_square = exp_bounds(2 * fast, bits), exp_bounds(2 * slow, bits)
    rest = (
        deep[0] * (1 - q_square[1]) / (1 - p_square[0]),
        min(deep[1] * (1 - q_square[0]) / (1 - p_square[1]), Fraction(1)),
    )
    left = (both[0] / (1 - both[0]), both[1] / (1 - both[1]))
    middle = ((1 - deep[1]) / (1 - rho[0]), (1 - deep[0]) / (1 - rho[1]))
    right = (deep[0] / rho[1] * left[0], deep[1] / rho[0] * left[1])
    below = _joined(rest, _share(left, _sum(middle, right)))
    inner = _joined(rest, _share(_sum(left, middle), right))
    return rest, below, inner


def _sum(one: Interval, other: Interval) -> Interval:
    return one[0] + other[0], one[1] + other[1]


def _share(one: Interval, other: Interval) -> Interval:
    """Return bounds of ``one/(one + other)``."""
    return one[0] / (one[0] + other[1]), one[1] / (one[1] + other[0])


def _joined(rest: Interval, share: Interval) -> Interval:
    """Return bounds of ``rest + (1 - rest) share``, which rises in both."""
    return rest[0] + (1 - rest[0]) * share[0], rest[1] + (1 - rest[1]) * share[1]


def _within(b: int, rate: Fraction) -> int:
    """Return a draw from ``0..b`` with chances proportional to ``exp(-a rate)``; a third of what is proposed stays."""
    while True:
        if b * rate > 1:
            found = floor_log(1 / rate)
            if found <= b:
                return found
        else:
            found = random_below(b + 1)
            if _uniform().is_below(_bounds(found * rate)):
                return found


def _bounds(x: Fraction) -> Bounds:
    return lambda count: exp_bounds(x, count)


def _uniform() -> LazyUniform:
    return LazyUniform(int.from_bytes(random_bytes(8)), 64)
