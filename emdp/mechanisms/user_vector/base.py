"""The contract of every release of the mean of users' vectors: setting, mechanism, result."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.checks import check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.mechanisms.crowd import Crowd, GatheredUsers
from emdp.mechanisms.user_vector.setting import Frame, UserVectorSetting
from emdp.privacy.rounding import as_decimal

__all__ = ["UserVectorMechanism", "UserVectorRelease", "gathered"]


@dataclass(frozen=True, eq=False)
class UserVectorRelease:
    """One released mean."""

    value: tuple[Fraction | float, ...]  # The estimate of every coordinate, within no bounds
    ranges: tuple[tuple[float, float], ...]  # The interval that users were clipped to, of each coordinate of the frame
    mechanism: "UserVectorMechanism"
    counts: tuple[int, ...] = ()  # Of a local release: messages about each coordinate of the frame in the second round

    def interval(self, coordinate: int, level: float) -> tuple[float, float]:
        """Return ends that hold the users' mean with probability at least ``level``, a missed range counted.

        A missed range counts as a failure of the interval, so that its probability is taken off ``1 - level``; where
        nothing is left the bounds are returned.
        """
        return self.mechanism.interval(self, coordinate, level)


@dataclass(frozen=True, eq=False)
class UserVectorMechanism(ABC):
    """A way of releasing the mean of users' vectors; frozen, holds no private value."""

    is_exact: ClassVar[bool] = False

    setting: UserVectorSetting
    frame: Frame

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the mechanism, in a few words."""

    @property
    @abstractmethod
    def theorem(self) -> str:
        """The guarantee's source, in one line."""

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """Epsilon of the probabilities that are drawn with, rounded up."""

    @property
    @abstractmethod
    def delta(self) -> float:
        """Delta of the release."""

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
    def slack_epsilon(self) -> float:
        """Epsilon beside it that rounding costs, rounded up."""

    @property
    @abstractmethod
    def slack_delta(self) -> float:
        """The part of delta that covers rounding."""

    @property
    @abstractmethod
    def users_needed(self) -> int:
        """Users at which the range is missed with probability ``failure`` at most; 1 without a range."""

    @property
    @abstractmethod
    def deviation(self) -> float:
        """Root of the expected squared 2-norm of the error, at most, where the range is not missed."""

    @abstractmethod
    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        """Return what is public about the release, as pairs of a short name and a fact."""

    def release(
        self, blocks: Iterator[Integers], exponents: Sequence[int], neutral: Sequence[int]
    ) -> UserVectorRelease:
        """Draw the answer: this spends.

        Parameters
        ----------
        blocks : iterator of numpy.ndarray of int64
            Shape (rows, d): users' means times ``2**exponent``, at most ``users`` rows in all, kept in memory.
        exponents : sequence of int
            One a coordinate.
        neutral : sequence of int
            The mean of a user without records, in the same units: it stands for all users that are left.

        Raises
        ------
        UsageError
            If the setting's budget would be exceeded.
        InternalError
            If there are more users than the setting has, or another number of coordinates.
        """
        self.check_budget()
        values = gathered(self.setting, blocks, neutral)
        return self.ask(GatheredUsers(iter([values]), self.setting.users), exponents)

    @abstractmethod
    def ask(self, crowd: Crowd, exponents: Sequence[int]) -> UserVectorRelease:
        """Draw the answer, from whoever holds the users' means: this spends.

        Parameters
        ----------
        crowd : Crowd
            All users, each with the means times ``2**exponent``; asked for the last time.
        exponents : sequence of int
            One a coordinate.
        """

    @abstractmethod
    def wrong_bins(self, *, tolerant: bool = False) -> tuple[float, ...]:
        """Return for each coordinate the probability at most of a wrong bin; tolerant of 1 % outliers, if wanted."""

    @property
    def missed_range(self) -> float:
        """Bound on the probability that somebody is missed: farther off than the setting says, or by a wrong bin."""
        assumed = self.setting.gamma if self.frame.ranged or self.frame.is_cut else 0.0
        return min(1.0, assumed + math.fsum(self.wrong_bins()))

    @property
    def expected_error(self) -> float:
        """Bound of the root of the expected squared 2-norm of the error, whether or not ranges are missed."""
        missed = math.fsum(
            chance * (own.high - own.low + 3.0 * own.radius) ** 2
            for chance, own in zip(self.wrong_bins(tolerant=True), self.frame.bins, strict=True)
            if chance > 0
        )
        return math.sqrt(self.deviation**2 + self.frame.share * missed)

    def interval(self, released: UserVectorRelease, coordinate: int, level: float) -> tuple[float, float]:
        """Return the ends of :meth:`UserVectorRelease.interval`."""
        tail = 1.0 - check_unit_interval("level", level) - self.missed_range
        least, most = self.setting.lows[coordinate], self.setting.highs[coordinate]
        if tail <= 0:
            return least, most
        low, high = self.ends(released, coordinate, tail)
        if not self.frame.is_turned:
            least, most = released.ranges[coordinate]
        error = self.setting.error
        return min(max(low - error, least), most), min(max(high + error, least), most)

    def check_budget(self) -> None:
        """Raise ``UsageError`` if more would be spent than the setting has: a matter of public numbers alone."""
        for spent, whole, name in (
            (self.epsilon, self.setting.epsilon, "epsilon"),
            (self.delta, self.setting.delta, "delta"),
        ):
            if as_decimal(spent) > as_decimal(whole):
                raise UsageError(f"{name} of the rounds comes to {spent}, above {whole}; split the budget otherwise.")

    @abstractmethod
    def ends(self, released: UserVectorRelease, coordinate: int, tail: float) -> tuple[float, float]:
        """Return ends that miss the mean with probability at most ``tail`` where the ranges miss nobody."""


def gathered(setting: UserVectorSetting, blocks: Iterator[Integers], neutral: Sequence[int]) -> Integers:
    """Return the means of all users, shape (users, d), those without records among them."""
    rows, present = [], 0
    for block in blocks:
        if block.ndim != 2 or block.shape[1] != setting.dimension:
            raise InternalError("the engine's means have another dimension than was planned; please report it.")
        present += len(block)
        rows.append(np.asarray(block, dtype=np.int64))
    if present > setting.users:
        raise InternalError("more users came from the engine than there are; please report it.")
    row = np.array([list(neutral)], dtype=np.int64)
    return np.concatenate([*rows, np.repeat(row, setting.users - present, axis=0)])
