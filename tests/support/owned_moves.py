"""How far one user moves what statements over rows with owners release: by the statements themselves, on small tables.

A world is three tables that differ in one user: with some records, without any, with others. For each plan what gets
noise is computed of all three, and compared with what the noise is for.
"""

import datetime as dt
import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import polars as pl
from owned_statements import PUBLIC, SPACE, TYPES, rows_of_user

import emdp
from emdp.base.errors import UsageError
from emdp.estimators.owned.automatic import MeasuredPlan
from emdp.estimators.owned.automatic_groups import GroupsPlan
from emdp.estimators.owned.distinct import DistinctPlan
from emdp.estimators.owned.free import FreePlan
from emdp.estimators.owned.joined import JoinedPlan
from emdp.estimators.owned.keys_plan import KeysPlan
from emdp.estimators.owned.plan import OwnedPlan, drawn_rows
from emdp.estimators.owned.quantiles import QuantilePlan
from emdp.estimators.owned.ranged import RangedPlan
from emdp.estimators.owned.ranges import BINS, ENDS
from emdp.estimators.owned.staged import StagedPlan
from emdp.estimators.owned.unlisted_plan import UnlistedPlan
from emdp.mechanisms.contribution.moves import moved_users
from emdp.mechanisms.keys.numbers import KeysWithNumbers
from emdp.mechanisms.records.distinct import assign_distinct
from emdp.questions.owned.stages import DTYPES, answer_schema
from emdp.questions.owned.totals import UNIT_BITS
from emdp.rows.types import Kind
from emdp.tables.engines.duckdb.execution import DIALECT, DISABLED_OPTIMIZERS
from emdp.tables.statements.owned import OwnedStatement, owned_coordinates, owned_statement
from emdp.tables.statements.owned_frames import frame_statement, in_order

__all__ = ["Worlds", "members_of"]

USERS = 6
CHANGED = 3
"""The user in whose records the tables of a world differ."""

MANY = 4
"""Tables from which on a statement is planned once for all of them."""

UNIT = 2**UNIT_BITS


def members_of(plan: Any) -> Iterator[Any]:
    """Yield the releases that a plan consists of."""
    if isinstance(plan, StagedPlan):
        for stage in _stages_of(plan):
            yield from members_of(stage)
    elif isinstance(plan, JoinedPlan):
        for member in plan.members:
            yield from members_of(member)
    elif isinstance(plan, FreePlan):
        return
    elif isinstance(plan, RangedPlan):
        yield plan.rule.users
        # The second reading at any range: some where values are, some where none is, and one that follows from counts.
        chance = random.Random(plan.rule.query.text)
        for ends in ((-4.0, 8.0), tuple(sorted(chance.sample(ENDS, 2)))):
            yield from members_of(plan.rule.plan_at((ends,) * len(plan.rule.query.ranged)))
        noisy = tuple(tuple(Fraction(chance.randrange(400)) for _ in range(BINS)) for _ in plan.rule.query.ranged * 2)
        yield from members_of(plan.rule.plan(noisy))
    elif isinstance(plan, MeasuredPlan):
        yield plan
        if isinstance(plan, GroupsPlan):
            yield from (plan.rule.plans[cap] for cap in {min(plan.rule.plans), plan.rule.cap([9, 5, 3] + [0] * 18)})
        else:
            # Two records; where the cap is on what they add, also two of its units.
            yield from map(plan.rule.plan_at, {2, 2 * plan.rule.unit})
    else:
        yield plan


NUMBERS = (2.5, 0.0, -1e300, math.nan, math.inf, 7.0)
"""What a stage may have released, and what no noise makes."""


def _stages_of(plan: StagedPlan) -> Iterator[Any]:
    """Yield the plan of each stage that reads private rows, for some table of each stage before it."""
    tables: dict[str, pl.DataFrame] = {}
    for place, step in enumerate(plan.finisher.steps):
        try:
            if not step.stage.is_private:
                tables[step.stage.name] = plan.finisher.free(step, tables)
                continue
            own = plan.finisher.planned(step, tables)
        except UsageError:
            # Such values fail in what is around, or list too many groups: after the charge, with nothing drawn.
            return
        if own is not None:
            yield own
        tables[step.stage.name] = _released(step.stage.question, place)


