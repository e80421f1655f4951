"""Personalised models: every user's own linear or logistic model, drawn towards a common one that is learnt privately.

A user keeps the own model on the own device and never sends it. The common model ``mu`` and how far users' models are
from it, ``psi``, are public, and learnt in rounds: users who join a round train for a few steps and send how they would
move ``mu`` and ``psi``, clipped as a whole; a curator, or secure aggregation, adds these up with noise.

Theorem. Let the messages of a round be vectors of length 1 at most, a user join a round by a secret coin of chance
``q``, and the sum get discrete Gaussian noise of multiplier ``z``. All rounds together are ``(epsilon, delta)``-DP at
user level, replacing a user, in the central model, by :mod:`emdp.privacy.sampled_gaussian`. *Proof.* A message depends
on the user's records and own model alone, and on ``mu`` and ``psi``, earlier outputs; a user's own model depends on
these and the own records; so a round is as in the theorem, with vectors that depend on earlier outputs, and products of
its pair bound all rounds. Messages are integers in ``2^30`` units, cut towards 0, so that their length is at most that;
the lattice's slack is taken off. ∎ The published price (a squared sensitivity short by the number of local steps, and
``(K/n)^2`` of sampling at every order) is not valid (sampling-and-descent.md 4).

What a user's own model becomes is the user's own matter, and none of it is released.

**How far to draw.** With ``D`` the mean divergence of a user's predictions from the common ones, and ``psi`` its mean
over users, the own model minimises ``L + pull D``, ``L`` the user's mean loss. If own models are normal around ``mu``,
``D`` is half a sum of ``d`` squares, and the posterior mode of a user with ``m`` records has ``pull = s^2 d/(2 psi
m)``, ``s^2`` the noise of a target (1 for the logistic loss; of squared losses the user's mean square around the common
model, rather too much). The published ``1/(2 psi)`` draws users with few records too little: with six yes/no records
own models did worse than the common one. What users tell is half of ``g' H^-1 g``, ``g`` the slope of the own loss at
``mu`` and ``H`` the curvature there, over pairs of different records alone: its mean is that of the user's true model,
whatever the noise of targets, and it needs no own model, whose early steps would make users look farther apart than
they are. A user with one record has no pair and moves nothing. Of the squared loss this is ``D``; slopes of the
logistic one level off, so that what is told of people far apart is less (two fifths of ``D`` at a deviation of 3 of the
log-odds). Both are known functions of that deviation, taken here for normal log-odds around 0, and ``psi`` is what
belongs to the mean that was told (:func:`divergence`), of public numbers alone. The common model moves by steps of the
users' own losses.
"""

import math
import os
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from emdp.base.arrays import Floats, Integers
from emdp.base.checks import check_choice, check_count, check_positive, check_range, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.learn.charging import Charges
from emdp.mechanisms.compressed.coordinates import UNITS, noise_multiplier
from emdp.mechanisms.strength import check_epsilon
from emdp.mechanisms.weights import TOTAL
from emdp.noise.coins import draw_coins
from emdp.noise.discrete_gaussian import draw_discrete_gaussian
from emdp.privacy import GuaranteeEvent, UserDP

__all__ = ["Personalised", "Round"]

Loss = Literal["squared", "logistic"]

LEAST_JOINING = 20
"""Users that join a round on average, at least: below it a round says next to nothing."""
LOWEST, HIGHEST = 1e-3, 100.0
"""Ends of ``psi``: at the first every own model is nearly the common one."""
RIDGE = 0.02
"""Curvature that is added to that of a user's loss, so that few records settle no direction which they do not show."""
TOLD_RIDGE = 0.005
"""The same where it is only told how far a user is: it makes that less."""
FARTHEST = 8.0
"""Largest standard deviation of log-odds that is told apart from larger ones."""
LONGEST = 4.0
"""Length at which a step of an own model is cut."""
SHORTER = 1.0 - 2.0**-40
"""Messages are cut to this part of the unit, above every rounding of a length."""


