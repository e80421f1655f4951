"""Release of mixed bits: every user's signs of the own means, each to a shuffler of its own.

Theorem (shuffle-known-randomizers.md 4; :mod:`emdp.privacy.shuffle.metric` has the proof, and
:mod:`emdp.privacy.shuffle.metric_product` that of several signs). Signs as in :mod:`emdp.mechanisms.local.one_bit`,
of ``n`` users whose number is public, mixed so that of each sign only the number of ``+1`` is seen, are ``(alpha,
delta)`` unbounded d_EM-DP in the shuffle model, ``t`` being that of ``alpha0`` from
:func:`~emdp.privacy.shuffle.metric_product.signs_alpha0`. At user level a sign is randomized response of one bit, and
:func:`~emdp.privacy.shuffle.users.shuffle_epsilon0` gives its ``epsilon0``, ``t = tanh(epsilon0/2)``. Whoever sees
messages before they are mixed sees what ``alpha0`` (``epsilon0``) promises of each.

Signs of one user must not travel together: a tuple of them tells more than its members (place-sign messages are
single). So sign ``i`` of every user goes to shuffler ``i``, or carries its number.

Bits, not binary digits. Several signs of one mean are drawn alike and afresh. The digits of a number would have less
rounding error, but a digit jumps between two bags however near they are: its ``w`` is 2 at every distance, and no
alpha holds (tested). With ``T`` signs the variance is ``B^2/(t^2 n T)`` at most, and as ``t`` falls it tends to the
curator's Gaussian noise for the same ``mu``. At user level digits hold, and need fewer bits:
:mod:`emdp.mechanisms.local.shuffled_planes`.

Rounding. A sign's chance is within ``2^-48`` of the formula's: for the others the accountant takes a ``t`` that is
larger by ``2^-46``; the user's own sign has the slack of :mod:`emdp.mechanisms.local.one_bit`, and delta is lowered
by more than ``e^slack``.
"""

from typing import ClassVar

from emdp.base.checks import check_positive
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.local.one_bit import LocalOneBit

__all__ = ["DELTA_SHARE", "ShuffledOneBit"]

DELTA_SHARE = 1 - 2.0**-20
"""Part of delta that an accountant is given: the rest covers the slack of rounding, up to :data:`MOST_SLACK`."""

MOST_SLACK = 2.0**-21


@dataclass(frozen=True, eq=False)
class ShuffledOneBit(LocalOneBit):
    """Mixed signs of all users, and the means that they estimate.

    Parameters
    ----------
    coordinates, users, is_dealt, messages
        As in :class:`LocalOneBit`; coordinates are never dealt out.

    Raises
    ------
    UsageError
        If coordinates are dealt out, or the slack of rounding is more than delta covers.

    >>> from emdp.mechanisms.local.one_bit import OneBitCoordinate
    >>> bits = ShuffledOneBit((OneBitCoordinate(0.0, 1.0, rate=100.0),), 10_000, messages=4, unmixed=100.0)
    >>> round(bits.deviation(0), 5), bits.bits_per_user
    (0.00255, 4)
    """

    theorem: ClassVar[str] = (
        "mixed bits: P(+1) = (1 + t v)/2, a fair coin with chance 1 - t; every distance d is searched "
        "(shuffle-known-randomizers 4)"
    )

    unmixed: float = 1.0  # What one sign promises whoever sees it before it is mixed: `alpha0` or `epsilon0`
    level: str = "alpha0"  # "alpha0", "epsilon0": which of both it is

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("unmixed", self.unmixed)
        if self.is_dealt:
            raise UsageError("is_dealt does not fit mixed bits; leave it out.")
        if self.slack_epsilon > MOST_SLACK:
            raise UsageError("the range of an expression is too fine for its bits; ask for a smaller alpha or epsilon.")

    @property
    def bits_per_user(self) -> int:
        """Bits that a user sends in all."""
        return self.messages * len(self.coordinates)

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        scales = ", ".join(f"{own.half / own.strength:.6g}" for own in self.coordinates[:8])
        more = ", ..." if len(self.coordinates) > 8 else ""
        per = f" per {unit}" if self.level == "alpha0" else ""
        return (
            (
                "mixed bits",
                f"{self.bits_per_user} of each user, {self.messages} a coordinate; one counts for {scales}{more}",
            ),
            ("unmixed bit", f"{self.level} = {self.unmixed:.6g}{per}, for whoever sees it before it is mixed"),
        )
