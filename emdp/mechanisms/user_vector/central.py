"""The mean of users' vectors by a trusted curator: a private range of each coordinate, then noise on the clipped mean.

Theorem. Let ``R`` ranges be chosen, each ``epsilon_1``-DP (:class:`emdp.mechanisms.user_mean.range_stage.MedianRange`,
the median bin by permute-and-flip). Clip every user's vector to them, subtract their lower ends, divide by the longest
interval that the coordinate can have, and average: when one user is replaced each of ``D`` coordinates changes by at
most ``1/n``, the vector by ``D/n`` in the 1-norm and ``sqrt(D)/n`` in the 2-norm. Laplace noise for that at
``epsilon_2`` is ``(R epsilon_1 + epsilon_2, 0)``-DP at user level, Gaussian noise at ``(epsilon_2, delta)`` is ``(R
epsilon_1 + epsilon_2, delta)``-DP, for any records; neighbours replace one user's.

Proof. Given the ranges the sensitivities hold, whatever these are. Then sequential composition.

*Tighter.* Each choice is dominated by the randomised response of ``epsilon_1``, the Gaussian release by a pair ``N(0,
1), N(mu, 1)``, for every outcome of what went before. All levels are fixed before the release, so that the product of
these pairs dominates the whole (Zhu, Dong and Wang 2022, theorem 10: dominating pairs compose adaptively), and its
smallest epsilon at ``delta`` is that of :func:`emdp.privacy.account.composition.tight`. The noise is the least for
which it is what may be spent. With 64 coordinates it gives back most of what the choices would cost by themselves.

The budget. A wrong bin has probability ``(k - 1) exp(-epsilon_1 ceil(n/2)/2)/2`` at most, while noise falls with
``1/epsilon_2`` alone: the part of the ranges is the one of least expected error, seldom more than a tenth.

The ball. Vectors of a ball of radius ``L`` that are averaged as they are, in units of ``2 L``, change by ``1/n`` in the
2-norm, plus rounding: turned coordinates are computed within ``2^-44 L`` each, so that ``sqrt(D) 2^-42/n`` covers it
for any ``D`` up to ``2^20``.

Every coordinate's noise is in proportion to its longest interval. Neither the sum of the squared errors nor privacy
would change if it were the same for all; so units of measurement do not matter. Intervals are ``6 tau`` long: users in
two neighbouring bins need that, ``4 tau`` as published would clip them.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.classes import dataclass
from emdp.base.errors import InternalError
from emdp.mechanisms.central.additive import AdditiveMechanism
from emdp.mechanisms.central.gaussian import GaussianMechanism
from emdp.mechanisms.central.laplace import LaplaceMechanism
from emdp.mechanisms.crowd import Crowd, Groups, Sums
from emdp.mechanisms.local.noise import exact_sums
from emdp.mechanisms.user_mean.base import HIGHEST_LEVEL
from emdp.mechanisms.user_mean.crowd_questions import find_ranges
from emdp.mechanisms.user_mean.range_stage import MedianRange, least_users
from emdp.mechanisms.user_vector.base import UserVectorMechanism, UserVectorRelease
from emdp.mechanisms.user_vector.rotation import draw_rotation
from emdp.privacy.account.composition import Total, tight
from emdp.privacy.events.table import GuaranteeEvent
from emdp.privacy.guarantees.kinds import UserDP
from emdp.privacy.rounding import as_decimal, float_at_least, float_up, root_up

__all__ = ["CentralUserVector"]

_STEPS = 12
# Halvings of what the sum of the levels leaves unused: a four-thousandth of it is lost at most.

_SHRINKS = 64
# Chernoff's bound is evaluated at so many points.


@dataclass(frozen=True, eq=False)
class CentralUserVector(UserVectorMechanism):
    """Ranges and noise; see :class:`UserVectorMechanism`.

    Guarantee
    ---------
    ``(epsilon, delta)`` central user-level, with ``slack_epsilon`` for the grid of the noise. The module's text has the
    proof.

    >>> from emdp.mechanisms.user_vector.setting import UserVectorSetting, frames_of
    >>> setting = UserVectorSetting(5000, (0.0, -50.0), (9.0, 50.0), 1.0, spread=(1.0, 1.0), records=100)
    >>> _, frame = frames_of(setting)
    >>> mechanism = CentralUserVector(setting, frame, first=0.02, second=0.96, is_gaussian=False)
    >>> released = mechanism.release(iter([np.full((5000, 2), 7 * 2**40)]), (40, 40), (0, 0))
    >>> abs(float(released.value[1]) - 7.0) < 0.1, mechanism.epsilon, round(mechanism.deviation, 4)
    (True, 1.0, 0.0028)
    """

    first: float  # Epsilon of the choice of one coordinate's range, 0 in a frame without ranges
    second: float  # Level of the noise: `epsilon_2`
    is_gaussian: bool  # Whether the noise is Gaussian, at the setting's delta, or Laplace

    @property
    def name(self) -> str:
        rounds = "range by median bins, then mean" if self.frame.ranged else "the mean at once"
        turned = ", turned at random" if self.frame.is_turned else ""
        return f"{rounds}; {self.noise.name} noise{turned}"

    @property
    def theorem(self) -> str:
        found = "median bins by permute-and-flip (LSU 2.4), " if self.frame.ranged else ""
        return f"{found}{self.noise.name} noise on the clipped mean (EMD 2, EMD 8.5)"

    @property
    def is_ball(self) -> bool:
        """Whether vectors are averaged as they are, in the ball that they lie in."""
        return self.is_gaussian and self.frame.is_turned and not self.frame.is_cut and not self.frame.ranged

    @cached_property
    def noise(self) -> AdditiveMechanism:
        """The noise on the mean in units of the longest intervals."""
        width, users = self.frame.width, self.setting.users
        if self.is_gaussian:
            root = Fraction(root_up(Fraction(width)))
            change = float_at_least((1 + root / 2**42 if self.is_ball else root) / users)
            return GaussianMechanism(
                sensitivity=change, alpha=self.second, delta=self.setting.delta, dimension=width, magnitude=1.0
            )
        change = float_at_least(Fraction(width, users))
        return LaplaceMechanism(sensitivity=change, alpha=self.second, dimension=width, magnitude=1.0)

    @cached_property
    def total(self) -> Total:
        """Joint guarantee of ranges and noise."""
        if self.is_gaussian and self.frame.ranged:
            choices = [GuaranteeEvent(UserDP(self.first), "median bin")] * len(self.frame.ranged)
            return tight([*choices, self.noise.event(UserDP(0.0))], self.setting.delta)
        level = as_decimal(self.second) + len(self.frame.ranged) * as_decimal(self.first)
        return Total(UserDP(float_up(level), self.delta), self.noise.slack_epsilon)

    @property
    def epsilon(self) -> float:
        """Epsilon of all ranges and the noise together, rounded up."""
        return self.total.guarantee.level

    @property
    def delta(self) -> float:
        """0 for Laplace noise, the setting's for Gaussian."""
        return self.setting.delta if self.is_gaussian else 0.0

    @property
    def slack_epsilon(self) -> float:
        return self.total.slack_epsilon

    @property
    def slack_delta(self) -> float:
        return self.noise.slack_delta

    @property
    def users_needed(self) -> int:
        if not self.frame.ranged:
            return 1
        target = self.setting.failure - self.setting.gamma
        return least_users(lambda users: min(1.0, math.fsum(self._wrong(users))), target)

    def wrong_bins(self, *, tolerant: bool = False) -> tuple[float, ...]:
        return self._wrong(self.setting.tolerated(self.setting.users) if tolerant else self.setting.users)

    @cached_property
    def deviation(self) -> float:
        squares = math.fsum((high - low) ** 2 for low, high in self.frame.windows)
        return self.noise.standard_deviation * math.sqrt(self.frame.share * squares)

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        shown = [("mean", f"{self.noise.name} noise at epsilon {self.second:.6g}"), *self.noise.facts(unit)]
        if self.frame.ranged:
            most = max(self.frame.bins[place].count for place in self.frame.ranged)
            told = f"{len(self.frame.ranged)} of them at epsilon {self.first:.6g} each, up to {most} bins"
            shown += [("ranges", told), ("missed range", f"with probability {self.missed_range:.3g} at most")]
        return tuple(shown)

    def ask(self, crowd: Crowd, exponents: Sequence[int]) -> UserVectorRelease:
        """Choose the ranges, clip, and add noise: this spends; see the base class."""
        self.check_budget()
        rotation = None
        if self.frame.is_turned and self.setting.radius is not None:
            rotation = draw_rotation(self.frame.width, self.setting.centres, self.setting.radius)
            crowd = crowd.mapped(partial(rotation.turn, exponents=tuple(exponents)))
            exponents = (rotation.exponent,) * self.frame.width
        windows = [(own.low, own.high) for own in self.frame.bins]
        ranged = self.frame.ranged
        stages = [MedianRange(self.frame.bins[place], self.setting.users, self.first) for place in ranged]
        own_exponents = [exponents[place] for place in ranged]
        for place, one in zip(ranged, find_ranges(crowd, stages, columns=ranged, exponents=own_exponents), strict=True):
            windows[place] = one.window
        pairs = zip(windows, self.frame.windows, exponents, strict=True)
        cuts = [_cut(window, longest, exponent) for window, longest, exponent in pairs]
        *totals, users = map(int, crowd.added(_Clipped(tuple(cut[:2] for cut in cuts)), is_last=True))
        if users != self.setting.users:
            raise InternalError("a mean got another number of users than was planned; please report it.")
        parts = [Fraction(total, users * span) for total, (_, _, span) in zip(totals, cuts, strict=True)]
        units = [Fraction(2) ** -exponent for exponent in exponents]
        noisy = self.noise.release(parts)
        estimates = [(low + one * span) * unit for one, (low, _, span), unit in zip(noisy, cuts, units, strict=True)]
        value = tuple(estimates) if rotation is None else rotation.back([float(one) for one in estimates])
        return UserVectorRelease(value, tuple(windows), self)

    def ends(self, released: UserVectorRelease, coordinate: int, tail: float) -> tuple[float, float]:
        value = float(released.value[coordinate])
        low, high = self.frame.windows[coordinate]
        if not self.frame.is_turned:
            half = self.noise.interval_half_width(min(1.0 - tail, HIGHEST_LEVEL)) * (high - low) * (1.0 + 2.0**-30)
        else:
            # A grid step a coordinate, rounded; their combination is at most root D times that.
            half = (self._turned_half(tail) + self.noise.grid * math.sqrt(self.frame.width)) * (high - low)
            half *= 1.0 + 2.0**-30
        return value - half, value + half

    def tightened(self) -> "CentralUserVector":
        """Return the same with the least Gaussian noise for which the whole is what may be spent."""
        if not (self.is_gaussian and self.frame.ranged):
            return self
        room = as_decimal(self.setting.epsilon)
        best, low, high = self, self.second, self.setting.epsilon
        for _ in range(_STEPS):
            middle = 0.5 * low + 0.5 * high
            other = replace(self, second=middle)
            if as_decimal(other.epsilon) <= room:
                best, low = other, middle
            else:
                high = middle
        return best

    def _wrong(self, users: int) -> tuple[float, ...]:
        chances = [0.0] * self.frame.width
        for place in self.frame.ranged:
            bins = self.frame.bins[place]
            chances[place] = MedianRange(bins, self.setting.users, self.first).wrong_bin(users)
        return tuple(chances)

    def _turned_half(self, tail: float) -> float:
        """Return how far ``sum_l +-z_l/sqrt(D)`` is with probability ``tail`` at most, ``z_l`` the noise.

        Discrete Gaussian noise has at most the moments ``exp(t^2 s^2/2)`` of the continuous one; discrete Laplace noise
        at most ``1/(1 - w^2 t^2)``, since ``(cosh x - 1)/x^2`` rises. Chernoff's bound holds at every ``t``.
        """
        scale, log = self.noise.scale, math.log(2.0 / tail)
        if self.is_gaussian:
            return scale * math.sqrt(2.0 * log)
        width, found = self.frame.width, math.inf
        for step in range(1, _SHRINKS):
            t = step / _SHRINKS
            found = min(found, (log - width * math.log1p(-t * t)) * scale / (t * math.sqrt(width)))
        return found


