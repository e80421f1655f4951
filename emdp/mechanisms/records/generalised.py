"""A choice among candidates whose scores have different sensitivities: the generalised exponential mechanism.

Setting. Candidate ``j`` has a score ``Q_j``, smaller is better, that one user moves by at most ``d_j > 0``.

**Theorem** (Raskhodnikova and Smith 2016). Let ``t >= 0`` be public and

    ``s_j = max over i of ((Q_j + t d_j) - (Q_i + t d_i))/(d_i + d_j)``.

Then one user moves every ``s_j`` by at most 1, and permute-and-flip on ``s`` at the rate ``epsilon/2`` is
``epsilon``-DP. *Proof.* ``t d`` is public. ``Q_j - Q_i`` moves by at most ``d_i + d_j``, so each quotient by at most 1,
and so does the largest of them. The rest is :mod:`emdp.noise.flips`. ∎ *Error.* ``s_j >= 0`` (``i = j``), and the
candidate with the least ``Q + t d`` has 0. But for ``beta``, the chosen one has ``s_j <= t`` with ``t = 2
ln(k/beta)/epsilon``, ``k`` candidates, and then ``Q_j <= Q_i + 2 t d_i`` for every ``i``: taking a coarse candidate is
never paid for by a fine one.

*Exactness.* Scores are integers here, ``t`` is a multiple of 2^-20, and each quotient is rounded down to one: rounding
down commutes with adding 1, so that what moved by at most 1 does so still.

For ``f_l`` of :mod:`emdp.mechanisms.records.distinct`: ``Q_l = c l - f_l`` moves by ``l``, where ``c l`` is what the
noise at ``l`` costs.
"""

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from emdp.base.checks import check_count, check_positive, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.contribution.moves import check_kind, check_neighbours
from emdp.noise.flips import draw_permute_and_flip
from emdp.privacy.events.table import Event, GuaranteeEvent
from emdp.privacy.guarantees.kinds import Guarantee, Neighbours
from emdp.privacy.rounding import as_decimal

__all__ = ["GeneralisedChoice"]

_UNIT = 2**20
_MOST_CANDIDATES = 1024
_LARGEST_SCORE = 2**60


@dataclass(frozen=True)
class GeneralisedChoice:
    """The choice of a candidate with a small score.

    Guarantee
    ---------
    ``epsilon``-DP at user level, the scores moving as stated: the module's theorem.

    >>> choice = GeneralisedChoice((1, 10, 100), 10.0, "remove", 0.05)
    >>> choice.release([-500, -20_000, -500])
    1
    """

    theorem: ClassVar[str] = "generalised exponential mechanism by permute-and-flip (user-level-sql.md 2.7)"

    sensitivities: tuple[int, ...]  # `d_j`, each at least 1; at least one, at most 1024
    epsilon: float  # Price, in (0, 1000]
    neighbours: Neighbours  # What the sensitivities are for
    failure: float = 0.05  # `beta`, in (0, 1)

    def __post_init__(self) -> None:
        if not isinstance(self.sensitivities, tuple) or not 1 <= len(self.sensitivities) <= _MOST_CANDIDATES:
            raise UsageError(f"sensitivities must be a tuple of 1 to {_MOST_CANDIDATES} numbers; pass one a candidate.")
        for sensitivity in self.sensitivities:
            check_count("sensitivity", sensitivity)
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon))
        if self.epsilon > 1000:
            raise UsageError(f"epsilon must be at most 1000, got {self.epsilon:g}; pass a smaller one.")
        check_neighbours(self.neighbours)
        check_unit_interval("failure", self.failure)

    @property
    def units(self) -> int:
        """``t`` in multiples of 2^-20."""
        return math.ceil(_UNIT * 2.0 * math.log(len(self.sensitivities) / self.failure) / self.epsilon)

    def event(self, kind: Guarantee | None = None) -> Event:
        """Return the event to charge before the release."""
        found = check_kind(kind, self.neighbours)
        return GuaranteeEvent(found.at_level(self.epsilon, 0.0), mechanism=self.theorem)

    def normalised(self, scores: Sequence[int]) -> tuple[int, ...]:
        """Return ``s_j`` in multiples of 2^-20, rounded down: private.

        Parameters
        ----------
        scores : sequence of int
            ``Q_j`` of every candidate.
        """
        if len(scores) != len(self.sensitivities) or not all(isinstance(score, int) for score in scores):
            raise UsageError(f"scores must hold {len(self.sensitivities)} integers; pass one for each candidate.")
        if any(abs(score) > _LARGEST_SCORE for score in scores):
            raise UsageError("scores must be at most 2^60; score in a coarser unit.")
        own = [_UNIT * q + self.units * d for q, d in zip(scores, self.sensitivities, strict=True)]
        pairs = list(zip(own, self.sensitivities, strict=True))
        return tuple(max((one - other) // (d + e) for other, e in pairs) for one, d in pairs)

    def release(self, scores: Sequence[int]) -> int:
        """Return the place of a candidate with a small score: this spends.

        Parameters
        ----------
        scores : sequence of int
            ``Q_j`` of every candidate, smaller is better; private.
        """
        costs = np.minimum(np.array(self.normalised(scores), dtype=object), 2**52).astype(np.int64)
        return draw_permute_and_flip(costs, as_decimal(self.epsilon) / (2 * _UNIT))
