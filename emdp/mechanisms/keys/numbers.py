"""Keys that nobody listed, released with further numbers of each: counts of records, sums, and what is made of them.

Setting. As in :mod:`emdp.mechanisms.keys.threshold`: a user has at most ``L`` keys, ``r`` is 1 between neighbours by
removal and 2 by replacement. Beside the number of users every key has ``m`` *numbers*, 0 where nobody has the key. One
user moves the numbers of all keys together by at most ``S`` in the norm of their noise, and those of at most ``r L``
keys at all. What is released is, of each key that passes the threshold: the key, its noisy number of users, and its
noisy numbers.

**Theorem 1 (apart).** Let the keys be released by a :class:`emdp.mechanisms.keys.threshold.KeyThreshold` at
``(epsilon_1, delta_1)``, and then the numbers of those keys with independent noise that is ``epsilon_2``-DP for a move
of ``S``. The release is ``(epsilon_1 + epsilon_2, delta_1)``. *Proof.* Whatever set of keys came out of the first, the
numbers of these keys are a part of the numbers of all keys, so they move by at most ``S``; a key of that set that
nobody has in the other table has the numbers 0 there. So each set leads to an ``epsilon_2``-DP release, and adaptive
composition adds up (Dwork and Roth 2014, theorem B.1). ∎

**Theorem 2 (together).** Let the numbers of a key include the number of users, as it is, and let all of them get
Gaussian noise that is ``(epsilon, delta_0)`` for the move ``S`` of all numbers together. With ``p = P(1 + Z >= tau)``,
``Z`` the noise of the number of users, the release is ``(epsilon, 1 - (1 - p)^L (1 - delta_0))``. *Proof.* Theorem 1 of
:mod:`emdp.mechanisms.keys.threshold`, for the numbers of keys that both tables have: they are a part of all numbers,
and so move by at most ``S``. ∎ Squares of ``mu`` add, so that this is better than two Gaussian releases apart; with
Laplace noise 1-norms add, so that it would be theorem 1 with a higher threshold.

*Grid.* Noise is drawn on a grid (:mod:`emdp.mechanisms.central.additive`), and costs a slack for each number whose
exact value differs between neighbours: at most ``r L m`` of them, the ``dimension`` of the mechanism, whatever the
number of keys. All other numbers are equal on both tables, and so are their roundings. Under theorem 2 the number of
users is a multiple of the grid, so that it is not rounded at all, and ``p`` is that of
:func:`emdp.mechanisms.keys.gaussian.gaussian_new_key`.

Noise is drawn for keys that somebody has, and of numbers for keys that passed: the law of what is released is the same
as if all were drawn, since draws are independent and the others show nowhere.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from math import ldexp
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.central.gaussian import GaussianMechanism
from emdp.mechanisms.central.laplace import LaplaceMechanism
from emdp.mechanisms.contribution.moves import check_kind, moved_users
from emdp.mechanisms.keys.gaussian import gaussian_new_key, gaussian_threshold
from emdp.mechanisms.keys.threshold import KeyThreshold, new_keys_delta
from emdp.noise.arrays import check_integer_array
from emdp.privacy.events.table import Event, GuaranteeEvent
from emdp.privacy.guarantees.kinds import Guarantee, Neighbours
from emdp.privacy.rounding import as_decimal, float_up

__all__ = ["FoundKeys", "KeysThenNumbers", "KeysWithNumbers", "NumberedKeys"]

Rows = Sequence[Sequence[Fraction]]
"""One sequence for each number: its value for some keys, in their order."""

Numbers = Callable[[list[int]], Rows]
"""From places of keys to the exact numbers of these keys."""


@dataclass(frozen=True)
class FoundKeys:
    """The keys that passed, with what was released of them."""

    index: tuple[int, ...]  # Which of the keys passed, rising
    people: tuple[Fraction, ...]
    numbers: tuple[tuple[Fraction, ...], ...]  # For each number its noisy values


class NumberedKeys(ABC):
    """Base of both theorems: a threshold on users, and numbers of the keys that pass."""

    is_exact: ClassVar[bool] = False

    @property
    @abstractmethod
    def theorem(self) -> str:
        """The guarantee's source, in one line."""

    @property
    @abstractmethod
    def people(self) -> int:
        """Number of people that a key needs to be released with probability 1/2."""

    @property
    @abstractmethod
    def slack_epsilon(self) -> float:
        """Loss beside epsilon that the grid costs, rounded up."""

    @property
    @abstractmethod
    def slack_delta(self) -> float:
        """The part of delta that covers the grid of the numbers; 0 for pure noise."""

    @property
    @abstractmethod
    def standard_deviation(self) -> float:
        """Standard deviation of the noise of a number of users."""

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        people = f"a key is shown where its number of users with noise of deviation {self.standard_deviation:.4g}"
        return (("threshold", f"{people} is at least {self.people}"), *self._noise_facts(unit))

    @abstractmethod
    def _noise_facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        """Return the facts of the noise of numbers."""

    @abstractmethod
    def event(self, kind: Guarantee | None = None) -> Event:
        """Return the event to charge before the release: ``(epsilon, delta)`` at user level, and the slack.

        Parameters
        ----------
        kind : Guarantee, optional
            The user-level guarantee with parameters 0 that the price is stated as, of the same neighbours.
        """

    @abstractmethod
    def half_width(self, level: float) -> float:
        """Return ``h`` such that the noise of a number of users is within ``h`` of 0 with probability ``level``."""

    @abstractmethod
    def release(self, counts: npt.ArrayLike, numbers: Numbers) -> FoundKeys:
        """Return the keys that pass, with noisy numbers: this spends.

        Parameters
        ----------
        counts : array-like of int, shape (keys that occur,)
            Users of every key that somebody has, from 1 on, in an order that tells nothing of the data.
        numbers : callable
            Called once, with the places of the keys that passed: returns their exact numbers, one sequence for each
            number.
        """


