"""Mixed sides of random directions: every user reports several, each to a shuffler of its own.

Theorem (multimessage-shuffle.md 1 and 2). As :mod:`emdp.mechanisms.vector.direction`, of which it is the mixed form:
``|x|_2 <= r`` in ``R^d``, and each of ``T`` reports is a uniform direction and a sign of ``epsilon'``. Report ``t`` of
all ``n`` users is mixed by shuffler ``t``, or carries that number. A report is a place, drawn without a look at the
vector, and a sign, so that all together are priced as ``T`` rounds of place-sign messages
(:func:`emdp.privacy.shuffle.users.shuffle_total`). The estimate is unbiased with a mean squared error of ``(M^2 - mean
|x|^2)/(n T)``, ``M = r coth(epsilon'/2) sqrt(pi) Gamma((d + 1)/2)/Gamma(d/2)``.

Proof. Given the vector the reports are independent and alike; one has the length ``M`` and the mean ``x``. The law of
one report is that of the module above, with ``epsilon'`` of its own.

Whoever collects a user's messages before they are mixed has ``T epsilon'``.

Directions and coordinates. As ``epsilon'`` falls the error tends to ``pi/2`` times that of a curator's Gaussian noise
for the ball. In the *box* ``[-B, B]^d``, whose ball has ``r^2 = d B^2``, bits of each coordinate tend to the Gaussian
noise of the box itself: there directions are ``pi/2`` worse at every number of messages, and are not used. Turned at
random and cut to ``2 ln(2 n D/beta) r^2/D`` a coordinate, bits have ``2 ln(2 n D/beta)`` where directions have
``pi/2``, so that a ball is served by directions alone.
"""

from fractions import Fraction
from typing import ClassVar

from emdp.base.checks import check_range
from emdp.mechanisms.strength import LARGEST_EPSILON, SMALLEST_EPSILON, epsilon_of_ratio
from emdp.mechanisms.vector.direction import VectorDirection
from emdp.mechanisms.vector.randomizer import SignStrength
from emdp.privacy.rounding import as_decimal, float_up

__all__ = ["MixedDirections"]


class MixedDirections(VectorDirection):
    """Sides of random directions, each mixed apart.

    Parameters
    ----------
    dimension, radius : int, float
        Of the ball in the 2-norm.
    each : float
        ``epsilon'`` of one report, from 1e-6 to 40.
    users : int
        The public number of users.
    reports : int
        ``T``: how many directions a user reports, up to 1024.

    Guarantee
    ---------
    What :func:`emdp.privacy.shuffle.users.shuffle_total` says of ``reports`` rounds of place-sign messages of ``each``.

    >>> sides = MixedDirections(300, 1.0, 0.8654, 1000, reports=64)
    >>> round(sides.squared_error(), 4)
    0.0443
    """

    name: ClassVar[str] = "mixed sides of random directions"
    theorem: ClassVar[str] = "T place-sign messages, each mixed apart, priced as T rounds (multimessage-shuffle.md 2)"

    def __init__(self, dimension: int, radius: float, each: float, users: int, *, reports: int) -> None:
        self.each = check_range("each", each, SMALLEST_EPSILON, LARGEST_EPSILON)
        super().__init__(dimension, radius, self.each, users, reports=reports)

    @property
    def each_epsilon(self) -> float:
        """The epsilon of one report, from its integers, rounded up; at most ``each``."""
        return min(epsilon_of_ratio(self.strength.ratio), self.each)

    @property
    def epsilon(self) -> float:
        """The epsilon of all messages of a user together, for whoever sees them before they are mixed; rounded up."""
        return float_up(as_decimal(self.each_epsilon) * self.reports)

    def _strength_at(self, reports: int) -> SignStrength:
        del reports
        return SignStrength.of(Fraction(as_decimal(self.each)))
