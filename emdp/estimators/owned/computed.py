"""Columns computed of an answer's noisy values, and the choice of its rows by them: post-processing, which is free.

A weighted sum of counts and sums has the law of that sum of their noises (:mod:`emdp.estimators.owned.linear_columns`).
For anything else:

Theorem (computed column). Let ``f`` be a function of ``k`` aggregates and public keys, ``I_1, .., I_k`` intervals of
the aggregates of level ``1 - (1 - level)/k`` each, and ``R`` a range that holds ``f`` on ``I_1 x .. x I_k``. With
probability at least ``level`` the true aggregates are in their intervals, together (Bonferroni), and ``f`` of them is
then in ``R``. ``R`` comes from :func:`emdp.rows.ranges.bounds_of`, rounded outward. The actual coverage is above the
level, for a ratio of a sum and a count of one draw far above: by the union bound, and because ``R`` forgets that noise
of several aggregates goes up and down together, and that one that stands twice has one value. Where intervals of the
aggregates hold together already, ``k`` is 1.

A quotient whose divisor may be 0 by its interval has no value: NULL, and no ends.

Rows are chosen and ordered by noisy values: HAVING keeps groups whose *noisy* values fulfil it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.estimators.columns.ordering import SHOWN_LEVEL, positions
from emdp.estimators.columns.values import Rows, level_below
from emdp.estimators.owned.linear_columns import linear_column
from emdp.questions.columns import Finisher, PlannedColumn
from emdp.questions.owned.question import ANSWER, Computed, OwnedSelect
from emdp.questions.shape import Shape
from emdp.rows.nodes import Call, Case, Cast, Column, InList, Literal, Node, columns
from emdp.rows.ranges import bounds_of
from emdp.rows.record import Range
from emdp.rows.types import Kind

__all__ = ["Compute", "ComputedRows", "computed_notes", "computed_rows"]

Compute = Callable[[pl.DataFrame, Mapping[str, Node]], pl.DataFrame]
"""Computes functions of the columns of a frame, row by row; an engine of the tables does it."""

DIVISIONS = ("divide", "divide_whole", "remainder")
EVERYTHING: Range = (-math.inf, math.inf)


@dataclass(frozen=True, eq=False)
class ComputedRows:
    """A finisher that computes columns of another one's, chooses rows, and shows some of the columns."""

    finisher: Finisher  # Keys and aggregates, each with its interval
    query: OwnedSelect
    compute: Compute
    known: frozenset[str] = frozenset()  # Computed columns that the finisher has already

    @property
    def shape(self) -> Shape:
        """Items by group; what is computed of keys alone is a key."""
        items = {item.name for item in self.query.items}
        public = {key.name for key in self.query.keys}
        public |= {
            own.name
            for own in self.query.computed
            if not own.is_users and not any(one.name in items for one in columns(own.node))
        }
        return Shape("rows", keys=tuple(name for name in self.query.columns if name in public))

    def frame(self, released: Any, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return the chosen rows; which they are and their order is that of the answer's own frame at every level."""
        rows = self._all(released, level, together=together)
        is_shown = level == SHOWN_LEVEL and not together
        chosen = self._chosen(rows if is_shown else self._all(released, SHOWN_LEVEL))
        return pl.DataFrame([rows.get_column(name).gather(chosen) for name in self._shown(rows)])

    def of_capped(self) -> "ComputedRows":
        """Return the same rows with intervals of capped totals in place of true ones."""
        inner = getattr(self.finisher, "of_capped", None)
        return self if inner is None else replace(self, finisher=inner())

    def exact(self, statistics: Any) -> pl.DataFrame:
        """Return all rows in their natural order, computed of exact values."""
        rows = self.finisher.exact(statistics)
        nodes = {own.name: own.node for own in self._computed}
        made = rows.hstack(self.compute(rows, nodes)) if nodes else rows
        return pl.DataFrame([made.get_column(name) for name in self.query.columns])

    def planned(
        self, items: Sequence[PlannedColumn], typical: Sequence[PlannedColumn] = ()
    ) -> tuple[PlannedColumn, ...]:
        """Return public facts about the columns that have intervals; ``typical`` has ranges of an assumed cap."""
        known = {item.name: item for item in items}
        middles = {item.name: 0.5 * item.low + 0.5 * item.high for item in typical or items}
        found = []
        for name in self.query.columns:
            own = next((one for one in self.query.computed if one.name == name), None)
            if name in known:
                found.append(known[name])
            elif own is not None and own.is_users:
                found.append(_users(own))
            elif own is not None and own.node.kind.is_number and self._aggregates(own):
                found.append(self._planned(own, known, middles))
        return tuple(found)

    def _planned(
        self, own: Computed, known: Mapping[str, PlannedColumn], middles: Mapping[str, float]
    ) -> PlannedColumn:
        names = self._aggregates(own)
        assumed = dict.fromkeys(note for name in names for note in [known[name].note.split("; ")[0]] if "cap" in note)

        def half(errors: Mapping[str, float]) -> float:
            ends = _range_of(
                own.node, {name: (middles[name] - off, middles[name] + off) for name, off in errors.items()}
            )
            return 0.5 * (ends[1] - ends[0])

        error = half({name: known[name].expected_error for name in names})
        low, high = _range_of(own.node, {name: (known[name].low, known[name].high) for name in names})
        return PlannedColumn(
            name=own.name,
            expression=str(own.node),
            lipschitz=math.inf,
            low=low,
            high=high,
            noise_scale=error,
            expected_error=error,
            interval_95=half({name: known[name].interval_95 for name in names}),
            share=math.fsum(known[name].share for name in names),
            note="; ".join((*assumed, NOTE)),
            written=own.text,
        )

    @property
    def _computed(self) -> tuple[Computed, ...]:
        return tuple(own for own in self.query.computed if own.name not in self.known)

    def _shown(self, rows: pl.DataFrame) -> list[str]:
        return [
            f"{name}{end}"
            for name in self.query.columns
            for end in ("", "_low", "_high")
            if f"{name}{end}" in rows.columns
        ]

    def _chosen(self, rows: pl.DataFrame) -> list[int]:
        """Return the numbers of the rows that are shown, in their order."""
        query = self.query
        kept = list(range(len(rows)))
        if query.having:
            kept = [row for row, is_true in enumerate(rows.get_column(query.having).to_list()) if is_true]
        if query.is_distinct:
            values = list(zip(*(rows.get_column(name).to_list() for name in query.columns), strict=True))
            kept = list({values[row]: row for row in reversed(kept)}.values())[::-1]
        if query.order:
            kept = [kept[place] for place in positions(rows[kept], query.order)]
        end = None if query.limit is None else query.offset + query.limit
        return kept[query.offset : end]

    def _all(self, released: Any, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return all rows with all columns, those that are not shown too."""
        rows = self.finisher.frame(released, level, together=together)
        nodes: dict[str, Node] = {}
        flags: list[pl.Series] = []
        ends: list[pl.Series] = []
        for own in self._computed:
            names = self._aggregates(own)
            is_alone = together or len(names) < 2
            wanted = level if is_alone else level_below((1.0 - level) / len(names))
            source = rows if is_alone else self.finisher.frame(released, wanted)
            node, divisors = guarded(own.node, set(names), f"{own.name}?")
            if divisors:
                # A total's ends that a cap may move say nothing of its noise: the capped one is what is divided by.
                capped = self.of_capped().finisher.frame(released, wanted, together=together)
                for name, divisor in divisors.items():
                    found = bounds_in(divisor, capped, names)
                    flags.append(pl.Series(name, [_is_apart(one) for one in found], dtype=pl.Boolean))
            nodes[own.name] = node
            if (names or own.is_users) and own.node.kind.is_number:
                found = bounds_in(own.node, source, names)
                ends += [_end(f"{own.name}_low", found, 0), _end(f"{own.name}_high", found, 1)]
        if not nodes:
            return rows
        made = self.compute(rows.hstack(flags), nodes)
        with_ends = rows.hstack(made).hstack(ends)
        return _without_ends(with_ends, [own.name for own in self._computed])

    def _aggregates(self, own: Computed) -> list[str]:
        items = {item.name for item in self.query.items}
        return sorted(one.name for one in columns(own.node) if one.name in items)


NOTE = (
    "computed of noisy values: errors where all of these are off by theirs, in the middle of their ranges; a smaller "
    "divisor makes them larger"
)
"""What a preview says of what is computed."""


def computed_rows(rows: Finisher, query: OwnedSelect, compute: Compute | None) -> ComputedRows:
    """Return the finisher of a statement that computes, hides or chooses something."""
    if compute is None:
        raise InternalError("a statement computes with its answer, and nothing was given that does; please report it.")
    with_ends = [*(item.name for item in query.items), *(own.name for own in query.computed)]
    known = {*with_ends, *(key.name for key in query.keys)}
    known |= {f"{name}{end}" for name in with_ends for end in ("_low", "_high")}
    wanted = [*query.columns, *(key.column for key in query.order), *([query.having] if query.having else [])]
    missing = [name for name in wanted if name not in known]
    if missing:
        raise UsageError(f"columns, order and having must name columns of the answer, got {missing[0]!r}; name others.")
    if not isinstance(rows, Rows):
        return ComputedRows(rows, query, compute)
    items = {column.name: column for column in rows.columns}
    linear = [column for own in query.computed if (column := linear_column(own, items)) is not None]
    names = tuple(column.name for column in linear)
    rows = replace(rows, columns=(*rows.columns, *linear), names=(*rows.names, *names))
    return ComputedRows(rows, query, compute, frozenset(names))


def computed_notes(query: OwnedSelect) -> tuple[str, ...]:
    """Say what is computed of noisy values, and how rows are chosen."""
    notes = []
    hidden = [item.text for item in query.items if item.name in query.hidden]
    if hidden:
        notes.append(f"asked for besides, and noisy: {', '.join(' '.join(text.split()) for text in hidden)}")
    if any(own.name not in query.hidden and columns(own.node) for own in query.computed):
        notes.append(
            "what is computed of several aggregates has an interval by those of the aggregates, which hold together "
            "with the level stated or more; a quotient whose divisor may be 0 by its interval has no value (NULL)"
        )
    if any(own.is_users for own in query.computed):
        notes.append("the number of all users is public: exact, and free beside other aggregates as alone")
    if query.having:
        notes.append("HAVING keeps groups by their noisy values")
    return tuple(notes)


def _users(own: Computed) -> PlannedColumn:
    """Return public facts about the number of all users: all of it."""
    low, high = _range_of(own.node, {})
    note = "the public number of users: exact, and free"
    return PlannedColumn(own.name, "1", 0.0, low, high, 0.0, 0.0, 0.0, 0.0, note, own.text)


def _range_of(node: Node, known: Mapping[str, Range]) -> Range:
    boxes = {own: known[own.name] for own in columns(node) if own.name in known}
    return bounds_of(node, boxes) or EVERYTHING


def guarded(node: Node, noisy: set[str], prefix: str) -> tuple[Node, dict[str, Node]]:
    """Return an expression whose noisy divisors are used where a BOOLEAN column is true, and the divisor of each."""
    divisors: dict[str, Node] = {}

    def write(part: Node) -> Node:
        if isinstance(part, Case):
            return Case(tuple((write(test), write(value)) for test, value in part.branches), write(part.otherwise))
        if isinstance(part, InList):
            return InList(write(part.argument), part.values)
        if isinstance(part, Cast):
            return Cast(write(part.argument), part.kind)
        if not isinstance(part, Call):
            return part
        made = Call(part.function, tuple(write(argument) for argument in part.arguments))
        if part.function not in DIVISIONS or not any(own.name in noisy for own in columns(part.arguments[1])):
            return made
        name = f"{prefix}{len(divisors)}"
        divisors[name] = part.arguments[1]
        return Case(((Column(ANSWER, name, Kind.BOOLEAN), made),), Literal(None, made.kind))

    return write(node), divisors


def bounds_in(node: Node, rows: pl.DataFrame, noisy: Sequence[str]) -> list[Range]:
    """Return for each row what holds an expression where aggregates are in their intervals."""
    boxes = [_box(own, rows, is_noisy=own.name in noisy) for own in columns(node) if own.kind.is_number]
    names = [own for own in columns(node) if own.kind.is_number]
    if not names:
        return [bounds_of(node, {}) or EVERYTHING] * len(rows)
    return [bounds_of(node, dict(zip(names, row, strict=True))) or EVERYTHING for row in zip(*boxes, strict=True)]


def _box(own: Column, rows: pl.DataFrame, *, is_noisy: bool) -> list[Range]:
    if not is_noisy:
        return [EVERYTHING if one is None else (float(one), float(one)) for one in rows.get_column(own.name).to_list()]
    pairs = zip(*(rows.get_column(f"{own.name}{end}").to_list() for end in ("_low", "_high")), strict=True)
    return [(-math.inf if low is None else low, math.inf if high is None else high) for low, high in pairs]


def _is_apart(found: Range) -> bool:
    """Say whether a divisor is on one side of 0."""
    return found[0] > 0 or found[1] < 0


def _end(name: str, found: Sequence[Range], side: int) -> pl.Series:
    return pl.Series(name, [one[side] if math.isfinite(one[side]) else None for one in found], dtype=pl.Float64)


def _without_ends(rows: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return rows in which a computed column has no ends where it has no value."""
    nothing = pl.Series([None] * len(rows), dtype=pl.Float64)
    found = {name: rows.get_column(name).is_not_null() for name in names}
    ends = [(name, f"{name}{end}") for name in names for end in ("_low", "_high") if f"{name}{end}" in rows.columns]
    return rows.with_columns([rows.get_column(end).zip_with(found[name], nothing).alias(end) for name, end in ends])