def _released(question: Any, place: int) -> pl.DataFrame:
    count = 3 if question.keys else 1
    chance = random.Random(f"{question.text} {place}")
    values: dict[Kind, list[Any]] = {
        Kind.TEXT: ["a", "b", "none"],
        Kind.BOOLEAN: [True, False, None],
        Kind.BIGINT: [0, 1, 7],
        Kind.DATE: [dt.date(2024, 1, 1), dt.date(2024, 1, 5), None],
        Kind.TIMESTAMP: [dt.datetime(2024, 1, 2, 3, 4, 5), None, dt.datetime(1, 1, 1)],
    }
    kinds = answer_schema(question)
    made = {
        name: values[kind][:count] if kind in values else [chance.choice(NUMBERS) for _ in range(count)]
        for name, kind in kinds.items()
    }
    frame = pl.DataFrame(made, schema={name: DTYPES[kind] for name, kind in kinds.items()})
    return frame.head(chance.randrange(count + 1)) if question.keys else frame


class Worlds:
    """Small tables in DuckDB, each world three of them."""

    def __init__(self, count: int, seed: int) -> None:
        chance = random.Random(seed)
        self.count = count
        self.connection = duckdb.connect()
        self.connection.execute(
            f"SET threads = 1; SET TimeZone = 'UTC'; SET disabled_optimizers = '{','.join(DISABLED_OPTIMIZERS)}'"
        )
        for world in range(count):
            others = [row for user in range(USERS) if user != CHANGED for row in rows_of_user(chance, user, 5)]
            own = [rows_of_user(chance, CHANGED, 12), [], rows_of_user(chance, CHANGED, 12)]
            for number, rows in enumerate(own):
                frame = pl.DataFrame(others + rows, schema=TYPES, orient="row")
                self.connection.register("given", frame.to_arrow())
                self.connection.execute(f"CREATE TABLE source_rows_{world}_{number} AS SELECT * FROM given")
        self.first = self.connection.sql("SELECT * FROM source_rows_0_0").pl()
        self.table = emdp.read(self.first, user="u", space=SPACE, users=USERS, name="t")
        self.names = self.table.names(PUBLIC)

    def rows(self, statement: OwnedStatement, world: int, numbers: Sequence[int]) -> list[pl.DataFrame]:
        """Return what a statement gives of tables of a world, by their numbers.

        Raises
        ------
        duckdb.Error
            Where a record makes it fail, which none may.
        """
        text = statement.query.sql(DIALECT, identify=True)
        for name, frame in statement.lookups.items():
            self.connection.register(name, frame.to_arrow())
        names = [f"source_rows_{world}_{number}" for number in numbers]
        found = self._of_many(text, names) if len(names) >= MANY else [self._of_one(text, name) for name in names]
        for name in statement.lookups:
            self.connection.unregister(name)
        return found

    def _of_one(self, text: str, name: str) -> pl.DataFrame:
        return pl.DataFrame(self.connection.sql(text.replace('"source_rows"', f'"{name}"')).to_arrow_table())

    def _of_many(self, text: str, names: Sequence[str]) -> list[pl.DataFrame]:
        """Return the same of one table that has the rows of each in turn: to plan a statement takes longest."""
        self.connection.execute(f"CREATE TABLE source_rows AS SELECT * FROM {names[0]}")
        self.connection.execute(f"PREPARE planned AS {text}")
        found = []
        for name in names:
            self.connection.execute(f"DELETE FROM source_rows; INSERT INTO source_rows SELECT * FROM {name}")
            found.append(pl.DataFrame(self.connection.sql("EXECUTE planned").to_arrow_table()))
        self.connection.execute("DEALLOCATE planned; DROP TABLE source_rows")
        # What was planned once says the same, in some order, as what is planned of a table of its own.
        ours, own = (sorted(map(repr, frame.rows())) for frame in (found[-1], self._of_one(text, names[-1])))
        assert ours == own
        return found

    def excess(self, plan: Any, world: int, neighbours: str) -> float:
        """Return the largest move over what it may be: at most 1 where the plan is sound."""
        # What a user adds alone, by removal; and other records instead of these. A quantile's weights are only added.
        pair = (0, 1) if neighbours == "remove" or isinstance(plan, QuantilePlan) else (0, 2)
        return self.largest(plan, world, [pair], neighbours)

    def largest(self, plan: Any, world: int, pairs: Sequence[tuple[int, int]], neighbours: str) -> float:
        """Return the same over pairs of tables of a world, the second without the user by removal."""
        numbers = sorted({number for pair in pairs for number in pair})
        found = dict(zip(numbers, self._released(plan, world, numbers), strict=True))
        return max(_move(plan, found[one], found[other], neighbours) for one, other in pairs)

    def _released(self, plan: Any, world: int, numbers: Sequence[int]) -> list[Any]:
        """Return what of each table gets noise."""
        if isinstance(plan, OwnedPlan):
            vectors = []
            for frame in self.rows(owned_statement(self.table, plan.aggregation), world, numbers):
                values = owned_coordinates(plan.aggregation, frame.rows())
                plan.aggregation.check(USERS, values)
                vectors.append(plan.prepared(values))
            return vectors
        if isinstance(plan, MeasuredPlan):
            frames = self.rows(owned_statement(self.table, plan.octaves), world, numbers)
            return [owned_coordinates(plan.octaves, frame.rows()) for frame in frames]
        frames = self.rows(frame_statement(self.table, plan.aggregation), world, numbers)
        return [in_order(frame, plan.aggregation) for frame in frames]


