"""Rewards of a batch of users, one reward each, told privately: sums with noise, or one bit a user.

**Setting.** A batch has ``n`` slots, each with a public action; a user plays one slot and has a reward in [-1, 1] for
whatever action stands there. Neighbours replace a user by any other. Actions and numbers of slots are public, or
functions of earlier batches' outputs.

**Theorem (central).** Rewards are rounded to units of ``2^-20``, as integers, and added up exactly for each action;
each sum gets one draw of discrete Laplace noise of scale ``b`` units. With ``b >= 2^21/epsilon`` the noisy sums are
``epsilon``-DP. *Proof.* A user plays one slot, so that one sum alone changes, by at most ``2 * 2^20`` units, and the
law ``exp(-|k|/b)`` of its noise by a factor of at most ``exp(2^21/b)``. ∎ The published ``b = 2^20/epsilon`` takes
rewards to differ by 1 at most, and is ``2 epsilon``-DP (linear-bandits.md 1; tested by enumeration).

**Theorem (local).** A reward ``r`` is told as one sign, ``+1`` with probability ``1/2 + r/(2 c)``, from the integers of
:class:`emdp.mechanisms.vector.randomizer.SignStrength`: ``epsilon``-LDP; ``c`` times the sign has mean ``r``.

**Theorem (shuffle).** Users are dealt to the slots by a secret uniform permutation, and the slots' signs are seen. A
slot's randomizer takes the user, plays its own action and tells the sign of the reward: it is ``epsilon0``-LDP, another
one for each slot. Randomizers of shuffled users may differ (Feldman, McMillan and Talwar 2021: a slot's message is with
probability ``exp(-epsilon0)`` a clone of the changed user's), so that the **generic** clone pair of ``n`` messages
bounds the batch; the sharper place-sign pair is proven for one randomizer alone. ``epsilon0`` is the largest whose
bound is ``epsilon`` at ``delta``, and at least ``epsilon``.

**Theorem (batches).** Batches of disjoint users are together as private as the weakest of them. *Proof.* Fix two worlds
that differ in a user of batch ``i``. Batches before have one law in both; given them batch ``i`` is ``(epsilon,
delta)``-DP, for whatever size and actions they led to; what follows asks other users, by a function of outputs. ∎

**Radius.** With ``th = V^-1 sum_a a (sum of a's rewards as told)``, ``V = sum n_a a a^T``, and ``w_a = x^T V^-1 a``,
the estimate of ``x``'s mean reward is off by ``sum_slots w_a e``, ``e`` independent, of mean 0 and within ``[-c, c]``
of the mean (``c = 1`` in the central model), and by ``sum_a w_a Lap_a``. By Hoeffding the first is above ``c sqrt(2 L
sum n_a w_a^2)`` with probability at most ``2 exp(-L)``. A Laplace variable of scale ``b`` has ``E exp(t Lap) = 1/(1 -
t^2 b^2) <= exp(2 t^2 b^2)`` for ``t b <= 1/sqrt 2`` (the printed ``exp(t^2 b^2/2)`` is false; a discrete one of that
scale has no more), so that the second is above ``(L + 2 t^2 b^2 sum w_a^2)/t`` with probability at most ``2 exp(-L)``,
for each such ``t``.
"""

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt

from emdp.base.arrays import Floats, Integers
from emdp.base.checks import check_choice, check_count, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.strength import LARGEST_EPSILON, check_epsilon
from emdp.mechanisms.vector.randomizer import SignStrength
from emdp.noise.choices import draw_bernoulli
from emdp.noise.discrete_laplace import draw_discrete_laplace
from emdp.privacy.rounding import as_decimal, float_up
from emdp.privacy.shuffle.users import shuffle_epsilon0

__all__ = ["UNITS", "BatchRewards"]

UNITS = 2**20
"""Units of a reward of 1."""

_MODELS = ("central", "local", "shuffle")
_BITS = 62


