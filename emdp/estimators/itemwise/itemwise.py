"""Item-wise releases: which strength the price allows, by which accountant, and what the answer will say (EMD 3 to 5).

The promise is bounded: between bags of one public size ``m``, which the table declares (``records=``) or a reduction
makes, whose guarantee is discrete and unbounded (EMD 5). Locally a user's ``m`` outputs are mixed among themselves,
else all ``n m`` are. In a table with slots as many records are drawn of every filled bag, and the promise is pure and
unbounded (:mod:`emdp.privacy.drawn`); mixing adds nothing there.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from emdp.base.classes import dataclass
from emdp.base.errors import RefusedError, UsageError
from emdp.estimators.itemwise.release import ItemwiseRelease
from emdp.estimators.itemwise.rows import item_rows
from emdp.estimators.messages import TRUST, MessagePlan
from emdp.mechanisms.items.exponential import Exponential
from emdp.mechanisms.items.finite import FiniteRandomizer
from emdp.mechanisms.items.optimal import Optimal
from emdp.mechanisms.items.planar_laplace import PlanarLaplace
from emdp.mechanisms.items.randomizer import Randomizer
from emdp.privacy import EmdDP, Guarantee, GuaranteeEvent
from emdp.privacy.blanket.accountant import blanket_alpha
from emdp.privacy.drawn import DRAWN, drawn_alpha, drawn_alpha0
from emdp.privacy.reduction import Reduction, reduced_guarantee, reduction_split
from emdp.privacy.rounding import split
from emdp.privacy.shuffle.items import ShuffleBound, shuffle_alpha0, shuffle_bounds
from emdp.questions.itemwise import Itemwise
from emdp.questions.reading import Reading
from emdp.spaces import Grid, Space, count_items

__all__ = ["plan_itemwise"]


@dataclass(frozen=True)
class Effort:
    """How long a search for a strength goes on."""

    close: float  # Share of the wanted alpha at which it ends
    slope: float  # About how fast the logarithm of alpha grows with `alpha0`: the first step depends on it
    most: int  # Most steps
    margin: float = 0.2  # How near to the ends of a bracket a step may lead, as a share of it


MANY, FEW = Effort(0.95, 0.5, 14), Effort(0.95, 0.5, 6)
"""Of a class's strength, and of finite ones with more than ``SMALL`` items: 1,000 take seconds to make."""

PROGRAMS = Effort(0.9, 0.6, 6)
"""Of :class:`Optimal`: each strength is a linear program, of some seconds at any size."""

AIMED, GUESSING = 0.97, Effort(0.98, 0.4, 8, 0.02)
"""Share of alpha that a part of a law may cost, as the whole costs some hundredths more, and the search for it."""

SMALL = 300
"""Items above which fewer strengths are tried."""

MOST_MIXED_APART = 400
"""Most items of the exponential randomizer where each user's records are mixed apart.

Its calibration looks at all pairs of items at all outputs, so that the time grows with the cube of the items: 20
seconds for 324 items, and more than an hour for 1936.
"""

SPLITS = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)
"""Shares of delta for the sampling that are tried for a randomizer of given strength."""

ASSUMED_SIZE = "every user has exactly {size} records, as declared (checked before the first charge)"


@dataclass(frozen=True)
class Strength:
    """A randomizer with the promise that it gives."""

    randomizer: Randomizer  # Of known strength
    bounds: tuple[ShuffleBound, ...]  # What every accountant says, best first
    bounded: EmdDP  # What holds between bags of one size
    guarantee: Guarantee
    reduction: Reduction | None = None  # How sampling made sizes equal


