"""Every function, aggregate and window that a checker allows has a case that both engines answer alike.

A function that is added without a case fails here, where no Spark is needed. Functions of a row have theirs from the
table of forms (``row_cases``), which ``test_rows.py`` runs, those of a user's rows in ``test_shapes.py``; functions of
an expression, and aggregates, stand below.
"""

import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from row_cases import cases
from row_predicates import predicate

import emdp
from emdp.rows import nodes as rows_nodes
from emdp.rows.functions import FUNCTIONS
from emdp.rows.nodes import Call, Cast, Node, columns
from emdp.sessions.planning import plan_request
from emdp.sql.owned.aggregates import KINDS
from emdp.sql.refusals.unsupported import aggregates
from emdp.sql.values.functions import functions
from emdp.tables import aggregate, check_aggregation

VECTORS = pl.DataFrame({"kind": ["bar", "park", "sea"], "a": [0.0, 1.0, 0.5], "b": [1.0, 0.0, 0.5]})
SPACE = emdp.Product(
    emdp.Interval("x", 0, 5, on_invalid="clamp"),
    emdp.Geo("lat", "lon", (40, -75, 41, -74), unit="km", on_invalid="clamp"),
    emdp.Embedding("kind", VECTORS, on_invalid="neutral"),
    emdp.Categories("c", ["p", "q"], on_invalid="neutral"),
)
SCALARS = {
    "ABS": "ABS(x - 2)",
    "LEAST": "LEAST(x, 3, 4.5)",
    "GREATEST": "GREATEST(x, 1, 0.5)",
    "CLAMP": "CLAMP(x, 1, 2.5)",
    "RAMP": "RAMP(x, 4, 1.5)",
    "EXP": "EXP(-x / 3)",
    "LN": "LN(x + 0.5)",
    "SQRT": "SQRT(x + 0.25)",
    "POWER": "POWER(x + 1, 2.5)",
    "POW": "POW(x, 3)",
    "SIN": "SIN(2 * x)",
    "COS": "COS(x / 2)",
    "TANH": "TANH(x - 1)",
    "ATAN": "ATAN(x * x)",
    "PI": "x * PI()",
    "DISTANCE": "DISTANCE(POINT(40.7, -74.6))",
    "DOT": "DOT(kind, VECTOR[1, -2])",
    "SIMILARITY": "SIMILARITY(kind, 'park')",
}
BY_EMD, BY_USER = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 20) ", "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1{}) "
CAPPED = BY_USER.format(", max_records_per_user = 5")
AGGREGATES = {
    "AVG": BY_EMD + "AVG(x) AS a FROM t WHERE c = 'p'",
    "PART": BY_EMD + "PART(x) AS a, SHARE() AS b FROM t WHERE c = 'p'",
    "SHARE": BY_EMD + "c, SHARE() AS b FROM t GROUP BY c",
    "VARIANCE": CAPPED + "VARIANCE(x) AS a FROM t",
    "VAR_POP": BY_EMD + "VAR_POP(x) AS a FROM t",
    "STDDEV": CAPPED + "STDDEV(x) AS a, AVG(x) AS b FROM t WHERE lat > 40.2",
    "STDDEV_POP": BY_EMD + "STDDEV_POP(x) AS a FROM t",
    "COUNT": CAPPED + "kind, COUNT(*) AS a, COUNT(x) AS b FROM t GROUP BY kind",
    "SUM": CAPPED + "SUM(x) AS a FROM t WHERE lon < -74.3",
    "FREQUENCY": BY_EMD + "FREQUENCY(GRID(x, 1)) AS a FROM t",
    "MEASURE": BY_EMD + "MEASURE(x, PITCH(1)) AS a FROM t",
    "QUANTILE": BY_EMD + "QUANTILE(x, 0.3, 0.8) AS a FROM t",
    "MEDIAN": CAPPED + "MEDIAN(x) AS a FROM t",
    "SHARES": BY_USER.format("") + "SHARES(c = 'p', kind = 'bar') AS a FROM t",
    "USER_MEAN": BY_USER.format(", delta = 1e-9, spread = 1") + "USER_MEAN(x) AS a FROM t",
    "WEIGHT": BY_EMD + "WEIGHT(AVG(x), 2) AS a, WEIGHT(AVG(lat), 1) AS b FROM t",
}


def visits() -> pl.DataFrame:
    source = random.Random(11)
    wild = [None, float("nan"), -3.0, float("inf"), 0.0, -0.0]
    return pl.DataFrame(
        {
            "u": [source.choice(range(30)) for _ in range(400)],
            "x": [source.choice([*wild, *(source.uniform(0, 5) for _ in range(20))]) for _ in range(400)],
            "lat": [source.uniform(39.9, 41.1) for _ in range(400)],
            "lon": [source.uniform(-75.1, -73.9) for _ in range(400)],
            "c": [source.choice("pqr") for _ in range(400)],
            "kind": [source.choice(["bar", "park", "sea", "zoo", None]) for _ in range(400)],
        }
    )


def both(session: Any) -> list[emdp.Table]:
    frame = visits()
    rows = session.createDataFrame(frame.to_arrow(compat_level=pl.CompatLevel.oldest())).repartition(3)
    return [emdp.read(source, user="u", name="t", space=SPACE, users=list(range(30))) for source in (frame, rows)]


