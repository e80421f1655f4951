"""Thresholds on keys that nobody listed: what all kinds of noise share.

Setting. A user has at most ``L`` keys (the caller chooses them by the content of the user's own rows alone). A key's
count of users ``D_g >= 1`` gets noise ``Z_g``, independent across keys, and the key is released, with ``D_g + Z_g`` and
with whatever else is released of it, if ``D_g + Z_g >= tau``. Let ``p = P(1 + Z >= tau)`` and ``q_a = (1 - p)^a``. Let
``r`` be 1 between neighbours by removal, 2 by replacement, and ``H_t(P||Q) = sup_E P(E) - t Q(E)``.

**Theorem 1** (user-level-sql.md 2.5). Let ``delta_0`` be such that the noisy numbers of keys that *both* neighbours
have are at ``H_t <= delta_0``, for some ``t >= 0``. Then ``H_t <= 1 - q_L (1 - delta_0)`` for the release. In
particular it is ``(epsilon, 1 - q_L)`` where the noise is pure, whatever ``p``.

*Proof.* Let the changed user have ``a`` keys that nobody else has in the first table, and ``c`` in the second (by
removal one of the two is 0, since the user has no rows there). Outcomes that show one of the ``a`` keys have
probability 0 in the second table; together they have ``1 - q_a`` in the first, each such key passing with probability
``p`` independently. On all other outcomes the laws are ``q_a P_B`` and at most ``q_c Q_B``, where ``P_B, Q_B`` are
those of the keys that both tables have. (A key that only one table has is one that nobody but the user has.) So

    ``H_t = 1 - q_a + sup (q_a P_B - t q_c Q_B)``.                                                             (1)

If ``q_a >= q_c`` then ``q_a P_B - t q_c Q_B = (q_a - q_c) P_B + q_c (P_B - t Q_B)`` and (1) is at most ``1 - q_c +
q_c delta_0``; else the second part is at most ``q_a (P_B - t Q_B)``, and (1) is at most ``1 - q_a + q_a delta_0``.
Both are at most ``1 - q_L (1 - delta_0)``, since ``a, c <= L``. ∎

**Corollary (composition).** Theorem 1 holds for every ``t`` at once. ``1 - q_L (1 - H_t)`` is the divergence of the
pair that shows which table it is with probability ``delta_2 = 1 - q_L`` and else is the pair of the noise. So beside
other releases the threshold is an event of its own, ``(0, delta_2)``, and the noise one of its own (pure, or Gaussian
with its ``mu``): together they dominate the release. :meth:`KeyThreshold.events` gives the two,
:meth:`KeyThreshold.event` the one that prices the release alone.

**Theorem 2** (exact price of one count a key). Let ``delta_0(x, s)`` be ``H_t`` at ``t = e^x`` of the noise on ``s``
counts that move by 1 each. Then the least delta at ``epsilon`` is the largest of

    ``T(a, c) = 1 - q_a + q_a delta_0(epsilon + ln q_c - ln q_a, m - a - c)``,

over ``0 <= a, c <= L`` and ``m = 2 L`` by replacement; over those with ``a = 0`` or ``c = 0``, and ``m = L``, by
removal.

*Proof.* By (1) it is the largest of ``1 - q_a + q_a H_{t q_c/q_a}(P_B||Q_B)``. The user's keys in ``B`` number at most
``L - a`` in the first and ``L - c`` in the second table (by removal those of one table alone), each moves a count by 1
or not at all, and fewer of them or a threshold on them are less by data processing; the noise is symmetric, so the
signs do not matter. So ``T`` is an upper bound, and it is approached where these keys are all different, and many
others have them, so that they pass for certain. ∎ ``T`` falls in ``q_a`` and in ``q_c``: it is the largest value of ``1
- q_a (1 - P(E)) - t q_c Q(E)`` over events. So a ``p`` that is rounded up gives an upper bound.

A released key was found among people: :attr:`KeyThreshold.people` is the count from which it appears with probability
1/2 at least.
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy.typing as npt

from emdp.base.arrays import Floats, Integers
from emdp.base.checks import check_count, check_positive, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.contribution.moves import check_kind, moved_users
from emdp.noise.arrays import check_integer_array
from emdp.privacy.events.table import Event, GuaranteeEvent
from emdp.privacy.guarantees.kinds import Guarantee, Neighbours

__all__ = ["LEAST_DELTA", "MARGIN", "MOST_KEYS", "KeyThreshold", "NoisyKeys", "chance_within", "new_keys_delta"]

MOST_KEYS = 2**16
"""Largest ``L``."""

LEAST_DELTA = 1e-25
"""Smallest delta that thresholds are made for: below it doubles and the slack of the grid would have to be watched."""

MARGIN = 2.0**-30
"""Relative margin, outward, of probabilities that are computed in double precision."""

_LARGEST_COUNT = 2**52


@dataclass(frozen=True)
class NoisyKeys:
    """The keys that passed a threshold."""

    index: Integers  # Which of the counts passed, in their order
    counts: Floats  # Their noisy counts; whole numbers unless the noise is Gaussian


@dataclass(frozen=True)
class KeyThreshold(ABC):
    """Noise on counts of users by key, and the least threshold for a price; frozen, holds no private value.

    References
    ----------
    user-level-sql.md 2.5; the module's theorems.
    """

    epsilon: float  # In [1e-6, 100]
    delta: float  # In [1e-25, 1)
    keys: int  # `L`, the most keys of a user, from 1 to 2^16
    # Which tables must look alike: with one user's records replaced, or with all of them removed.
    neighbours: Neighbours
    name: ClassVar[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon))
        if not 1e-6 <= self.epsilon <= 100:
            raise UsageError(f"epsilon must be between 1e-6 and 100, got {self.epsilon:g}; pass such a number.")
        object.__setattr__(self, "delta", check_unit_interval("delta", self.delta))
        if self.delta < LEAST_DELTA:
            raise UsageError(f"delta must be at least {LEAST_DELTA:g}, got {self.delta:g}; pass a larger one.")
        if check_count("keys", self.keys) > MOST_KEYS:
            raise UsageError(f"keys must be at most {MOST_KEYS}, got {self.keys}; keep fewer keys of a user.")
        moved_users(self.neighbours)

    @property
    def moves(self) -> int:
        """``r L``: how many counts one user moves, by 1 each."""
        return moved_users(self.neighbours) * self.keys

    @property
    @abstractmethod
    def threshold(self) -> int:
        """``tau``: a key is released where its noisy count is at least this."""

    @property
    @abstractmethod
    def scale(self) -> float:
        """Scale of the noise, or its standard deviation where it is Gaussian."""

    @property
    @abstractmethod
    def standard_deviation(self) -> float:
        """Standard deviation of the noise on a count."""

    @property
    @abstractmethod
    def price(self) -> float:
        """The delta at ``epsilon``, rounded up: at most ``delta``."""

    @property
    @abstractmethod
    def new_key(self) -> float:
        """``p``: how likely a key of one person passes, rounded up."""

    @property
    def people(self) -> int:
        """Number of people that a key needs to be released with probability 1/2: the noise is symmetric around 0."""
        return self.threshold

    def half_width(self, level: float) -> float:
        """Return ``h`` such that the noise of a count is within ``h`` of 0 with probability ``level``, rounded up.

        Parameters
        ----------
        level : float
            In (0, 1).
        """
        return self._half_width(math.nextafter(1.0 - check_unit_interval("level", level), 0.0))

    @property
    def theorem(self) -> str:
        """The guarantee's source, in one line."""
        return f"{self.name} noise on at most {self.keys} keys of a user and a threshold (user-level-sql.md 2.5)"

    def event(self, kind: Guarantee | None = None) -> Event:
        """Return the event to charge before a release that is priced alone: ``(epsilon, delta)`` at user level.

        Parameters
        ----------
        kind : Guarantee, optional
            The user-level guarantee with parameters 0 that the price is stated as, of the same neighbours.

        Raises
        ------
        UsageError
            If the kind is another guarantee, or one for other neighbours.
        """
        return GuaranteeEvent(self._kind(kind).at_level(self.epsilon, self.delta), mechanism=self.theorem)

    def events(self, kind: Guarantee | None = None) -> tuple[Event, ...]:
        """Return the events of the noise and of the threshold, for a price together with other releases."""
        return (self._noise_event(self._kind(kind)), threshold_event(self.new_key, self.keys, self._kind(kind)))

    def release(self, counts: npt.ArrayLike) -> NoisyKeys:
        """Return the keys that pass, with noisy counts: this spends.

        Parameters
        ----------
        counts : array-like of int, shape (keys that occur,)
            ``D_g``, from 1 to 2^52, of every key that somebody has, in an order that tells nothing of the data (sorted
            by the key's text). Parts of the keys may be released by several calls under one charge.
        """
        return self._draw(check_integer_array("counts", counts, low=1, high=_LARGEST_COUNT))

    def _kind(self, kind: Guarantee | None) -> Guarantee:
        return check_kind(kind, self.neighbours)

    @abstractmethod
    def _noise_event(self, kind: Guarantee) -> Event:
        """Return the event of the noise on counts of keys that both neighbours have."""

    @abstractmethod
    def _half_width(self, tail: float) -> float:
        """Return ``h`` such that noise is beyond ``h`` with probability ``tail`` at most."""

    @abstractmethod
    def _draw(self, counts: Integers) -> NoisyKeys:
        """Draw the noise and keep what passes."""


def threshold_event(chance: float, keys: int, kind: Guarantee) -> Event:
    """Return the event of a threshold beside its noise: ``(0, 1 - q_L)``, the corollary of the module.

    Parameters
    ----------
    chance : float
        ``p``, rounded up.
    keys : int
        ``L``.
    """
    return GuaranteeEvent(kind.at_level(0.0, new_keys_delta(chance, keys)), mechanism="threshold on new keys")


def new_keys_delta(chance: float, keys: int) -> float:
    """Return ``1 - (1 - p)^L``, rounded up: how likely one of ``L`` keys of one person passes.

    >>> round(new_keys_delta(0.01, 2), 9)
    0.0199
    """
    if chance >= 1.0:
        return 1.0
    return min(1.0, -math.expm1(keys * math.log1p(-chance)) * (1.0 + MARGIN))


def chance_within(delta: float, keys: int) -> float:
    """Return a ``p`` with ``1 - (1 - p)^L <= delta``, near the largest one: the inverse of :func:`new_keys_delta`.

    >>> new_keys_delta(chance_within(1e-9, 100), 100) <= 1e-9
    True
    """
    return -math.expm1(math.log1p(-delta) / keys) * (1.0 - 4.0 * MARGIN)
