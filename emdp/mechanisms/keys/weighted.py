"""Keys that nobody listed, found by weights: for rare keys, in rounds that leave out what is found.

A round. A user with ``t`` keys, at most ``L`` of them (the first ``L`` in an order of its own records' content), adds
``1/sqrt(t)`` to each: 2-norm 1. A key with positive weight ``w`` gets Gaussian noise and is found where ``w + Z >=
tau``.

**Theorem 1** (Gopi, Gulhane, Kulkarni, Shen, Shokouhi and Yekhanin 2020). Let ``tau >= 1/sqrt(t) + sigma Phi^-1((1 -
delta_2)^(1/t))`` for every ``t`` from 1 to ``L``, and ``mu = sqrt(r)/sigma``, ``r`` 1 by removal, 2 by replacement. For
every ``x >= 0`` the round is at ``H_x <= 1 - (1 - delta_2)(1 - G_x(mu))``, ``G_x(mu)`` the divergence of the Gaussian
pair. *Proof.* As theorem 1 of :mod:`emdp.mechanisms.keys.threshold`. Let the changed user have ``t`` keys, ``a`` of
them with nobody else. Each of these has weight ``1/sqrt(t)`` and is found with probability ``p_t = P(Z >= tau -
1/sqrt(t))``, so none is found with probability ``(1 - p_t)^a >= (1 - p_t)^t >= 1 - delta_2``: that is the ``q_a``, or
``q_c``, of that proof, which asks no more of it than to be at least ``1 - delta_2``. Common keys move by vectors ``x``
and ``y`` of the user, nonnegative, of 2-norm at most 1: by ``1`` or ``sqrt(2)`` in the 2-norm. ∎ One ``t`` would not
do: fewer keys have more weight each, more keys have more chances.

**Theorem 2 (rounds)** (Swanberg, Desfontaines and Haney 2023). Rounds with ``mu_i`` and ``delta_2i``, where a round may
depend on what the ones before found (users drop these keys, share their weight among the rest, and take up others
instead of them), are together at ``H_x <= 1 - prod (1 - delta_2i) (1 - G_x(mu))``, ``mu^2 = sum mu_i^2``. *Proof.* By
theorem 1 each round, for any earlier outcome, is dominated by the pair that shows which table it is with probability
``delta_2i`` and else is Gaussian with ``mu_i``. Dominating pairs compose adaptively (Zhu, Dong and Wang 2022, theorem
10); nothing is shown with probability ``prod (1 - delta_2i)``, and then the product of Gaussian pairs is one with
``mu``. ∎

*Integers.* Weights are ``floor(2^30/sqrt(t))`` in units of 2^-30, from an integer root: the sum of a user's squares is
at most 1, exactly. Noise is on a lattice of at most 2^-30 that holds them, with the slack of
:mod:`emdp.mechanisms.keys.gaussian`.

*Split.* Half of delta is for the noise, the other half for the thresholds, equally; ``mu^2`` by ``shares``. Early
rounds are cheap and find the frequent keys, so that the last one sees rare keys with all of their users' weight.
"""

import math
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from emdp.base.arrays import Integers
from emdp.base.checks import check_count, check_positive, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.contribution.moves import check_kind, moved_users
from emdp.mechanisms.keys.gaussian import BEYOND, lattice_slack
from emdp.mechanisms.keys.threshold import LEAST_DELTA, MARGIN
from emdp.noise.arrays import check_integer_array
from emdp.noise.discrete_gaussian import draw_discrete_gaussian
from emdp.privacy.calibration import gaussian_mu
from emdp.privacy.events.noise import GaussianEvent
from emdp.privacy.events.table import Event, GuaranteeEvent
from emdp.privacy.guarantees.kinds import Guarantee, Neighbours
from emdp.privacy.rounding import as_decimal, float_up, root_up, split

__all__ = ["WeightedKeys", "weighted_delta", "weighted_threshold"]

WEIGHT_BITS = 30
"""Weights are multiples of 2^-30."""

_MOST_KEYS = 2**14
_MOST_USERS = 2**31
_LARGEST_KEY = 2**40


