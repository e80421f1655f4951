"""What one given change loses in an item-wise release under shuffling: so many records, by so much in all.

**Setting.** As in :mod:`emdp.privacy.shuffle.items`: an ``alpha0``-``d_X``-DP randomizer is applied to each of ``N``
items, and the multiset of outputs is released. Two data sets differ in at most ``x0`` items, which move by ``w_1, ...``
with ``sum w_j`` at most ``x1``; whose items they are does not matter. Each bound is an epsilon with the wanted delta,
both ways. An item that moves by ``w`` may be taken for one that moves by more, since all that a bound uses of it is
that its two laws are within ``exp(alpha0 w)``: so the ``w_j`` may be raised until there are ``x0`` of them that add up
to ``x1``.

- *composition*: ``alpha0 x1`` with ``delta = 0``, since an output's law changes by a factor of at most ``exp(alpha0
  w_j)``.
- *exact clone steps*: :func:`emdp.privacy.shuffle.clones.clone_change`. No raised ``w_j`` is less than
  ``x1 - (x0 - 1)``, since none is above 1: for one item that is its distance, and the step is exact. Where all positive
  distances are at least ``w_min`` and ``k`` items move, those are raised first; if they reach 1, the bound for ``x1 =
  k``, at ``w = 1``, is no larger.
- *the whole release*: any bound ``alpha`` for users of ``x0`` items each, times ``x1/x0``. Two bags of ``x0`` items are
  at distance ``x1/x0`` at most, and other users' numbers of items play no part in the theorems.
- *closed form*: the paper's theorem 4.3 (:func:`emdp.privacy.shuffle.closed_form.closed_form_change`), under its
  condition. Outside of it the formula may fall below the truth: refused. The paper states it twice, as this and as the
  slope of it (its theorem 4.4, "closed form" of :func:`emdp.privacy.shuffle_bounds`, here times ``x1/m``).
"""

import math

from emdp.base.checks import check_range
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.privacy.blanket.output_law import KnownRandomizer
from emdp.privacy.rounding import as_decimal, float_up
from emdp.privacy.shuffle.clones import clone_change
from emdp.privacy.shuffle.closed_form import closed_form_change, closed_form_limit
from emdp.privacy.shuffle.grid import LARGEST_ALPHA0
from emdp.privacy.shuffle.items import check_setting, check_strength, shuffle_bounds

__all__ = ["ChangeBound", "shuffle_change", "shuffle_change_bounds"]


@dataclass(frozen=True)
class ChangeBound:
    """Bound of one accountant for one change.

    Attributes
    ----------
    method : str
        Name of the accountant.
    epsilon : float or None
        Rounded up; None where the accountant is not valid.
    delta : float
        What the change has with this epsilon: 0 by composition, else the delta that was asked for.
    reason : str
        Why it is not valid; empty where it is.
    theorem : str
        Its source, in one line.
    """

    method: str
    epsilon: float | None
    delta: float
    reason: str
    theorem: str


def shuffle_change(
    alpha0: float | None,
    moved: int,
    distance: float,
    N: int,
    delta: float,
    w_min: float = 0.0,
    *,
    randomizer: KnownRandomizer | None = None,
) -> float:
    """Return the smallest epsilon that a theorem gives for one change of an item-wise release, rounded up.

    Parameters
    ----------
    alpha0 : float or None
        Of the randomizer, at least 0, per unit of ``d_X``; None takes the known randomizer's.
    moved : int
        Most records that move, at least 1.
    distance : float
        Largest sum of the distances by which they move, in ``d_X`` (at most 1 a record), in (0, moved].
    N : int
        Number of items that are shuffled together, at least ``moved``.
    delta : float
        In [0, 1); 0 leaves composition, ``alpha0 distance``.
    w_min : float
        Smallest positive distance of two items, in [0, 1]; 0 holds in any space.
    randomizer : KnownRandomizer, optional
        The randomizer itself: its law, where finite, sharpens the bound.

    Raises
    ------
    UsageError
        If an argument is out of its range.

    References
    ----------
    EMD 3; the paper's theorem 4.3.

    >>> round(shuffle_change(2.0, 1, 0.5, 10**6, 1e-9), 4), round(shuffle_change(2.0, 100, 0.5, 10**6, 1e-9), 4)
    (0.0116, 0.0126)
    >>> shuffle_change(2.0, 10, 1.5, 10**6, 0.0)
    3.0
    """
    bounds = shuffle_change_bounds(alpha0, moved, distance, N, delta, w_min, randomizer=randomizer)
    return min(bound.epsilon for bound in bounds if bound.epsilon is not None)


