"""Neighbours at small d_em, drawn by hypothesis with space, table and query: no statistic moves farther than claimed.

Unlike :mod:`test_sensitivities`, which looks at what every bag contributes, each case asks the engine the plan's own
statement of two tables, and compares exact fractions: ``|change| <= sensitivity * d_em``, with the stated error of
floating-point evaluation and nothing else.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from neighbour_worlds import Row, World, random_query

import emdp
from emdp.base.errors import NotLipschitzError, SqlError, UsageError
from emdp.estimators import Plan
from emdp.sessions.planning import plan_request
from emdp.tables import Table, aggregate

DUCKDB_CASES, SPARK_CASES = 5000, 1000
FEW_SPARK_CASES = 6
"""A case of Spark takes a second."""

FEW_PARTS = {"spark.sql.shuffle.partitions": "2"}
"""For the few cases: as many as their tables have; more of a shuffle would only be more tasks."""

MOST_COORDINATES = 400
QUIET: dict[str, Any] = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}


@dataclass(frozen=True)
class Drawn:
    """The methods of ``numpy.random.Generator`` that the worlds use, with choices that hypothesis can make smaller."""

    draw: Callable[[st.SearchStrategy[Any]], Any]

    def integers(self, low: int, high: int | None = None) -> int:
        first, end = (0, low) if high is None else (low, high)
        return int(self.draw(st.integers(first, end - 1)))

    def random(self) -> float:
        return self.integers(2**20) / 2**20

    def uniform(self, low: float = 0.0, high: float = 1.0) -> float:
        return low + (high - low) * self.random()

    def permutation(self, values: Sequence[Any]) -> np.ndarray:
        return np.array(self.draw(st.permutations(list(values))))

    def choice(self, values: Sequence[Any], size: int | None = None) -> Any:
        if size is None:
            return self.draw(st.sampled_from(list(values)))
        return np.array([self.draw(st.sampled_from(list(values))) for _ in range(size)])


@dataclass(frozen=True, eq=False)
class Pair:
    """Two tables that differ in one user's bag, a plan for both, and how far apart they are."""

    world: World
    query: Any
    plan: Plan
    bags: tuple[int, ...]
    changed: int
    other: int

    @cached_property
    def distance(self) -> Fraction:
        """An upper bound of the d_em of the two bags of the user who changed."""
        own = self.bags[self.changed]
        return Fraction(0) if own == self.other else Fraction(self.world.distance(own, self.other))

    def changes(self, read: Callable[[World, Sequence[Sequence[Row]]], Table]) -> list[list[Fraction]]:
        """Return by group how much each coordinate differs between the tables, as the engine computes them."""
        bags = [self.world.bags[bag] for bag in self.bags]
        moved = [*bags[: self.changed], self.world.bags[self.other], *bags[self.changed + 1 :]]
        first, second = (
            [self.plan.prepared(found.open()) for found in aggregate(read(self.world, own), self.plan.aggregation)]
            for own in (bags, moved)
        )
        return [[b - a for a, b in zip(*own, strict=True)] for own in zip(first, second, strict=True)]

    def holds(self, changes: Sequence[Sequence[Fraction]], *, factor: Fraction = Fraction(1)) -> bool:
        """Whether no group moved farther than its mechanism allows for, in exact arithmetic."""
        is_metric = isinstance(self.plan.guarantee, emdp.EmdDP)
        for change, mechanism in zip(changes, self.plan.mechanisms, strict=True):
            allowed = factor * Fraction(mechanism.coordinate_change) * (self.distance if is_metric else 1)
            error = 2 * Fraction(mechanism.statistic_error)
            if mechanism.norm == 1:
                moved, slack = sum(map(abs, change), Fraction(0)), error * mechanism.dimension
                is_within = moved <= allowed + slack
            else:
                slack = error * Fraction(math.nextafter(math.sqrt(mechanism.dimension), math.inf))
                is_within = sum((own * own for own in change), Fraction(0)) <= (allowed + slack) ** 2
            if not is_within:
                return False
        return True