def plan_itemwise(query: Itemwise, *, space: Space, users: int, records: int | None) -> MessagePlan:
    """Return the plan of an item-wise release.

    Raises
    ------
    UsageError
        If users may have different numbers of records and no reduction is asked for, the randomizer is for another
        space, or it is too strong for the price.
    RefusedError
        If its calibration would take many minutes.

    Guarantee
    ---------
    ``(alpha, delta)`` bounded d_EM-DP in the query's model (EMD 3); with a reduction ``(epsilon, delta, r)`` discrete
    and unbounded (EMD 5); with slots ``(alpha, 0)`` unbounded.

    >>> from emdp.mechanisms.items.krr import KRR
    >>> from emdp.questions.price import Price
    >>> from emdp.spaces import Categories
    >>> query = Itemwise(KRR, Price("alpha", 1.0, 1e-9))
    >>> plan = plan_itemwise(query, space=Categories("kind", ["bar", "cafe"]), users=10_000, records=10)
    >>> plan.guarantee.kind_name, plan.guarantee.alpha <= 1.0
    ('bounded central EmdDP', True)
    """
    sizes = None if query.sizes is None else query.sizes.resolved(users, query.price.delta)
    query = replace(query, sizes=sizes)
    size = (records or space.slots) if sizes is None else sizes.samples
    if size is None:
        raise UsageError(
            "itemwise needs users with one public number of records; pass records= to emdp.read if all have exactly "
            "that many, slots= for bags that are filled up, or sizes=emdp.BoundedReduction(samples=..., r=...) to "
            "sample."
        )
    _check_calibrated(query, space)
    pooled = size if query.model == "local" else size * users
    strength = _strength(query, space, size, pooled)
    randomizer = strength.randomizer
    is_local, is_sampled = query.model == "local", sizes is not None or space.slots is not None
    slack = 0.0
    # An alpha of 0, where delta covers the whole change, pays for any distance.
    if isinstance(randomizer, PlanarLaplace) and strength.bounded.alpha > 0:
        slack = randomizer.slack_epsilon(strength.bounded.alpha)
    release = ItemwiseRelease(randomizer, size, is_sampled, is_local, strength.bounds[0].theorem, slack)
    rows = item_rows(randomizer, query.name, total=users * size, is_sampled=is_sampled, is_local=is_local)
    filled = "" if space.slots is None else f" of a bag filled up to {space.slots}"
    return MessagePlan(
        reading=_reading(randomizer, is_sampled=is_sampled, is_local=is_local),
        releaser=release,
        event=GuaranteeEvent(strength.guarantee, f"item-wise release by {randomizer.name}", slack),
        columns=rows.planned,
        choice=_choice(strength, pooled),
        finisher=rows,
        weighing=f"every user counts once, with {size} records{filled}",
        notes=(*_reduction_notes(strength, size), *rows.notes),
        assumptions=((ASSUMED_SIZE.format(size=size),) if not is_sampled else ()) + TRUST[query.model],
    )


def _strength(query: Itemwise, space: Space, size: int, pooled: int) -> Strength:
    """Return the plan's facts: of a reduction, of filled bags, or of bags of one declared size."""
    if query.sizes is not None:
        return _reduced(query, space, size, pooled, query.sizes.r)
    return _declared(query, space, size, pooled) if space.slots is None else _drawn(query, space, size)


def _check_calibrated(query: Itemwise, space: Space) -> None:
    """Refuse before the charge what would be calibrated for many minutes."""
    kind = type(query.randomizer) if isinstance(query.randomizer, Randomizer) else query.randomizer
    items = count_items(space) or 0
    if query.model == "local" and issubclass(kind, Exponential) and items > MOST_MIXED_APART:
        raise RefusedError(
            f"the exponential randomizer is calibrated on all pairs of items in the local model, which takes many "
            f"minutes for {items}; use a space of at most {MOST_MIXED_APART} items, emdp.randomizers.KRR or "
            "model='shuffle'."
        )


def _declared(query: Itemwise, space: Space, size: int, pooled: int) -> Strength:
    """Return the plan's facts for users of one declared size."""
    if isinstance(query.randomizer, Randomizer):
        randomizer = _checked(query.randomizer, space)
        bounds = _bounds(randomizer, size, pooled, query.price.delta)
    else:
        randomizer, bounds = _strongest(query.randomizer, space, query.price.level, size, pooled, query.price.delta)
    bounded = _bounded(bounds, query)
    if bounded.alpha > query.price.level:
        fits = shuffle_alpha0(query.price.level, size, pooled, query.price.delta, randomizer.w_min)
        raise UsageError(
            f"randomizer has alpha0 = {randomizer.alpha0:.6g}, which costs alpha = {bounded.alpha:.6g}, above the "
            f"{query.price.level:.6g} asked for; pass alpha0 = {fits!r} or less, or the class alone."
        )
    return Strength(randomizer, bounds, bounded, bounded)


def _drawn(query: Itemwise, space: Space, size: int) -> Strength:
    """Return the plan's facts for draws of bags that are filled up to the slots, or longer."""
    if isinstance(query.randomizer, Randomizer):
        randomizer = _checked(query.randomizer, space)
    else:
        trial = _made(query.randomizer, space)
        randomizer = trial.at(drawn_alpha0(query.price.level, size, trial.w_min))
    alpha = drawn_alpha(randomizer.alpha0, size, randomizer.w_min)
    if alpha > query.price.level:
        fits = drawn_alpha0(query.price.level, size, randomizer.w_min)
        raise UsageError(
            f"randomizer has alpha0 = {randomizer.alpha0:.6g}, which costs alpha = {alpha:.6g} in {size} slots, above "
            f"the {query.price.level:.6g} asked for; pass alpha0 = {fits!r} or less, or the class alone."
        )
    guarantee = EmdDP(alpha, 0.0, "unbounded", query.model)
    return Strength(randomizer, (ShuffleBound("independent draws", alpha, 0.0, "", DRAWN),), guarantee, guarantee)