@dataclass(frozen=True)
class BatchRewards:
    """Messages about the rewards of one batch, and their sums.

    Attributes
    ----------
    epsilon0 : float
        What one message costs by itself: ``epsilon`` but in the shuffle model; infinite in the central one, whose
        messages are the rewards.

    Guarantee
    ---------
    ``(epsilon, delta)`` at user level in the model, replacing a user; the module's text has the proof.

    >>> BatchRewards("shuffle", 0.2, 10_000, 1e-6).epsilon0 > 1.5
    True
    """

    model: str  # "central", "local", "shuffle": who sees what
    epsilon: float  # Of the batch, at user level, from 1e-6 to 40
    users: int  # `n`: slots of the batch
    delta: float = 0.0  # Above 0 in the shuffle model, 0 in the others

    def __post_init__(self) -> None:
        check_choice("model", self.model, _MODELS)
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "users", check_count("users", self.users))
        object.__setattr__(self, "delta", check_unit_interval("delta", self.delta, zero=True))
        if (self.model == "shuffle") != (self.delta > 0):
            raise UsageError(
                f"delta must be above 0 in the shuffle model and 0 in the others, got {self.delta:g} in the "
                f"{self.model} model; pass such as delta=1e-6 with model='shuffle' alone."
            )

    @cached_property
    def noise_units(self) -> float:
        """Scale of the noise of a sum in the central model, in units of ``2^-20``, rounded up."""
        return float_up(2 * UNITS / as_decimal(self.epsilon))

    @cached_property
    def epsilon0(self) -> float:
        if self.model == "central":
            return math.inf
        if self.model == "local":
            return self.epsilon
        mixed = shuffle_epsilon0(self.epsilon, self.users, self.delta)
        return min(max(self.epsilon, mixed), LARGEST_EPSILON)

    @cached_property
    def sign(self) -> SignStrength:
        """Strength of the sign that a user tells."""
        return SignStrength.of(as_decimal(self.epsilon0))

    @cached_property
    def reach(self) -> float:
        """``c``: 1 in the central model, else what a sign stands for."""
        return 1.0 if self.model == "central" else float_up(self.sign.contrast)

    def encode(self, rewards: npt.ArrayLike) -> Integers:
        """Return one message for each reward: a sign, or in the central model the reward in units of ``2^-20``.

        Parameters
        ----------
        rewards : array-like of float, shape (users,)
            Clipped to [-1, 1]; 0 where it is no number.
        """
        given = np.asarray(rewards, dtype=np.float64)
        sound = np.clip(np.where(np.isnan(given), 0.0, given), -1.0, 1.0)
        if self.model == "central":
            return np.asarray(np.rint(sound * UNITS), dtype=np.int64)
        is_plus = draw_bernoulli(self.sign.numerators(sound), _BITS)
        return np.asarray(2 * is_plus.astype(np.int64) - 1, dtype=np.int64)

    def check(self, messages: npt.ArrayLike) -> Integers:
        """Return messages as an array, or raise ``UsageError`` if :meth:`encode` returns no such thing."""
        found, most = np.asarray(messages), UNITS if self.model == "central" else 1
        if found.dtype.kind not in "iu" or found.shape != (self.users,):
            raise UsageError(f"messages must be {self.users} integers, one a slot; pass what Batch.encode returned.")
        # Not by np.abs, which leaves the smallest integer of a type negative.
        is_beyond = bool((found > most).any()) or bool((found < -most).any())
        if is_beyond or (self.model != "central" and not bool((found != 0).all())):
            raise UsageError("messages hold what no user sends; pass what Batch.encode returned.")
        return np.asarray(found, dtype=np.int64)

    def released(self, sums: Integers) -> Floats:
        """Return each action's sum of rewards as told: with noise in the central model, else signs times ``c``."""
        if self.model != "central":
            return np.asarray(sums * float(self.sign.contrast), dtype=np.float64)
        noise = draw_discrete_laplace(self.noise_units, len(sums))
        return np.array([(int(one) + own) / UNITS for one, own in zip(sums, noise, strict=True)], dtype=np.float64)

    def radius(self, weights: Floats, counts: Integers, log: float) -> float:
        """Return how far an estimate is off at most, but with a probability of ``4 exp(-log)`` for each estimate.

        Parameters
        ----------
        weights : numpy.ndarray, shape (estimates, actions)
            ``w``.
        counts : numpy.ndarray of int64, shape (actions,)
            ``n_a``.
        log : float
            ``L``.
        """
        squares = (weights**2 * counts).sum(axis=1)
        found = self.reach * np.sqrt(2.0 * log * squares) + (np.abs(weights) * counts).sum(axis=1) / UNITS
        if self.model == "central":
            scale = self.noise_units / UNITS
            spread = np.sqrt((weights**2).sum(axis=1))
            largest = np.maximum(np.abs(weights).max(axis=1), 1e-300)
            slope = np.minimum(
                np.sqrt(log / 2.0) / (scale * np.maximum(spread, 1e-300)), 1.0 / (math.sqrt(2.0) * scale * largest)
            )
            found += (log + 2.0 * (slope * scale * spread) ** 2) / slope
        return float(found.max())
