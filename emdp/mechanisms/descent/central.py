"""Descent by a trusted curator: noise on the mean gradient of all users, in every round.

Theorem. Replacing one user's records changes the mean gradient of a round, at whatever weights, by at most ``2 C/n`` in
the 2-norm. So ``T`` rounds are one release of ``T p`` numbers, each round's chosen after seeing the earlier ones, that
moves by at most ``sqrt(T) 2 C/n`` in the 2-norm and ``T sqrt(p) 2 C/n`` in the 1-norm. Gaussian noise calibrated to the
first as one vector is ``(epsilon, delta)``-DP at user level for all rounds together, Laplace noise calibrated to the
second is ``epsilon``-DP, with the slack of :mod:`emdp.mechanisms.central.gaussian` and
:mod:`emdp.mechanisms.central.laplace` for the dimension ``T p``. Neighbours replace one user's records by any others.

Proof. A user's gradient lies in the ball of radius ``C`` (:mod:`emdp.mechanisms.descent.loss`), those of the others do
not depend on it given the weights, and these are a function of earlier outputs. *Gaussian, continuous*: a round is
dominated by ``N(2 C/(n sigma), 1)`` and ``N(0, 1)`` for every outcome of the earlier ones, and dominating pairs compose
adaptively (Zhu, Dong and Wang 2022, theorem 10); squares of shifts add. *On the grid*: the three steps of the proof in
:mod:`emdp.mechanisms.central.gaussian` hold outcome by outcome, with centres that depend on the earlier part of the
outcome: steps 1 and 2 compare probabilities of one outcome, coordinate by coordinate; in step 3 the rounds' shifts
``mu_t + eta_t`` have a root of the sum of squares of at most ``mu + eta`` (Minkowski), ``mu`` and ``eta`` those of the
whole vector. *Laplace*: the ratio of one outcome's probabilities is the product over rounds, so 1-norms add.

Users are in all rounds: a part of them in each would have to share the same noise among fewer.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from emdp.base.arrays import Floats
from emdp.base.classes import dataclass
from emdp.mechanisms.central.additive import AdditiveMechanism
from emdp.mechanisms.central.gaussian import GaussianMechanism
from emdp.mechanisms.central.laplace import LaplaceMechanism
from emdp.mechanisms.crowd import ColumnSums, Crowd
from emdp.mechanisms.descent.rounds import Descent
from emdp.noise.discrete_gaussian import draw_discrete_gaussian
from emdp.noise.discrete_laplace import draw_discrete_laplace
from emdp.privacy import Event, UserDP
from emdp.privacy.rounding import float_at_least, root_up

__all__ = ["CentralDescent", "CuratedDescent"]


@dataclass(frozen=True, eq=False)
class CuratedDescent(Descent):
    """Rounds, or one, that ask all users and add noise to their mean."""

    is_gaussian: bool  # Whether the noise is Gaussian, at the setting's delta, or Laplace

    @property
    @abstractmethod
    def law(self) -> AdditiveMechanism:
        """The noise of all that is released."""

    @property
    def event(self) -> Event:
        return self.law.event(UserDP(0.0))

    @property
    def users_a_round(self) -> int:
        return self.setting.users

    @property
    def slack_epsilon(self) -> float:
        return self.law.slack_epsilon

    @property
    def slack_delta(self) -> float:
        return self.law.slack_delta


@dataclass(frozen=True, eq=False)
class CentralDescent(CuratedDescent):
    """Noise on the mean gradient of all users; see :class:`CuratedDescent`.

    Guarantee
    ---------
    ``(epsilon, delta)`` central user-level for all rounds together, with ``slack_epsilon`` for the grid of the noise.
    The module's text has the proof.

    >>> from emdp.mechanisms.descent.rounds import DescentSetting
    >>> setting = DescentSetting(1000, 3, "squared", 3.0, 1.0, 1.0, 1e-6)
    >>> descent = CentralDescent(setting, 16, True)
    >>> descent.epsilon, round(descent.law.scale / (2 * 3.0 / 1000), 3)
    (1.0, 16.899)
    """

    @property
    def name(self) -> str:
        return f"everybody in every round, {self.law.name} noise"

    @property
    def theorem(self) -> str:
        change = "sqrt(T) 2 C/n in the 2-norm" if self.is_gaussian else "T sqrt(p) 2 C/n in the 1-norm"
        return f"{self.law.name} noise for all T rounds as one vector, which one user moves by {change}"

    @cached_property
    def law(self) -> AdditiveMechanism:
        own, shape = self.setting, self.rounds * self.setting.dimension
        change = 2 * Fraction(own.clip) / own.users
        if self.is_gaussian:
            moved = root_up(self.rounds * change**2)
            return GaussianMechanism(
                sensitivity=moved, alpha=own.epsilon, delta=own.delta, dimension=shape, magnitude=own.clip
            )
        moved = float_at_least(self.rounds * change * Fraction(root_up(Fraction(own.dimension))))
        return LaplaceMechanism(sensitivity=moved, alpha=own.epsilon, dimension=shape, magnitude=own.clip)

    @property
    def noise(self) -> float:
        return self.law.standard_deviation * math.sqrt(self.setting.dimension)

    @property
    def strength(self) -> str:
        return f"{self.law.name} noise of scale {self.law.scale:.4g} on each entry, on a grid of {self.law.grid:.3g}"

    def _dealt(self) -> Sequence[None]:
        return (None,) * self.rounds

    def _ask(self, crowd: Crowd) -> Floats:
        draw: Callable[[float, int], Sequence[int]] = (
            draw_discrete_gaussian if self.is_gaussian else draw_discrete_laplace
        )
        grid = Fraction(self.law.grid)
        unit = Fraction(2) ** -self.setting.exponent / self.setting.users / grid
        noise = draw(self.law.noise_units, self.setting.dimension)
        sums = crowd.added(ColumnSums(self.setting.dimension))
        return np.array([float((round(int(one) * unit) + own) * grid) for one, own in zip(sums, noise, strict=True)])
