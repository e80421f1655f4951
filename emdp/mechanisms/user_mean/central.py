"""A mean over users by a trusted curator: noise on the bounds, or a private range first (Levy et al. 2021).

Theorem. Clip every user's mean to an interval of length ``w`` that is public, or was released at ``epsilon_1``; noise
for a sensitivity of ``w/n`` at ``epsilon_2`` (and ``delta``) makes the mean user-level ``(epsilon_1 + epsilon_2,
delta)``-DP for any records, neighbours replacing one user's. Proof: the clipped mean changes by at most ``w/n``,
whatever the interval; then sequential composition. ``w`` is ``6 tau`` at most, and the noise is calibrated to it;
``4 tau``, as published, misses means that lie in two bins (local-shuffle-userlevel.md 2.4).

Failure of the range falls with ``exp(-epsilon_1 n/4)``, the noise only with ``1/epsilon_2``: round one rarely needs
half of epsilon.
"""

from dataclasses import replace
from functools import cached_property
from typing import ClassVar

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.crowd import Crowd
from emdp.mechanisms.user_mean.base import (
    UserMeanMechanism,
    UserMeanRelease,
    UserMeanSetting,
    best_part,
    is_worth_a_range,
)
from emdp.mechanisms.user_mean.clipped_mean import ClippedMean, best_clipped_mean
from emdp.mechanisms.user_mean.crowd_questions import find_ranges
from emdp.mechanisms.user_mean.range_stage import HistogramRange, MedianRange, RangeStage
from emdp.privacy.rounding import as_decimal, float_down, float_up

__all__ = ["CentralMean", "CentralRange", "central_candidates"]

_LARGEST_FIRST = 30.0
# Of round one: it is certain long before.


@dataclass(frozen=True, eq=False, kw_only=True)
class CentralMean(UserMeanMechanism):
    """One round: noise on the bounds.

    >>> import numpy as np
    >>> mechanism = CentralMean(setting=UserMeanSetting(1000, 0.0, 1.0, 1.0))
    >>> release = mechanism.release(iter([np.full(1000, 2**39)]), exponent=40, neutral=0)
    >>> abs(float(release.value) - 0.5) < 0.05, round(mechanism.deviation, 6), mechanism.epsilon
    (True, 0.001414, 1.0)
    """

    theorem: ClassVar[str] = "noise for a sensitivity of (high - low)/n on the mean of clipped means (EMD 2, EMD 8.5)"

    setting: UserMeanSetting  # What it is for; its delta is used where that makes the noise smaller

    @property
    def name(self) -> str:
        return "one round"

    @property
    def epsilon(self) -> float:
        return float(self.setting.epsilon)

    @property
    def delta(self) -> float:
        """0, or the setting's for Gaussian noise."""
        return self.noise.delta

    @cached_property
    def noise(self) -> ClippedMean:
        """The noise on the bounds."""
        low, high = float(self.setting.low), float(self.setting.high)
        return best_clipped_mean(low, high, self.setting.users, self.epsilon, self.setting.delta)

    @property
    def missed_range(self) -> float:
        """0: none is looked for."""
        return 0.0

    @property
    def users_needed(self) -> int:
        """1."""
        return 1

    @property
    def deviation(self) -> float:
        return self.noise.deviation

    @property
    def expected_error(self) -> float:
        return self.deviation

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        del unit
        width, noise = self.noise.high - self.noise.low, self.noise
        return (("mean", f"{noise.name}, epsilon {noise.epsilon:.6g}, on {width:.6g} over {noise.users} users"),)

    def ask(self, crowd: Crowd, exponent: int) -> UserMeanRelease:
        value = self.noise.ask(crowd, exponent)
        return UserMeanRelease(self, value, (self.noise.low, self.noise.high), exponent=exponent)

    def ends(self, release: UserMeanRelease, tail: float) -> tuple[float, float]:
        width = self._noise_on(release.range).half_width(tail, release.exponent)
        return float(release.value) - width, float(release.value) + width

    def _noise_on(self, window: tuple[float, float]) -> ClippedMean:
        # The kind of noise is settled beforehand, and with it the delta that is stated.
        return replace(self.noise, low=window[0], high=window[1])