@dataclass(frozen=True, eq=False)
class Round:
    """One round as users see it: public numbers alone, so that it may be sent to them.

    Attributes
    ----------
    number : int
        From 1.
    common : numpy.ndarray, shape (features,)
        ``mu``.
    spread : float
        Mean of what users tell of their distance; ``psi`` is :func:`divergence` of it.
    """

    number: int
    common: Floats
    spread: float
    loss: Loss
    rate: float
    steps: int
    step: float
    clip: float
    clip_spread: float

    def joins(self) -> bool:
        """Draw a user's secret coin of this round: who joins is known to nobody who sees an output."""
        return bool(draw_coins(round(self.rate * TOTAL), 1)[0])

    def train(self, features: npt.ArrayLike, target: npt.ArrayLike, own: npt.ArrayLike) -> tuple[Floats, Integers]:
        """Train a user's own model, on the user's side, and return it with the message about the common one.

        Parameters
        ----------
        features : array-like, shape (records, features)
            The user's records, best within [-1, 1]; entries that are not finite count as 0.
        target : array-like, shape (records,)
            What is modelled; 0 or 1 for the logistic loss.
        own : array-like, shape (features,)
            The user's model so far; ``common`` to begin with.

        Returns
        -------
        (numpy.ndarray, numpy.ndarray of int64)
            The user's new model, which stays with the user, and the message, which is sent by those who join alone.
        """
        x, y = np.atleast_2d(_finite(features)), _finite(target).ravel()
        if x.shape != (len(y), len(self.common)):
            raise UsageError(f"features must be one row of {len(self.common)} numbers a target; pass as many of both.")
        theta, mu = _finite(own).ravel().copy(), self.common.copy()
        if theta.shape != mu.shape:
            raise UsageError(f"own must be {len(mu)} numbers; pass what train returned, or the common model.")
        if not len(y):
            return theta, self.encode(mu, self.spread)
        told = _apart(x, y, mu, self.loss) if len(y) > 1 else self.spread
        for _ in range(self.steps):
            mu = mu - self.step * _gradient(x, y, mu, self.loss)
        return self._drawn(x, y, theta), self.encode(mu, min(max(told, -HIGHEST), HIGHEST))

    def _drawn(self, x: Floats, y: Floats, theta: Floats) -> Floats:
        """Return the own model: the fit to targets between the user's and what the common model predicts."""
        expected = _predicted(x @ self.common, self.loss)
        # From few records the residuals of an own fit say too little of the noise; these say rather too much.
        noise = 1.0 if self.loss == "logistic" else float(np.mean((y - expected) ** 2))
        pull = noise * len(self.common) / (2.0 * divergence(self.spread, self.loss) * len(y))
        blended = (y + pull * expected) / (1.0 + pull)
        for _ in range(self.steps):
            curvature = _curvature(x, theta, self.loss) + RIDGE * np.eye(len(theta))
            slope = _gradient(x, blended, theta, self.loss) + RIDGE * (theta - self.common)
            if not (np.isfinite(curvature).all() and np.isfinite(slope).all()):
                return theta
            move = np.linalg.solve(curvature, slope)
            length = float(np.linalg.norm(move))
            if not np.isfinite(length):
                return theta
            theta = theta - move * min(1.0, LONGEST / max(length, LONGEST))
        return theta

    def encode(self, common: npt.ArrayLike, spread: float) -> Integers:
        """Return the message that would move the common model to this one: clipped, of length ``2^30`` at most."""
        # What is beyond all doubles in units of the clip counts as 0, as what is no number does.
        with np.errstate(over="ignore"):
            moved = _clipped(_finite((_finite(common).ravel() - self.common) / self.clip))
            widened = _clipped(_finite([np.float64(spread - self.spread) / self.clip_spread]))
        whole = np.concatenate([moved, widened]) / math.sqrt(2.0)
        return np.trunc(whole * (SHORTER * UNITS)).astype(np.int64)


