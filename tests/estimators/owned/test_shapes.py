"""How far one user moves statements of every shape: brute force in DuckDB over all pairs of small bags.

The statement itself runs on tables in which one user has each bag in turn. What is drawn moves between any two of them
by the sensitivity at most, and what the user adds does not depend on what others have: that is ownership.
"""

import datetime as dt
import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import polars as pl
import pytest
from owned_moves import Worlds, members_of
from owned_statements import TYPES

from emdp.estimators.owned.automatic import MeasuredPlan
from emdp.estimators.owned.automatic_groups import GroupsPlan
from emdp.estimators.owned.distinct import DistinctPlan
from emdp.estimators.owned.frame_plan import FramePlan
from emdp.estimators.owned.free import FreePlan
from emdp.estimators.owned.joined import JoinedPlan
from emdp.estimators.owned.keys_plan import KeysPlan
from emdp.estimators.owned.plan import OwnedPlan, RowsPlan
from emdp.estimators.owned.quantiles import QuantilePlan
from emdp.estimators.owned.ranged import RangedPlan
from emdp.estimators.owned.staged import StagedPlan
from emdp.estimators.owned.unlisted_plan import UnlistedPlan
from emdp.questions.owned.parts import relations
from emdp.questions.owned.relations import Relation, UserList
from emdp.sessions.planning import plan_request
from emdp.sql.owned.aggregates import KINDS as AGGREGATES
from emdp.sql.owned.aggregates import OF_RECORDS
from emdp.tables.engines.duckdb.execution import DIALECT
from emdp.tables.statements.owned import OwnedStatement, owned_coordinates, owned_statement

KINDS = [("a", 2.5, 1, 3), ("b", 9.0, 2, 1), ("a", 0.0, 4, 2)]
BAGS = [bag for size in range(4) for bag in itertools.combinations_with_replacement(KINDS, size)]
OTHERS = [[], [(1, "a", 9.0, 2, 1), (1, "b", 0.0, 1, 2), (5, "b", 9.0, 4, 9), (5, "c", 2.5, 1, 3)]]
USER = 3
TREE = Path(__file__).parents[3]