def shuffle_change_bounds(
    alpha0: float | None,
    moved: int,
    distance: float,
    N: int,
    delta: float,
    w_min: float = 0.0,
    *,
    randomizer: KnownRandomizer | None = None,
) -> tuple[ChangeBound, ...]:
    """Return what every accountant says of one change, the smallest epsilon first, the invalid ones last.

    Parameters and errors are those of :func:`shuffle_change`, whose result is the first bound's epsilon.

    >>> for bound in shuffle_change_bounds(1.0, 100, 20.0, 10**6, 1e-6):
    ...     print(bound.method, round(bound.epsilon, 4))
    exact clone steps 0.1212
    whole release: trade-off steps 0.1269
    whole release: exact clone steps 0.1357
    closed form 0.5981
    whole release: closed form 0.6282
    composition 20.0
    """
    setting = check_setting(moved, N, delta, w_min, randomizer, name="moved")
    count, total, wanted = setting.m, setting.N, setting.delta
    sum_of = check_range("distance", distance, 0.0, float(count))
    if sum_of == 0:
        raise UsageError("distance must be above 0; nothing that does not move loses anything.")
    strength = check_strength(alpha0, randomizer)
    whole = shuffle_bounds(alpha0, count, total, wanted, w_min, randomizer=randomizer)
    share = as_decimal(sum_of) / count
    found = [
        ChangeBound(
            f"whole release: {one.method}",
            None if one.alpha is None else float_up(as_decimal(one.alpha) * share),
            one.delta,
            one.reason,
            one.theorem,
        )
        for one in whole
        if one.method != "composition"
    ]
    pure = float_up(as_decimal(strength) * as_decimal(sum_of))
    found.append(ChangeBound("composition", pure, 0.0, "", "every moved item by its own distance (EMD 3)"))
    if strength > 0:
        found += [
            _clones(strength, sum_of, total, wanted, max(setting.w_min, sum_of - (count - 1))),
            _closed(strength, count, sum_of, total, wanted),
        ]
    return tuple(sorted(found, key=lambda bound: math.inf if bound.epsilon is None else bound.epsilon))


def _clones(strength: float, distance: float, total: int, delta: float, w_min: float) -> ChangeBound:
    theorem = "exact clone pair for each moved item, any allocation (EMD 3; emdp.privacy.shuffle.clones)"
    if delta == 0 or strength > LARGEST_ALPHA0:
        reason = "delta is 0" if delta == 0 else f"alpha0 is above {LARGEST_ALPHA0}, the largest that is computed"
        return ChangeBound("exact clone steps", None, delta, reason, theorem)
    found = clone_change(strength, distance, total, delta, min(w_min, 1.0))
    return ChangeBound("exact clone steps", found, delta, "", theorem)


def _closed(strength: float, moved: int, distance: float, total: int, delta: float) -> ChangeBound:
    theorem = "paper, Thm 4.3, under its condition on alpha0 (emdp.privacy.shuffle.closed_form)"
    found = closed_form_change(strength, moved, distance, total, delta) if delta > 0 else None
    if found is not None:
        return ChangeBound("closed form", found, delta, "", theorem)
    if delta == 0:
        return ChangeBound("closed form", None, delta, "delta is 0", theorem)
    limit = closed_form_limit(strength, moved, total, delta)
    reason = f"alpha0 must be below about {limit:.4g} here" if limit > 0 else "it holds for no alpha0 with so few items"
    return ChangeBound("closed form", None, delta, reason, theorem)