class Personalised:
    """A common linear or logistic model, learnt in rounds from users who each keep a model of their own.

    Parameters
    ----------
    features : int
        Numbers of a record, a constant among them if the model has one.
    users : int
        ``n``, public.
    epsilon, delta : float
        Of all rounds together, at user level; delta above 0.
    rounds : int
        How many rounds there may be; fixed beforehand, since they are paid for together.
    rate : float
        ``q``, in (0, 1]: the chance with which a user joins a round.
    loss : {"squared", "logistic"}
        What users' models minimise.
    steps, step : int and float
        Local steps of a round, and their length.
    clip, clip_spread : float
        How far a user may want to move ``mu``, in the 2-norm, and ``spread``.
    spread : float
        To begin with; see there.
    ledger, name
        As of :class:`emdp.learn.LinearBandit`.

    Attributes
    ----------
    common : numpy.ndarray
        ``mu``, public.
    spread : float
        Mean of what users tell of their distance, public; ``psi`` is :func:`divergence` of it.
    multiplier : float
        ``z``.
    guarantee : UserDP
        What holds for all rounds.

    Raises
    ------
    UsageError
        If a parameter is out of its range, or ``ask`` and ``tell`` are called out of turn.
    BudgetExceededError
        If the name was used before.

    Guarantee
    ---------
    ``(epsilon, delta)`` at user level, central, replacing one user by any other; the module's text has the proof. It
    rests on what no code here can see: a user sends one message a round at most, and who joins stays secret.

    >>> import emdp.testing
    >>> with emdp.testing.seeded(1):
    ...     learnt = Personalised(2, users=500, epsilon=4.0, delta=1e-5, rounds=3, rate=0.5)
    ...     now = learnt.ask()
    ...     own, message = now.train([[1.0, 0.5], [1.0, -0.5]], [1.0, 0.0], now.common)
    ...     learnt.tell(message)
    >>> own.shape, message.shape, learnt.number
    ((2,), (3,), 2)
    """

    def __init__(
        self,
        features: int,
        *,
        users: int,
        epsilon: float,
        delta: float,
        rounds: int,
        rate: float = 1.0,
        loss: Loss = "squared",
        steps: int = 10,
        step: float = 0.1,
        clip: float = 1.0,
        clip_spread: float = 1.0,
        spread: float = 1.0,
        ledger: str | os.PathLike[str] | None = None,
        name: str = "personalised",
    ) -> None:
        size, self.users = check_count("features", features), check_count("users", users)
        level, chance = check_epsilon(epsilon), check_unit_interval("delta", delta)
        self.rounds, self.rate = check_count("rounds", rounds), check_unit_interval("rate", rate, one=True)
        if self.rate * self.users < LEAST_JOINING:
            raise UsageError(
                f"rate must let {LEAST_JOINING} users join a round, got {rate} of {users}; pass a larger one."
            )
        check_choice("loss", loss, ("squared", "logistic"))
        self._loss: Loss = loss
        self._steps, self._step = check_count("steps", steps), check_positive("step", step)
        self._clip, self._clip_spread = check_positive("clip", clip), check_positive("clip_spread", clip_spread)
        self.common, self.spread = np.zeros(size), check_range("spread", spread, LOWEST, HIGHEST)
        self.multiplier = noise_multiplier(level, chance, self.rate, self.rounds, self.rounds * (size + 1))
        self.guarantee = UserDP(level, chance)
        facts = {"personalised": size, "users": self.users, "rounds": self.rounds, "rate": self.rate}
        self._charges = Charges(ledger, name, self.guarantee, facts)
        self.number = 1
        self._asked: Round | None = None

    def __repr__(self) -> str:
        shape = f"{len(self.common)}, users={self.users}, rounds={self.rounds}, rate={self.rate:g}"
        return f"Personalised({shape}, epsilon={self.guarantee.epsilon!r}, delta={self.guarantee.delta!r})"

    @property
    def is_finished(self) -> bool:
        """Whether all rounds that were paid for are over."""
        return self._asked is None and self.number > self.rounds

    def ask(self) -> Round:
        """Return the next round, which the ledger was charged for; again the same until ``tell``."""
        if self._asked is None:
            if self.is_finished:
                raise UsageError("all rounds that were paid for are over; use the models, or begin under another name.")
            is_first = self.number == 1
            paid = f"pays for all {self.rounds} rounds" if is_first else "paid for by round 1"
            event = GuaranteeEvent(
                self.guarantee if is_first else UserDP(0.0),
                f"personalised models, round {self.number}, noise multiplier {self.multiplier:.6g}: {paid}",
            )
            self._charges.charge(event, f"personalised(round={self.number})", self.users)
            self._asked = Round(
                self.number, self.common.copy(), self.spread, self._loss, self.rate, self._steps, self._step,
                self._clip, self._clip_spread,
            )  # fmt: skip
        return self._asked

    def tell(self, total: npt.ArrayLike) -> None:
        """Take the sum of the messages of all who joined, add noise, and move the common model: this releases it.

        Parameters
        ----------
        total : array-like of int, shape (features + 1,)
            The exact sum; private until the noise is added here. Zeros if nobody joined.
        """
        if self._asked is None:
            raise UsageError("no round was asked for; call ask first, and tell the sum of its messages.")
        self._charges.check_side()
        given = np.asarray(total)
        if given.dtype.kind not in "iuO" or given.shape != (len(self.common) + 1,):
            raise UsageError(f"total must be {len(self.common) + 1} integers; pass the sum of messages.")
        exact = [int(one) for one in given]
        if any(abs(one) > self.users * UNITS for one in exact):
            raise UsageError("total is larger than all users' messages can be; pass the sum of messages.")
        # Noise is drawn once for a round, whatever interrupts what follows.
        self._asked, self.number = None, self.number + 1
        noise = draw_discrete_gaussian(self.multiplier * UNITS, len(exact))
        noisy = np.array([(one + own) / UNITS for one, own in zip(exact, noise, strict=True)], dtype=np.float64)
        # Divided by the public number that join on average, not by how many did.
        moved = noisy * (math.sqrt(2.0) / (self.rate * self.users))
        self.common = self.common + self._clip * moved[:-1]
        self.spread = min(max(self.spread + self._clip_spread * float(moved[-1]), LOWEST), HIGHEST)

    def close(self) -> None:
        """Give the ledger back."""
        self._charges.close()


