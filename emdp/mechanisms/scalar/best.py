"""The local randomizers of one bounded number at one epsilon, and the best of them."""

from emdp.mechanisms.scalar.hybrid import HybridScalar
from emdp.mechanisms.scalar.laplace import LaplaceScalar
from emdp.mechanisms.scalar.one_bit import OneBitScalar
from emdp.mechanisms.scalar.piecewise import PiecewiseScalar
from emdp.mechanisms.scalar.randomizer import ScalarRandomizer

__all__ = ["best_scalar", "scalar_candidates"]


def scalar_candidates(low: float, high: float, epsilon: float) -> tuple[ScalarRandomizer, ...]:
    """Return the four laws at one epsilon, for a comparison: one bit, Laplace, piecewise, hybrid.

    >>> [(law.name, round(law.variance(), 3)) for law in scalar_candidates(-1.0, 1.0, 2.0)]
    [('one bit', 1.724), ('Laplace', 2.0), ('piecewise', 1.228), ('hybrid', 1.042)]
    """
    return tuple(law(low, high, epsilon) for law in (OneBitScalar, LaplaceScalar, PiecewiseScalar, HybridScalar))


def best_scalar(low: float, high: float, epsilon: float) -> ScalarRandomizer:
    """Return the law whose largest variance in the range is least; the first of equal ones.

    >>> best_scalar(0.0, 5.0, 0.5).name, best_scalar(0.0, 5.0, 1.0).name
    ('one bit', 'hybrid')
    """
    return min(scalar_candidates(low, high, epsilon), key=lambda law: law._relative_variance(None))