CAP = "max_records_per_user = 2"
SHAPES = {
    "conditions": (CAP, "COUNT(*), SUM(z) FROM t WHERE z > 1 OR i % 2 = 0"),
    "filter": (CAP, "COUNT(*) FILTER (WHERE z > 1), AVG(z) FROM t"),
    "weights": (CAP, "SUM(CLAMP(i, 0, 4) * z) / SUM(CLAMP(i, 0, 4)) FROM t"),
    "computed keys": (CAP, "CASE WHEN z > 1 THEN 'high' ELSE 'low' END AS g, COUNT(*) FROM t GROUP BY g"),
    "hours": (CAP, "HOUR(ts AT TIME ZONE 'Asia/Kolkata') AS h, COUNT(*) FROM t GROUP BY h"),
    "sums of hours": (
        CAP,
        "SUM(CASE WHEN HOUR(ts AT TIME ZONE 'America/New_York') BETWEEN 20 AND 22 THEN z ELSE 1 END) FROM t "
        "WHERE HOUR(ts AT TIME ZONE 'America/New_York') <> 21",
    ),
    "several keys": (CAP, "k, i, COUNT(*), SUM(z) FROM t WHERE i BETWEEN 1 AND 4 GROUP BY k, i"),
    "people by key": ("max_groups_per_user = 1", "k, COUNT(DISTINCT u) FROM t GROUP BY k"),
    "rows of a user": ("", "AVG(CLAMP(n, 0, 3)), COUNT(*) FROM (SELECT u, COUNT(*) AS n FROM t GROUP BY u) q"),
    "having inside": ("", "COUNT(*) FROM (SELECT u, MAX(z) AS m FROM t GROUP BY u HAVING COUNT(*) > 1) q WHERE m > 5"),
    "histogram of a user's rows": (
        "",
        "n, COUNT(*) FROM (SELECT u, COUNT(*) AS n FROM t GROUP BY u) q WHERE n IN (1, 2) GROUP BY n",
    ),
    "groups of a user": (
        CAP,
        "k, COUNT(*) FROM (SELECT u, k, SUM(i) AS s FROM t GROUP BY u, k) q WHERE s > 1 GROUP BY k",
    ),
    "distinct": (CAP, "k, COUNT(*) FROM (SELECT DISTINCT u, k FROM t) q GROUP BY k"),
    "union all": (
        CAP,
        "k, COUNT(*) FROM (SELECT u, k FROM t UNION ALL SELECT u, k FROM t WHERE z > 1) q WHERE k IN ('a', 'b') "
        "GROUP BY k",
    ),
    "union": (CAP, "COUNT(*) FROM (SELECT u, k FROM t UNION SELECT u, k FROM t WHERE z > 1) q"),
    "first rows": (
        CAP,
        "COUNT(*) FROM (SELECT u, z, ROW_NUMBER() OVER (PARTITION BY u ORDER BY ts) AS r FROM t) q WHERE r "
        "= 1 AND z > 1",
    ),
    "rows before": (
        CAP,
        "COUNT(*) FROM (SELECT u, z - LAG(z) OVER (PARTITION BY u ORDER BY ts) AS up FROM t) q WHERE up > 0",
    ),
    "sums so far": (
        CAP,
        "COUNT(*) FROM (SELECT u, SUM(i) OVER (PARTITION BY u ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND "
        "CURRENT ROW) AS s FROM t) q WHERE s > 3",
    ),
    "exists": (CAP, "k, COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM t b WHERE b.u = t.u AND b.z > t.z) GROUP BY k"),
    "not in": ("", "COUNT(DISTINCT u) FROM t WHERE u NOT IN (SELECT b.u FROM t b WHERE b.z > 5)"),
    "in public": (CAP, "COUNT(*) FROM t WHERE k IN (SELECT zones.k FROM zones WHERE size > 1)"),
    "joined by user": (CAP, "COUNT(*), SUM(a.z) FROM t a JOIN t b ON a.u = b.u WHERE a.z < b.z"),
    "joined to public rows": (
        CAP,
        "zone, COUNT(*) FROM t JOIN zones USING (k) WHERE zone IN ('z1', 'z2') GROUP BY zone",
    ),
    "left join of public rows": (CAP, "COUNT(size), COUNT(*) FROM t LEFT JOIN zones ON t.i = zones.size"),
    "with": (CAP, "COUNT(*) FROM q WHERE z > 1"),
    "count of values": (CAP, "COUNT(NULLIF(i, 2)), COUNT(*) FROM t"),
    "variances": (CAP, "VARIANCE(z), STDDEV(CLAMP(i, 0, 4)), COUNT(*) FROM t"),
    "people under a condition": ("", "COUNT(DISTINCT u) FILTER (WHERE z > 1) FROM t"),
    "arithmetic": (CAP, "100 * SUM(z) / COUNT(*) AS r FROM t"),
    "chosen among groups": (CAP, "k, COUNT(*) AS n FROM t GROUP BY k HAVING n > 3 ORDER BY n DESC LIMIT 2"),
    "cap of a group": ("max_groups_per_user = 1, max_records_per_group = 1", "k, COUNT(*) FROM t GROUP BY k"),
    "medians": (CAP, "MEDIAN(z) FROM t"),
    "quantiles by group": (CAP, "k, QUANTILE(z, 0.1), MEDIAN(z), QUANTILE(z, 0.9) FROM t GROUP BY k"),
    "different values": ("", "COUNT(DISTINCT i) FROM t WHERE z < 9"),
    "different values by group": ("", "k, COUNT(DISTINCT i) FROM t GROUP BY k"),
    "groups nobody listed": (f"delta = 1e-6, max_groups_per_user = 2, {CAP}", "i, COUNT(*), SUM(z) FROM t GROUP BY i"),
    "groups alone": ("delta = 1e-6, max_groups_per_user = 2", "i FROM t GROUP BY i"),
    "chosen cap": ("", "SUM(z) FROM t WHERE i > 1"),
    "measured cap": (f"measure_cap = TRUE, {CAP}", "COUNT(*) FROM t"),
    "chosen number of groups": ("max_groups_per_user = auto", "k, COUNT(DISTINCT u) FROM t GROUP BY k"),
    "several releases": (CAP, "MEDIAN(z), COUNT(DISTINCT i), COUNT(DISTINCT u) FILTER (WHERE i > 1), COUNT(*) FROM t"),
    "stages": (CAP, "COUNT(*), SUM(z) FROM t WHERE z > (SELECT m FROM a)"),
    "listed by a stage": (CAP, "t.k, COUNT(*) FROM t JOIN a ON t.k = a.k GROUP BY t.k"),
    "chosen range": (f"range = auto, {CAP}", "SUM(i - z), AVG(i - z), COUNT(*) FROM t"),
    "chosen range by groups": (f"range = auto, {CAP}", "k, SUM(i) FROM t WHERE z > 1 GROUP BY k"),
    "chosen range of a user's rows": ("range = auto", "SUM(m) FROM (SELECT u, MIN(i) AS m FROM t GROUP BY u) q"),
}


