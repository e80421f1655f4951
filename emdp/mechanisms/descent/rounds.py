"""Private gradient descent on a convex loss of linear models, with a number of rounds that is fixed beforehand.

Setting. ``n`` public users; a user's gradient at weights ``w`` is a vector of 2-norm at most ``C``
(:mod:`emdp.mechanisms.descent.loss`). In each of ``T`` rounds a mechanism releases an estimate ``g_t`` of the mean
gradient at the weights of that round; then ``w_(t+1)`` is ``w_t - h g_t``, drawn in to the ball of radius ``D``. The
answer is the average of ``w_2, ..., w_(T+1)`` with weights ``1, ..., T``, from ``w_1 = 0``. All of it is a function of
what was released, so that it costs nothing beside the ``T`` releases; what these cost together is the theorem of each
mechanism.

Theorem (error). Let the loss be convex with curvature at most ``b``, ``|w*| <= D`` its minimum in the ball, and given
the rounds before let ``g_t`` have the loss's gradient as its mean and ``E |g_t - mean|^2 <= s^2``. With ``h = 1/(b +
sqrt(T) s/D)`` the answer's expected loss exceeds the smallest in the ball by at most

    ``1.5 b D^2/(T + 1) + 2 D s/sqrt(T)``.

Proof (after Bubeck 2015, theorem 6.3). Put ``a = D/(s sqrt(T))``, so ``1/h = b + 1/a`` and ``h <= a``, and ``d_t = |w_t
- w*|``. By smoothness and convexity ``f(w_(t+1)) - f(w*) <= (d_t^2 - d_(t+1)^2)/(2 h) + a/2 |g_t - grad|^2 + <grad -
g_t, w_t - w*>``, whose last term has mean 0. The left side is not negative, so ``E d_t^2 <= D^2 + (t - 1) h a s^2 <=
D^2 (1 + (t - 1)/T)``, at most ``1.5 D^2`` on average over ``t``. Multiply by ``t`` and sum: ``sum t (d_t^2 -
d_(t+1)^2) <= sum d_t^2``, so that the average's loss, at most the weighted average loss, exceeds the least by ``1.5
D^2 T/(2 h) 2/(T (T + 1)) + a s^2/2``.

Where each round asks other users, ``f`` is the mean loss of the population that users are drawn from, and ``s^2`` has
the part ``C^2/k`` of choosing ``k`` of them. A range that clips users is counted in ``s`` as if it were noise.

*Steps.* The published ``D/(G sqrt(t))`` with the last iterate has a factor ``ln T`` more and does not use smoothness
(local-shuffle-userlevel.md 2.5). The plain average has ``b D^2/(2 T) + D s/sqrt(T)`` for a bound, and yet is 1.1 to 3
times worse where both were measured: it remembers the first steps longer.

*What is typical.* The bound is for the worst curvature. Where features are independent and spread evenly over [-1, 1],
the Hessian of the squared loss is 1 along the constant and 1/3 along each feature, and a quarter of that at most for
the logistic one. There, with weights inside the ball, the distance from ``w*`` along a direction of curvature ``c`` is
linear in the start and in the noises, ``e_(t+1) = (1 - h c) e_t - h noise_t``, so that the expected excess loss of the
answer is known exactly but for the choice of users: :attr:`Descent.typical_excess`, for a ``w*`` half as long as the
ball's radius, in a random direction.

*Rounds.* The noise's part does not depend on ``T`` where ``s`` grows with ``sqrt(T)`` (Gaussian noise on all users,
users dealt to rounds), so that more rounds cost no accuracy there before users run out.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from emdp.base.arrays import Floats, Integers
from emdp.base.checks import check_choice, check_count, check_positive, check_range, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.mechanisms.crowd import Crowd, GatheredUsers
from emdp.mechanisms.descent.loss import CURVATURES, LOSSES, Loss, UserRecords, user_gradients
from emdp.privacy import Event
from emdp.privacy.rounding import as_decimal

__all__ = ["LARGEST_DIMENSION", "MOST_ROUNDS", "Descent", "DescentRelease", "DescentSetting"]

LARGEST_DIMENSION = 2**10
"""Most weights of a model."""

MOST_ROUNDS = 10_000
"""Most rounds that may be asked for."""

FIXED_BITS = 40
"""Gradients are whole numbers of so many bits."""

SMALLEST_LENGTH, LARGEST_LENGTH = 1e-6, 1e6
"""Limits of clip and radius: features and targets have a size of about 1."""


@dataclass(frozen=True)
class DescentSetting:
    """Public numbers of a descent.

    >>> setting = DescentSetting(1000, 3, "squared", 3.0, 1.0, 1.0)
    >>> setting.smoothness, setting.exponent
    (3.0, 38)
    """

    users: int  # `n`
    dimension: int  # `p`, weights of the model, that of the constant among them
    loss: Loss
    clip: float  # `C`, largest 2-norm of a record's gradient
    radius: float  # `D`, largest 2-norm of the weights
    # epsilon, delta: What may be spent in all; delta is 0 in the local model and above 0 in the shuffle model.
    epsilon: float
    delta: float = 0.0
    model: str = "central"  # "central", "local", "shuffle": who is trusted
    records: int = 1  # Least number of records of a user, for ranges
    # How far users' own gradients spread around the mean one, in the 2-norm; without it no range is looked for.
    between: float | None = None
    elsewhere: bool = False  # Whether records may be elsewhere, whose vector is 0

    def __post_init__(self) -> None:
        check_count("users", self.users)
        if check_count("dimension", self.dimension) > LARGEST_DIMENSION:
            raise UsageError(
                f"dimension must be at most {LARGEST_DIMENSION}, got {self.dimension}; use fewer features."
            )
        check_choice("loss", self.loss, LOSSES)
        check_range("clip", self.clip, SMALLEST_LENGTH, LARGEST_LENGTH)
        check_range("radius", self.radius, SMALLEST_LENGTH, LARGEST_LENGTH)
        check_positive("epsilon", self.epsilon)
        check_unit_interval("delta", self.delta, zero=True)
        check_choice("model", self.model, ("central", "local", "shuffle"))
        if self.model == "shuffle" and self.delta == 0:
            raise UsageError("delta must be above 0 in the shuffle model, got 0; pass one, or use the local model.")
        if self.model == "local" and self.delta > 0:
            raise UsageError(f"delta must be 0 in the local model, got {self.delta}; users' messages are pure.")
        check_count("records", self.records)
        if self.between is not None:
            check_range("between", self.between, 0.0, math.inf)

    @property
    def smoothness(self) -> float:
        """``b``: no direction has more curvature, for any records."""
        return CURVATURES[self.loss] * self.dimension

    @property
    def curvatures(self) -> tuple[tuple[float, int], ...]:
        """Curvatures of a loss with evenly spread features, each with its number of directions."""
        whole = CURVATURES[self.loss]
        return ((whole, 1), (whole / 3.0, self.dimension - 1))

    @property
    def start(self) -> float:
        """Square of what ``w*`` has along each direction if it is half as long as the radius."""
        return (self.radius / 2.0) ** 2 / self.dimension

    @property
    def unfitted_excess(self) -> float:
        """Mean loss of the weights 0 above the smallest, for evenly spread features and such a ``w*``."""
        return math.fsum(0.5 * count * curved * self.start for curved, count in self.curvatures)

    @property
    def exponent(self) -> int:
        """Exponent of the fixed point of gradients."""
        return FIXED_BITS - math.frexp(self.clip)[1]


@dataclass(frozen=True, eq=False)
class DescentRelease:
    """Weights that a descent found."""

    weights: tuple[float, ...]  # Of the rescaled features, the constant's first, in the ball
    mechanism: "Descent"


@dataclass(frozen=True, eq=False)
class Descent(ABC):
    """A private way of running the rounds; frozen, holds no private value."""

    is_exact: ClassVar[bool] = False

    setting: DescentSetting
    rounds: int  # `T`

    def __post_init__(self) -> None:
        check_count("rounds", self.rounds)

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the descent, in a few words."""

    @property
    @abstractmethod
    def theorem(self) -> str:
        """The guarantee's source, in one line."""

    @property
    @abstractmethod
    def event(self) -> Event:
        """Charge of all rounds together."""

    @property
    @abstractmethod
    def noise(self) -> float:
        """Root of the expected squared 2-norm of what randomness adds to one round's gradient."""

    @property
    @abstractmethod
    def users_a_round(self) -> int:
        """Number of users that a round asks."""

    @property
    @abstractmethod
    def strength(self) -> str:
        """Noise of one round, in words."""

    @property
    @abstractmethod
    def slack_epsilon(self) -> float:
        """Epsilon beside the guarantee that rounding costs, rounded up."""

    @property
    @abstractmethod
    def slack_delta(self) -> float:
        """The part of delta that covers rounding."""

    @abstractmethod
    def _dealt(self) -> Sequence[Integers | None]:
        """Return whom each round asks, drawn from no data; None for everybody."""

    @abstractmethod
    def _ask(self, crowd: Crowd) -> Floats:
        """Release a round's mean gradient, from the users of the round with their gradients: this spends."""

    def _estimate(self, gradients: Integers) -> Floats:
        """Release a round's mean gradient: this spends. ``gradients`` are those of the users of the round."""
        return self._ask(GatheredUsers(iter([gradients]), len(gradients)))

    @property
    def epsilon(self) -> float:
        """Epsilon of all rounds."""
        return self.event.guarantee.level

    @property
    def delta(self) -> float:
        """Delta of all rounds."""
        return self.event.guarantee.delta

    @property
    def choosing(self) -> float:
        """Root of the expected squared error of a round's gradient by the choice of its users."""
        return self.setting.clip / math.sqrt(self.users_a_round) if self.users_a_round < self.setting.users else 0.0

    @property
    def spread(self) -> float:
        """``s`` of the module's text."""
        return math.hypot(self.noise, self.choosing)

    @property
    def step(self) -> float:
        """``h``: length of a step per unit of gradient."""
        return 1.0 / (self.setting.smoothness + math.sqrt(self.rounds) * self.spread / self.setting.radius)

    @property
    def expected_excess(self) -> float:
        """Bound of the expected mean loss above the smallest in the ball, by the theorem of this file."""
        radius, rounds = self.setting.radius, self.rounds
        start = 1.5 * self.setting.smoothness * radius**2 / (rounds + 1)
        return start + 2.0 * radius * self.spread / math.sqrt(rounds)

    @property
    def typical_excess(self) -> float:
        """Expected mean loss above the smallest for features that are spread evenly: see the module's text."""
        own, rounds = self.setting, self.rounds
        noise, total = self.noise**2 / own.dimension, 0.0
        for curved, count in own.curvatures:
            kept, tail, squares = 1.0 - self.step * curved, 0.0, 0.0
            for number in range(rounds, 0, -1):
                tail = 2.0 * number / (rounds * (rounds + 1.0)) + kept * tail
                squares += tail * tail
            # `tail` is now the weight of the first step: kept times it is what is left of the start.
            total += 0.5 * count * curved * ((kept * tail) ** 2 * own.start + self.step**2 * squares * noise)
        return min(total, self.expected_excess)

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        del unit
        own = self.setting
        return (
            ("rounds", f"{self.rounds}, of {self.users_a_round} users each; {self.name}"),
            ("each round", self.strength),
            ("gradients", f"each record's clipped to {own.clip:.6g}; noise {self.noise:.4g} in the 2-norm a round"),
            (
                "descent",
                f"steps of {self.step:.4g}, weights within {own.radius:.6g}; an average of all rounds, later ones more",
            ),
            (
                "excess loss",
                f"about {self.typical_excess:.4g} where features are spread evenly (weights of 0 have "
                f"{own.unfitted_excess:.4g} there), {self.expected_excess:.4g} at most in expectation; on the rescaled "
                "columns",
            ),
        )

    def check_budget(self) -> None:
        """Raise ``UsageError`` if more would be spent than the setting has: a matter of public numbers alone."""
        for spent, whole, name in (
            (self.epsilon, self.setting.epsilon, "epsilon"),
            (self.delta, self.setting.delta, "delta"),
        ):
            if as_decimal(spent) > as_decimal(whole):
                raise UsageError(f"{name} of the rounds comes to {spent}, above {whole}; ask for weaker messages.")

    def release(self, records: UserRecords) -> DescentRelease:
        """Run all rounds: this spends.

        Parameters
        ----------
        records : UserRecords
            Those of all ``n`` users.

        Raises
        ------
        UsageError
            If the setting's budget would be exceeded.
        InternalError
            If there are other users or weights than the setting has.
        """
        self.check_budget()
        own = self.setting
        if (records.users, len(records.features)) != (own.users, own.dimension):
            raise InternalError("there are other users or features than were planned; please report it.")

        def estimate(weights: Floats, users: Integers | None) -> Floats:
            return self._estimate(
                user_gradients(records, weights, loss=own.loss, clip=own.clip, exponent=own.exponent, users=users)
            )

        return self._descended(estimate)

    def ask(self, gradients: Callable[[Floats, Integers | None], Crowd]) -> DescentRelease:
        """Run all rounds on users whose records are elsewhere: this spends.

        Parameters
        ----------
        gradients : callable
            From the weights of a round and the places of its users, None for all, to a crowd of these users: each with
            the mean clipped gradient of :func:`emdp.mechanisms.descent.loss.user_gradients`.
        """
        self.check_budget()
        return self._descended(lambda weights, users: self._ask(gradients(weights, users)))

    def _descended(self, estimate: Callable[[Floats, Integers | None], Floats]) -> DescentRelease:
        own = self.setting
        weights, total = np.zeros(own.dimension), np.zeros(own.dimension)
        for number, users in enumerate(self._dealt(), start=1):
            weights = weights - self.step * estimate(weights, users)
            weights = weights * (own.radius / max(own.radius, math.sqrt(math.fsum(weights * weights))))
            total += number * weights
        return DescentRelease(tuple((total * (2.0 / (self.rounds * (self.rounds + 1)))).tolist()), self)
