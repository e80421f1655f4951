"""Public facts about the mean of users' vectors: the setting, and the coordinates in which ranges are found.

One user's statistic is a vector ``y_u``, the mean of its records; wanted is the mean of ``y_u`` over all ``n`` users. A
*frame* says in which coordinates ranges are found, how wide these may be, and how far users lie from the common mean.
Let ``g`` be the failure probability, ``m`` the records a user, ``b`` the spread between users.

Theorem (case A, local-shuffle-userlevel.md 2.2). Let every coordinate of a record be independently sub-Gaussian around
its mean with ``sigma``, and users' own means sub-Gaussian around ``mu`` with ``b``. With ``tau = sqrt(sigma^2/m + b^2)
sqrt(2 ln(2 n d/g))`` all coordinates of all users are within ``tau`` of ``mu`` with probability at least ``1 - g``.

Theorem (case B, same place). Let records lie in a ball of radius ``L`` around the middle of the bounds, and be
independent with mean ``nu_u``; let ``||nu_u - mu|| <= b (1 + sqrt(2 ln(2 n/g)))``. With ``tau2 = (L/sqrt(m) + b) (1 +
sqrt(2 ln(2 n/g)))`` all ``||y_u - mu|| <= tau2`` with probability at least ``1 - g/2``. Turn by ``U = H
diag(w)/sqrt(D)``, ``w`` uniform signs that do not depend on the data: with ``tau = tau2 sqrt(2 ln(4 n D/g)/D)`` all
coordinates of all ``U y_u`` are within ``tau`` of ``U mu`` with probability at least ``1 - g``.

Proof. A: the union bound over both tails of ``n d`` coordinates. B: the mean of ``m`` vectors of norm at most ``L`` has
mean distance at most ``L/sqrt(m)`` from its mean and by McDiarmid exceeds it by ``L sqrt(2 s/m)`` with probability at
most ``exp(-s)``; a coordinate of ``U z`` is a sum of ``D`` terms ``+- z_i/sqrt(D)``, so above ``t`` in size with
probability at most ``2 exp(-D t^2/(2 ||z||^2))``.

Half-open bins of width ``2 tau`` then hold all users in two neighbours at most. An interval of ``3 tau`` to each side
of the centre of a bin with a user in it holds everyone, so that clipping to it changes nothing. ``2 tau`` to each side
would not do. Privacy never needs any of this: users are clipped and whoever lies elsewhere is clipped like the others.
"""

import math
from functools import cached_property

from emdp.base.checks import check_choice, check_count, check_finite, check_positive, check_range, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.user_mean.range_bins import RangeBins, concentration_radius

__all__ = ["Frame", "UserVectorSetting", "ball_of", "frames_of", "turned_factor"]

OUTLIERS = 0.94
"""Part of the users that the expected error counts on in the range round: 1 % of outliers are tolerated so."""


