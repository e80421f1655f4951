"""Conversions between kinds of guarantee (EMD 1): what is listed here holds, everything else is refused.

| from | to | level | why |
|---|---|---|---|
| unbounded | bounded, same class | as it is | fewer pairs of neighbours |
| local | shuffle, central | as it is | others' messages are independent; shuffling is post-processing |
| shuffle | central | as it is | the same statement (one row of EMD 1's table) with a weaker trust |
| EmdDP | EmdDP per period, or history | | :mod:`emdp.privacy.guarantees.units` |
| EmdDP | DiscreteEmdDP at r | alpha r | ``alpha d <= alpha r`` for ``d <= r`` |
| unbounded EmdDP | UserDP | alpha | ``d_em <= 1`` |
| DiscreteEmdDP at r | DiscreteEmdDP at a smaller r | as it is | fewer pairs |
| unbounded DiscreteEmdDP at r = 1 | UserDP | as it is | ``d_em <= 1`` |
| UserDP by replacement | UserDP by removal | as it is | theorem 1 |
| UserDP by removal | UserDP by replacement | ``2 epsilon`` | theorem 2; delta becomes ``delta (1 + exp(epsilon))`` |

**Theorem 1.** A release that is ``(epsilon, delta)`` by replacement for the users of a public list or number is
``(epsilon, delta)`` by removal for tables whose users are among them. *Proof.* Say ``u`` has records in ``D``, and
``D'`` is ``D`` without them. Both give bags to the same public users, and differ in the bag of ``u``, which is empty in
``D'``: ``D'`` is ``D`` with the bag of ``u`` replaced by none, and ``D`` is ``D'`` with it replaced by some. What
is public about the users is the same beside both. (A release that is stated by replacement may use that list or number,
so it hides who has records, not who is listed.) ∎ What implies a ``UserDP`` by replacement, such as an ``EmdDP``,
implies one by removal for the same reason.

**Theorem 2.** A release that is ``(epsilon, delta)`` by removal is ``(2 epsilon, delta (1 + exp(epsilon)))`` by
replacement. *Proof.* Let ``D`` and ``D'`` differ in the bag of ``u``, and ``D_0`` be both without it. For every event
``E``, ``P(E) <= e^eps P_0(E) + delta <= e^eps (e^eps P'(E) + delta) + delta``. (Where a bag is empty, one step is
enough.) Both numbers can be attained: counts of two listed keys with Laplace noise of scale ``1/epsilon``, when a
user's only record changes its key. ∎ With slack ``z`` beside epsilon the same holds of ``epsilon + z``
(:mod:`emdp.privacy.account.restating`).

But for theorem 2 delta never changes. A bounded guarantee says nothing about bags of other sizes, so it never becomes a
``UserDP``. Group privacy (:func:`group`) must be called by name, since it changes both parameters.

Of several budgets :func:`paying` says which one a release is charged to.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar, cast

from emdp.base.checks import check_positive, check_range
from emdp.base.errors import UsageError
from emdp.privacy.guarantees.kinds import (
    DiscreteEmdDP,
    EmdDP,
    Guarantee,
    Model,
    UserDP,
    guarantee_from_json,
)
from emdp.privacy.guarantees.units import side_of, unit_factor, unit_refusal
from emdp.privacy.rounding import as_decimal, float_up

__all__ = [
    "changes_delta",
    "conversion_factor",
    "convert",
    "converts_to",
    "group",
    "paying",
    "to_bounded",
    "to_central",
    "to_discrete",
    "to_user",
]

_G = TypeVar("_G", bound=Guarantee)
_MODEL_RANK: dict[Model, int] = {"local": 0, "shuffle": 1, "central": 2}
"""A guarantee holds in every model of its own rank or a higher one."""
_NEARNESS: tuple[type[Guarantee], ...] = (EmdDP, DiscreteEmdDP, UserDP)
"""Classes in the order in which each converts to the next one, which promises less or costs more."""
_BOUNDED = "bounded guarantees say nothing about bags of other sizes"
_LARGEST_EXPONENT = 700.0
"""Exponents beyond it overflow a double; such a delta is far above 1 or its epsilon means nothing."""
_ROUNDING = 1e-12
"""Relative excess that covers the rounding of a product of exponentials of numbers up to 700."""


def convert(guarantee: Guarantee, kind: Guarantee) -> Guarantee:
    """Return what ``guarantee`` implies in the kind of another.

    Parameters
    ----------
    guarantee : Guarantee
        What is known.
    kind : Guarantee
        Any guarantee of the wanted kind; its level and delta do not matter.

    Returns
    -------
    Guarantee
        Of the wanted kind, the level rounded up.

    Raises
    ------
    UsageError
        If the first does not imply the second; the message names both kinds.

    >>> convert(EmdDP(10.0, 1e-9), UserDP(0))
    UserDP(epsilon=10.0, delta=1e-09, model='central')
    >>> convert(UserDP(1.0, neighbours="remove"), UserDP(0)), convert(UserDP(1.0), UserDP(0, neighbours="remove")).level
    (UserDP(epsilon=2.0, delta=0.0, model='central'), 1.0)
    """
    if changes_delta(guarantee, kind):
        return _doubled(guarantee, kind)
    factor = conversion_factor(guarantee, kind)
    return kind.at_level(float_up(as_decimal(guarantee.level) * factor), guarantee.delta)


def converts_to(guarantee: Guarantee, kind: Guarantee) -> bool:
    """Say whether :func:`convert` has an answer.

    >>> converts_to(EmdDP(1.0, sizes="bounded"), UserDP(0)), converts_to(EmdDP(1.0, model="local"), EmdDP(0))
    (False, True)
    """
    return not _refusal(guarantee, kind)


def changes_delta(guarantee: Guarantee, kind: Guarantee) -> bool:
    """Say whether :func:`convert` goes from removal to replacement, the one way on which delta grows (theorem 2).

    >>> removal = UserDP(0, neighbours="remove")
    >>> changes_delta(removal, UserDP(0)), changes_delta(UserDP(0), removal), changes_delta(EmdDP(0), removal)
    (True, False, False)
    """
    return (
        isinstance(guarantee, UserDP)
        and isinstance(kind, UserDP)
        and (guarantee.neighbours, kind.neighbours) == ("remove", "replace")
        and converts_to(guarantee, kind)
    )


def conversion_factor(guarantee: Guarantee, kind: Guarantee) -> Fraction:
    """Return what the level (and a Gaussian release's ``mu``) is multiplied by in :func:`convert`.

    Raises
    ------
    UsageError
        If there is no conversion, or it has no factor since delta changes (theorem 2): state the release first by
        :func:`emdp.privacy.account.restating.restated`.

    >>> conversion_factor(EmdDP(1.0), DiscreteEmdDP(0, 0, r=0.25))
    Fraction(1, 4)
    """
    if _refusal(guarantee, kind):
        raise UsageError(_sentence(guarantee, kind))
    if changes_delta(guarantee, kind):
        raise UsageError(
            f"a {guarantee.kind_name} becomes a {kind.kind_name} at twice its epsilon and a larger delta, not by a "
            "factor; take convert(guarantee, kind)."
        )
    if isinstance(guarantee, EmdDP) and isinstance(kind, DiscreteEmdDP):
        return as_decimal(kind.r)
    return unit_factor(guarantee, kind)


def paying(guarantee: Guarantee, promises: Sequence[Guarantee]) -> Guarantee:
    """Return which of several budgets' promises a release is charged to.

    One of the release's own class, if there is any, whatever else there is; else the first of an ``EmdDP``, a
    ``DiscreteEmdDP`` and a ``UserDP`` that it converts to. Of two budgets of a class the one of the release's own
    neighbours or unit, of a release of another class the one by replacement. The order in which they were declared
    plays no part.

    =====================  =========================================================================
    release                paid by
    =====================  =========================================================================
    ``EmdDP``              ``EmdDP``; without one ``DiscreteEmdDP`` (``alpha r``); else ``UserDP`` (``alpha``)
    ``DiscreteEmdDP``      ``DiscreteEmdDP`` at its ``r`` or a smaller one; without one, at ``r = 1``, ``UserDP``
    ``UserDP``             ``UserDP`` of its neighbours; without one, of the others (theorems 1 and 2)
    =====================  =========================================================================

    Parameters
    ----------
    guarantee : Guarantee
        What the release states.
    promises : sequence of Guarantee
        Of the budgets; at least one.

    Raises
    ------
    UsageError
        If none of them pays, with the reason why the nearest one does not.

    >>> promises = [UserDP(1.0), DiscreteEmdDP(1.0, 0.0, r=0.05), EmdDP(60.0)]
    >>> [type(paying(release, promises)).__name__ for release in (EmdDP(1.0), UserDP(0.1))]
    ['EmdDP', 'UserDP']
    >>> type(paying(EmdDP(1.0), promises[:2])).__name__
    'DiscreteEmdDP'
    """
    own = side_of(guarantee)
    ordered = sorted(promises, key=lambda promise: (_NEARNESS.index(type(promise)), side_of(promise) != own))
    reachable = [promise for promise in ordered if type(promise) is type(guarantee)] or ordered
    if not reachable:
        raise UsageError("promises must hold at least one guarantee; pass those of the budgets.")
    for promise in reachable:
        if converts_to(guarantee, promise):
            return promise
    raise UsageError(_unpaid(guarantee, reachable[0], promises))


def to_bounded(guarantee: Guarantee) -> Guarantee:
    """Return the same guarantee for bags of one public size only.

    >>> print(to_bounded(EmdDP(1.0)))
    alpha = 1.0 per unit of d_em, delta = 0.0 (bounded central EmdDP)
    """
    if not isinstance(guarantee, EmdDP | DiscreteEmdDP):
        raise UsageError(f"a {guarantee.kind_name} has no bounded form; pass an EmdDP or a DiscreteEmdDP.")
    return convert(guarantee, replace(guarantee, sizes="bounded"))


def to_central(guarantee: _G) -> _G:
    """Return the same guarantee in the central model, where less is promised.

    >>> to_central(UserDP(1.0, model="local")).model
    'central'
    """
    kind = guarantee_from_json({**guarantee.to_json(), "model": "central"})
    return cast(_G, convert(guarantee, kind))


def to_discrete(guarantee: Guarantee, r: float) -> DiscreteEmdDP:
    """Return the discrete guarantee at distance ``r``, sizes and model unchanged: ``(alpha r, delta, r)``.

    Parameters
    ----------
    guarantee : EmdDP or DiscreteEmdDP
        A discrete one must hold up to ``r`` at least; see :func:`group` for a larger ``r``.
    r : float
        In (0, 1].

    Raises
    ------
    UsageError
        If it does not follow.

    >>> to_discrete(EmdDP(20.0, 1e-9), 0.01)
    DiscreteEmdDP(epsilon=0.2, delta=1e-09, r=0.01, sizes='unbounded', model='central')
    """
    if not isinstance(guarantee, EmdDP | DiscreteEmdDP):
        raise UsageError(f"a {guarantee.kind_name} has no discrete form; pass an EmdDP or a DiscreteEmdDP.")
    return cast(DiscreteEmdDP, convert(guarantee, DiscreteEmdDP(0, 0, r, guarantee.sizes, guarantee.model)))


def to_user(guarantee: Guarantee) -> UserDP:
    """Return the user-level guarantee ``(alpha, delta)`` of an unbounded one, the model unchanged.

    Raises
    ------
    UsageError
        If the guarantee is bounded or discrete.

    >>> to_user(EmdDP(3.0, 1e-9))
    UserDP(epsilon=3.0, delta=1e-09, model='central')
    """
    return cast(UserDP, convert(guarantee, UserDP(0, 0, guarantee.model)))


def group(guarantee: DiscreteEmdDP, d: float) -> DiscreteEmdDP:
    """Return what a discrete guarantee says at another distance ``d``, by group privacy.

    With ``g = ceil(d/r)``: epsilon becomes ``g epsilon``, delta becomes
    ``delta (1 + e^epsilon + ... + e^((g-1) epsilon)) = delta (e^(g epsilon) - 1)/(e^epsilon - 1)``.

    Parameters
    ----------
    guarantee : DiscreteEmdDP
        An unbounded one: the chain of bags behind the theorem, ``(1 - j/g) K~ + (j/g) K~'``, has other sizes.
    d : float
        Earth-mover distance, in (0, 1].

    Raises
    ------
    UsageError
        If the guarantee is bounded, or nothing is left of it at ``d`` (delta would reach 1).

    References
    ----------
    EMD 1 [fix]: the paper prints ``delta exp(ceil(d/r))`` once and ``delta exp(epsilon ceil(d/r))`` once, and
    both are too small for some parameters.

    >>> group(DiscreteEmdDP(0.5, 1e-9, r=0.1), 0.3)
    DiscreteEmdDP(epsilon=1.5, delta=5.3670030991645405e-09, r=0.3, sizes='unbounded', model='central')
    """
    if not isinstance(guarantee, DiscreteEmdDP) or guarantee.sizes != "unbounded":
        raise UsageError(
            f"group privacy needs an unbounded DiscreteEmdDP, not a {guarantee.kind_name}; "
            "multiply the alpha of an EmdDP by the distance instead."
        )
    distance = check_range("d", check_positive("d", d), 0.0, 1.0)
    steps = math.ceil(as_decimal(distance) / as_decimal(guarantee.r))
    epsilon = float_up(as_decimal(guarantee.epsilon) * steps)
    delta = _geometric_sum(guarantee.delta, guarantee.epsilon, steps)
    if delta >= 1:
        raise UsageError(
            f"nothing is left of {guarantee} at d = {distance}: delta would reach 1; "
            "start from a smaller epsilon or delta, or from a larger r."
        )
    return DiscreteEmdDP(epsilon, delta, distance, "unbounded", guarantee.model)


def _sentence(guarantee: Guarantee, kind: Guarantee) -> str:
    return f"a guarantee of kind {guarantee.kind_name} is no {kind.kind_name}: {_reason(guarantee, kind)}."


def _reason(guarantee: Guarantee, kind: Guarantee) -> str:
    reason = _refusal(guarantee, kind)
    # Most reasons say what to do; where they do not, a budget of the release's own kind is the remedy.
    return reason if ";" in reason or "group()" in reason else f"{reason}; declare budget={_declared(guarantee)}"


def _unpaid(guarantee: Guarantee, nearest: Guarantee, promises: Sequence[Guarantee]) -> str:
    """Return in words why no budget pays for a release, and what is to be done."""
    needs = f"this question needs a budget of the kind {guarantee.kind_name}, and the table has "
    needs += " and ".join(dict.fromkeys(promise.kind_name for promise in promises))
    if isinstance(guarantee, UserDP) and not isinstance(nearest, UserDP) and guarantee.model == nearest.model:
        # As it stands: who pastes another number would raise what nobody can lower again.
        is_plain = isinstance(nearest, EmdDP) and nearest.unit == "user"
        own = f"alpha = {nearest.level}{f', delta = {nearest.delta}' if nearest.delta else ''}" if is_plain else ".."
        return (
            f"{needs}; ask with alpha (WITH EMD_PRIVACY in SQL, alpha= in Python), or have the owner declare a UserDP "
            f"budget beside it: `budget = [{{ {own} }}, {{ epsilon = 2.0, delta = 1e-8 }}]`, with own numbers."
        )
    return f"{needs}: {_reason(guarantee, nearest)}."


def _declared(guarantee: Guarantee) -> str:
    """Return how a budget of a guarantee's kind is written, without its numbers."""
    more = "" if guarantee.model == "central" else f", model={guarantee.model!r}"
    if isinstance(guarantee, DiscreteEmdDP):
        return f"emdp.DiscreteEmdDP(epsilon, delta, r={guarantee.r!r}{more})"
    if isinstance(guarantee, UserDP):
        more += ", neighbours='remove'" if guarantee.neighbours == "remove" else ""
        return f"emdp.UserDP(epsilon, delta{more})"
    sizes = "" if _sizes(guarantee) == "unbounded" else ", sizes='bounded'"
    more += "".join(f", {name}={value!r}" for name, value in guarantee.to_json().items() if name in ("unit", "periods"))
    return f"emdp.EmdDP(alpha, delta{sizes}{more})"


def _refusal(guarantee: Guarantee, kind: Guarantee) -> str:
    """Return why there is no conversion, or nothing if there is one."""
    if _MODEL_RANK[guarantee.model] > _MODEL_RANK[kind.model]:
        return f"a {guarantee.model} guarantee does not hold in the {kind.model} model"
    if unit := unit_refusal(guarantee, kind):
        return unit
    if isinstance(guarantee, UserDP) and isinstance(kind, UserDP):
        return ""
    if isinstance(guarantee, UserDP):
        return "a UserDP release is charged to a UserDP budget; declare one beside the other"
    if isinstance(kind, UserDP) and isinstance(guarantee, DiscreteEmdDP) and guarantee.r < 1:
        return "it says nothing beyond its r; use group() to see what is left at distance 1"
    if _sizes(guarantee) == "bounded" and (isinstance(kind, UserDP) or _sizes(kind) == "unbounded"):
        return _BOUNDED
    if isinstance(kind, UserDP):
        return ""
    if isinstance(guarantee, DiscreteEmdDP) and isinstance(kind, DiscreteEmdDP):
        if guarantee.r >= kind.r:
            return ""
        by_group = f"emdp.privacy.group(guarantee, {kind.r!r})"
        return f"it says nothing beyond its r; ask for it up to r = {kind.r!r}, or convert it by {by_group} first"
    if isinstance(guarantee, DiscreteEmdDP):
        return "it does not get stronger as the distance falls"
    return ""


def _doubled(guarantee: Guarantee, kind: Guarantee) -> Guarantee:
    """Return what theorem 2 makes of a guarantee by removal."""
    # in fractions, since a product of floats may be rounded down where a delta is below the normal ones
    exponent = min(guarantee.level, _LARGEST_EXPONENT)
    growth = Fraction(math.exp(exponent)) * (1 + Fraction(_ROUNDING))
    delta = as_decimal(guarantee.delta) * (1 + growth)
    if delta >= 1 or (delta > 0 and guarantee.level > _LARGEST_EXPONENT):
        raise UsageError(
            f"nothing is left of {guarantee} by replacement: delta would reach 1; ask with a smaller epsilon or delta, "
            "or have a budget by removal declared."
        )
    return kind.at_level(float_up(2 * as_decimal(guarantee.level)), float_up(delta))


def _sizes(guarantee: Guarantee) -> str:
    return guarantee.sizes if isinstance(guarantee, EmdDP | DiscreteEmdDP) else "unbounded"


def _geometric_sum(delta: float, epsilon: float, steps: int) -> float:
    """Return ``delta (1 + e^epsilon + ...)``, ``steps`` terms, rounded up; infinity beyond the floats."""
    if delta == 0 or steps == 1:
        return delta
    # steps is an exact integer and may be beyond the floats, for a tiny r
    exponent = as_decimal(epsilon) * steps
    if exponent > _LARGEST_EXPONENT or as_decimal(delta) * steps >= 1:
        return math.inf
    if epsilon == 0:
        return float_up(as_decimal(delta) * steps)
    return delta * (math.expm1(float_up(exponent)) / math.expm1(epsilon)) * (1 + _ROUNDING)
