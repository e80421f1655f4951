"""Measures of places and one more axis that are released as two, and joined: given the zone, or independent.

Two releases with noise on edges, whose levels are fixed beforehand and add up to at most alpha: on two neighbours at
the distance ``d`` the first has a loss of at most ``alpha_1 d``, and the second, with noise of its own, of at most
``alpha_2 d``; both together have ``(alpha_1 + alpha_2) d`` (composition, EMD 7), and their slacks add up. What joins
them is post-processing. Which structure is released is chosen by public numbers
(:mod:`emdp.estimators.frequency.measure_structures`), before the data are touched.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.base.statistic import Statistic
from emdp.estimators.columns.ordering import ordered
from emdp.estimators.contract import Records
from emdp.estimators.frequency.measure_rows import NO_DISTANCE, WEIGHT, MeasureRows, sampled_count
from emdp.estimators.frequency.measure_structures import (
    SHARES,
    chosen_structure,
    expectation,
    expected,
    plane_and_line,
    structure_note,
    structures,
)
from emdp.estimators.frequency.measures import plan_measure
from emdp.estimators.plan import Plan
from emdp.expressions.analysis.checker import analyse, largest_quotient
from emdp.expressions.analysis.evaluate import evaluate
from emdp.expressions.nodes.base import lift
from emdp.mechanisms.release import JoinedMechanism
from emdp.privacy import GuaranteeEvent
from emdp.privacy.rounding import split
from emdp.questions.columns import Released
from emdp.questions.measures import Measure
from emdp.questions.shape import Shape
from emdp.spaces import Space
from emdp.spaces.base import Floats
from emdp.transport.hilbert import hilbert_order

__all__ = ["EdgePair", "StructuredPlan", "StructuredRows", "plan_structured"]


@dataclass(frozen=True, eq=False)
class EdgePair(JoinedMechanism):
    """Two releases with noise on edges, one after the other: facts of both.

    Parameters
    ----------
    members : tuple of EdgeMechanism
        The two mechanisms.
    """

    members: tuple[Any, Any]

    @property
    def theorem(self) -> str:
        """The guarantee's source, in one line."""
        return f"{self.members[0].theorem}; the levels of two releases add up (composition, EMD 7)"

    @property
    def dimension(self) -> int:
        """Number of released coordinates."""
        return int(self.members[0].dimension + self.members[1].dimension)

    @property
    def scale(self) -> float:
        """The largest scale of noise of the two."""
        return float(max(own.scale for own in self.members))

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        """Return the public facts of both releases."""
        return tuple((name, f"of the {which}: {fact}") for which, own in self._named for name, fact in own.facts(unit))

    @property
    def _named(self) -> tuple[tuple[str, Any], ...]:
        return tuple(zip(("places", "rest"), self.members, strict=True))


def plan_structured(query: Measure, *, space: Space, users: int) -> Plan:
    """Return the plan of a measure by the structure that it asks for: one release, or two that are joined.

    Raises
    ------
    UsageError
        As :func:`emdp.estimators.frequency.measures.plan_measure`; or if a structure is named where the measure is not
        of a plane and one more axis.

    >>> from emdp.questions.measures import measure
    >>> from emdp.spaces import Cycle, Product, Vector
    >>> space = Product(Vector(["x", "y"], box=[(0, 10), (0, 10)]), Cycle("hour", 24))
    >>> plan = plan_structured(measure(alpha=80.0, structure="given zone"), space=space, users=500)
    >>> plan.guarantee.alpha, [own.alpha for own in plan.mechanisms[0].members]
    (80.0, [48.0, 32.0])
    """
    joint = replace(query, structure="joint")
    if query.structure == "joint":
        return plan_measure(joint, space=space, users=users)
    whole = plan_measure(joint, space=space, users=users)
    grid = _rows(whole).grid
    if query.pairs or plane_and_line(grid, space) is None:
        if query.structure == "auto":
            return whole
        raise UsageError(
            f"structure={query.structure!r} is for measures of a plane and one more axis, such as places and hours; "
            "pass those columns, or leave structure out."
        )
    made: dict[str, Callable[[], Plan]] = {
        "joint": lambda: whole,
        **{name: partial(_planned, query, space, users, name, whole) for name in SHARES},
    }
    if query.structure != "auto":
        return made[query.structure]()
    best = chosen_structure(grid)
    others = tuple(own() for name, own in made.items() if name != best)
    return replace(made[best](), others=others)


def _rows(plan: Plan) -> Any:
    rows: Any = plan.finisher
    return getattr(rows, "finisher", rows)