def _reduced(query: Itemwise, space: Space, size: int, pooled: int, r: float) -> Strength:
    """Return the plan's facts for users of any sizes, whose records are sampled."""
    if isinstance(query.randomizer, Randomizer):
        randomizer = _checked(query.randomizer, space)
        found = [_split_at(query, randomizer, size, pooled, r, share) for share in SPLITS]
        best = min(found, key=lambda one: one.guarantee.level)
        if best.guarantee.level > query.price.level:
            raise UsageError(
                f"randomizer has alpha0 = {randomizer.alpha0:.6g}, which costs epsilon = {best.guarantee.level:.6g} at "
                f"r = {r:.6g}, above the {query.price.level:.6g} asked for; pass a smaller alpha0, or the class alone."
            )
        return best
    w_min = _made(query.randomizer, space).w_min

    def objective(alpha: float, delta: float) -> float:
        return shuffle_alpha0(alpha, size, pooled, delta, w_min)

    reduction = reduction_split(query.price.level, r, size, query.price.delta, objective)
    delta = reduction.delta_mechanism
    randomizer, bounds = _strongest(query.randomizer, space, reduction.alpha, size, pooled, delta)
    bounded = _bounded(bounds, query)
    guarantee = reduced_guarantee(bounded, r, size, reduction.delta_sampling)
    return Strength(randomizer, bounds, bounded, guarantee, reduction)


def _split_at(query: Itemwise, randomizer: Randomizer, size: int, pooled: int, r: float, share: float) -> Strength:
    sampling, rest = split(query.price.delta, (share, 1.0 - share)) if query.price.delta > 0 else (0.0, 0.0)
    bounds = _bounds(randomizer, size, pooled, rest)
    bounded = _bounded(bounds, query)
    guarantee = reduced_guarantee(bounded, r, size, sampling)
    if guarantee.epsilon == 0:
        return Strength(randomizer, bounds, bounded, guarantee)
    reduction = reduction_split(guarantee.epsilon, r, size, sampling)
    return Strength(randomizer, bounds, bounded, guarantee, replace(reduction, delta_mechanism=bounded.delta))


@lru_cache(maxsize=32)
def _strongest(
    kind: type[Randomizer], space: Space, alpha: float, size: int, pooled: int, delta: float
) -> tuple[Randomizer, tuple[ShuffleBound, ...]]:
    """Return the strongest randomizer of a class that some accountant shows to cost at most alpha, or nearly so.

    What holds for any randomizer gives a first strength; the randomizer's own law usually allows more. Where a law
    takes seconds to make, a guess from a part of it comes before. Every strength is checked by the accountants
    themselves, and what they say of the result is returned with it.
    """
    trial = _made(kind, space)
    target = math.log(alpha)
    sure = shuffle_alpha0(alpha, size, pooled, delta, trial.w_min)
    best: tuple[Randomizer, tuple[ShuffleBound, ...]] = (trial, ())

    def checked(strength: float) -> float:
        nonlocal best
        candidate = trial.at(strength)
        found = _bounds(candidate, size, pooled, delta)
        if _log_alpha(found) <= target or strength == sure:
            best = candidate, found
        return _log_alpha(found)

    # A finite law would be made to see that it is there.
    if not isinstance(trial, FiniteRandomizer) and trial.law is None:
        checked(sure)
        return best
    guess = _guessed(trial, sure, alpha, size, pooled, delta)
    _climb(checked, (sure,) if guess is None else (guess, sure), target, _effort(trial))
    return best