def _finite(values: npt.ArrayLike) -> Floats:
    found = np.asarray(values, dtype=np.float64)
    return np.asarray(np.where(np.isfinite(found), found, 0.0), dtype=np.float64)


def _clipped(vector: Floats) -> Floats:
    """Return a vector of length 1 at most; its length is computed from entries over the largest."""
    largest = float(np.abs(vector).max(initial=0.0))
    if largest == 0.0:
        return vector
    length = largest * float(np.linalg.norm(vector / largest))
    return vector if length <= 1.0 else np.clip(vector / length, -1.0, 1.0)


def _predicted(margins: Floats, loss: Loss) -> Floats:
    if loss == "squared":
        return margins
    from scipy.special import expit

    return np.asarray(expit(margins), dtype=np.float64)


def _gradient(x: Floats, y: Floats, theta: Floats, loss: Loss) -> Floats:
    return np.asarray(x.T @ (_predicted(x @ theta, loss) - y) / len(y), dtype=np.float64)


def _curvature(x: Floats, theta: Floats, loss: Loss) -> Floats:
    weights = np.ones(len(x))
    if loss == "logistic":
        chance = _predicted(x @ theta, loss)
        weights = chance * (1.0 - chance)
    return np.asarray((x.T * weights) @ x / len(x), dtype=np.float64)


def _apart(x: Floats, y: Floats, common: Floats, loss: Loss) -> float:
    """Return how far a user with several records tells to be from the common model: noisy, but right in the mean.

    Of records that are too large for doubles it is 0: they say nothing.
    """
    curvature, left = _curvature(x, common, loss), y - _predicted(x @ common, loss)
    if not (np.isfinite(curvature).all() and np.isfinite(left).all()):
        return 0.0
    inverse = np.linalg.inv(curvature + TOLD_RIDGE * np.eye(len(common)))
    slopes = x * left[:, None]
    total = slopes.sum(axis=0)
    # Of each record with itself the noise of its target would be counted.
    alone = np.einsum("rj,jk,rk->", slopes, inverse, slopes)
    return 0.5 * float(total @ inverse @ total - alone) / (len(y) * (len(y) - 1))


def divergence(told: float, loss: Loss) -> float:
    """Return the mean divergence of users' predictions that belongs to a mean of what they tell: never less.

    >>> divergence(0.3, "squared"), round(divergence(0.01, "logistic"), 4), round(divergence(0.25, "logistic"), 2)
    (0.3, 0.0103, 0.59)
    """
    return told if loss == "squared" else float(np.interp(told, *_logistic_divergences()))


@cache
def _logistic_divergences() -> tuple[Floats, Floats]:
    """Return what users tell, and the divergence, for growing deviations of log-odds around 0."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    odds = np.concatenate([[0.0], np.geomspace(0.01, FARTHEST, 200)])[:, None] * nodes
    shares = weights / weights.sum()
    told = 2.0 * (_predicted(odds, "logistic") - 0.5) ** 2 @ shares
    return told, np.logaddexp(0.0, odds) @ shares - math.log(2.0)
