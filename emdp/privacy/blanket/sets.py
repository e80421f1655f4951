"""Shuffled messages of set oracles: their exact blanket, from four numbers, whatever the number of items.

**Setting.** All ``n`` users send one message each by one randomizer ``R``, and the multiset is released; ``n`` is
public. ``R`` is a *set oracle*: there is a law ``omega`` of messages, and for each item ``x`` a set ``S_x``, all of one
mass ``u = omega(S_x)``, with ``R(y|x) = omega(y) (g if y in S_x else 1)/Z``, ``Z = 1 - u + u g``, ``g > 1``. A user
with several records draws one of them, by any rule, and sends its message.

**Theorem** (shuffle-known-randomizers.md 1 and 3; the blanket of Balle, Bell, Gascon and Nissim 2019). Let one user's
item be ``x`` or ``x'``, all others' anything, ``a = omega(S_x - S_x')``, ``b = omega(S_x & S_x')``. With ``E =
e^epsilon``, ``M ~ Bin(n, 1/Z)`` and ``N1 .. N4`` multinomial of ``M`` with chances ``a, a, b, 1 - 2a - b``,

    ``H_E <= delta(epsilon) = (1/n) E[(N1 (g - E) + N2 (1 - E g) + (N3 g + N4)(1 - E))_+]``.

The same holds for any two users with any records.

*Proof.* ``omega(y)/Z`` is below every ``R(y|x)`` and has mass ``1/Z``: a blanket, to which the theorem of
:mod:`emdp.privacy.blanket.step` applies. ``(R(y|x) - E R(y|x'))/(omega(y)/Z)`` is ``g - E`` on ``S_x`` alone, ``1 - E
g`` on ``S_x'`` alone, ``g (1 - E)`` on both and ``1 - E`` elsewhere. ``omega(S_x) = omega(S_x')``, so both differences
have the mass ``a``, and the pair ``(x', x)`` has the same law. A user with several records sends a message of a
mixture of the ``R(.|x)``; the release is linear in that law and ``H_E`` jointly convex: two mixtures are at most as far
apart as the farthest two items, and equal items are at 0. ∎

**Users that are near.** Let two users' laws of the item drawn differ by ``d`` in total variation. Then the releases are
``(epsilon(d), delta)``-indistinguishable with ``epsilon(d) = ln(1 + d (e^epsilon - 1))`` for any epsilon with
``delta(epsilon) <= delta/d``. *Proof.* Let the laws be ``(1-d) c + d a`` and ``(1-d) c + d b``, and ``F_a``, ``F_b``,
``F_c`` the releases where the user's item has the law ``a``, ``b``, ``c``. For ``E' = 1 + d (E - 1)``

    ``(1-d) F_c + d F_a - E' ((1-d) F_c + d F_b) = d (F_a - E ((1-beta) F_c + beta F_b))``,  ``beta = E'/E``,

(advanced joint convexity, Balle, Barthe and Gaboardi 2018, Theorem 2): ``H_E' <= d max(H_E(F_a, F_c), H_E(F_a, F_b)) <=
d delta(epsilon)``. ∎ So it is ``(alpha, delta)`` d_EM-DP on 0/1 distances, for users with any numbers of records, with
``alpha = sup_d epsilon(d)/d``. *Bound between points.* For ``d`` in ``[d1, d2]`` it suffices that ``delta(epsilon) <=
delta/d2`` at ``e^epsilon = 1 + (e^(alpha d1) - 1)/d1``: this rises with ``d1``, and ``delta`` falls with epsilon.

**Numerics.** ``(1/n) E[(..)_+]`` by :mod:`emdp.privacy.blanket.sum`, which rounds up and covers its own smoothing,
tails and rounding: the logarithm of delta is at most :data:`EXCESS` too high. ``g``, ``u``, ``a``, ``b`` are exact.
"""

import math
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from emdp.base.checks import check_count, check_finite, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.privacy.blanket.step import Step
from emdp.privacy.rounding import as_decimal, float_up
from emdp.privacy.shuffle.binary import binary_epsilon
from emdp.privacy.shuffle.grid import LARGEST_ALPHA0, LARGEST_ITEMS

__all__ = ["EXCESS", "SetLaw"]

EXCESS = 1e-4
"""Largest addition of smoothing to the logarithm of delta: an excess of epsilon of about 1e-5 of it."""
_TOLERANCE = 1e-6
"""Relative width at which a search for an epsilon or alpha ends, on the safe side."""
_NARROW = 0.98
"""Quotient of the ends of the narrowest intervals of distances that are looked at."""
_ALPHA_TOLERANCE, _ALPHA_EXCESS = 1e-3, 1e-2
"""The same for an alpha, which takes dozens of sums: about 0.3 % of it together."""
_LARGEST = 700.0
"""Larger levels than this count as this one: beyond it exponentials leave the floats."""
_DIGITS = 40
"""Of logarithms, correctly rounded."""