def pair_of(rng: Any) -> Pair | None:
    """Draw a world, a query that is accepted and needs noise, a table and a neighbour; None where it is refused."""
    world = World.random(rng)
    try:
        query = random_query(world, rng)
        (planned,) = plan_request(query, world.names)
    except (NotLipschitzError, SqlError, UsageError):
        return None
    plan = planned.plan
    if plan.is_constant or plan.aggregation.dimension > MOST_COORDINATES:
        return None
    bags = tuple(int(rng.integers(len(world.bags))) for _ in world.bags)
    changed = int(rng.integers(len(bags)))
    # Bags 0 to 3 are one another's near neighbours; any other one is as likely as not far away.
    bags = (*bags[:changed], 0, *bags[changed + 1 :]) if rng.random() < 0.7 else bags
    other = int(rng.integers(1, 4)) if rng.random() < 0.7 else int(rng.integers(len(bags)))
    return Pair(world, query, plan, bags, changed, other)


@st.composite
def pairs(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Pair:
    pair = pair_of(Drawn(draw))
    assume(pair is not None)
    return pair


def check(pair: Pair, read: Callable[[World, Sequence[Sequence[Row]]], Table]) -> None:
    assert pair.holds(pair.changes(read)), (pair.query, pair.world.space, pair.bags, pair.changed, pair.other)


def on_duckdb(world: World, bags: Sequence[Sequence[Row]]) -> Table:
    return world.table(bags)


@pytest.mark.slow
@settings(max_examples=DUCKDB_CASES // 25, **QUIET)
@given(pairs())
def test_a_near_neighbour_moves_statistics_by_at_most_sensitivity_times_distance(pair: Pair) -> None:
    check(pair, on_duckdb)


@pytest.mark.full
@settings(max_examples=DUCKDB_CASES, **QUIET)
@given(pairs())
def test_a_near_neighbour_moves_statistics_by_at_most_sensitivity_times_distance_in_5000_cases(pair: Pair) -> None:
    check(pair, on_duckdb)


def on_spark(spark: Any) -> Callable[[World, Sequence[Sequence[Row]]], Table]:
    """Return what makes a world's table as a Spark DataFrame of two partitions."""

    def read(world: World, bags: Sequence[Sequence[Row]]) -> Table:
        rows = pl.DataFrame(world.table(bags).source.table)
        frame = spark.createDataFrame(rows.to_arrow(compat_level=pl.CompatLevel.oldest()))
        return emdp.read(frame, user="user", space=world.space, users=world.users, name="visits")

    return read


@pytest.fixture
def few_parts(spark: Any) -> Iterator[Any]:
    before = {name: spark.conf.get(name) for name in FEW_PARTS}
    for name, value in FEW_PARTS.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


@settings(max_examples=FEW_SPARK_CASES, **QUIET)
@given(pairs())
@pytest.mark.usefixtures("in_short")
def test_a_near_neighbour_moves_statistics_of_spark_no_farther(few_parts: Any, pair: Pair) -> None:
    check(pair, on_spark(few_parts))


@pytest.mark.full
@settings(max_examples=SPARK_CASES, **QUIET)
@given(pairs())
def test_a_near_neighbour_moves_statistics_of_spark_no_farther_in_1000_cases(spark: Any, pair: Pair) -> None:
    check(pair, on_spark(spark))


def test_a_sensitivity_three_tenths_too_small_is_found_out() -> None:
    pairs = [pair for seed in range(25) if (pair := pair_of(np.random.default_rng(seed))) is not None]
    found = [(pair, pair.changes(on_duckdb)) for pair in pairs]
    assert len(pairs) >= 20
    assert all(pair.holds(changes) for pair, changes in found)
    assert sum(not pair.holds(changes, factor=Fraction(7, 10)) for pair, changes in found) >= 4
