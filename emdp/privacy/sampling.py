"""Distance of the samples of two bags, and the number of records to sample; :mod:`emdp.privacy.reduction` uses both.

*Numerics.* ``q`` is found in decimal arithmetic of 60 digits, with a margin far above its rounding, so that it is never
below what the theorem asks for.
"""

from decimal import Context, Decimal, DivisionByZero, InvalidOperation, Overflow, localcontext
from fractions import Fraction
from functools import lru_cache

from emdp.base.checks import check_count, check_finite, check_positive, check_range, check_unit_interval
from emdp.base.errors import UsageError
from emdp.privacy.rounding import as_decimal, float_up

__all__ = [
    "DEFAULT_SECONDS",
    "SECONDS_PER_RECORD",
    "check_r",
    "check_samples",
    "choose_samples",
    "published_reduction_quantile",
    "reduction_quantile",
]

SECONDS_PER_RECORD = 3e-8
"""Cost of drawing and gathering one record, on an ordinary machine: a public constant, measured on no private table."""

DEFAULT_SECONDS = 10.0
"""Time that the choice of a sample size allows for drawing, where nothing is said."""

ENOUGH = Fraction(51, 50)
"""A sample is large enough where ``q`` is at most this many times the ``q`` of the largest sample in the time."""

LARGEST_SAMPLES = 10**9
"""Largest sample of a user: beyond what one user's item-wise release could hold."""

_CONTEXT = Context(prec=60, traps=[InvalidOperation, DivisionByZero, Overflow])
_MARGIN = Decimal("1e-45")
"""Relative and absolute; the rounding of the divergence's terms is below 1e-56, of the hinge below 1e-46."""
_LARGEST_THETA = Decimal("1e12")
"""Beyond it the hinge is taken as here, where its terms still have 47 digits."""
_NEARLY_ONE = 0.999
"""Part 2 reaches below 1 for any delta, by next to nothing: from here on that is not worth spending delta for."""


def reduction_quantile(
    r: float, s: int, delta_s: float, *, alpha: float | None = None, epsilon: float | None = None
) -> float:
    """Return the distance ``q`` that is paid for between two samples of ``s`` records, at a cost of ``delta_s``.

    Parameters
    ----------
    r : float
        Largest earth-mover distance of the bags that they are drawn from, in (0, 1].
    s : int
        Records drawn with replacement from each, from 1 to 1e9.
    delta_s : float
        In [0, 1); 0 gives 1.
    alpha : float, optional
        Of the bounded mechanism, at least 0. With it the bound of the theorem's part 2 is used.
    epsilon : float, optional
        What ``alpha q`` is to be, above 0: in place of ``alpha``.

    Returns
    -------
    float
        The smallest ``q`` in [r, 1] that the theorem of :mod:`emdp.privacy.reduction` allows, rounded up: by its part
        1 where neither ``alpha`` nor ``epsilon`` is given, ``s KL(q‖r) >= ln(1/delta_s)``. At 1 nothing is left to
        chance, and ``delta_s`` is not spent.

    Raises
    ------
    UsageError
        If a parameter is out of its range, or both of the last two are given.

    References
    ----------
    EMD 5 [sharper]; known answers below.

    >>> [f"{reduction_quantile(*case):.6g}" for case in ((0.01, 1000, 1e-12), (0.01, 10000, 1e-12), (0.05, 1000, 1e-6))]
    ['0.0412007', '0.0182497', '0.0900959']
    >>> reduction_quantile(0.5, 10, 1e-6), reduction_quantile(0.5, 10, 0.0)
    (1.0, 1.0)
    >>> round(reduction_quantile(0.01, 1000, 1e-12, epsilon=1.0), 6)
    0.037675
    """
    radius, size = check_r(r), check_samples(s)
    target = check_unit_interval("delta_s", delta_s, zero=True)
    if alpha is not None and epsilon is not None:
        raise UsageError("alpha and epsilon must not both be given, since epsilon is alpha q; pass one of them.")
    if epsilon is not None:
        return _quantile(radius, size, target, None, check_positive("epsilon", epsilon))
    if alpha is not None:
        level = check_finite("alpha", alpha)
        if level < 0:
            raise UsageError(f"alpha must be at least 0, got {level}; pass a number that is not negative.")
        return _quantile(radius, size, target, level, None)
    return _quantile(radius, size, target, None, None)


