"""The part of a refinement that needs no ledger: another level of a plan, and noise drawn backwards for it.

The noise of an answer at a smaller scale is drawn given the noise that it had (:mod:`emdp.noise.laplace_refining`), on
the grid of the first answer, so that the two answers are tiers of one release (:mod:`emdp.mechanisms.central.tiers`).
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from emdp.estimators.plan import Plan
from emdp.estimators.renoised import renoised
from emdp.mechanisms import AdditiveMechanism, LaplaceMechanism
from emdp.noise.laplace_refining import draw_stronger
from emdp.privacy import GuaranteeEvent
from emdp.questions.columns import Released

__all__ = ["answer_of", "drawn_again", "is_refinable", "numbers_of", "plan_at", "slack_at"]

Numbers = tuple[list[int], list[int]]
"""Rounded statistic and noise of an answer, in grid steps, one group of users after the other."""


def is_refinable(plan: Any) -> bool:
    """Say whether a plan's answer has Laplace noise that can be drawn backwards."""
    return (
        type(plan) is Plan
        and not plan.is_constant
        and all(isinstance(own, LaplaceMechanism) for own in plan.mechanisms)
    )


def numbers_of(plan: Plan, opened: Sequence[Any], released: Released) -> Numbers:
    """Return the rounded statistic and the noise of an answer: private numbers."""
    exact: list[int] = []
    noise: list[int] = []
    for mechanism, values, found in zip(plan.mechanisms, opened, released, strict=True):
        grid = Fraction(mechanism.grid)
        rounded = [round(value / grid) for value in plan.prepared(values)]
        exact += rounded
        noise += [int(value / grid) - own for value, own in zip(plan.prepared_again(found), rounded, strict=True)]
    return exact, noise


def drawn_again(plan: Plan, now: float, level: float, noise: Sequence[int]) -> list[int]:
    """Draw noise of a stronger level of which noise of level ``now`` was made: once for each charge."""
    drawn: list[int] = []
    place = 0
    for own in plan.mechanisms:
        weaker, stronger = _at(own, now), _at(own, level)
        part = noise[place : place + own.dimension]
        drawn += [draw_stronger(z, stronger.noise_units, weaker.noise_units) for z in part]
        place += own.dimension
    return drawn


def slack_at(plan: Plan, level: float) -> float:
    """Return the cost of rounding at a level."""
    return max(_at(own, level).slack_epsilon for own in plan.mechanisms)


def plan_at(plan: Plan, level: float) -> Plan:
    """Return the public facts of a plan at another level, on its grid; nothing of it is charged by itself."""
    made = tuple(_at(own, level) for own in plan.mechanisms)
    by_old = dict(zip(plan.mechanisms, made, strict=True))
    first = plan.mechanisms[0]
    ratio = made[0].scale / first.scale
    columns = tuple(
        replace(
            column,
            noise_scale=column.noise_scale * ratio,
            expected_error=column.expected_error * ratio,
            interval_95=column.interval_95 * ratio,
        )
        for column in plan.columns
    )
    return replace(
        plan,
        mechanisms=made,
        columns=columns,
        event=GuaranteeEvent(plan.guarantee.kind.at_level(level, 0.0), "refined answer"),
        finisher=renoised(plan.finisher, lambda own: by_old.get(own, own)),
        choice=f"Laplace noise of level {level:g}, refined from {first.alpha:g} and paid in parts.",
    )


def answer_of(plan: Plan, exact: Sequence[int], noise: Sequence[int]) -> tuple[Released, Released]:
    """Return the coordinates that are released, and the rounded statistic in the same units."""
    released: list[tuple[Fraction, ...]] = []
    rounded: list[tuple[Fraction, ...]] = []
    place = 0
    for own in plan.mechanisms:
        grid, part = Fraction(own.grid), slice(place, place + own.dimension)
        rounded.append(plan.restored([value * grid for value in exact[part]]))
        both = zip(exact[part], noise[part], strict=True)
        released.append(plan.restored([(value + z) * grid for value, z in both]))
        place += own.dimension
    return tuple(released), tuple(rounded)


def _at(mechanism: AdditiveMechanism, level: float) -> AdditiveMechanism:
    return mechanism if level == mechanism.alpha else replace(mechanism, alpha=level, step=mechanism.grid)