@dataclass(frozen=True)
class UserVectorSetting:
    """Public numbers of the mean of users' vectors.

    >>> UserVectorSetting(1000, (0.0, 0.0), (1.0, 2.0), 1.0, spread=(0.1, 0.1)).dimension
    2
    """

    users: int  # `n`, at least 1
    # lows, highs: Bounds of each coordinate of a user's mean, `low < high`.
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    # epsilon, delta: What may be spent in all; delta is 0 in the local model, where messages are pure, and above 0 in
    # the shuffle model.
    epsilon: float
    delta: float = 0.0
    model: str = "central"  # "central", "local", "shuffle": who is trusted
    # `sigma` of one record in each coordinate (case A of the module's text). Without it and a radius no range can be
    # found.
    spread: tuple[float, ...] | None = None
    # `L`: records lie within this 2-norm of the middle of the bounds, or are clipped to it (case B).
    radius: float | None = None
    # `b`: how far users' own means spread, in each coordinate (case A), or one number in the 2-norm.
    between: float | tuple[float, ...] = 0.0
    records: int = 1  # `m`: least number of records of a user
    # How often a range may miss somebody. Half of it is `g`, for users farther off than the theorems say; half is for a
    # wrong bin.
    failure: float = 0.01
    error: float = 0.0  # Bound on |computed - exact| of a coordinate of a user's mean

    def __post_init__(self) -> None:
        check_count("users", self.users)
        check_count("records", self.records)
        check_positive("epsilon", self.epsilon)
        check_unit_interval("delta", self.delta, zero=True)
        check_unit_interval("failure", self.failure)
        check_choice("model", self.model, ("central", "local", "shuffle"))
        if self.model == "shuffle" and self.delta == 0:
            raise UsageError("delta must be above 0 in the shuffle model, got 0; pass one, or use the local model.")
        if self.model == "local" and self.delta > 0:
            raise UsageError(f"delta must be 0 in the local model, got {self.delta}; users' messages are pure.")
        check_range("error", self.error, 0.0, math.inf)
        self._check_bounds()
        self._check_spreads()

    def _check_bounds(self) -> None:
        if not self.lows or len(self.lows) != len(self.highs):
            raise UsageError(f"lows and highs must be as many, got {len(self.lows)} and {len(self.highs)}; pass pairs.")
        for low, high in zip(self.lows, self.highs, strict=True):
            if not check_finite("low", low) < check_finite("high", high):
                raise UsageError(f"high must be above low = {low}, got {high}; pass the range of the coordinate.")

    def _check_spreads(self) -> None:
        if self.spread is not None and len(self.spread) != self.dimension:
            raise UsageError(f"spread must have {self.dimension} numbers, got {len(self.spread)}; pass one each.")
        if isinstance(self.between, tuple) and len(self.between) != self.dimension:
            raise UsageError(f"between must have {self.dimension} numbers, got {len(self.between)}; pass one each.")
        if isinstance(self.between, tuple) and self.radius is not None:
            raise UsageError("between must be one number where a radius is given; pass its size in the 2-norm.")
        for number in self.betweens:
            check_range("between", number, 0.0, math.inf)
        for number in self.spread or ():
            check_positive("spread", number)
        if self.radius is not None:
            check_positive("radius", self.radius)

    @property
    def dimension(self) -> int:
        """``d``."""
        return len(self.lows)

    @property
    def gamma(self) -> float:
        """``g``: half of ``failure``."""
        return 0.5 * self.failure

    @property
    def betweens(self) -> tuple[float, ...]:
        """``b`` of every coordinate."""
        return self.between if isinstance(self.between, tuple) else (self.between,) * self.dimension

    @property
    def centres(self) -> tuple[float, ...]:
        """Middle of the bounds of each coordinate."""
        return tuple(0.5 * low + 0.5 * high for low, high in zip(self.lows, self.highs, strict=True))

    @staticmethod
    def tolerated(users: int) -> int:
        """Return how many users the range of an expected error counts on: 94 %, so that it holds with 1 % outliers."""
        return max(1, math.floor(OUTLIERS * users))


@dataclass(frozen=True)
class Frame:
    """The coordinates in which ranges are found and means taken."""

    # Bounds of a user's value in each coordinate of the frame, and the bins of its range; one bin where no range is to
    # be found.
    bins: tuple[RangeBins, ...]
    # Sub-Gaussian parameter of a user's value in each coordinate: half of its bounds where nothing else is known.
    spreads: tuple[float, ...]
    is_turned: bool  # Whether the frame is a random rotation
    dimension: int  # `d`, at most the number of the frame's coordinates
    # Whether turned coordinates are clipped where that is hardly ever felt, though without a range.
    is_cut: bool = False

    @property
    def width(self) -> int:
        """``D``: how many coordinates the frame has."""
        return len(self.bins)

    @cached_property
    def ranged(self) -> tuple[int, ...]:
        """The coordinates whose range is worth finding: those of three bins or more."""
        return tuple(place for place, bins in enumerate(self.bins) if bins.count >= 3)

    @cached_property
    def windows(self) -> tuple[tuple[float, float], ...]:
        """Windows, one a coordinate: in the middle of the bounds, as long as the longest that a bin stands for."""
        found, longest = set(self.ranged), []
        for place, bins in enumerate(self.bins):
            middle, half = 0.5 * bins.low + 0.5 * bins.high, 0.5 * bins.widest
            whole = place not in found or 2.0 * half >= bins.high - bins.low
            longest.append((bins.low, bins.high) if whole else (middle - half, middle + half))
        return tuple(longest)

    @property
    def wide(self) -> "Frame":
        """Setting of the same coordinates without ranges."""
        bins = tuple(RangeBins(own.low, own.high, own.high - own.low) for own in self.bins)
        return Frame(bins, self.spreads, self.is_turned, self.dimension)

    @property
    def share(self) -> float:
        """Part of the frame's squared error that is in the answer: ``d/D``, padding being dropped."""
        return self.dimension / self.width


