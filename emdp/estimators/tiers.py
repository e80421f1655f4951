"""Plan of one release for several readers: the strongest reader's plan, which is charged, and a view for each other.

What is drawn of the data is the answer of tier 1, by the plan of its own level. The others are made of that released
answer alone (:meth:`TieredPlan.lowered`), so that they cost nothing, whoever has them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators.contract import AnyPlan
from emdp.estimators.plan import Plan
from emdp.estimators.renoised import renoised
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, LaplaceMechanism
from emdp.mechanisms.central.tiers import TieredNoise
from emdp.questions.columns import Released
from emdp.questions.item_frequencies import ItemFrequencies
from emdp.questions.means import Mean, VectorMean, VectorNoise
from emdp.questions.price import Price
from emdp.spaces import Space

if TYPE_CHECKING:
    from emdp.estimators.frequency.tiers import HistogramTiers

__all__ = ["TieredPlan", "plan_tiers"]

NOISES: tuple[tuple[type[AdditiveMechanism], VectorNoise], ...] = (
    (LaplaceMechanism, "laplace"),
    (GaussianMechanism, "gaussian"),
)
"""Noise that has tiers, by the name that a question asks for it."""


@dataclass(frozen=True, eq=False)
class TieredPlan(Plan):
    """The plan of tier 1, with those of the weaker tiers."""

    # Tier 2 and on: public facts and rows of each, with its guarantee. None of them is charged or released by itself.
    weaker: tuple[Plan, ...] = ()
    noises: tuple[TieredNoise, ...] = ()

    def lowered(self, released: Released) -> tuple[Released, ...]:
        """Return the answers of the weaker tiers, made of what tier 1 released: once for each answer."""
        by_group = [
            noise.lowered(self.prepared_again(values)) for noise, values in zip(self.noises, released, strict=True)
        ]
        return tuple(tuple(self.restored(tiers[place]) for tiers in by_group) for place in range(len(self.weaker)))


def plan_tiers(query: Any, plan: Callable[[Any], Any], space: Space) -> "TieredPlan | HistogramTiers":
    """Return the plan of a question whose price has tiers.

    Parameters
    ----------
    query : question
        Its ``price`` has ``weaker`` levels.
    plan : callable
        Plans the question at one level.
    """
    price = query.price
    if isinstance(query, ItemFrequencies):
        if query.listed is None:
            return _of_items(query, plan, space)
        query = query.listed
    query = _with_levels(query, price, 0)
    first = plan(query)
    if type(first) is not Plan or first.is_cumulative:
        raise UsageError(
            "tiers are for means and for frequencies of cells or of a listed column, with noise of a curator; ask such "
            "a question, or one for each reader."
        )
    best = first
    if not first.is_constant:
        query, named = _with_one_noise(query, first, plan)
        first = replace(named, choice=first.choice) if type(named.mechanisms[0]) is type(first.mechanisms[0]) else named
    levels = (price.level, *price.weaker)
    noises = tuple(TieredNoise.of(mechanism, levels) for mechanism in first.mechanisms)
    weaker = tuple(
        _view(plan(_with_levels(query, price, place)), noises, place, price, first) for place in range(1, len(levels))
    )
    inherited = {item.name: getattr(first, item.name) for item in fields(Plan)}
    inherited["notes"] = (*first.notes, *_notes(first, weaker, levels, price, best))
    return TieredPlan(**inherited, weaker=weaker, noises=noises)


def _of_items(query: ItemFrequencies, plan: Callable[[Any], Any], space: Space) -> "HistogramTiers":
    """Return the plan of frequencies of all items of a finite space."""
    # Loaded where it is needed.
    from emdp.estimators.frequency.tiers import plan_histogram_tiers

    if query.method not in ("auto", "histogram") or query.sizes is not None or query.model != "central":
        raise UsageError(
            "tiers of frequencies of all items are by method='histogram' in the central model, or by messages in the "
            "local one, without sizes=; pass one of these."
        )
    price, single = query.price, _with_levels(query, query.price, 0)
    first, best = plan(replace(single, method="histogram")), plan(single)
    made = plan_histogram_tiers(query, first, space=space)
    views = tuple(
        replace(own, notes=(*own.notes, _coalition(number, price))) for number, own in enumerate(made.weaker, 2)
    )
    notes = (*first.notes, *_notes(first, made.weaker, (price.level, *price.weaker), price, first))
    if best.columns[0].expected_error < first.columns[0].expected_error:
        named = "noise on edges" if best.comparison[0].method == "histogram" else "method='itemwise'"
        notes += (
            f"without tiers {named} has an expected error of {best.columns[0].expected_error:.3g} in place of "
            f"{first.columns[0].expected_error:.3g}",
        )
    return replace(made, weaker=views, notes=notes)


def _with_levels(query: Any, price: Price, place: int) -> Any:
    level = (price.level, *price.weaker)[place]
    return replace(query, price=replace(price, level=level, weaker=()))


def _with_one_noise(query: Any, first: Plan, plan: Callable[[Any], Any]) -> tuple[Any, Plan]:
    """Return the question with its noise named, since every level might choose another kind."""
    named: VectorNoise | None = next((name for kind, name in NOISES if isinstance(first.mechanisms[0], kind)), None)
    if named is None:
        asked = getattr(query, "noise", "auto")
        if asked != "auto":
            raise UsageError(f"noise = {asked!r} has no tiers; pass noise='laplace', or a delta and noise='gaussian'.")
        named = "gaussian" if query.price.delta > 0 else "laplace"
    if isinstance(query, Mean):
        names = None if query.name is None else (query.name,)
        names = ("mean",) if names is None else names
        query = VectorMean(
            (query.expression,),
            query.price,
            named,
            names,
            query.by,
            query.where,
            "central",
            query.share,
        )
    else:
        query = replace(query, noise=named)
    return query, plan(query)


def _view(own: Plan, noises: tuple[TieredNoise, ...], place: int, price: Price, first: Plan) -> Plan:
    """Return the plan of a weaker tier, with its noise on the grid of the strongest."""
    planned = own.mechanisms
    made = tuple(noise.tiers[place] for noise in noises)
    unlike = own.scales != first.scales or any(
        (one.sensitivity, type(one)) != (other.sensitivity, type(other))
        for one, other in zip(planned, made, strict=True)
    )
    if unlike:
        raise UsageError(
            "the levels of the tiers need unlike shares of the noise for the columns; ask for each column by itself."
        )
    on_grid = dict(zip(planned, made, strict=True))
    number = place + 1
    return replace(
        own,
        mechanisms=made,
        finisher=renoised(own.finisher, lambda noise: on_grid.get(noise, noise)),
        choice=(
            f"{made[0].name} noise of level {made[0].alpha:g}, as tier {number} of {len(noises[0].tiers)}: the answer "
            f"of tier {place} with more noise added."
        ),
        notes=(*own.notes, _coalition(number, price)),
    )


def _coalition(number: int, price: Price) -> str:
    return (
        f"{price.kind} = {price.weaker[number - 2]:g} is what readers of tier {number} alone are promised; with a "
        "reader of a lower number they know that one's answer and have that one's promise"
    )


def _notes(
    first: AnyPlan, weaker: Sequence[AnyPlan], levels: tuple[float, ...], price: Price, best: AnyPlan
) -> tuple[str, ...]:
    errors = [plan.columns[0].expected_error for plan in (first, *weaker)]
    shown = "; ".join(
        f"tier {number} {price.kind} = {level:g}, expected error {error:.3g}"
        for number, (level, error) in enumerate(zip(levels, errors, strict=True), 1)
    )
    return (
        f"tiers: {shown} (of {first.columns[0].name}); charged once, at {levels[0]:g}, where one answer for each would "
        f"cost {math.fsum(levels):g}",
        "tiers are for readers who must not learn more than their level; one reader asks at one level, and pays for "
        f"that alone{_without_tiers(first, best)}",
    )


def _without_tiers(first: AnyPlan, best: AnyPlan) -> str:
    """Say what the best noise for one reader would be, where it is noise that has no tiers."""
    if not isinstance(best, Plan) or best.is_constant or type(best.mechanisms[0]) is type(first.mechanisms[0]):
        return ""
    return (
        f", with {best.mechanisms[0].name} noise, which has no tiers: an expected error of "
        f"{best.columns[0].expected_error:.3g} at {best.guarantee.level_name} = {best.guarantee.level:g} against "
        f"{first.columns[0].expected_error:.3g}"
    )