@dataclass(frozen=True)
class WeightedKeys:
    """Keys found by weights of 2-norm 1 a user, in one round or several.

    Parameters
    ----------
    neighbours : {"replace", "remove"}

    Guarantee
    ---------
    ``(epsilon, delta)``-DP at user level: theorem 2 of the module.

    >>> found = WeightedKeys(1.0, 1e-9, 30, "remove")
    >>> len(found.sigmas), found.price <= 1e-9
    (3, True)
    """

    slack_epsilon: ClassVar[float] = 0.0
    """None: what the lattice costs is inside the noise's part of delta."""
    slack_delta: ClassVar[float] = 0.0
    is_exact: ClassVar[bool] = False

    epsilon: float  # In [1e-6, 100]
    delta: float  # In [1e-25, 1)
    keys: int  # `L`, the most keys of a user in a round, from 1 to 2^14
    neighbours: Neighbours
    shares: tuple[float, ...] = (0.1, 0.2, 0.7)  # How `mu^2` is divided among the rounds: positive numbers, at most 8

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon))
        if not 1e-6 <= self.epsilon <= 100:
            raise UsageError(f"epsilon must be between 1e-6 and 100, got {self.epsilon:g}; pass such a number.")
        object.__setattr__(self, "delta", check_unit_interval("delta", self.delta))
        if self.delta < LEAST_DELTA:
            raise UsageError(f"delta must be at least {LEAST_DELTA:g}, got {self.delta:g}; pass a larger one.")
        if check_count("keys", self.keys) > _MOST_KEYS:
            raise UsageError(f"keys must be at most {_MOST_KEYS}, got {self.keys}; keep fewer keys of a user.")
        moved_users(self.neighbours)
        if not isinstance(self.shares, tuple) or not 1 <= len(self.shares) <= 8:
            raise UsageError("shares must be a tuple of 1 to 8 numbers; pass (1.0,) for one round.")
        for share in self.shares:
            check_positive("share", share)

    @cached_property
    def mu(self) -> float:
        """``mu`` of all rounds together: the largest within half of delta."""
        room = 0.5 * self.delta * (1.0 - 4.0 * MARGIN) - self._beyond
        if room <= 0:
            raise UsageError(f"delta = {self.delta:g} is too small for {self.keys} keys; pass a larger one.")
        return gaussian_mu(self.epsilon * (1.0 - 4.0 * MARGIN), room)

    @cached_property
    def sigmas(self) -> tuple[float, ...]:
        """Standard deviation of the noise of each round, in weights; rounded up."""
        parts = split(1.0, self.shares)
        root = root_up(Fraction(moved_users(self.neighbours)))
        return tuple(root / (self.mu * math.sqrt(part)) * (1.0 + 2.0**-50) for part in parts)

    @cached_property
    def thresholds(self) -> tuple[float, ...]:
        """``tau`` of each round, a multiple of 2^-30."""
        return tuple(weighted_threshold(sigma, self.keys, self._new) for sigma in self.sigmas)

    @property
    def price(self) -> float:
        """The delta at ``epsilon`` of theorem 2 and the lattice, rounded up."""
        new = as_decimal(self._new) * len(self.shares)
        noise = 0.5 * self.delta * (1.0 - 2.0 * MARGIN)
        return float_up(new + Fraction(noise))

    @property
    def people(self) -> int:
        """How many users who have a key and no other it needs to be found with probability 1/2 in the last round."""
        return max(1, math.ceil(self.thresholds[-1]))

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        del unit
        rounds = zip(self.sigmas, self.thresholds, strict=True)
        shown = "; ".join(f"deviation {sigma:.4g}, threshold {threshold:.4g}" for sigma, threshold in rounds)
        return (("rounds", f"{shown}, of weights with 2-norm 1 a user"),)

    @property
    def theorem(self) -> str:
        return f"weights of at most {self.keys} keys of a user in {len(self.shares)} rounds (user-level-sql.md 2.5)"

    def event(self, kind: Guarantee | None = None) -> Event:
        """Return the event to charge before a release that is priced alone: ``(epsilon, delta)`` at user level."""
        found = check_kind(kind, self.neighbours)
        return GuaranteeEvent(found.at_level(self.epsilon, self.delta), mechanism=self.theorem)

    def events(self, kind: Guarantee | None = None) -> tuple[Event, ...]:
        """Return the events of the noise of each round and of all thresholds, for a price with other releases."""
        found = check_kind(kind, self.neighbours)
        rounds = [
            GaussianEvent(
                self.epsilon,
                self.delta,
                self._moves,
                sigma=sigma,
                sensitivity=root_up(Fraction(moved_users(self.neighbours))),
                grid=_grid(sigma),
                slack_epsilon=2.0 * lattice_slack(sigma, self._moves, _grid(sigma)),
                slack_delta=2.0 * self._moves * BEYOND,
                kind=found,
            )
            for sigma in self.sigmas
        ]
        new = float_up(as_decimal(self._new) * len(self.shares))
        return (*rounds, GuaranteeEvent(found.at_level(0.0, new), mechanism="thresholds on new keys"))

    def release(self, users: npt.ArrayLike, keys: npt.ArrayLike) -> tuple[Integers, ...]:
        """Return the keys found in each round: this spends.

        Parameters
        ----------
        users : array-like of int, shape (pairs,)
            The user of each pair of a user and a key: rising, at most 2^31 users.
        keys : array-like of int, shape (pairs,)
            The key of each pair as its place, from 0 on, in an order that tells nothing of the data. The pairs of a
            user stand in the order in which keys are to be kept: a function of the user's own records alone.

        Returns
        -------
        tuple of ndarray of int64
            Keys found in each round, rising, none twice.
        """
        owners = check_integer_array("users", users, low=-(2**62), high=2**62)
        places = check_integer_array("keys", keys, low=0, high=_LARGEST_KEY)
        if owners.size != places.size:
            raise UsageError("users and keys must be of one length; pass one of each for every pair.")
        if np.any(owners[1:] < owners[:-1]):
            raise UsageError("users must rise; sort the pairs by user.")
        found = []
        for sigma, threshold in zip(self.sigmas, self.thresholds, strict=True):
            present, weights = _weigh(owners, places, self.keys)
            passed = present[_passes(weights, sigma, threshold)]
            found.append(passed)
            rest = ~np.isin(places, passed)
            owners, places = owners[rest], places[rest]
        return tuple(found)

    @property
    def _moves(self) -> int:
        return moved_users(self.neighbours) * self.keys

    @property
    def _beyond(self) -> float:
        return 8.0 * len(self.shares) * self._moves * BEYOND

    @property
    def _new(self) -> float:
        return 0.5 * self.delta / len(self.shares) * (1.0 - MARGIN)