def _planned(query: Measure, space: Space, users: int, name: str, whole: Plan) -> Plan:
    """Return the plan of two releases that are joined."""
    level, grid = query.price.level, _rows(whole).grid
    found = plane_and_line(grid, space)
    if found is None:
        raise UsageError("structure is for measures of a plane and one more axis; leave it out.")
    places, rest = found
    share = SHARES[name]
    levels = split(level, (share, 1.0 - share))
    asked = replace(query, structure="joint", order=(), limit=None, offset=0)
    first = plan_measure(
        replace(asked, price=replace(query.price, level=levels[0]), columns=places), space=space, users=users
    )
    columns = query.columns if name == "given zone" else rest
    second = plan_measure(
        replace(asked, price=replace(query.price, level=levels[1]), columns=columns, pitch=None, resolution=None),
        space=space,
        users=users,
    )
    pair = EdgePair((first.mechanisms[0], second.mechanisms[0]))
    rows = StructuredRows(query.name, name, _rows(first), _rows(second), grid, space)
    shared: dict[str, Any] = {
        "mechanisms": (pair,),
        "event": GuaranteeEvent(query.price.promise().at_level(level, 0.0), "two measures", pair.slack_epsilon),
    }
    wider = max((first, second), key=lambda own: own.columns[0].noise_scale).columns[0]
    return StructuredPlan(
        releases=(first, second),
        aggregation=first.aggregation,
        scales=(1.0,),
        columns=(replace(wider, expression=f"{first.columns[0].expression} and {second.columns[0].expression}"),),
        choice=f"structure {name}: {first.choice[:-1]}; and {second.choice}",
        finisher=ordered(rows, query.order, limit=query.limit, offset=query.offset, columns=rows.columns),
        notes=(
            *structure_note(grid, space, name),
            *_notes(first, second, levels),
            *(note for note in first.notes if note.startswith("the row with elsewhere")),
        ),
        comparison=(
            replace(whole.comparison[0], is_chosen=False),
            *(replace(own, is_chosen=own.method == name) for own in structures(grid, space)),
        ),
        **shared,
    )