@dataclass(frozen=True, eq=False, kw_only=True)
class CentralRange(CentralMean):
    """Two rounds: a private bin, then noise on the interval that it stands for.

    >>> setting = UserMeanSetting(2000, -50, 50, 2.0, spread=1.0, records=100, failure=0.1)
    >>> mechanism = CentralRange(setting=setting, first=1.0, kind=MedianRange)
    >>> round(mechanism.deviation, 4), mechanism.missed_range
    (0.002, 0.05)
    """

    theorem: ClassVar[str] = (
        "private bin, then noise for a sensitivity of 6 tau/n; the epsilons add up (LSU 2.4, corrected)"
    )

    first: float  # Epsilon of round one, from 1e-6 and below that of the setting
    kind: type[MedianRange] | type[HistogramRange]  # `MedianRange` or `HistogramRange`

    def __post_init__(self) -> None:
        if not is_worth_a_range(self.setting):
            raise UsageError("setting must have a spread and at least three bins for two rounds; use CentralMean.")
        if not 0 < self.first < self.setting.epsilon:
            raise UsageError(
                f"first must be between 0 and {self.setting.epsilon}, got {self.first}; pass a part of it."
            )

    @property
    def name(self) -> str:
        return f"range by {self.kind.name}, then mean"

    @cached_property
    def stage(self) -> RangeStage:
        """Round one."""
        return self.kind(self.setting.bins, self.setting.users, self.first, self.setting.elsewhere)

    @cached_property
    def second(self) -> float:
        """Epsilon of the noise."""
        return float_down(as_decimal(self.setting.epsilon) - as_decimal(self.stage.epsilon))

    @property
    def epsilon(self) -> float:
        return float_up(as_decimal(self.stage.epsilon) + as_decimal(self.second))

    @cached_property
    def noise(self) -> ClippedMean:
        """The noise on an interval as long as the longest that round one may find."""
        low, high = self.setting.middle_window
        return best_clipped_mean(low, high, self.setting.users, self.second, self.setting.delta)

    @property
    def missed_range(self) -> float:
        return min(1.0, self.setting.gamma + self.stage.wrong_bin(self.setting.users))

    @property
    def users_needed(self) -> int:
        return self.stage.users_needed(self.setting.failure - self.setting.gamma)

    @property
    def expected_error(self) -> float:
        """The plan rule of LSU 2.1."""
        wrong = self.stage.wrong_bin(self.setting.tolerated(self.setting.users))
        return self.setting.unconditional(self.deviation**2, wrong)

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        bins = self.setting.bins
        first = f"{self.stage.name}, epsilon {self.first:.6g}; {bins.count} bins of {2 * bins.radius:.6g}"
        return (("range", first), *super().facts(unit))

    def ask(self, crowd: Crowd, exponent: int) -> UserMeanRelease:
        (found,) = find_ranges(crowd, (self.stage,), columns=(0,), exponents=(exponent,))
        value = self._noise_on(found.window).ask(crowd, exponent)
        return UserMeanRelease(self, value, found.window, found.near, found.near_error, exponent)


def central_candidates(setting: UserMeanSetting) -> tuple[CentralMean, ...]:
    """Return the ways of a curator: one round, and where bins allow it each range with epsilon split evenly and tuned.

    >>> setting = UserMeanSetting(2000, -50, 50, 2.0, spread=1.0, records=100, failure=0.1)
    >>> [round(way.expected_error, 4) for way in central_candidates(setting)]
    [0.0354, 0.002, 0.001, 0.002, 0.001]
    """
    found = [CentralMean(setting=setting)]
    if not is_worth_a_range(setting):
        return tuple(found)
    kinds: tuple[type[MedianRange] | type[HistogramRange], ...] = (HistogramRange, MedianRange)
    for kind in kinds:

        def divided(part: float, kind: type[MedianRange] | type[HistogramRange] = kind) -> CentralMean:
            first = min(float_down(as_decimal(setting.epsilon) * as_decimal(part)), _LARGEST_FIRST)
            return CentralRange(setting=setting, first=first, kind=kind)

        found += [divided(0.5), divided(best_part(divided))]
    return tuple(found)