def _move(plan: Any, one: Any, other: Any, neighbours: str) -> float:
    """Return how far what gets noise of two tables is apart, over what it may be."""
    if isinstance(plan, OwnedPlan):
        (noise,) = plan.mechanisms
        return _size(one, other, noise.norm) / noise.sensitivity
    if isinstance(plan, MeasuredPlan):
        return _size(one, other, 1) / moved_users("remove" if neighbours == "remove" else "replace")
    if isinstance(plan, UnlistedPlan):
        return _of_keys(plan, one, other, neighbours)
    if isinstance(plan, KeysPlan):
        return _of_users(one, other)
    if isinstance(plan, QuantilePlan):
        return _added(one, other, plan.aggregation.cap * UNIT)
    assert isinstance(plan, DistinctPlan)
    return _of_values(plan, one, other, neighbours)


def _size(one: Sequence[Fraction], other: Sequence[Fraction], norm: int) -> float:
    apart = [abs(x - y) for x, y in zip(one, other, strict=True)]
    return math.fsum(map(float, apart)) if norm == 1 else math.hypot(*map(float, apart))


def _of_keys(plan: UnlistedPlan, one: pl.DataFrame, other: pl.DataFrame, neighbours: str) -> float:
    left, right = _by_key(plan, one), _by_key(plan, other)
    keys = left.keys() | right.keys()
    people = [abs(left.get(key, (0, []))[0] - right.get(key, (0, []))[0]) for key in keys]
    most = moved_users("remove" if neighbours == "remove" else "replace") * plan.aggregation.groups_cap
    found = [max(people, default=0), sum(people) / most]
    noise = getattr(plan.keys, "noise", None)
    if noise is not None:
        size = max((len(values) for _, values in (*left.values(), *right.values())), default=0)
        none = (0, [Fraction(0)] * size)
        vectors = [[value for key in keys for value in own.get(key, none)[1]] for own in (left, right)]
        found.append(_size(*vectors, noise.norm) / noise.sensitivity)
    return max(found)


def _by_key(plan: UnlistedPlan, frame: pl.DataFrame) -> dict[Any, tuple[int, list[Fraction]]]:
    """Return of each key its number of users and what gets noise."""
    count = len(plan.aggregation.keys)
    scales = [Fraction(scale) for _, drawing in plan.blocks for scale in drawing.scales]
    made = {}
    for row in frame.rows():
        parts = [Fraction(int(value), UNIT) for value in row[count + 1 :]]
        drawn = [value for own in drawn_rows(plan.blocks, parts, 1) for value in own]
        scaled = [value * scale for value, scale in zip(drawn, scales, strict=True)]
        people = [Fraction(row[count])] if isinstance(plan.keys, KeysWithNumbers) else []
        made[row[:count]] = (row[count], [*scaled, *people])
    return made


def _of_users(one: pl.DataFrame, other: pl.DataFrame) -> float:
    """Return in how many users' keys, in their order, two tables differ: in one's, of whom weights are at most 1."""
    found = []
    for frame in (one, other):
        names = [name for name in frame.columns if name.startswith("key_")]
        lists = frame.group_by("user_place", maintain_order=True).agg(names).drop("user_place")
        found.append(Counter(str(row) for row in lists.rows()))
    return float(max((found[0] - found[1]).total(), (found[1] - found[0]).total()))


def _added(frame: pl.DataFrame, without: pl.DataFrame, most: int) -> float:
    with_user, others = ({row[:2]: int(row[2]) for row in own.rows()} for own in (frame, without))
    apart = [with_user.get(key, 0) - others.get(key, 0) for key in with_user.keys() | others.keys()]
    return math.inf if min(apart, default=0) < 0 else sum(apart) / most


def _of_values(plan: DistinctPlan, one: pl.DataFrame, other: pl.DataFrame, neighbours: str) -> float:
    cells, found = plan.aggregation.cells, []
    for limit in (1, 2, 3):
        counts = []
        for frame in (one, other):
            users, values, places = (
                frame.get_column(name).to_numpy() for name in ("user_place", "value_place", "cell")
            )
            taken = assign_distinct(users, values, limit)
            counts.append(np.bincount(places[taken].astype(np.int64), minlength=cells))
        most = limit if cells == 1 or neighbours == "remove" else 2 * limit
        found.append(float(np.abs(counts[0] - counts[1]).sum()) / most)
    return max(found)