def _notes(first: Plan, second: Plan, levels: Sequence[float]) -> tuple[str, ...]:
    told = [
        f"{own.columns[0].expression}: alpha {level:.4g}, {own.mechanisms[0].dimension} nodes"
        for own, level in zip((first, second), levels, strict=True)
    ]
    columns = ", ".join(name for name in _rows(second).items if name not in _rows(first).items)
    return (
        f"two releases, of which each reads the table once: {'; '.join(told)}",
        f"rows of the answer: nodes of places, where {columns} is NULL, and of the second release; shares of each add "
        "up to 1 and have exact intervals for the smoothed distribution; table(), sample() and mean() are of both "
        "joined, which has no intervals, and a bright place of it is no finding",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class StructuredPlan(Plan):
    """A plan of two measures that are charged as one, computed one after the other, and given as one answer.

    Parameters
    ----------
    releases : tuple of Plan
        The two.
    """

    releases: tuple[Plan, Plan]

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
        """Draw once for each release; the coordinates of the second stand behind those of the first."""
        made = [
            own.release((values,), records, keep_exact=keep_exact)
            for own, values in zip(self.releases, opened, strict=True)
        ]
        released = tuple(value for (values,), _ in made for value in values)
        exact = tuple(value for _, kept in made if kept is not None for value in kept[0])
        return (released,), (exact,) if keep_exact else None


@dataclass(frozen=True, eq=False)
class StructuredRows:
    """Rows of two measures that are joined: nodes of places, then those of the second release.

    Parameters
    ----------
    name : str
        Column of the shares.
    structure : str
        How they are joined.
    first, second : MeasureRows
        Rows of the two.
    grid : MeasureCells
        Nodes that one measure of all would have: what distances are expected by.
    space : Space
        The item space.
    """

    name: str
    structure: str
    first: MeasureRows
    second: MeasureRows
    grid: Any
    space: Space

    @property
    def items(self) -> tuple[str, ...]:
        """Columns of the joined table's items."""
        rest = (name for name in self.second.items if name not in self.first.items)
        return (*self.first.items, *rest)

    @property
    def has_away(self) -> bool:
        """Whether the joined table has a column ``elsewhere``."""
        return self.first.has_away

    @property
    def columns(self) -> tuple[str, ...]:
        """The answer's columns."""
        return (*self.items, *self.first.columns[len(self.first.items) :])

    @property
    def shape(self) -> Shape:
        """Rows: they are of two kinds."""
        return Shape("rows", keys=self.items)

    @property
    def expectation(self) -> str:
        """Expected distances of the joined fit to the truth, in words."""
        return expectation(self.structure, self.grid)

    def frame(self, released: Released, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return the nodes of both releases; see :class:`Finisher`."""
        own = 1.0 - (1.0 - level) / 2.0 if together else level
        parts = zip((self.first, self.second), self._apart(released), strict=True)
        return self._stacked([rows.frame(values, own, together=together) for rows, values in parts])

    def drawn(self, released: Released) -> pl.DataFrame:
        """Return the rows as they are drawn."""
        return self.frame(released, 0.95)

    def exact(self, statistics: Released) -> pl.DataFrame:
        """Return the nodes with their exact shares; errors as of one measure."""
        if not statistics:
            return self.first.exact(statistics)
        parts = zip((self.first, self.second), self._apart(statistics), strict=True)
        return self._stacked([rows.exact(values) for rows, values in parts])

    def density(self, released: Released) -> pl.DataFrame:
        """Return the fitted shares of both at their released nodes."""
        parts = zip((self.first, self.second), self._apart(released), strict=True)
        return self._stacked([rows.density(values) for rows, values in parts])

    def fitted(self, released: Released) -> Floats:
        """Return the weights of the joined table."""
        return self.table(released).get_column(WEIGHT).to_numpy()

    def table(self, released: Released) -> pl.DataFrame:
        """Return the joined table: one row an item, with its ``weight``; computed once a release."""
        if self._kept.get("released") != released:
            first, second = self._apart(released)
            found = self.first.joined(first, self.second, second)
            self._kept["released"], self._kept["table"] = released, found
        kept: pl.DataFrame = self._kept["table"]
        return kept

    def sample(self, released: Released, count: int) -> pl.DataFrame:
        """Return so many records, at equal steps of mass along a curve through all places."""
        count = sampled_count(count)
        table = self.table(released)
        order = np.argsort(self._along_curve(table), kind="stable")
        sums = np.cumsum(table.get_column(WEIGHT).to_numpy()[order])
        steps = (np.arange(count) + 0.5) * (sums[-1] / count)
        found: pl.DataFrame = table.drop(WEIGHT)[order[np.minimum(np.searchsorted(sums, steps), len(order) - 1)]]
        return found

    def mean(self, released: Released, function: Any, *, level: float, raw: bool) -> dict[str, float | str | None]:
        """Return the mean of a function over the joined table; of places alone also raw, of the first release."""
        expression = lift(function)
        analysis = analyse(expression, self.space)
        moved = {
            name for own, part in zip(analysis.parts, self.space.parts, strict=True) if own > 0 for name in part.columns
        }
        if moved <= set(self.first.items):
            return self.first.mean(self._apart(released)[0], function, level=level, raw=raw)
        if raw:
            raise UsageError("raw is of functions of places where a measure is two that are joined; leave it out.")
        if not moved <= set(self.items):
            raise UsageError(f"the measure is of {', '.join(self.items)} alone; pass a function of these.")
        table = self.table(released)
        if self.has_away:
            table = table.filter(pl.col(self.items[0]).is_not_null())
        if not table.height:
            return {"mean": None, "towns": None, "scattered": None, "reason": NO_DISTANCE}
        values = evaluate(expression, self.space, self.space.encode(self.first.filled(table.select(self.items))))
        weights = table.get_column(WEIGHT).to_numpy()
        mean = float(weights @ values) / float(weights.sum())
        if self.has_away:
            return {"mean": mean, "towns": None, "scattered": None, "reason": NO_DISTANCE}
        constant = largest_quotient(analysis.parts, self.space)
        towns, scattered = (own * constant for own in expected(self.structure, self.grid))
        return {"mean": mean, "towns": towns, "scattered": scattered}

    def joined(self, released: Released, other: Any, others: Released) -> pl.DataFrame:
        """Refuse: it is joined already."""
        del released, other, others
        raise UsageError("this measure is two that are joined already; ask measures without a structure to join more.")

    def _apart(self, released: Released) -> tuple[Released, Released]:
        """Return what was released of each of the two."""
        (values,) = released
        count = int(self.first.mechanism.dimension)
        return (values[:count],), (values[count:],)

    def _stacked(self, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
        kept = [name for name in self.columns if any(name in frame.columns for frame in frames)]
        return pl.concat(frames, how="diagonal").select(kept)

    def _along_curve(self, table: pl.DataFrame) -> Any:
        """Return where on the curve through all places each row of the joined table is."""
        grid = self.first.grid
        ranks = np.empty(grid.places, dtype=np.int64)
        ranks[hilbert_order(grid.counts)] = np.arange(grid.places)
        place = np.zeros(table.height, dtype=np.int64)
        for name, values, count in zip(grid.cells.columns, grid.values, grid.counts, strict=True):
            codes = {value: code for code, value in enumerate(values)}
            own = table.get_column(name).replace_strict(codes, default=0, return_dtype=pl.Int64)
            place = place * count + own.to_numpy()
        found = ranks[place]
        if self.has_away:
            found[table.get_column("elsewhere").to_numpy()] = grid.places
        return found

    @cached_property
    def _kept(self) -> dict[str, Any]:
        return {}
