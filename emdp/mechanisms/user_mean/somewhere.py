"""A mean over the users who are somewhere: of their own means, where some users have no record that counts.

Setting. Every user has a number, the mean over own records that are somewhere, or has none. Public is how many users
there are, ``n``, not how many have a number. What is released is ``R = E[v 1]/E[1]``, ``v`` a number cut to an
interval of length ``w`` that is public, or was found by a first round.

Theorem (a curator). Let ``c`` be the interval's middle and ``s = w/2``. Replacing a user moves ``sum (v - c) 1`` and
``s sum 1`` together by at most ``w`` in the 1-norm; with ``s = (sqrt 3/2) w`` in the 2-norm. So the second sum is free:
noise of the same scale as for the first alone on both is ``(epsilon, delta)``-DP. *Proof.* Of two users with numbers
the second sum is the same, and the first moves by ``w`` at most. Of a user with one and a user without the first moves
by ``w/2``, the second by ``s``: ``w/2 + s = w``, and ``w^2/4 + s^2 = w^2``. In whole numbers from ``a`` to ``b`` the
middle is one of them, no number is farther from it than ``h = ceil((b - a)/2)``, and ``s`` is ``b - a - h`` or
``floor(sqrt((b - a)^2 - h^2))``, so that the sums are at most ``b - a`` again. ∎

Messages of every user are :mod:`emdp.mechanisms.user_mean.somewhere_messages`.

*Round one* has one more bin, of users without a number, which is never chosen (:mod:`emdp.mechanisms.user_mean.
range_stage`): its counts and messages are private as before, since a user is in one bin.

Interval. With probability ``1 - tail`` numerator and denominator lie within what their noise, and for messages the deal
(Serfling's inequality for means of ``k`` of ``n`` numbers in an interval of length ``w``), allow; then ``R`` is between
the extreme quotients. Where the denominator may be 0 nothing is known. A range is missed more often where fewer users
vote for it: the bound is taken at the least number that the denominator allows.

Source: elsewhere-periods-continual.md A3; Serfling, "Probability inequalities for the sum in sampling without
replacement" (1974).
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.central.gaussian import least_gaussian_delta
from emdp.mechanisms.crowd import Crowd
from emdp.mechanisms.user_mean.base import UserMeanMechanism, UserMeanRelease, UserMeanSetting
from emdp.mechanisms.user_mean.central import CentralMean, CentralRange, central_candidates
from emdp.mechanisms.user_mean.clipped_mean import ClippedMean
from emdp.mechanisms.user_mean.crowd_questions import find_ranges
from emdp.mechanisms.user_mean.range_stage import RangeStage

__all__ = ["CentralSomewhere", "SomewhereMean", "SomewhereRelease", "central_somewhere", "uneven"]


@dataclass(frozen=True, eq=False)
class SomewhereRelease(UserMeanRelease):
    """A mean over the users who are somewhere, with what it was made of."""

    share: Fraction = Fraction(1)  # Noisy share of users who have a number
    parts: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))  # `c`, and the noisy numerator `E[(v - c) 1]`

    @property
    def is_unknown(self) -> bool:
        """Whether the share is within its own noise, so that nothing is known of the mean."""
        return not isinstance(self.mechanism, SomewhereMean) or self.mechanism.least_share(self, 0.05) <= 0


class SomewhereMean(UserMeanMechanism):
    """A way of releasing a mean over users some of whom have no number."""

    @property
    @abstractmethod
    def whole(self) -> UserMeanSetting:
        """Setting of all users."""

    @property
    def setting(self) -> UserMeanSetting:  # type: ignore[override]
        return self.whole

    @property
    @abstractmethod
    def stage(self) -> RangeStage | None:
        """Round one; None where there is none."""

    @property
    @abstractmethod
    def window(self) -> tuple[float, float]:
        """An interval as long as the longest that numbers are cut to."""

    @abstractmethod
    def spans(self, release: SomewhereRelease, tail: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return ends of ``E[(v - c) 1]`` and of ``E[1]``, which both hold but for a probability of ``tail``."""

    def least_share(self, release: SomewhereRelease, tail: float) -> float:
        """Return a share of users who have a number, that the true one is below with probability ``tail`` at most."""
        return self.spans(release, tail)[1][0]

    def supposed(self, exponent: int) -> SomewhereRelease:
        """Return a release that a preview supposes: everybody somewhere, the mean in the middle of the interval."""
        low, high = self.window
        middle = Fraction(0.5 * low + 0.5 * high)
        start = self._start((low, high), exponent)
        return SomewhereRelease(self, middle, (low, high), None, None, exponent, Fraction(1), (start, middle - start))

    @abstractmethod
    def _start(self, window: tuple[float, float], exponent: int) -> Fraction:
        """Return ``c``."""

    def ends(self, release: UserMeanRelease, tail: float) -> tuple[float, float]:
        """Return the extreme quotients, or all of the interval where nothing is known."""
        if not isinstance(release, SomewhereRelease):
            raise UsageError("release must be one of this mechanism; pass what it released.")
        low, high = release.range
        if self.stage is not None:
            voters = math.floor(self.stage.users * max(self.least_share(release, tail / 4) - self._uneven(tail / 4), 0))
            missed = self.stage.wrong_bin(voters) + self.setting.gamma if voters else 1.0
            tail = 0.5 * tail - max(0.0, missed - self.missed_range)
        if tail <= 0:
            return float(self.setting.low), float(self.setting.high)
        above, below = self.spans(release, tail)
        if below[0] <= 0:
            return low, high
        quotients = [Fraction(a) / Fraction(b) for a in above for b in below]
        start, spare = release.parts[0], 1e-12 * (high - low)
        return float(start + min(quotients)) - spare, float(start + max(quotients)) + spare

    def _uneven(self, tail: float) -> float:
        """Return how much smaller the share may be among those who are asked for a bin."""
        stage = self.stage
        return 0.0 if stage is None else uneven(stage.users, self.setting.users, 1.0, tail)

    def _quotient(
        self, window: tuple[float, float], exponent: int, above: Fraction, below: Fraction, near: Sequence[float | None]
    ) -> SomewhereRelease:
        low, high = map(Fraction, window)
        start = self._start(window, exponent)
        value = start + above / below if below > 0 else (low + high) / 2
        value = min(max(value, low), high)
        return SomewhereRelease(self, value, window, near[0], near[1], exponent, below, (start, above))