@dataclass(frozen=True)
class _Clipped:
    """Asks for the sum of every coordinate, clipped and measured from the lower end, and how many users there are."""

    ends: tuple[tuple[int, int], ...]  # What each coordinate is clipped to, in units of its fixed point

    @property
    def size(self) -> int:
        """One sum a coordinate, and the number of users."""
        return len(self.ends) + 1

    def sums(self, values: Integers, groups: Groups | None) -> Sums:
        del groups
        totals = [
            exact_sums(np.clip(values[:, place], low, high).reshape(-1, 1))[0] - low * len(values)
            for place, (low, high) in enumerate(self.ends)
        ]
        return np.array([*totals, len(values)], dtype=object)


def _cut(window: tuple[float, float], longest: tuple[float, float], exponent: int) -> tuple[int, int, int]:
    """Return the ends that a coordinate is clipped to, and the length of its longest interval.

    All in whole units of the fixed point, so that one user changes the mean by at most ``1/n``, exactly.
    """
    unit = Fraction(2) ** -exponent
    low, high = math.floor(Fraction(window[0]) / unit), math.ceil(Fraction(window[1]) / unit)
    span = max(high - low, math.ceil((Fraction(longest[1]) - Fraction(longest[0])) / unit) + 2)
    ends = np.iinfo(np.int64)
    return max(low, int(ends.min)), min(high, int(ends.max)), span