def ball_of(setting: UserVectorSetting) -> Frame | None:
    """Return the turned frame that leaves the whole ball as it is, or None without a radius.

    >>> ball_of(UserVectorSetting(9, (0.0,), (1.0,), 1.0)) is None
    True
    """
    return None if setting.radius is None else _turned(setting, setting.radius).wide


def frames_of(setting: UserVectorSetting) -> tuple[Frame, ...]:
    """Return the frames of a setting: its own coordinates, turned ones, or both; and each once without ranges.

    >>> setting = UserVectorSetting(40_000, (-10.0,) * 16, (10.0,) * 16, 2.0, spread=(1.0,) * 16, records=100,
    ...                             failure=0.02)
    >>> _, frame = frames_of(setting)
    >>> round(frame.bins[0].radius, 4), frame.bins[0].count
    (0.611, 17)
    """
    own = _own(setting)
    found = [own.wide, own] if own.ranged else [own.wide]
    if setting.radius is not None:
        turned = _turned(setting, setting.radius)
        found += [_turned_wide(setting, setting.radius)] + [turned] * bool(turned.ranged)
    return tuple(found)


def _own(setting: UserVectorSetting) -> Frame:
    count = setting.users * setting.dimension
    bins, spreads = [], []
    for place, (low, high) in enumerate(zip(setting.lows, setting.highs, strict=True)):
        radius, spread = high - low, 0.5 * (high - low)
        if setting.spread is not None:
            spread = math.hypot(setting.spread[place] / math.sqrt(setting.records), setting.betweens[place])
            radius = concentration_radius(spread, count, setting.gamma, error=setting.error)
        bins.append(RangeBins(low, high, radius))
        spreads.append(min(spread, 0.5 * (high - low)))
    return Frame(tuple(bins), tuple(spreads), False, setting.dimension)


def _turned(setting: UserVectorSetting, radius: float) -> Frame:
    width = 1 << (setting.dimension - 1).bit_length()
    own = 1.0 + math.sqrt(2.0 * math.log(2.0 * setting.users / setting.gamma))
    far = (radius / math.sqrt(setting.records) + setting.betweens[0]) * own
    # An error of each coordinate is at most its root d times as much in the 2-norm, and in any turned coordinate.
    tau = far * turned_factor(4.0 * setting.users, width, setting.gamma) + setting.error * math.sqrt(setting.dimension)
    bins = RangeBins(-radius, radius, min(tau, 2.0 * radius))
    return Frame((bins,) * width, (radius,) * width, True, setting.dimension)


def _turned_wide(setting: UserVectorSetting, radius: float) -> Frame:
    width = 1 << (setting.dimension - 1).bit_length()
    # Without a range, coordinates are clipped where a random turn hardly ever takes a vector of the ball.
    bound = radius * min(1.0, turned_factor(2.0 * setting.users, width, setting.gamma))
    return Frame((RangeBins(-bound, bound, 2.0 * bound),) * width, (bound,) * width, True, setting.dimension, True)


def turned_factor(users: float, width: int, failure: float) -> float:
    """Return ``sqrt(2 ln(users D/failure)/D)``: how large a turned coordinate of a unit vector is.

    >>> round(turned_factor(2e4, 16, 0.01), 3)
    1.47
    """
    return math.sqrt(2.0 * math.log(users * width / failure) / width)