@dataclass(frozen=True)
class SetLaw:
    """The law of a set oracle, as far as mixing its messages depends on it.

    Parameters
    ----------
    ratio : Fraction
        ``g``, above 1: how much likelier a message of an item's set is.
    share : Fraction
        ``u``, in (0, 1): the mass of a set.
    overlaps : tuple of (Fraction, Fraction)
        ``(a, b)`` of every kind of pair of items: the mass that one set has alone, and that both have.

    Raises
    ------
    UsageError
        If these are no masses of two sets of one size.

    Examples
    --------
    10-ary and 100-ary randomized response, of 10,000 users (shuffle-known-randomizers.md 3).

    >>> from fractions import Fraction
    >>> laws = [SetLaw(Fraction(math.exp(e0)), Fraction(1, k), ((Fraction(1, k), Fraction(0)),))
    ...         for e0, k in ((2.0, 10), (4.0, 100))]
    >>> [round(law.epsilon(10_000, 1e-6), 5) for law in laws]
    [0.0798, 0.23374]
    """

    ratio: Fraction
    share: Fraction
    overlaps: tuple[tuple[Fraction, Fraction], ...]

    def __post_init__(self) -> None:
        if not (self.ratio > 1 and 0 < self.share < 1 and self.overlaps):
            raise UsageError("ratio must be above 1 and share between 0 and 1, with an overlap; pass an oracle's own.")
        for alone, both in self.overlaps:
            if not (alone >= 0 and both >= 0 and alone + both == self.share and 2 * alone + both <= 1):
                raise UsageError("overlaps must be (a, b) with a + b = share and 2a + b <= 1; pass an oracle's own.")

    @property
    def pure(self) -> float:
        """The epsilon of a single message, rounded up."""
        return _log_up(self.ratio)

    @property
    def is_binary(self) -> bool:
        """Whether a message says no more than one bit."""
        return all(alone == Fraction(1, 2) for alone, _ in self.overlaps)

    def delta(self, epsilon: float, n: int) -> float:
        """Return delta of ``n`` mixed messages at an epsilon, rounded up.

        >>> law = SetLaw(Fraction(3), Fraction(1, 3), ((Fraction(1, 3), Fraction(0)),))
        >>> round(law.delta(0.5, 1), 6), law.delta(1.1, 1000)
        (0.270256, 0.0)
        """
        found = self._log_delta(_check_level(epsilon), _check_users(n))
        return min(math.exp(min(found, 0.0)) * (1 + 1e-15), 1.0)

    def epsilon(self, n: int, delta: float, apart: float = 1.0) -> float:
        """Return epsilon of ``n`` mixed messages at ``delta``, rounded up, of any two users or of near ones.

        Parameters
        ----------
        n : int
            Users, each of whom sends one message.
        delta : float
            In (0, 1).
        apart : float
            In (0, 1]: how far two users' laws of the drawn item may be from each other; 1 for any two users.

        Raises
        ------
        UsageError
            If an argument is out of its range.
        """
        users, chance, near = _check_users(n), check_unit_interval("delta", delta), _check_apart(apart)
        if chance >= near:
            return 0.0
        inner = min(chance / near * (1 - 1e-15), 1 - 2.0**-53)
        found = _whole_epsilon(self, users, inner)
        return found if near == 1.0 else math.log1p(near * math.expm1(found)) * (1 + 1e-14)

    def fits(self, epsilon: float, n: int, delta: float, apart: float = 1.0, *, is_rough: bool = False) -> bool:
        """Return whether :meth:`epsilon` is at most an epsilon: one sum, no search.

        With ``is_rough`` it is the quick answer of an approximation, to search by and not to rely on.

        >>> law = SetLaw(Fraction(3), Fraction(1, 3), ((Fraction(1, 3), Fraction(0)),))
        >>> bound = law.epsilon(1000, 1e-6)
        >>> law.fits(bound * 1.001, 1000, 1e-6), law.fits(bound * 0.999, 1000, 1e-6)
        (True, False)
        """
        users, chance, near = _check_users(n), check_unit_interval("delta", delta), _check_apart(apart)
        level = _check_level(epsilon)
        if chance >= near or as_decimal(_inner_level(level, near)) >= as_decimal(self.pure):
            return True
        log_delta = self._estimate if is_rough else self._log_delta
        return log_delta(_inner_level(level, near), users) <= math.log(chance / near) - 1e-12

    def alpha(self, n: int, delta: float) -> float:
        """Return alpha of ``n`` mixed messages at ``delta`` for d_EM-DP on 0/1 distances, rounded up; any sizes.

        >>> law = SetLaw(Fraction(3), Fraction(1, 3), ((Fraction(1, 3), Fraction(0)),))
        >>> law.epsilon(1000, 1e-6) <= law.alpha(1000, 1e-6) <= math.expm1(law.epsilon(1000, 1e-6))
        True
        """
        whole = self.epsilon(n, delta)
        good, bad = math.expm1(whole) * (1 + 1e-12), whole * (1 - 1e-12)
        while good - bad > _ALPHA_TOLERANCE * good:
            middle = (good + bad) / 2
            good, bad = (middle, bad) if self.fits_alpha(middle, n, delta) else (good, middle)
        return min(good, float_up(self.ratio - 1))

    def fits_alpha(self, alpha: float, n: int, delta: float, *, is_rough: bool = False) -> bool:
        """Return whether :meth:`alpha` is at most an alpha, by the bound between points; see :meth:`fits`."""
        users, log_delta = _check_users(n), math.log(check_unit_interval("delta", delta)) - 1e-12
        level = _check_level(alpha)
        if as_decimal(level) >= self.ratio - 1:
            return True
        high, quotient = 1.0, 0.5
        least = self._at(math.log1p(level) * (1 - 1e-14), users, is_rough)
        while least > log_delta - math.log(high):
            place = high * quotient
            if self._at(_chord_level(level, place), users, is_rough) > log_delta - math.log(high):
                quotient = math.sqrt(quotient)
                if quotient > _NARROW:
                    return False
            else:
                high, quotient = place, quotient * quotient
        return True

    @cached_property
    def _steps(self) -> tuple[Step, ...]:
        return tuple(self._step(alone, both) for alone, both in dict.fromkeys(self.overlaps))

    def _step(self, alone: Fraction, both: Fraction) -> Step:
        total = 1 - self.share + self.share * self.ratio
        gain, large = float(self.ratio - 1), float(self.ratio)
        atoms = [(gain, 1.0, alone), (-gain, large, alone), (0.0, large, both), (0.0, 1.0, 1 - 2 * alone - both)]
        kept = [(first, second, float(mass / total) * (1 - 2.0**-51)) for first, second, mass in atoms if mass > 0]
        gains, seconds, masses = (np.array(column) for column in zip(*kept, strict=True))
        return Step(gains, seconds, masses, np.zeros(0), np.zeros(0), 1.0)

    def _at(self, epsilon: float, n: int, is_rough: bool) -> float:
        return self._estimate(epsilon, n) if is_rough else self._log_delta(epsilon, n, _ALPHA_EXCESS)

    def _estimate(self, epsilon: float, n: int) -> float:
        return max(step.log_estimate(epsilon, n) for step in self._steps)

    def _log_delta(self, epsilon: float, n: int, excess: float = EXCESS) -> float:
        return max(step.log_delta(epsilon, n, excess=excess) for step in self._steps)


