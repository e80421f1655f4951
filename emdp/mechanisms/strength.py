"""The integers behind a frequency oracle: the chance of a set of messages, and the epsilon that it really has.

Every oracle draws from a set of ``inside`` equally likely messages with probability ``a/2^62``, ``a`` an integer, and
else from the ``outside`` other messages, again equally likely. Two messages' probabilities then differ by a factor of
at most ``ratio = a outside/((2^62 - a) inside)``, a rational number, and ``epsilon = ln(ratio)``. The formula behind it
is ``a/2^62 = inside e^epsilon/(inside e^epsilon + outside)``, rounded down, so that ``ratio <= e^epsilon`` holds for
the epsilon asked for. Exponentials and logarithms are correctly rounded decimals of 60 digits
(:func:`emdp.noise.exact.exact_context`), widened outward.
"""

from decimal import Decimal
from fractions import Fraction

from emdp.base.checks import check_range
from emdp.base.errors import RefusedError
from emdp.mechanisms.weights import TOTAL
from emdp.noise.exact import exact_context
from emdp.privacy.rounding import float_up

__all__ = [
    "LARGEST_EPSILON",
    "SMALLEST_EPSILON",
    "check_epsilon",
    "epsilon_of_ratio",
    "inside_numerator",
    "ratio_of",
]

SMALLEST_EPSILON, LARGEST_EPSILON = 1e-6, 40.0
"""Strengths that integers over 2^62 follow closely."""

_DIGITS = 60
_SLACK = Fraction(1, 10**50)
# Above every rounding of 60 digits for numbers up to e^40.


def check_epsilon(epsilon: object) -> float:
    """Return a strength that oracles accept, or raise ``UsageError``.

    >>> check_epsilon(1)
    1.0
    """
    return check_range("epsilon", epsilon, SMALLEST_EPSILON, LARGEST_EPSILON)


def inside_numerator(epsilon: Fraction, inside: int, outside: int) -> int:
    """Return the largest ``a`` of the module's text, so that ``ratio <= exp(epsilon)``.

    Parameters
    ----------
    epsilon : Fraction
        The strength, positive.
    inside, outside : int
        How many messages there are of each kind (or any two numbers in that proportion), positive.

    Raises
    ------
    RefusedError
        If no integer over 2^62 follows so small a strength.

    >>> inside_numerator(Fraction(1), 1, 1) / 2**62
    0.7310585786300049
    """
    context = exact_context(_DIGITS)
    grown = Fraction(context.exp(context.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))))
    grown *= 1 - _SLACK
    numerator = int(TOTAL * inside * grown / (inside * grown + outside))
    numerator = min(numerator, TOTAL - 1)
    if ratio_of(numerator, inside, outside) <= 1:
        raise RefusedError(f"epsilon = {float(epsilon):.3g} is too small for 62-bit probabilities; ask for more.")
    return numerator


def ratio_of(numerator: int, inside: int, outside: int) -> Fraction:
    """Return the largest quotient of two probabilities of one message, exactly.

    >>> ratio_of(3 * 2**60, 1, 1)
    Fraction(3, 1)
    """
    return Fraction(numerator * outside, (TOTAL - numerator) * inside)


def epsilon_of_ratio(ratio: Fraction) -> float:
    """Return the least float whose decimal is at least ``ln(ratio)``, for ``1 < ratio <= 2^124``.

    >>> epsilon_of_ratio(Fraction(3)), epsilon_of_ratio(Fraction(2)) >= 0.6931471805599453
    (1.0986122886681098, True)
    """
    context = exact_context(_DIGITS)
    quotient = context.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    return float_up(Fraction(context.ln(quotient)) + _SLACK)
