"""The contract of every release of a mean over users: setting, mechanism, result (local-shuffle-userlevel.md 2)."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.checks import check_choice, check_count, check_finite, check_positive, check_range, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.mechanisms.crowd import Crowd, GatheredUsers
from emdp.mechanisms.user_mean.choice import preference
from emdp.mechanisms.user_mean.range_bins import RangeBins, concentration_radius

__all__ = [
    "AT_ONCE",
    "HIGHEST_LEVEL",
    "Model",
    "UserMeanMechanism",
    "UserMeanRelease",
    "UserMeanSetting",
    "all_means",
    "best_part",
    "is_worth_a_range",
]

Model = Literal["central", "local", "shuffle"]

HIGHEST_LEVEL = 1.0 - 2.0**-53
"""Level of an interval whose tail is all but nothing: the next one is 1."""

AT_ONCE = 2**16
"""Users without records whose means are handed on at once."""

_TOLERATED = 0.94
# Part of the users that the failure bound inside an expected error supposes, so that it holds with 1 % of outliers.

_COARSE = tuple(0.5 * step - 9.0 for step in range(25))
_FINE = 8
# Logarithms of the odds at which a division between two rounds is tried, and steps between two of them.


@dataclass(frozen=True)
class UserMeanSetting:
    """Public numbers from which a mechanism is chosen.

    >>> setting = UserMeanSetting(2000, -50, 50, 2.0, model="local", spread=1.0, records=100, failure=0.1)
    >>> round(setting.radius, 4), setting.bins.count
    (0.4752, 106)
    """

    users: int  # `n`, at least 1. Neighbours replace one user's records; `n` is public.
    # low, high: Bounds of a user's mean, `low < high`.
    low: float
    high: float
    epsilon: float  # User-level epsilon, from 1e-6 to 1e6
    delta: float = 0.0  # In [0, 1); above 0 in the shuffle model, 0 in the local one, where messages are pure
    model: Model = "central"  # Who is trusted: a curator, nobody, or whoever mixes the messages
    # Sub-Gaussian parameter of one record around its user's own mean. Without it no range can be found.
    spread: float | None = None
    # Sub-Gaussian parameter of the users' own means around the common one; 0 for users who are all alike.
    between: float = 0.0
    records: int = 1  # Every user is assumed to have at least so many records. Accuracy rests on it, privacy does not.
    # In (0, 1): how often the range may miss somebody's mean. Half of it is `gamma`, for means outside of `tau`, half
    # is for a wrong bin.
    failure: float = 0.01
    error: float = 0.0  # Bound on |computed - exact| of a user's mean
    elsewhere: bool = False  # Whether users may have no mean, being elsewhere

    def __post_init__(self) -> None:
        check_count("users", self.users)
        low, high = check_finite("low", self.low), check_finite("high", self.high)
        if not low < high or not math.isfinite(high - low):
            raise UsageError(f"high must be above low = {low}, got {high}; pass the bounds of a user's mean.")
        check_range("epsilon", self.epsilon, 1e-6, 1e6)
        check_choice("model", self.model, ("central", "local", "shuffle"))
        delta = check_unit_interval("delta", self.delta, zero=True)
        if self.model == "local" and delta > 0:
            raise UsageError(f"delta must be 0 in the local model, got {delta}; users' messages are pure.")
        if self.model == "shuffle" and delta == 0:
            raise UsageError("delta must be above 0 in the shuffle model; pass one, such as 1e-6.")
        if self.spread is not None:
            check_positive("spread", self.spread)
        check_range("between", self.between, 0.0, math.inf)
        check_count("records", self.records)
        check_unit_interval("failure", self.failure)
        check_range("error", self.error, 0.0, math.inf)

    @property
    def gamma(self) -> float:
        """Largest probability that some mean lies outside of the radius: half of ``failure``."""
        return 0.5 * self.failure

    @property
    def deviation(self) -> float | None:
        """``s``: the sub-Gaussian parameter of a user's mean around the common one; None without ``spread``."""
        return None if self.spread is None else math.hypot(self.between, self.spread / math.sqrt(self.records))

    @property
    def radius(self) -> float | None:
        """``tau`` of :mod:`emdp.mechanisms.user_mean.range_bins`; None without ``spread``."""
        if self.deviation is None:
            return None
        return concentration_radius(self.deviation, self.users, self.gamma, error=self.error)

    @cached_property
    def bins(self) -> RangeBins:
        """The bins of round one; a single one without ``spread``."""
        return RangeBins(self.low, self.high, self.high - self.low if self.radius is None else self.radius)

    @property
    def middle_window(self) -> tuple[float, float]:
        """An interval as long as the longest that round one can find, for predictions."""
        middle, half = 0.5 * self.low + 0.5 * self.high, 0.5 * self.bins.widest
        return max(self.low, middle - half), min(self.high, middle + half)

    @property
    def clipping_bias(self) -> float:
        """Bound on what a range around the common mean takes from the expectation of the mean (the theory's 2.1).

        ``E(|z| - tau)_+ <= (2 s^2/tau) exp(-tau^2/(2 s^2))`` for a user, at most ``(gamma/n) s^2/tau``.
        """
        if self.deviation is None or self.radius is None:
            return 0.0
        return self.gamma / self.users * self.deviation**2 / self.radius

    @property
    def missed_square(self) -> float:
        """Bound on the expected squared error where the range misses: ``(high - low + 3 tau)^2``."""
        return (self.high - self.low + 3.0 * self.bins.radius) ** 2

    def unconditional(self, square: float, wrong_bin: float) -> float:
        """Return the bound of the RMSE on success and failure together.

        Parameters
        ----------
        square : float
            The expected squared error on success.
        wrong_bin : float
            Probability of a wrong bin among ``tolerated`` users.
        """
        return math.sqrt(square + self.clipping_bias**2 + min(1.0, wrong_bin) * self.missed_square)

    @staticmethod
    def tolerated(users: int) -> int:
        """Return how many users the failure bound of an expected error supposes: 94 %, for 1 % of outliers."""
        return max(1, math.floor(_TOLERATED * users))