BEFORE = {
    "with": "WITH q AS (SELECT u, k, z FROM t WHERE k <> 'c')",
    "stages": "WITH a AS (SELECT AVG(z) AS m FROM t)",
    "listed by a stage": "WITH a AS (SELECT k, COUNT(*) AS n FROM t GROUP BY k)",
}
"""What stands before SELECT."""

NAMED = {
    # Aggregates.
    "COUNT(*)": "conditions", "COUNT(e)": "count of values", "SUM": "conditions", "AVG": "filter",
    "VARIANCE and STDDEV": "variances",
    "COUNT(DISTINCT user)": "people by key", "COUNT(DISTINCT e)": "different values",
    "QUANTILE of several levels": "quantiles by group", "MEDIAN": "medians", "FILTER": "filter",
    "weight columns": "weights", "arithmetic": "arithmetic", "automatic range": "chosen range",
    # Shapes.
    "sub-queries per user": "rows of a user", "windows": "first rows",
    "private tables by links": "tests/sql/owned/test_links.py::test_no_pair_of_small_databases_moves_more",
    "private tables by user": "joined by user", "public joins": "joined to public rows",
    "EXISTS": "exists", "IN": "not in",
    "UNION ALL": "union all", "DISTINCT": "distinct", "HAVING": "having inside", "HAVING, ORDER BY, LIMIT":
    "chosen among groups", "CTEs": "with", "noisy answers as stages": "stages", "lists of users":
    "tests/sql/owned/test_shapes.py::test_one_user_moves_their_own_rows_alone_and_no_more_than_the_noise_hides",
    "parameters": "tests/sql/owned/test_spellings.py", "views, CSV and Parquet": "tests/catalog/test_views.py",
}  # fmt: skip
"""What user-level statements may have, and the shape, or the test elsewhere, that moves it."""

PLANS = (
    DistinctPlan,
    GroupsPlan,
    JoinedPlan,
    KeysPlan,
    MeasuredPlan,
    OwnedPlan,
    QuantilePlan,
    RangedPlan,
    StagedPlan,
    UnlistedPlan,
)
"""All plans of private rows."""


class Bags(Worlds):
    """A table for each bag of one user, without and with others."""

    def __init__(self) -> None:
        super().__init__(1, 1)
        self.read: dict[object, list[pl.DataFrame]] = {}
        for world, others in enumerate(OTHERS):
            for number, bag in enumerate(BAGS):
                made = [row_of(*row) for row in (*others, *((USER, *own) for own in bag))]
                self.connection.register("given", pl.DataFrame(made, schema=TYPES, orient="row").to_arrow())
                self.connection.execute(f"CREATE TABLE source_rows_{world + 1}_{number} AS SELECT * FROM given")

    def rows(self, statement: OwnedStatement, world: int, numbers: Sequence[int]) -> list[pl.DataFrame]:
        """Return what a statement gives, of each table once: plans of other neighbours mostly run one and the same."""
        lookups = tuple((name, *frame.rows()) for name, frame in statement.lookups.items())
        asked = (statement.query.sql(DIALECT, identify=True), lookups, world, tuple(numbers))
        if asked not in self.read:
            self.read[asked] = super().rows(statement, world, numbers)
        return self.read[asked]

    def vectors(self, plan: OwnedPlan, world: int) -> list[tuple[Any, ...]]:
        """Return what is drawn of each bag."""
        frames = self.rows(owned_statement(self.table, plan.aggregation), world + 1, range(len(BAGS)))
        return [tuple(plan.prepared(owned_coordinates(plan.aggregation, frame.rows()))) for frame in frames]


