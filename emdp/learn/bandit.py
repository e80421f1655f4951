"""Linear bandits: which of several actions pays best, learnt from batches of users who tell one reward each."""

import math
import os
from dataclasses import field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from emdp.base.arrays import Floats, Integers
from emdp.base.checks import check_choice, check_count
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.learn.charging import Charges
from emdp.mechanisms.bandits.design import design_counts, in_their_span
from emdp.mechanisms.bandits.rewards import BatchRewards
from emdp.noise.choices import draw_permutation
from emdp.privacy import GuaranteeEvent, UserDP

__all__ = ["Batch", "LinearBandit"]

Model = Literal["central", "local", "shuffle"]

LEAST_HORIZON, MOST_ACTIONS, MOST_DIMENSIONS = 8, 10_000, 256
LENGTH_SLACK = 1e-9
"""By how much an action may be longer than 1: roundings of whoever normalised it."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Slots of one batch, each for one user: what :meth:`LinearBandit.ask` returns.

    Attributes
    ----------
    number : int
        Which batch, from 1.
    actions : numpy.ndarray of int64, shape (slots,)
        The action of each slot, by its number in ``LinearBandit.actions``.
    rewards : BatchRewards
        How a reward is told.
    """

    number: int
    actions: Integers
    rewards: BatchRewards = field(repr=False)

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def epsilon0(self) -> float:
        """What one message costs by itself, before any mixing; infinite in the central model."""
        return self.rewards.epsilon0

    def deal(self) -> Integers:
        """Return the slot of each user, a fresh secret permutation: for the shuffler, who tells nobody.

        In the other models users may take the slots in any order that does not depend on their rewards.
        """
        return draw_permutation(len(self))

    def encode(self, rewards: npt.ArrayLike) -> Integers:
        """Return the messages for rewards, on the users' side.

        Parameters
        ----------
        rewards : array-like of float, shape (slots,)
            Of the slots, in their order, or of some of them, each from -1 to 1; every user tells one message, once. A
            curator who encodes the rewards of others clips them first: that somebody's was refused would tell of it.

        Returns
        -------
        numpy.ndarray of int64
            ``+1`` or ``-1``; in the central model rewards in units of ``2^-20``, which only the curator may see.

        Raises
        ------
        UsageError
            If a reward is none.
        """
        given = np.asarray(rewards, dtype=np.float64)
        if given.ndim != 1 or not bool((np.abs(given) <= 1.0).all()):
            raise UsageError(
                "rewards must be a list of numbers from -1 to 1; divide them by the largest that there can be, or clip "
                "them (numpy.clip), with 0 for one that is missing."
            )
        return self.rewards.encode(given)