@dataclass(frozen=True, eq=False)
class UserMeanRelease:
    """A released mean over users: post-processing of messages that are paid for."""

    mechanism: "UserMeanMechanism"
    # The estimate; unbiased for the mean of the users' means cut to `range`. It may lie outside of the bounds.
    value: Fraction
    range: tuple[float, float]  # Ends of the interval that the means were cut to
    # Estimated share of users in the chosen bin and its two neighbours, within [0, 1]: near 1 where `spread` and
    # `between` describe the users, less where they differ more. None where round one gives no such estimate.
    near: float | None = None
    near_error: float | None = None  # Standard error of `near`, rounded up
    exponent: int = 0  # Of the fixed point that the means came in

    def interval(self, level: float) -> tuple[float, float]:
        """Return ends of an interval that holds the mean of the users' means with probability at least ``level``.

        A missed range counts as a failure of the interval, so that its probability is taken off ``1 - level``; where
        nothing is left the bounds are returned.

        Parameters
        ----------
        level : float
            In (0, 1), such as 0.95.
        """
        tail = 1.0 - check_unit_interval("level", level) - self.mechanism.missed_range
        setting = self.mechanism.setting
        if tail <= 0:
            return float(setting.low), float(setting.high)
        low, high = self.mechanism.ends(self, tail)
        least, most = self.range
        return min(max(low - setting.error, least), most), max(min(high + setting.error, most), least)