def row_of(user: int, key: str, z: float, i: int, hour: int) -> tuple[Any, ...]:
    time = dt.datetime(2024, 1, 2, hour)
    return (user, key, z, i, z, key, time.date(), time, z > 1)


@pytest.fixture(scope="module")
def bags() -> Bags:
    return Bags()


@pytest.mark.seventh
@pytest.mark.parametrize("neighbours", ["replace", "remove"])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_user_moves_a_statement_of_any_shape_further(bags: Bags, shape: str, neighbours: str) -> None:
    plan = planned(bags, shape, neighbours)
    members = list(members_of(plan))
    if isinstance(plan, OwnedPlan | RangedPlan):
        # Of a chosen range users by bin of both ends, and the statement at three ranges.
        assert len(members) == (4 if isinstance(plan, RangedPlan) else 1)
        for place, member in enumerate(members):
            # Of users by bin all of the sensitivity; of a statement at a range far from its values little.
            check_moves(bags, member, neighbours, 0.3 if len(members) == 1 else 0.0 if place else 1.0)
        return
    count, reached = len(BAGS), []
    for member in members:
        # A quantile's weights are those that a user adds.
        is_added = neighbours == "remove" or isinstance(member, QuantilePlan)
        pairs = [(one, 0) for one in range(count)] if is_added else list(itertools.combinations(range(count), 2))
        moves = [bags.largest(member, world + 1, pairs, neighbours) for world in range(len(OTHERS))]
        assert max(moves) <= 1 + 1e-12, member
        reached.append(max(moves))
    # What follows from a released number that is far from all values moves little.
    assert (max if isinstance(plan, StagedPlan) else min)(reached) >= 0.3, reached


def planned(bags: Bags, shape: str, neighbours: str = "remove") -> Any:
    """Return the plan of a shape."""
    options, text = SHAPES[shape]
    header = ", ".join(filter(None, ("epsilon = 1", options, f"neighbours = '{neighbours}'")))
    before = BEFORE.get(shape, "")
    return plan_request(f"{before} SELECT WITH USER_PRIVACY OPTIONS ({header}) {text}", bags.names)[0].plan


def test_all_that_a_statement_may_have_has_a_shape(bags: Bags) -> None:
    """An aggregate, a kind of relation or a plan that is added without a shape fails here."""
    for name, shape in NAMED.items():
        file, _, test = shape.partition("::")
        assert shape in SHAPES or f"def {test}" in (TREE / file).read_text(), name
    plans = [planned(bags, shape) for shape in SHAPES]
    members = [own for plan in plans for own in members_of(plan)]
    assert {type(own) for own in (*plans, *members)} == set(PLANS)
    # FramePlan is what some have in common; a statement of public rows alone moves with nobody.
    defined = {own for kind in (RowsPlan, *RowsPlan.__subclasses__()) for own in kind.__subclasses__()}
    assert {kind for kind in defined if kind.__module__.startswith("emdp.")} - {FramePlan, FreePlan} == set(PLANS)
    texts = " ".join(text for _, text in SHAPES.values())
    assert all(f"{name}(" in texts for name in (*AGGREGATES, *OF_RECORDS) if not name.endswith("_POP"))
    asked = [own.octaves if isinstance(own, MeasuredPlan) else own.aggregation for own in members]
    found = {type(one) for own in asked for one in relations(own.relation)}
    assert found == set(get_args(Relation)) - {UserList}


def check_moves(bags: Bags, plan: OwnedPlan, neighbours: str, least: float) -> None:
    """Check what is drawn of all pairs of bags: at most the sensitivity, and at least that part of it."""
    (noise,) = plan.mechanisms
    alone, beside = bags.vectors(plan, 0), bags.vectors(plan, 1)
    first, *_ = beside
    for own, together in zip(alone, beside, strict=True):
        assert [x - y for x, y in zip(together, first, strict=True)] == list(own)
    vectors = [[float(value) for value in own] for own in alone]
    others = vectors if neighbours == "replace" else vectors[:1]
    apart = [[x - y for x, y in zip(*pair, strict=True)] for pair in itertools.product(vectors, others)]
    moves = [math.fsum(map(abs, own)) if noise.norm == 1 else math.hypot(*own) for own in apart]
    assert max(moves) <= noise.sensitivity * (1 + 1e-12)
    assert max(moves) >= least * noise.sensitivity