class LinearBandit:
    """Actions whose mean reward is linear in a known vector, tried in batches until the worse ones are ruled out.

    ``ask`` gives the slots of the next batch and charges the ledger for it, users play them, ``tell`` takes their
    messages. Batches grow by a factor, an action stays while it may be the best. When no further batch fits into the
    horizon, or one action is left, ``is_finished`` is True, and ``best`` is to be played for the rounds that are left,
    which ask nobody.

    Parameters
    ----------
    actions : array-like of float, shape (actions, dimension)
        Vectors of length 1 at most, distinct; public. The mean reward of an action is its product with one unknown
        vector.
    horizon : int
        ``T``: how many users there are, at least 8. Every user plays one round.
    epsilon : float
        Of all batches together, at user level, from 1e-6 to 40.
    model : {"central", "local", "shuffle"}
        A curator sees rewards and releases sums; or each user tells one bit; or the bits of a batch are mixed, by a
        shuffler who deals users to slots in secret.
    delta : float
        Above 0 in the shuffle model, 0 in the others.
    ledger : path
        Where each batch is charged; may be left out under ``emdp.testing.seeded`` alone.
    name : str
        Under which name the ledger keeps it; one run a name.

    Attributes
    ----------
    active : numpy.ndarray of int64
        Actions that may be the best, by number.
    best : int
        The one with the largest estimate; before the first batch the first one.
    is_finished : bool
        Whether nothing more is asked.
    rounds_left : int
        Rounds of the horizon that no batch has taken.
    guarantee : UserDP
        What holds for all batches.

    Raises
    ------
    UsageError
        If an argument is malformed, or ``ask`` and ``tell`` are called out of turn.
    BudgetExceededError
        If the name was used before.

    Guarantee
    ---------
    ``(epsilon, delta)`` at user level, replacing one user by any other: :mod:`emdp.mechanisms.bandits.rewards`. It
    rests on what no code can see: **no user plays twice** (one who plays k times has k epsilon), and in the shuffle
    model slots are dealt in secret. The best action is lost with a probability of at most ``1/T``, if the mean rewards
    are linear.

    >>> import emdp.testing
    >>> directions = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]
    >>> with emdp.testing.seeded(1):
    ...     bandit = LinearBandit(directions, horizon=100_000, epsilon=1.0)
    ...     while not bandit.is_finished:
    ...         batch = bandit.ask()
    ...         bandit.tell(batch.encode([(0.9, 0.0, -0.9)[action] for action in batch.actions]))
    >>> bandit.best, bandit.active.tolist()
    (0, [0])
    """

    def __init__(
        self,
        actions: npt.ArrayLike,
        horizon: int,
        epsilon: float,
        model: Model = "central",
        *,
        delta: float = 0.0,
        ledger: str | os.PathLike[str] | None = None,
        name: str = "bandit",
    ) -> None:
        self.actions = _checked(actions)
        self.horizon = check_count("horizon", horizon, minimum=LEAST_HORIZON)
        check_choice("model", model, ("central", "local", "shuffle"))
        self.model: Model = model
        # Checks epsilon and delta.
        first = BatchRewards(self.model, epsilon, 1, delta)
        self.guarantee = UserDP(first.epsilon, first.delta, model=self.model)
        facts = {"bandit": self.actions.tolist(), "horizon": self.horizon}
        self._charges = Charges(ledger, name, self.guarantee, facts)
        self._log = math.log(4.0 * len(self.actions)) + 2.0 * math.log(self.horizon)
        self._growth = math.exp(math.log(2.0 * self.horizon) / math.log(self.horizon))
        self.active = np.arange(len(self.actions))
        self.best, self.rounds_left, self._number = 0, self.horizon, 1
        self._asked: Batch | None = None
        self._counts = self._next()

    def __repr__(self) -> str:
        shape = f"{len(self.actions)} actions, horizon={self.horizon}"
        return f"LinearBandit({shape}, epsilon={self.guarantee.epsilon!r}, model={self.model!r})"

    @property
    def is_finished(self) -> bool:
        """Whether nothing more is asked."""
        return self._asked is None and self._counts is None

    def ask(self) -> Batch:
        """Return the slots of the next batch, which the ledger was charged for; again the same until ``tell``."""
        if self._asked is not None:
            return self._asked
        if self._counts is None:
            raise UsageError("the bandit is finished: ask no more users, and play its best action.")
        size = int(self._counts.sum())
        own = self.guarantee
        price = own if self._number == 1 else UserDP(0.0, model=self.model)
        paid = "" if self._number == 1 else ", paid for by batch 1: no user is in two"
        event = GuaranteeEvent(price, f"linear bandit, batch {self._number} of {size} users{paid}")
        self._charges.charge(event, f"linear_bandit(batch={self._number}, users={size})", size)
        rewards = BatchRewards(self.model, own.epsilon, size, own.delta)
        self._asked = Batch(self._number, np.repeat(self.active, self._counts), rewards)
        self.rounds_left -= size
        return self._asked

    def tell(self, messages: npt.ArrayLike) -> None:
        """Take the messages of the batch that was asked for, one a slot in their order, and rule actions out.

        Parameters
        ----------
        messages : array-like of int, shape (slots,)
            What ``Batch.encode`` returned, on the users' side.

        Raises
        ------
        UsageError
            If no batch was asked for, or the messages are not those of its slots.
        """
        if self._asked is None or self._counts is None:
            raise UsageError("no batch was asked for; call ask first, and tell its messages.")
        self._charges.check_side()
        law, counts = self._asked.rewards, self._counts
        given = law.check(messages)
        starts = np.cumsum(counts) - counts
        totals = np.concatenate(([0], np.cumsum(given)))
        played = counts > 0
        vectors = in_their_span(self.actions[self.active])
        information = (vectors.T * counts) @ vectors
        weights = np.linalg.solve(information, vectors[played].T).T @ vectors.T
        # Noise is drawn once for a batch, whatever interrupts what follows.
        self._asked = None
        sums = law.released((totals[starts + counts] - totals[starts])[played])
        estimates = sums @ weights
        radius = law.radius(weights.T, counts[played], self._log)
        self.best = int(self.active[int(estimates.argmax())])
        self.active = self.active[estimates >= estimates.max() - 2.0 * radius]
        self._number += 1
        self._counts = self._next()

    def close(self) -> None:
        """Give the ledger back."""
        self._charges.close()

    def _next(self) -> Integers | None:
        """Return the counts of the next batch; None where none is worth while, or fits."""
        if len(self.active) == 1 or self._number > math.floor(math.log(self.horizon)) - 1:
            return None
        counts = design_counts(in_their_span(self.actions[self.active]), self._growth**self._number)
        return counts if int(counts.sum()) <= self.rounds_left else None


def _checked(actions: Any) -> Floats:
    try:
        found = np.asarray(actions, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError("actions must be rows of numbers of one length; pass one vector an action.") from None
    if found.ndim != 2 or not 2 <= len(found) <= MOST_ACTIONS or not 1 <= found.shape[1] <= MOST_DIMENSIONS:
        raise UsageError(
            f"actions must be 2 to {MOST_ACTIONS} rows of 1 to {MOST_DIMENSIONS} numbers; pass one vector an action."
        )
    if not np.isfinite(found).all() or bool((np.linalg.norm(found, axis=1) > 1.0 + LENGTH_SLACK).any()):
        raise UsageError("actions must be finite vectors of length 1 at most; divide all of them by the longest.")
    if len(np.unique(found, axis=0)) < len(found) or not found.any():
        raise UsageError("actions must be distinct, and not all of them 0; leave repeated ones out.")
    return found
