"""Measures of places and further parts that are released in blocks, and joined: given the zone, or independent.

Theorem. Let ``d_X`` be the sum of the parts' distances with their shares, and cut the parts into blocks ``B``, in which
a part may be more than once. Let each block's marginal be released with noise on edges
(:mod:`emdp.mechanisms.central.edges`) at the level ``alpha``, and let the edges along part ``i`` have the sensitivity
``s_i/f_(B,i)``, ``s_i`` what they have in a measure of all parts, and likewise those to the point elsewhere. If the
fractions ``f_(B,i)`` of each part, and those of that point over all blocks, add up to at most 1, then all releases
together are ``(alpha, 0)`` unbounded central d_EM-DP; on the grid their slacks add up.

Proof. All releases are one: the flow mechanism on the graphs of all blocks side by side, whose statistic is the blocks'
weights one after another. Two items that are somewhere have a flow in each block, whose edges along part ``i`` have
``sum |g_e|/s_e <= n f_(B,i) d_i`` with ``d_i`` the share of ``d_X`` that is of part ``i``; added up over the blocks and
parts it is at most ``n sum_i d_i = n d_X``. An item and the point elsewhere, at ``rho``, have ``sum_B n f_B rho``, at
most ``n rho``. So the flow mechanism's hypothesis holds, and what is proved there of bags: one plan of ``d_em`` serves
all blocks. On the grid each block's numbers move by its flow and by what its own slack covers. QED

A part in one block alone has the whole alpha in it: independent parts cost no more than one of them. That rests on the
sum: under the largest of the parts' distances each would have its own share. A marginal is no farther than the whole
(its map does not stretch ``d_X``), but two marginals with the whole alpha would be twice alpha where a part is in both.

What joins the blocks is post-processing. Which structure is released is chosen by public numbers
(:mod:`emdp.estimators.frequency.measure_structures`), before the data are touched.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.base.statistic import Statistic
from emdp.estimators.columns.ordering import ordered
from emdp.estimators.contract import Records
from emdp.estimators.frequency.measure_structures import Structures, structures_of
from emdp.estimators.frequency.measures import OF_MEANS, plan_measure
from emdp.estimators.frequency.smoothed import notes_of_away
from emdp.estimators.frequency.structured_rows import StructuredRows
from emdp.estimators.plan import Plan
from emdp.mechanisms.release import JoinedMechanism
from emdp.privacy import GuaranteeEvent
from emdp.questions.columns import Released, unordered
from emdp.questions.measures import Measure
from emdp.spaces import Space

__all__ = ["EdgeBlocks", "StructuredPlan", "plan_structured"]

COUNTS = {2: "two", 3: "three", 4: "four"}


@dataclass(frozen=True, eq=False)
class EdgeBlocks(JoinedMechanism):
    """Several releases with noise on edges that are one flow mechanism: facts of all.

    Parameters
    ----------
    members : tuple of EdgeMechanism
        The mechanism of each block, all at one level.
    names : tuple of str
        What the blocks are of.
    """

    members: tuple[Any, ...]
    names: tuple[str, ...] = ()

    @property
    def theorem(self) -> str:
        """The guarantee's source, in one line."""
        return (
            f"{self.members[0].theorem}; of a part that is in several blocks each has a fraction of alpha, which add "
            "up to 1, and the blocks are one flow mechanism"
        )

    @property
    def dimension(self) -> int:
        """Number of released coordinates."""
        return int(math.fsum(own.dimension for own in self.members))

    @property
    def scale(self) -> float:
        """The largest scale of noise of all."""
        return float(max(own.scale for own in self.members))

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        """Return the public facts of all releases."""
        named = zip(self.names, self.members, strict=True)
        return tuple((name, f"of {which}: {fact}") for which, own in named for name, fact in own.facts(unit))


def plan_structured(query: Measure, *, space: Space, users: int) -> Plan:
    """Return the plan of a measure by the structure that it asks for: one release, or several that are joined.

    Raises
    ------
    UsageError
        As :func:`emdp.estimators.frequency.measures.plan_measure`; or if a structure is named where the measure is not
        of a plane and further parts.

    >>> from emdp.questions.measures import measure
    >>> from emdp.spaces import Cycle, Product, Vector
    >>> space = Product(Vector(["x", "y"], box=[(0, 10), (0, 10)]), Cycle("hour", 24))
    >>> plan = plan_structured(measure(alpha=80.0, structure="given zone"), space=space, users=500)
    >>> plan.guarantee.alpha, [own.alpha for own in plan.mechanisms[0].members]
    (80.0, [80.0, 80.0])
    """
    joint = replace(query, structure="joint")
    whole = plan_measure(joint, space=space, users=users)
    structures = structures_of(joint, space, users, unordered(whole.finisher).grid)
    if structures is not None:
        told, compared = structures.note("joint"), structures.compared("joint")
        whole = replace(whole, notes=(*whole.notes, told), comparison=(*whole.comparison, *compared))
    if query.structure == "joint":
        return whole
    if structures is None or query.structure not in ("auto", *structures.names):
        if query.structure == "auto":
            return whole
        raise UsageError(
            f"structure={query.structure!r} is for measures of a plane and further parts of one column each, such as "
            "places and hours ('each given zone' of two or more, of areas without a pitch 'independent' alone); pass "
            "those columns, or leave structure out."
        )
    if query.structure != "auto":
        return _planned(query, structures, query.structure, whole)
    best = structures.chosen
    made = {"joint": whole} | {name: _planned(query, structures, name, whole) for name in structures.names[1:]}
    return replace(made[best], others=tuple(own for name, own in made.items() if name != best))