@dataclass(frozen=True)
class KeysThenNumbers(NumberedKeys):
    """Keys by a threshold of its own noise, then their numbers with Laplace noise: theorem 1 of the module.

    Raises
    ------
    UsageError
        If the dimension is no multiple of ``r L``.

    Guarantee
    ---------
    ``(epsilon_1 + epsilon_2, delta_1)``-DP at user level, the numbers moving by at most the noise's sensitivity.

    >>> from emdp.mechanisms.keys.laplace import TruncatedKeys
    >>> both = KeysThenNumbers(TruncatedKeys(0.5, 1e-9, 1, "replace"),
    ...                        LaplaceMechanism(sensitivity=4.0, alpha=0.5, dimension=2))
    >>> both.people, both.event().guarantee
    (79, UserDP(epsilon=1.0, delta=1e-09, model='central'))
    """

    slack_delta: ClassVar[float] = 0.0

    keys: KeyThreshold
    # For the numbers, in the order of keys for each number; its dimension is `r L m`. None where there are none.
    noise: LaplaceMechanism | None = None

    def __post_init__(self) -> None:
        if self.noise is not None:
            _check_dimension(self.noise.dimension, self.keys.moves)

    @property
    def theorem(self) -> str:
        return self.keys.theorem if self.noise is None else f"{self.keys.theorem}; then {self.noise.theorem}"

    @property
    def people(self) -> int:
        return self.keys.people

    @property
    def slack_epsilon(self) -> float:
        """Slack of the numbers; that of the keys' Gaussian noise is inside their delta."""
        return 0.0 if self.noise is None else self.noise.slack_epsilon

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the threshold's noise."""
        return self.keys.standard_deviation

    def _noise_facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        return () if self.noise is None else self.noise.facts(unit)

    def event(self, kind: Guarantee | None = None) -> Event:
        alone = self.keys.event(kind)
        if self.noise is None:
            return alone
        level = float_up(as_decimal(self.keys.epsilon) + as_decimal(self.noise.alpha))
        stated = alone.guarantee.kind.at_level(level, alone.guarantee.delta)
        return GuaranteeEvent(stated, self.theorem, self.slack_epsilon)

    def half_width(self, level: float) -> float:
        return self.keys.half_width(level)

    def release(self, counts: npt.ArrayLike, numbers: Numbers) -> FoundKeys:
        found = self.keys.release(counts)
        index = found.index.tolist()
        rows: Rows = () if self.noise is None else numbers(index)
        noisy = () if self.noise is None else _noisy(self.noise, rows)
        return FoundKeys(tuple(index), tuple(map(Fraction, found.counts.tolist())), noisy)