@dataclass(frozen=True, eq=False, kw_only=True)
class CentralSomewhere(SomewhereMean):
    """A curator's mean over users who are somewhere: one round, or two, and the share for nothing more.

    >>> import numpy as np
    >>> from emdp.mechanisms.user_mean.range_bins import ABSENT
    >>> setting = UserMeanSetting(1000, 0.0, 1.0, 1.0, elsewhere=True)
    >>> (way,) = central_somewhere(setting)
    >>> values = np.where(np.arange(1000) % 4 == 0, ABSENT, 2**39)
    >>> release = way.release(iter([values]), exponent=40, neutral=ABSENT)
    >>> abs(float(release.value) - 0.5) < 0.1, abs(float(release.share) - 0.75) < 0.1, way.epsilon
    (True, True, 1.0)
    """

    theorem: ClassVar[str] = "noise for a sensitivity of w/n on the mean of users' means and on the share, together"

    inner: CentralMean  # The way for users who all have a number, of a setting with `elsewhere`

    @property
    def whole(self) -> UserMeanSetting:
        return self.inner.setting

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def stage(self) -> RangeStage | None:
        return self.inner.stage if isinstance(self.inner, CentralRange) else None

    @property
    def window(self) -> tuple[float, float]:
        noise = self.inner.noise
        return noise.low, noise.high

    @property
    def epsilon(self) -> float:
        return self.inner.epsilon

    @property
    def delta(self) -> float:
        """0, or the setting's for Gaussian noise."""
        return self._noise_on(self.window).delta

    @property
    def missed_range(self) -> float:
        return self.inner.missed_range

    @property
    def users_needed(self) -> int:
        return self.inner.users_needed

    @property
    def deviation(self) -> float:
        """Deviation of the quotient where all are somewhere and the mean is half-way to an end."""
        return self.inner.deviation * self._more

    @property
    def expected_error(self) -> float:
        return self.inner.expected_error * self._more

    @property
    def _more(self) -> float:
        # Noise of the share, a quarter of the interval times 1/(w/2), or 1/(0.866 w).
        return math.hypot(1.0, 0.5 if self.delta == 0 else 0.5 / math.sqrt(3.0))

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        return (*self.inner.facts(unit), ("share", "of users who are somewhere: by the same noise, free"))

    def ask(self, crowd: Crowd, exponent: int) -> SomewhereRelease:
        """Choose the bin, if there is one, and add noise to both sums: this spends."""
        window, near = self.window, (None, None)
        if self.stage is not None:
            (found,) = find_ranges(crowd, (self.stage,), columns=(0,), exponents=(exponent,))
            window, near = found.window, (found.near, found.near_error)  # type: ignore[assignment]
        above, below = self._noise_on(window).ask_somewhere(crowd, exponent)
        return self._quotient(window, exponent, above, below, near)

    def spans(self, release: SomewhereRelease, tail: float) -> tuple[tuple[float, float], tuple[float, float]]:
        first, second = self._noise_on(release.range).half_widths(tail / 2, release.exponent)
        above, below = float(release.parts[1]), float(release.share)
        return (above - first, above + first), (below - second, min(below + second, 1.0))

    def _start(self, window: tuple[float, float], exponent: int) -> Fraction:
        return self._noise_on(window).middle(exponent)

    def _noise_on(self, window: tuple[float, float]) -> ClippedMean:
        noise = replace(self.inner.noise, low=window[0], high=window[1])
        return noise if noise.delta > least_gaussian_delta(2) else replace(noise, delta=0.0)


def central_somewhere(setting: UserMeanSetting) -> tuple[CentralSomewhere, ...]:
    """Return the ways of a curator for users who may be elsewhere."""
    return tuple(CentralSomewhere(inner=one) for one in central_candidates(setting))


def uneven(part: int, users: int, width: float, tail: float) -> float:
    """Return how far the mean of a part of the users may be from that of all, by Serfling's inequality."""
    if part >= users:
        return 0.0
    left = 1.0 - (part - 1) / users
    return width * math.sqrt(left * math.log(2.0 / tail) / (2.0 * part)) * (1.0 + 1e-12)