def _planned(query: Measure, structures: Structures, name: str, whole: Plan) -> Plan:
    """Return the plan of several releases that are joined."""
    space, level = structures.space, query.price.level
    releases = tuple(
        plan_measure(own, space=space, users=structures.users, fractions=fractions)
        for own, fractions in zip(structures.blocks(name), structures.fractions(name), strict=True)
    )
    count = COUNTS.get(len(releases), str(len(releases)))
    told = ["places", *(f"the {number}. block" for number in range(2, len(releases) + 1))]
    blocks = EdgeBlocks(tuple(own.mechanisms[0] for own in releases), tuple(told))
    rows = StructuredRows(query.name, name, tuple(unordered(own.finisher) for own in releases), structures)
    wider = max(releases, key=lambda own: own.columns[0].noise_scale).columns[0]
    shared: dict[str, Any] = {
        "mechanisms": (blocks,),
        "event": GuaranteeEvent(query.price.promise().at_level(level, 0.0), f"{count} measures", blocks.slack_epsilon),
    }
    return StructuredPlan(
        releases=releases,
        aggregation=releases[0].aggregation,
        scales=(1.0,),
        columns=(replace(wider, expression=" and ".join(own.columns[0].expression for own in releases)),),
        choice=f"structure {name}: " + "; and ".join(own.choice[:-1] for own in releases) + ".",
        finisher=ordered(rows, query.order, limit=query.limit, offset=query.offset, columns=rows.columns),
        notes=(
            structures.note(name),
            *_notes(releases, structures, name),
            *notes_of_away(space, OF_MEANS),
        ),
        comparison=(replace(whole.comparison[0], is_chosen=False), *structures.compared(name)),
        **shared,
    )


def _notes(releases: Sequence[Plan], structures: Structures, name: str) -> tuple[str, ...]:
    told = []
    for own, fractions in zip(releases, structures.fractions(name), strict=True):
        part = "".join(
            f", moves in space at {float(fractions[column]):.2g} of alpha"
            for column in structures.plane[:1]
            if column in fractions
        )
        told.append(f"{own.columns[0].expression}: {own.mechanisms[0].dimension} nodes{part}")
    items = [unordered(own.finisher).items for own in releases]
    columns = ", ".join(column for own in items[1:] for column in own if column not in items[0])
    count = COUNTS.get(len(releases), str(len(releases)))
    return (
        f"{count} releases, of which each reads the table once, at one alpha: {'; '.join(told)}",
        f"rows of the answer: nodes of places, where {columns} is NULL, and of each further release; shares of each "
        "add up to 1 and have exact intervals for the smoothed distribution; table(), sample() and mean() are of all "
        "joined, which has no intervals, and a bright place of it is no finding",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class StructuredPlan(Plan):
    """A plan of several measures that are charged as one, computed one after the other, and given as one answer.

    Parameters
    ----------
    releases : tuple of Plan
        The blocks.
    """

    releases: tuple[Plan, ...]

    def check(self, records: Records) -> None:
        for own in self.releases:
            own.check(records)

    def work(self, records: Records) -> tuple[tuple[str, str], ...]:
        return tuple(fact for own in self.releases for fact in own.work(records))

    def statistic(self, records: Records, *, keep_exact: bool) -> tuple[Statistic, ...]:
        """Return one statistic a release."""
        return tuple(one for own in self.releases for one in own.statistic(records, keep_exact=keep_exact))

    def release(
        self, opened: Sequence[tuple[Fraction, ...]], records: Records, *, keep_exact: bool
    ) -> tuple[Released, Released | None]:
        """Draw once for each release; the coordinates of each stand behind those of the one before it."""
        made = [
            own.release((values,), records, keep_exact=keep_exact)
            for own, values in zip(self.releases, opened, strict=True)
        ]
        released = tuple(value for (values,), _ in made for value in values)
        exact = tuple(value for _, kept in made if kept is not None for value in kept[0])
        return (released,), (exact,) if keep_exact else None