@dataclass(frozen=True)
class KeysWithNumbers(NumberedKeys):
    """Keys by a threshold on one of their numbers, all with one Gaussian noise: theorem 2 of the module.

    Raises
    ------
    UsageError
        If the dimension is no multiple of ``r L``, or the grid is too coarse for numbers of users.

    Guarantee
    ---------
    ``(epsilon, delta)``-DP at user level, ``delta`` at most the sum of the two.

    >>> noise = GaussianMechanism(sensitivity=2.0, alpha=1.0, delta=5e-10, dimension=4)
    >>> both = KeysWithNumbers(noise, 1, "replace", 5e-10)
    >>> both.people, both.price <= 1e-9
    (70, True)
    """

    # For all numbers, the number of users among them as it is; its dimension is `r L m`. Its delta is `delta_0`.
    noise: GaussianMechanism
    keys: int  # `L`
    neighbours: Neighbours  # What the noise's sensitivity is for
    threshold_delta: float  # What the threshold may cost, in (0, 1)

    def __post_init__(self) -> None:
        _check_dimension(self.noise.dimension, moved_users(self.neighbours) * check_count("keys", self.keys))
        if self.noise.grid > 1.0 or self.noise.noise_units < ldexp(1.0, 39):
            raise UsageError("noise has a grid too coarse for numbers of users; narrow the range of what is summed up.")

    @property
    def theorem(self) -> str:
        return (
            f"Gaussian noise on numbers of at most {self.keys} keys of a user and a threshold (user-level-sql.md 2.5)"
        )

    @cached_property
    def threshold(self) -> int:
        """``tau``: the least whose cost is within ``threshold_delta``."""
        return gaussian_threshold(self.noise.scale, self.keys, self.threshold_delta)

    @property
    def new_key(self) -> float:
        """``p``, rounded up."""
        return gaussian_new_key(self.noise.scale, self.threshold)

    @property
    def price(self) -> float:
        """``1 - (1 - p)^L (1 - delta_0)``, rounded up."""
        new, own = as_decimal(new_keys_delta(self.new_key, self.keys)), as_decimal(self.noise.delta)
        return float_up(new + own - new * own)

    @property
    def people(self) -> int:
        return self.threshold

    @property
    def slack_epsilon(self) -> float:
        return self.noise.slack_epsilon

    @property
    def slack_delta(self) -> float:
        return self.noise.slack_delta

    @property
    def standard_deviation(self) -> float:
        return self.noise.standard_deviation

    def _noise_facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        return self.noise.facts(unit)

    def event(self, kind: Guarantee | None = None) -> Event:
        found = check_kind(kind, self.neighbours)
        return GuaranteeEvent(found.at_level(self.noise.alpha, self.price), self.theorem, self.slack_epsilon)

    def half_width(self, level: float) -> float:
        return self.noise.interval_half_width(level)

    def release(self, counts: npt.ArrayLike, numbers: Numbers) -> FoundKeys:
        exact = check_integer_array("counts", counts, low=1, high=2**52).tolist()
        (noisy,) = _noisy(self.noise, [[Fraction(count) for count in exact]])
        index = [place for place, value in enumerate(noisy) if value >= self.threshold]
        return FoundKeys(tuple(index), tuple(noisy[place] for place in index), _noisy(self.noise, numbers(index)))


def _check_dimension(dimension: int, moves: int) -> None:
    if dimension % moves:
        raise UsageError(f"dimension must be a multiple of {moves}, got {dimension}; count the numbers that can move.")


def _noisy(noise: LaplaceMechanism | GaussianMechanism, rows: Rows) -> tuple[tuple[Fraction, ...], ...]:
    """Return numbers, rounded to the grid, with independent noise: as many as there are, whatever the dimension."""
    grid = Fraction(noise.grid)
    size = int(np.sum([len(row) for row in rows]))
    draws = iter(noise.draw_many(-(-size // noise.dimension)) if size else ())
    return tuple(tuple((round(value / grid) + next(draws)) * grid for value in row) for row in rows)
