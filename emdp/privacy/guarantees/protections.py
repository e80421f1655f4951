"""Choosing alpha from what is to be protected (EMD 1, "Choosing alpha").

A protection says: a change of a fraction ``tau`` of one user's records, by an average distance ``q`` in the
space's natural unit, must be covered with ``epsilon``. The records are those that one answer reads: of a period, as the
table then was. As much may change in every period at once, and the epsilon still covers all answers together; but a
hundredth of what somebody did in a year may be all that they did in one week
(:mod:`emdp.privacy.account.periods` has the counterexample). Such a change has ``d_em <= tau min(q/diameter, 1)``:
move each changed record along, and use that ``min(., 1)`` is concave. ``alpha = min epsilon/d`` covers all of
them.

In a product space ``d_X`` is the sum of ``share_i d_i`` (EMD 2, "Product spaces"), so that a move within part
``i`` has ``d = tau share_i min(q/diameter_i, 1)``, and the protection must say which part it means. Diameters and
the weights behind the shares are the decimals that they print as (:mod:`emdp.privacy.rounding`).

Records that vanish. Where the space has one more point, elsewhere, at distance ``rho`` of every item, a fraction
``tau`` of the records that goes there, or comes from there, is at ``d_em <= tau rho``: ``Change(tau, ELSEWHERE,
epsilon)``. At ``rho = 1`` that covers records that are changed in any way as well, since no two items are farther
apart; and ``m`` records of which one is added or removed, since the new bag differs in a share of ``1/(m + 1)``.

Records in place of fractions. Where a table has slots, bags are filled up to ``M`` records, so that ``k`` of them weigh
at most ``k/M``, whoever has how many (:mod:`emdp.spaces.combined.elsewhere`): ``Change(records=k, distance=q)`` has
``d_em <= k/M min(q/diameter, 1)``. ``k`` records that are added, removed or changed in any way have ``d_em <= k/M``,
at any ``rho``: of a user with more than ``M`` records it is the others that weigh more or less, up to 1 apart.

Histories. Over ``T`` periods of ``M`` slots each a record is ``1/(T M)`` of all (:mod:`emdp.privacy.guarantees.units`),
so that ``k`` records, in whichever periods, have ``d~ <= k/(T M) min(q/diameter, 1)``: ``periods=T``. A fraction is
then one of all slots of the history, and has the distance that it has anyway. A record that goes to another period is
one less there and one more here: it counts as two.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, Protocol

from emdp.base.checks import check_count, check_finite, check_positive, check_range
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.privacy.inference import epsilon_of
from emdp.privacy.rounding import as_decimal, float_down, float_up

__all__ = ["ELSEWHERE", "Change", "HasDiameter", "change_distance", "change_fraction", "epsilon_for", "protect"]


ELSEWHERE: Final = "elsewhere"
"""Distance of a :class:`Change` whose records are gone: that of the point elsewhere (``elsewhere=1`` of a table)."""


class HasDiameter(Protocol):
    """Facts needed of a space; ``parts``, ``weights`` (or ``shares``) and ``columns`` are read where they exist."""

    @property
    def diameter(self) -> float:
        """Natural distance that counts as 1."""


@dataclass(frozen=True)
class Change:
    """A change of one user's records that must be covered with a stated epsilon.

    Parameters
    ----------
    fraction : float
        Fraction of the user's records that one answer reads (of a period, as the table then was), in (0, 1]; as much
        may change in every period at once. Needed unless ``records`` is given.
    distance : float
        Average distance by which those records move, in the space's (or the part's) natural unit, above 0.
        Farther than the diameter counts as the diameter. ``ELSEWHERE`` says that the records are gone.
    epsilon : float
        Loss that covers the change, above 0; needed unless ``posterior`` is given.
    part : str or int, optional
        Which part of a product space the records move in: a column of it, or its position.
    posterior : float, optional
        In place of epsilon: how sure, at most, somebody may become of the change who thought it a coin toss, in
        (0.5, 1). It stands for ``ln(posterior/(1 - posterior))``, rounded down (:func:`emdp.epsilon_of`, T1).
    records : int, optional
        In place of the fraction: how many records change, at least 1, for a table with ``slots``. With ``ELSEWHERE``
        they are added, removed, or changed in any way.

    Raises
    ------
    UsageError
        If a parameter is out of its range, or of epsilon and posterior, or of fraction and records, both are given or
        both left out.

    >>> Change(fraction=1/30, distance=1.5, epsilon=0.2).distance
    1.5
    >>> round(Change(fraction=1/30, distance=1.5, posterior=0.6).epsilon, 4)
    0.4055
    >>> Change(records=3, distance=5, epsilon=0.2).records
    3
    """

    fraction: float = 0.0
    distance: float | str = 0.0
    epsilon: float = 0.0
    part: str | int | None = None
    posterior: float | None = None
    records: int | None = None

    def __post_init__(self) -> None:
        if self.records is not None:
            if self.fraction != 0:
                raise UsageError("fraction and records both say how much changes; pass one of them.")
            object.__setattr__(self, "records", check_count("records", self.records))
        else:
            fraction = check_range("fraction", check_positive("fraction", self.fraction), 0.0, 1.0)
            object.__setattr__(self, "fraction", fraction)
        if self.distance != ELSEWHERE:
            object.__setattr__(self, "distance", check_positive("distance", self.distance))
        elif self.part is not None:
            raise UsageError("part must be left out where distance is ELSEWHERE, which is of whole records; remove it.")
        epsilon = self.epsilon
        if self.posterior is not None:
            if epsilon != 0:
                raise UsageError("epsilon and posterior both say how well the change is hidden; pass one of them.")
            epsilon = epsilon_of(self.posterior)
        object.__setattr__(self, "epsilon", check_positive("epsilon", epsilon))
        if isinstance(self.part, bool) or not isinstance(self.part, str | int | None):
            raise UsageError(f"part must be a column or a position, not {type(self.part).__name__}; pass one.")


def protect(*changes: Change, space: HasDiameter, periods: int = 1) -> float:
    """Return the largest alpha that covers every change with its epsilon.

    Fractions are of the records that one answer reads: where a table has periods, of each period's records.

    Parameters
    ----------
    *changes : Change
        At least one.
    space : Space
        The space whose ground metric the guarantee will be stated in.
    periods : int
        Of a guarantee with ``unit="history"`` its periods: records, and fractions, are then of all of them together.

    Returns
    -------
    float
        ``min epsilon/d_em`` over the changes, rounded down.

    Raises
    ------
    UsageError
        If there is no change, or a change leaves open in which part of a product space it happens.

    References
    ----------
    EMD 1; the known answers are 77.58 and 25.86 for the two changes below, on a diameter of 12930 miles.

    >>> from types import SimpleNamespace
    >>> earth = SimpleNamespace(diameter=12930.0)
    >>> protect(Change(1/30, 1000, 0.2), Change(1, 100, 0.2), space=earth)
    25.86
    >>> protect(Change(1, 1e9, 0.2), space=earth)
    0.2
    >>> week = SimpleNamespace(diameter=50.0, slots=20)
    >>> [protect(Change(records=3, distance=5, epsilon=0.2), space=week, periods=count) for count in (1, 52)]
    [13.333333333333332, 693.3333333333333]
    """
    if not changes:
        raise UsageError("protect needs at least one change; pass emdp.Change(fraction, distance, epsilon).")
    strange = [change for change in changes if not isinstance(change, Change)]
    if strange:
        raise UsageError(
            f"changes must each be an emdp.Change, not {type(strange[0]).__name__}; pass them one by one, as in "
            "protect(one, other, space=space)."
        )
    count = check_count("periods", periods)
    return float_down(min(as_decimal(change.epsilon) / _distance(change, space, count) for change in changes))


def epsilon_for(alpha: float, change: Change, *, space: HasDiameter) -> float:
    """Return the epsilon with which an alpha covers a change: ``alpha d_em``, rounded up.

    Parameters
    ----------
    alpha : float
        Per unit of ``d_em``, at least 0.
    change : Change
        Its own ``epsilon`` does not matter.
    space : Space
        The space of the guarantee.

    >>> from types import SimpleNamespace
    >>> epsilon_for(25.86, Change(1, 100, 1.0), space=SimpleNamespace(diameter=12930.0))
    0.2
    """
    level = check_finite("alpha", alpha)
    if level < 0:
        raise UsageError(f"alpha must be at least 0, got {level}; pass a number that is not negative.")
    return float_up(as_decimal(level) * _distance(change, space))


def change_distance(change: Change, *, space: HasDiameter, periods: int = 1) -> float:
    """Return the largest ``d_em`` that a change can have, in (0, 1], rounded up; of a history of ``periods`` its mean.

    >>> from types import SimpleNamespace
    >>> change_distance(Change(0.5, 10.0, 1.0), space=SimpleNamespace(diameter=100.0))
    0.05
    """
    return float_up(_distance(change, space, periods))


def change_fraction(change: Change, *, space: HasDiameter) -> float:
    """Return the largest fraction of a user's records that changes, in (0, 1], rounded up: of slots, ``records/slots``.

    >>> from types import SimpleNamespace
    >>> change_fraction(Change(0.5, 10.0, 1.0), space=SimpleNamespace(diameter=100.0))
    0.5
    >>> change_fraction(Change(records=3, distance=10.0, epsilon=1.0), space=SimpleNamespace(diameter=100.0, slots=4))
    0.75
    """
    return float_up(_fraction(change, space))


def _fraction(change: Change, space: HasDiameter, periods: int = 1) -> Fraction:
    if change.records is None:
        return as_decimal(change.fraction)
    slots: int | None = getattr(space, "slots", None)
    if slots is None:
        raise UsageError(
            "records says how many records change, and nothing says of how many; read the table with slots=20, or the "
            "number that fits, or pass fraction."
        )
    return min(Fraction(change.records, slots * periods), Fraction(1))


def _distance(change: Change, space: HasDiameter, periods: int = 1) -> Fraction:
    if not hasattr(space, "diameter"):
        raise UsageError(f"space must be a space, not {type(space).__name__}; pass table.space.")
    if isinstance(change.distance, str):
        rho = getattr(space, "elsewhere", None)
        if rho is None:
            raise UsageError(
                "distance is ELSEWHERE, and the space has no such point; read the table with elsewhere=1 and pass "
                "table.space, or pass a distance."
            )
        # With slots records that are gone may leave others that weigh more.
        farthest = as_decimal(rho) if getattr(space, "slots", None) is None else Fraction(1)
        return _fraction(change, space, periods) * farthest
    parts: Sequence[HasDiameter] = getattr(space, "parts", (space,))
    position = _position(change.part, parts)
    diameter = as_decimal(check_positive("diameter", parts[position].diameter))
    moved = min(as_decimal(change.distance) / diameter, Fraction(1))
    return _fraction(change, space, periods) * _share(space, position) * moved


def _share(space: HasDiameter, position: int) -> Fraction:
    weights: Sequence[float] | None = getattr(space, "weights", None)
    if weights is None:
        shares: Sequence[float] = getattr(space, "shares", (1.0,))
        return as_decimal(shares[position])
    # shares as floats are rounded to nearest: too small a one would make alpha too large
    exact = [as_decimal(weight) for weight in weights]
    return exact[position] / sum(exact)


def _position(part: str | int | None, parts: Sequence[HasDiameter]) -> int:
    listed = ", ".join(f"{i} ({', '.join(_columns(item)) or '?'})" for i, item in enumerate(parts))
    if part is None:
        if len(parts) == 1:
            return 0
        raise UsageError(
            f"a distance in a product space has no one unit: part is missing for the parts {listed}; "
            "name a column of it, as in Change(..., part='lat'), or part = \"lat\" in a catalog."
        )
    found = [i for i, item in enumerate(parts) if part == i or part in _columns(item)]
    if len(found) != 1:
        raise UsageError(f"part {part!r} names none of the space's parts {listed}; pass a column or a position.")
    return found[0]


def _columns(part: HasDiameter) -> tuple[str, ...]:
    return tuple(getattr(part, "columns", ()))