def published_reduction_quantile(r: float, s: int, delta: float) -> float:
    """Return what the paper has for ``q``, ``(1 + sqrt 2) r + (3/s) ln(1/delta)``, rounded up; it may exceed 1.

    References
    ----------
    EMD 5 [paper, Theorem 5.3], which then pays ``2 delta``.

    >>> f"{published_reduction_quantile(0.01, 1000, 1e-12):.6g}"
    '0.107035'
    """
    radius, size = check_r(r), check_samples(s)
    with localcontext(_CONTEXT):
        tail = 3 * -_decimal(check_unit_interval("delta", delta)).ln() / size
        number = ((1 + Decimal(2).sqrt()) * _decimal(radius) + tail) * (1 + _MARGIN)
    return float_up(Fraction(number))


def choose_samples(n: int, seconds: float = DEFAULT_SECONDS, *, r: float, delta: float) -> int:
    """Return how many records to draw for each user, from public numbers alone.

    *Cost.* Drawing takes about 30 ns a record, ``n s`` records in all: ``s`` is at most ``seconds/(30 ns n)``.

    *Gain.* Let ``epsilon``, ``delta`` and ``r`` be fixed. The bounded mechanism has ``alpha = epsilon/q(s)``. In an
    item-wise release both the user's items ``m = s`` and all items ``N = n s`` grow with ``s``: the noise of one item
    grows like the root of ``s``, and as many more items average it away. So at a fixed alpha ``s`` does not matter,
    and the error goes with ``1/alpha``, that is with ``q(s)``, which falls towards ``r``; the sampling's own error, of
    the order ``1/sqrt(n s)``, falls too. A larger sample is therefore never worse, only slower.

    *Rule.* The smallest ``s`` whose ``q`` is within 2 % of the ``q`` of the largest sample that the time allows.

    Parameters
    ----------
    seconds : float
        Time for drawing, above 0. At least one record is drawn for each user, whatever the time.
    r : float
        In (0, 1].
    delta : float
        Of the whole guarantee, in (0, 1): the choice takes half of it for the sampling.

    Returns
    -------
    int
        From 1 to 1e9.

    >>> choose_samples(100_000, 10.0, r=0.05, delta=1e-9), choose_samples(10, 10.0, r=0.05, delta=1e-9)
    (3001, 1307774)
    """
    people, half = check_count("n", n), check_unit_interval("delta", delta) / 2
    radius = check_r(r)
    affordable = int(check_positive("seconds", seconds) / (SECONDS_PER_RECORD * people))
    largest = min(max(affordable, 1), LARGEST_SAMPLES)
    wanted = as_decimal(reduction_quantile(radius, largest, half)) * ENOUGH
    # q falls with s, so the first size that is good enough is found by halving
    low, high = 0, largest
    while high - low > 1:
        middle = (low + high) // 2
        if as_decimal(reduction_quantile(radius, middle, half)) <= wanted:
            high = middle
        else:
            low = middle
    return high


def check_r(r: object) -> float:
    """Return a protected distance as a float, or raise if it is not in (0, 1]."""
    return check_range("r", check_positive("r", r), 0.0, 1.0)


def check_samples(s: object) -> int:
    """Return a size of samples as an int, or raise if it is not a whole number from 1 to 1e9."""
    size = check_count("samples", s)
    if size > LARGEST_SAMPLES:
        raise UsageError(f"samples must be at most {LARGEST_SAMPLES}, got {size}; pass a smaller number.")
    return size


@lru_cache(maxsize=4096)
def _quantile(r: float, s: int, delta_s: float, alpha: float | None, epsilon: float | None) -> float:
    if r == 1 or delta_s == 0 or alpha == 0:
        # Of alpha 0 nothing is paid at any distance.
        return 1.0
    with localcontext(_CONTEXT):
        radius = _decimal(r)
        wanted = -_decimal(delta_s).ln() * (1 + _MARGIN)
        bad, good = r, 1.0
        while bad < (middle := (bad + good) / 2) < good:
            q = _decimal(middle)
            slope = (q * (1 - radius) / (radius * (1 - q))).ln()
            exponent = s * (q * slope + ((1 - q) / (1 - radius)).ln())
            if alpha is not None:
                exponent += _hinge(s * slope / _decimal(alpha))
            elif epsilon is not None:
                exponent += _hinge(s * slope * q / _decimal(epsilon))
            if exponent * (1 - _MARGIN) - s * _MARGIN >= wanted:
                good = middle
            else:
                bad = middle
    if good > _NEARLY_ONE and (alpha is not None or epsilon is not None):
        return _quantile(r, s, delta_s, None, None)
    return good


def _hinge(theta: Decimal) -> Decimal:
    """Return ``ln(1/C(theta))`` of the theorem's part 2, or less, in the context of the caller; it rises."""
    kept = min(theta, _LARGEST_THETA)
    return (1 + kept).ln() + kept * ((1 + kept) / kept).ln()


def _decimal(number: float) -> Decimal:
    return Decimal(repr(number))