def weighted_delta(sigma: float, keys: int, threshold: float) -> float:
    """Return the largest chance, over ``t`` from 1 to ``keys``, that a key of one person is found; rounded up.

    >>> round(weighted_delta(1.0, 2, 3.0), 4)
    0.0228
    """
    from scipy.special import ndtr

    counts = np.arange(1, keys + 1)
    below = (_table(keys)[1:] / 2.0**WEIGHT_BITS - threshold) / sigma
    chance = np.minimum(ndtr(below + 2.0**-38) * (1.0 + MARGIN), 1.0)
    with np.errstate(divide="ignore"):
        some = -np.expm1(counts * np.log1p(-chance)) * (1.0 + MARGIN)
    return min(1.0, float(some.max()))


def weighted_threshold(sigma: float, keys: int, delta: float) -> float:
    """Return a threshold, a multiple of 2^-30, with :func:`weighted_delta` at most ``delta``, near the least one.

    >>> weighted_delta(1.0, 30, weighted_threshold(1.0, 30, 1e-9)) <= 1e-9
    True
    """
    from scipy.special import ndtri

    counts = np.arange(1, keys + 1)
    chance = -np.expm1(math.log1p(-check_unit_interval("delta", delta)) / counts)
    needed = float((1.0 / np.sqrt(counts) - check_positive("sigma", sigma) * ndtri(chance)).max())
    threshold = math.ceil(needed * 2.0**WEIGHT_BITS)
    while weighted_delta(sigma, keys, threshold / 2.0**WEIGHT_BITS) > delta:
        threshold += max(1, abs(threshold) >> 28)
    return threshold / 2.0**WEIGHT_BITS


@lru_cache(maxsize=16)
def _table(keys: int) -> Integers:
    """Return ``floor(2^30/sqrt(t))`` for every ``t`` up to ``keys``; 0 for none."""
    weights = [0, *(math.isqrt(2 ** (2 * WEIGHT_BITS) // count) for count in range(1, keys + 1))]
    return np.array(weights, dtype=np.int64)


def _weigh(owners: Integers, places: Integers, keys: int) -> tuple[Integers, Integers]:
    """Return the keys that have weight and their weights, of the first ``keys`` different ones of each user."""
    if not owners.size:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    # The first of equal pairs stays, in its place.
    order = np.lexsort((np.arange(owners.size), places, owners))
    twice = (np.diff(owners[order]) == 0) & (np.diff(places[order]) == 0)
    kept = np.sort(order[np.concatenate(([True], ~twice))])
    users, own = np.unique(owners[kept], return_inverse=True)
    if users.size > _MOST_USERS:
        raise UsageError("users must be at most 2^31; release parts of the users.")
    starts = np.searchsorted(own, np.arange(users.size))
    chosen = np.arange(own.size) - starts[own] < keys
    own, items = own[chosen], places[kept][chosen]
    present, place = np.unique(items, return_inverse=True)
    weights = np.zeros(present.size, dtype=np.int64)
    np.add.at(weights, place, _table(keys)[np.bincount(own)][own])
    return present, weights


def _passes(weights: Integers, sigma: float, threshold: float) -> npt.NDArray[np.bool_]:
    units = round(2.0**-WEIGHT_BITS / _grid(sigma))
    least = round(threshold * 2.0**WEIGHT_BITS) * units
    noise = draw_discrete_gaussian(sigma / _grid(sigma), weights.size)
    noisy = [weight * units + draw for weight, draw in zip(weights.tolist(), noise, strict=True)]
    return np.array([value >= least for value in noisy], dtype=np.bool_)


def _grid(sigma: float) -> float:
    return math.ldexp(1.0, min(math.frexp(sigma)[1] - 41, -WEIGHT_BITS))