def test_every_form_of_every_function_of_a_row_has_a_case() -> None:
    found: set[tuple[str, tuple[Any, ...]]] = set()
    for node in (node for own in cases().values() for node in own):
        name = f"to_{node.kind.value.lower()}" if isinstance(node, Cast) else getattr(node, "function", "")
        found.add((name, tuple(column.kind for column in sorted(columns(node), key=lambda column: column.name))))
    for name, record in FUNCTIONS.items():
        for form in record.forms:
            kinds = tuple(kind for kind in form.arguments if type(kind).__name__ == "Kind")
            assert (name, kinds) in found, f"{name} of {kinds} has no case that both engines compute"


def test_every_kind_of_node_of_a_row_is_in_a_case() -> None:
    seen: set[type] = set()

    def walk(node: Any) -> None:
        if isinstance(node, tuple):
            for own in node:
                walk(own)
        elif isinstance(node, rows_nodes.Node):
            seen.add(type(node))
            for own in vars(node).values():
                walk(own)

    for seed in range(40):
        walk(predicate(seed))
    assert seen == set(rows_nodes.Node.__args__)
    assert {Call, Cast} <= seen
    assert Node is rows_nodes.Node


def test_every_function_of_an_expression_has_a_case() -> None:
    assert set(SCALARS) == set(functions())
    for name, text in SCALARS.items():
        assert f"{name}(" in text


def test_every_aggregate_has_a_case() -> None:
    assert set(AGGREGATES) == {*aggregates(), *KINDS}
    for name, text in AGGREGATES.items():
        assert f"{name}(" in text


def test_functions_of_an_expression_are_those_of_duckdb(spark: Any) -> None:
    tables = both(spark)
    text = BY_EMD + ", ".join(f"AVG({text}) AS v{place}" for place, text in enumerate(SCALARS.values())) + " FROM t"
    found = []
    for table in tables:
        plan: Any = plan_request(text, table.names({}))[0].plan
        aggregation = plan.aggregation
        check_aggregation(table, aggregation)
        (values,) = aggregate(table, aggregation)
        found.append(values.open())
    for name, one, other in zip(SCALARS, *found, strict=True):
        assert abs(one - other) <= 1e-9 * abs(one), name
        assert one, name


def test_aggregates_are_answered_as_on_duckdb(spark: Any, tmp_path: Path) -> None:
    answers = []
    for place, table in enumerate(both(spark)):
        budget = [emdp.EmdDP(1e3), emdp.UserDP(1e3, 1e-6)]
        ledger = tmp_path / f"{place}.ledger"
        with emdp.testing.seeded(4), emdp.Session(table, budget=budget, ledger=ledger) as session:
            answers.append({name: session.sql(text) for name, text in AGGREGATES.items()})
    for name, one in answers[0].items():
        other = answers[1][name]
        assert one.exact_frame.columns == other.exact_frame.columns
        for column in one.exact_frame.columns:
            pairs = list(zip(one.exact_frame.get_column(column), other.exact_frame.get_column(column), strict=True))
            assert pairs, name
            for own, theirs in pairs:
                assert own == (pytest.approx(theirs, rel=1e-6, abs=1e-9) if isinstance(own, float) else theirs), name


AREAS = 12
CENTRES = np.random.default_rng(4).normal(size=(AREAS, 2))
ZONES = emdp.Distances(
    "zone",
    [f"z{own}" for own in range(AREAS)],
    np.linalg.norm(CENTRES[:, None] - CENTRES[None], axis=2),
    unit="km",
    on_invalid="elsewhere",
)


def test_measures_of_areas_are_answered_as_on_duckdb(spark: Any, tmp_path: Path) -> None:
    source = random.Random(12)
    names = [*ZONES.labels, "unlisted", None]
    frame = pl.DataFrame({"u": [source.choice(range(30)) for _ in range(300)], "zone": source.choices(names, k=300)})
    rows = spark.createDataFrame(frame.to_arrow(compat_level=pl.CompatLevel.oldest())).repartition(3)
    answers = []
    for place, given in enumerate((frame, rows)):
        table = emdp.read(given, user="u", name="t", space=ZONES, users=list(range(40)), elsewhere=1)
        ledger = tmp_path / f"{place}.ledger"
        with emdp.testing.seeded(5), emdp.Session(table, budget=emdp.EmdDP(100), ledger=ledger) as session:
            town = session.sql(BY_EMD + "MEASURE(zone) AS town FROM t")
            listed = session.frequencies("zone", alpha=20)
            mean = town.mean(emdp.distance_to("z3"))
            answers.append((town.exact_frame, town.frame, town.table(), listed.frame, mean, session.spent()))
    assert "edges" in str(town.explain())
    for own, other in zip(*answers, strict=True):
        if isinstance(own, pl.DataFrame):
            assert_frame_equal(own, other, rel_tol=1e-6, abs_tol=1e-9)
        else:
            assert own == other
    shares = frame.group_by("u").agg((pl.col("zone") == "z3").fill_null(False).mean())
    found = answers[1][0].filter(zone="z3").get_column("town").item()
    assert found == pytest.approx(shares.get_column("zone").sum() / 40)