def _climb(value: Callable[[float], float], starts: tuple[float, ...], target: float, effort: Effort) -> float:
    """Return the largest strength that was tried whose logarithm of alpha is at most a target.

    The logarithm is about linear in the strength, so that few steps do. The last start is taken for small enough.
    """
    high: tuple[float, float] | None = None
    for start in starts:
        low = (start, value(start))
        if low[1] <= target:
            break
        high = low if start != starts[-1] else high
    for _ in range(effort.most):
        room = target - low[1]
        if room < -math.log(effort.close):
            break
        if math.isinf(room):
            # So weak that it costs nothing: no line has been seen yet.
            guess = 2.0 * low[0] if high is None else 0.5 * (low[0] + high[0])
        elif high is None:
            guess = low[0] + room / effort.slope
        else:
            # Inside the bracket, not too near its ends: alpha may bend where another accountant takes over.
            share = min(max(0.97 * room / (high[1] - low[1]), effort.margin), 1 - effort.margin)
            guess = low[0] + share * (high[0] - low[0])
        found = value(guess)
        if found <= target:
            low = (guess, found)
        else:
            high = (guess, found)
    return low[0]


def _guessed(trial: Randomizer, sure: float, alpha: float, size: int, pooled: int, delta: float) -> float | None:
    """Return the strength that a part of a large law allows, a public guess; None where there is no such part."""
    if not isinstance(trial, Exponential) or delta == 0 or not trial.has_sample:
        return None

    def sampled(strength: float) -> float:
        found = blanket_alpha(trial.at(strength).sample(), size, pooled, delta)
        return math.log(found) if found > 0 else -math.inf

    return _climb(sampled, (sure,), math.log(alpha) + math.log(AIMED), GUESSING)


def _effort(trial: Randomizer) -> Effort:
    """Return how long a search for a randomizer's strength goes on."""
    if isinstance(trial, Optimal):
        return PROGRAMS
    return FEW if isinstance(trial, FiniteRandomizer) and trial.items.count > SMALL else MANY


def _log_alpha(bounds: tuple[ShuffleBound, ...]) -> float:
    best = bounds[0].alpha
    return math.log(best) if best else -math.inf


def _bounds(randomizer: Randomizer, size: int, pooled: int, delta: float) -> tuple[ShuffleBound, ...]:
    return shuffle_bounds(randomizer.alpha0, size, pooled, delta, randomizer.w_min, randomizer=randomizer)


def _bounded(bounds: tuple[ShuffleBound, ...], query: Itemwise) -> EmdDP:
    best = bounds[0]
    if best.alpha is None:
        raise UsageError("no accountant has a bound for this randomizer and size; pass a smaller alpha0.")
    return EmdDP(best.alpha, best.delta, "bounded", query.model)


@lru_cache(maxsize=8)
def _made(kind: type[Randomizer], space: Space) -> Randomizer:
    try:
        return kind(space, 1.0)  # type: ignore[call-arg]  # what every class of emdp.randomizers but OneBit takes
    except TypeError:
        raise UsageError(
            f"{kind.__name__} takes more than a space and alpha0, so it is not made for you; pass an instance."
        ) from None


def _checked(randomizer: Randomizer, space: Space) -> Randomizer:
    if randomizer.space.to_json() != space.to_json():
        remedy = "make it with table.space"
        if isinstance(randomizer.space, Grid) and not isinstance(space, Grid):
            remedy = "read the table with space=emdp.Grid(...), whose metric is that of cells"
        raise UsageError(f"randomizer is for another space than the table's ({space.kind}); {remedy}.")
    return randomizer


def _reading(randomizer: Randomizer, *, is_sampled: bool, is_local: bool) -> Reading:
    by_user = is_sampled or is_local
    if isinstance(randomizer, FiniteRandomizer):
        return Reading("bags", by_user=True) if by_user else Reading("counts")
    return Reading("points", by_user=by_user)


def _choice(strength: Strength, pooled: int) -> str:
    stated = [f"alpha = {one.alpha:.6g} by {one.method}" for one in strength.bounds if one.alpha is not None]
    missing = [f"{one.method} has none ({one.reason})" for one in strength.bounds if one.alpha is None]
    return (
        f"item-wise release by {strength.randomizer.name}, alpha0 = {strength.randomizer.alpha0:.6g}, "
        f"{pooled} items mixed: {'; '.join([*stated, *missing])}."
    )


def _reduction_notes(strength: Strength, size: int) -> tuple[str, ...]:
    reduction = strength.reduction
    if isinstance(strength.guarantee, EmdDP) and strength.guarantee.sizes == "unbounded":
        return (f"{size} records drawn with replacement from every user's bag, filled up to as many slots: {DRAWN}",)
    if reduction is None:
        return ()
    return (
        f"{size} records drawn with replacement from every user: bags within r are paid for as within q = "
        f"{reduction.q:.6g} but for delta = {reduction.delta_sampling:.3g}, so epsilon is alpha q with alpha = "
        f"{strength.bounded.alpha:.6g} (EMD 5; the published bound has alpha = {reduction.published_alpha:.6g})",
    )
