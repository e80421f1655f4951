"""Noisy histogram of users' totals by octave, from which a cap is chosen.

A user's total is its number of records, or another nonnegative number in public units. Bin ``j`` holds the users whose
total is in ``(2^(j - 1), 2^j]``, bin 0 those in ``(0, 1]``, and the last bin all above; who has nothing is in none.

**Theorem.** Discrete Laplace noise of scale ``r/epsilon`` on each of the bins, ``r = 1`` by removal and 2 by
replacement, is ``epsilon``-DP. *Proof.* A user is in one bin at most. By removal one bin moves by 1, by replacement two
do: ``r`` in the 1-norm (:mod:`emdp.mechanisms.contribution.moves`), and the noise has ``P(z)/P(z') <= e^(|z -
z'|/scale)``. ∎

Whatever is computed from the noisy bins is post-processing, cap and cut included
(:mod:`emdp.mechanisms.contribution.cap`).
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from emdp.base.checks import check_positive
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.contribution.moves import check_kind, moved_users
from emdp.noise.discrete_laplace import draw_discrete_laplace
from emdp.privacy.events.table import Event, GuaranteeEvent
from emdp.privacy.guarantees.kinds import Guarantee, Neighbours
from emdp.privacy.rounding import as_decimal, float_at_least

__all__ = ["OCTAVES", "OctaveHistogram", "octave_of"]

OCTAVES = 21
"""Bins: totals up to 1, 2, 4, ..., 2^20, those above in the last one."""


@dataclass(frozen=True)
class OctaveHistogram:
    """The release of users by octave of their totals.

    Guarantee
    ---------
    ``epsilon``-DP at user level: the module's theorem.

    >>> OctaveHistogram(0.1, "remove").scale, OctaveHistogram(0.1, "replace").scale
    (10.0, 20.0)
    """

    theorem: ClassVar[str] = "discrete Laplace noise on users by octave of their totals (user-level-sql.md 1.4)"

    epsilon: float  # Price, above 0
    neighbours: Neighbours

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon))
        if not 1e-9 <= self.epsilon <= 1e3:
            raise UsageError(f"epsilon must be between 1e-9 and 1000, got {self.epsilon:g}; pass such a number.")
        moved_users(self.neighbours)

    @cached_property
    def scale(self) -> float:
        """``r/epsilon``, rounded up: users."""
        return float_at_least(moved_users(self.neighbours) / as_decimal(self.epsilon))

    def event(self, kind: Guarantee | None = None) -> Event:
        """Return the event to charge before the release.

        Parameters
        ----------
        kind : Guarantee, optional
            The ``UserDP`` with parameters 0 that the price is stated as, of the same neighbours.
        """
        found = check_kind(kind, self.neighbours)
        return GuaranteeEvent(found.at_level(self.epsilon, 0.0), mechanism=self.theorem)

    def release(self, users: Sequence[int]) -> tuple[int, ...]:
        """Return the noisy number of users in each octave: this spends.

        Parameters
        ----------
        users : sequence of int
            Users of the ``OCTAVES`` bins, not negative.
        """
        counts = list(users)
        if len(counts) != OCTAVES or not all(isinstance(count, int) and count >= 0 for count in counts):
            raise UsageError(f"users must hold {OCTAVES} counts of at least 0; pass one for each octave.")
        noise = draw_discrete_laplace(self.scale, OCTAVES)
        return tuple(count + draw for count, draw in zip(counts, noise, strict=True))


def octave_of(total: Fraction | int) -> int:
    """Return the bin of a total above 0, exactly.

    >>> [octave_of(total) for total in (Fraction(1, 3), 1, 2, 3, 4, Fraction(9, 2), 2**30)]
    [0, 0, 1, 2, 2, 3, 20]
    """
    if total <= 0:
        raise UsageError("total must be above 0; a user who has nothing is in no octave.")
    return min(OCTAVES - 1, (-(-total // 1) - 1).bit_length())