class UserMeanMechanism(ABC):
    """A way of releasing a mean over users, with everything that is known of it before a release.

    Attributes
    ----------
    epsilon, delta : float
        The user-level guarantee that is achieved, at most that of the setting.
    """

    slack_epsilon: ClassVar[float] = 0.0
    """0: all of it is inside ``epsilon``."""
    slack_delta: ClassVar[float] = 0.0
    """0: all of it is inside ``delta``."""
    is_exact: ClassVar[bool] = False

    setting: UserMeanSetting

    @property
    @abstractmethod
    def name(self) -> str:
        """The mechanism in a few words."""

    @property
    @abstractmethod
    def theorem(self) -> str:
        """The guarantee's source, in one line."""

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """The achieved epsilon, rounded up."""

    @property
    def delta(self) -> float:
        """The achieved delta."""
        return 0.0

    @property
    def epsilon0(self) -> float | None:
        """Epsilon of one user's messages for whoever sees them with the sender; None in the central model."""
        return None

    @property
    def is_apart(self) -> bool:
        """Whether a user sends several messages, each mixed by itself."""
        return False

    @property
    @abstractmethod
    def missed_range(self) -> float:
        """Bound on the probability that the range misses somebody's mean; 0 where none is looked for."""

    @property
    @abstractmethod
    def users_needed(self) -> int:
        """Number of users that round one needs for the target failure; 1 where there is no round one."""

    @property
    @abstractmethod
    def deviation(self) -> float:
        """Predicted RMSE, against the mean of the users' means, where the range misses nobody."""

    @property
    @abstractmethod
    def expected_error(self) -> float:
        """Bound of the RMSE whether or not the range misses somebody: what candidates are compared by."""

    @abstractmethod
    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        """Return what is public about the release, as pairs of a short name and a fact."""

    def release(self, blocks: Iterator[Integers], exponent: int, neutral: int) -> UserMeanRelease:
        """Draw all messages or noise and return the estimate: this spends.

        Parameters
        ----------
        blocks : iterator of numpy.ndarray of int64
            The users' means times ``2**exponent``, each a 1-d array, in any order.
        exponent : int
            Of the fixed point.
        neutral : int
            What users who are in no block count with, in the same unit.

        Raises
        ------
        InternalError
            If there are more users than the setting has.
        """
        users = self.setting.users
        means = (block.reshape(-1, 1) for block in all_means(blocks, users, neutral))
        return self.ask(GatheredUsers(means, users), exponent)

    @abstractmethod
    def ask(self, crowd: Crowd, exponent: int) -> UserMeanRelease:
        """Draw all messages or noise and return the estimate, from whoever holds the users' means: this spends.

        Parameters
        ----------
        crowd : Crowd
            All users, each with the mean times ``2**exponent``; asked for the last time.
        exponent : int
            Of the fixed point.
        """

    @abstractmethod
    def ends(self, release: UserMeanRelease, tail: float) -> tuple[float, float]:
        """Return ends that miss the mean with probability at most ``tail`` where the range misses nobody."""


def all_means(blocks: Iterator[Integers], users: int, neutral: int) -> Iterator[Integers]:
    """Yield the blocks, and then blocks of ``neutral`` for the users who did not come.

    >>> [block.tolist() for block in all_means(iter([np.array([5, 6])]), 4, 0)]
    [[5, 6], [0, 0]]
    """
    present = 0
    for block in blocks:
        present += len(block)
        if present > users:
            break
        yield block
    if present > users:
        raise InternalError("more users came from the engine than there are; please report it.")
    for start in range(present, users, AT_ONCE):
        yield np.full(min(AT_ONCE, users - start), neutral, dtype=np.int64)


def is_worth_a_range(setting: UserMeanSetting) -> bool:
    """Say whether a range may be looked for at all: a spread is known, and there are three bins or more.

    >>> is_worth_a_range(UserMeanSetting(9, 0.0, 1.0, 1.0)), is_worth_a_range(UserMeanSetting(9, 0, 9, 1.0, spread=0.1))
    (False, True)
    """
    return setting.radius is not None and setting.bins.count >= 3


def best_part(make: Callable[[float], UserMeanMechanism]) -> float:
    """Return how to divide epsilon, or the users, between two rounds: from public numbers only.

    Parameters
    ----------
    make : callable
        From the part of round one, in (0, 1), to the mechanism.
    """
    best = min(_COARSE, key=lambda odds: preference(make(_part(odds))))
    fine = [best + step * (_COARSE[1] - _COARSE[0]) / _FINE for step in range(1 - _FINE, _FINE)]
    return _part(min(fine, key=lambda odds: preference(make(_part(odds)))))


def _part(odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-odds))