@lru_cache(maxsize=4096)
def _whole_epsilon(law: SetLaw, n: int, delta: float) -> float:
    log_delta = math.log(delta) - 1e-12
    good, bad = law.pure, 0.0
    while good - bad > _TOLERANCE * good:
        middle = (good + bad) / 2 if bad > 0 else good / 4
        if law._log_delta(middle, n) <= log_delta:
            good = middle
            if good < law.pure * 2.0**-60:
                break
        else:
            bad = middle
    if law.is_binary and n > 1 and law.pure <= LARGEST_ALPHA0:
        return min(good, binary_epsilon(law.pure, n, delta))
    return good


def _inner_level(epsilon: float, apart: float) -> float:
    """Return the epsilon of whole moves behind that of users ``apart``, rounded down."""
    if apart == 1.0:
        return epsilon
    return min(math.log1p(math.expm1(epsilon) / apart) * (1 - 1e-14), _LARGEST)


def _chord_level(alpha: float, distance: float) -> float:
    return _inner_level(min(alpha * distance, _LARGEST) * (1 - 1e-15), distance)


def _log_up(ratio: Fraction) -> float:
    """Return ``ln(ratio)``, rounded up."""
    context = Context(prec=_DIGITS)
    quotient = context.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    return float_up(Fraction(context.ln(quotient)) + Fraction(1, 10**35))


def _check_users(n: object) -> int:
    return min(check_count("n", n), LARGEST_ITEMS)


def _check_apart(apart: object) -> float:
    return check_unit_interval("apart", apart, one=True)


def _check_level(value: object) -> float:
    number = check_finite("epsilon", value)
    if number < 0:
        raise UsageError(f"epsilon must be at least 0, got {number}; pass a number that is not negative.")
    return min(number, _LARGEST)
