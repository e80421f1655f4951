"""Tiers of the frequencies of all items, with a curator's noise: tier 1's plan, and a view for each other.

Noise on the averaged histogram of all items has the steps of :mod:`emdp.mechanisms.central.tiers`: each weaker answer
is the one before with more noise, made of the released shares alone.
"""

from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.estimators.frequency.candidates import Candidate, histogram_of
from emdp.estimators.frequency.histograms import HistogramRelease
from emdp.estimators.frequency.items import in_order, plan_of
from emdp.estimators.messages import MessagePlan
from emdp.mechanisms.central.tiers import TieredNoise
from emdp.questions.item_frequencies import ItemFrequencies
from emdp.spaces import Space

__all__ = ["MOST_ITEMS", "HistogramTiers", "plan_histogram_tiers"]

MOST_ITEMS = 2**18
"""Most items: the steps of tiers are drawn one by one."""


@dataclass(frozen=True, eq=False)
class HistogramTiers(MessagePlan):
    """The plan of tier 1, with those of the weaker tiers."""

    # Tier 2 and on: public facts and rows of each, with its guarantee. None of them is charged or released by itself.
    weaker: tuple[MessagePlan, ...] = ()
    noise: TieredNoise | None = None

    def lowered(self, released: Any) -> tuple[Any, ...]:
        """Return the shares of the weaker tiers, made of what tier 1 released: once for each answer."""
        if self.noise is None:
            raise InternalError("tiers were planned without their noise; please report it.")
        # Of the steps: a double may be coarser than the grid, and then the law would be another one.
        grid = Fraction(self.noise.tiers[0].grid)
        found = self.noise.lowered([own * grid for own in released[1].tolist()])
        return tuple((np.array([float(own) for own in shares]),) for shares in found)


def plan_histogram_tiers(query: ItemFrequencies, first: MessagePlan, *, space: Space) -> HistogramTiers:
    """Return the plan of frequencies of all items whose price has tiers, without what is said of all tiers together.

    Parameters
    ----------
    query : ItemFrequencies
        In the central model; its ``price`` has ``weaker`` levels.
    first : MessagePlan
        The plan of the first level, by the averaged histogram.
    """
    releaser = first.releaser
    if not isinstance(releaser, HistogramRelease):
        raise InternalError("tiers of frequencies were planned by another release; please report it.")
    items = releaser.mechanism.dimension
    if items > MOST_ITEMS:
        raise UsageError(
            f"tiers of frequencies are for at most {MOST_ITEMS} items, and the space has {items}; merge some."
        )
    levels = (query.price.level, *query.price.weaker)
    noise = TieredNoise.of(releaser.mechanism, levels)
    weaker = tuple(
        _view(query, histogram_of(query, space, replace(releaser, mechanism=own)), space, number, len(levels))
        for number, own in enumerate(noise.tiers[1:], 2)
    )
    inherited = {item.name: getattr(first, item.name) for item in fields(MessagePlan)}
    inherited["releaser"] = replace(releaser, keeps_steps=True)
    return HistogramTiers(**inherited, weaker=weaker, noise=noise)


def _view(query: ItemFrequencies, own: Candidate, space: Space, number: int, count: int) -> MessagePlan:
    made = plan_of(own, query, space)
    noise = made.mechanisms[0].mechanism  # type: ignore[attr-defined]  # of HistogramRelease
    return replace(
        made,
        finisher=in_order(made.finisher, query, space),
        choice=(
            f"{noise.name} noise of level {noise.alpha:g}, as tier {number} of {count}: the answer of tier "
            f"{number - 1} with more noise added."
        ),
    )
