"""Means and rules in one scan: the means of the statement alone where the rules hold, nothing where one is broken."""

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.expressions import Expression
from emdp.expressions.cells.aggregation import Aggregation, Axis, HatAxis, LabelAxis, UserGroups
from emdp.expressions.nodes.base import Constant
from emdp.tables import aggregate, aggregate_checked, read
from emdp.tables.engine import broken_rules
from emdp.tables.statements.cells import cell_statement
from emdp.tables.statements.checked import RULES, checked_statement
from emdp.tables.table import Table

SPACE = emdp.Product(emdp.Interval("x", 0, 5), emdp.Categories("kind", ["bar", "park"]))
GOOD = {"user": [1, 1, 2, 2, 3, 3], "x": [0.0, 5.0, 1.0, 2.0, 3.0, 4.0], "kind": ["bar", "park"] * 3}
X, BAR = emdp.col("x"), emdp.category_is("bar")

BROKEN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a row without a user": ({"user": [1, 1, 2, 2, None, 3]}, {}),
    "four users": ({"user": [1, 1, 2, 2, 3, 4]}, {}),
    "a user who is not listed": ({}, {"users": [1, 2, 4]}),
    "a bad number": ({"x": [0.0, 5.1, 1.0, 2.0, 3.0, 4.0]}, {}),
    "not a number": ({"x": [0.0, float("nan"), 1.0, 2.0, 3.0, 4.0]}, {}),
    "no number": ({"x": [0.0, None, 1.0, 2.0, 3.0, 4.0]}, {}),
    "a bad label": ({"kind": ["bar", "other", "bar", "park", "bar", "park"]}, {}),
    "no label": ({"kind": ["bar", None, "bar", "park", "bar", "park"]}, {}),
    "a user of three records": ({"user": [1, 1, 1, 2, 3, 3]}, {"records": 2}),
    "a user of no record": ({"user": [1, 1, 2, 2, 2, 2]}, {"records": 2}),
    "nobody's bad number": ({"user": [None, 1, 2, 2, 3, 3], "x": [9.0, *GOOD["x"][1:]]}, {}),
}
TYPES = {"user": pl.Int64, "x": pl.Float64, "kind": pl.String}


def declared(folder: Path, ext: str = "parquet", data: dict[str, Any] | None = None, **more: Any) -> Table:
    frame, path = pl.DataFrame({**GOOD, **(data or {})}, schema=TYPES), folder / f"visits.{ext}"
    frame.write_parquet(path) if ext == "parquet" else frame.write_csv(path)
    return read(path, user="user", **{"users": 3, "space": SPACE, **more})


KINDS = LabelAxis("kind", (("bar",), ("park",)))
TENTS = HatAxis(X, start=0, step=1, size=6)
ONE = Constant(1.0)
FORMS: dict[str, Aggregation] = {
    "number": Aggregation((X,)),
    "label": Aggregation((BAR,)),
    "both": Aggregation((X, BAR, X * BAR)),
    "total": Aggregation((ONE, X), cap=1),
    "total by label": Aggregation((ONE, X), (KINDS,), cap=2),
    "weighted total": Aggregation((X,), cap=2, chosen=BAR),
    "histogram": Aggregation((ONE,), (TENTS,)),
    "histograms by label": Aggregation((X,), (KINDS, TENTS)),
    "chosen users": Aggregation((X, BAR), users=UserGroups(pl.Series(["2", "3"]), pl.Series([0, 0]), (2,))),
    "pairs": Aggregation((ONE,), (TENTS, TENTS), pairs=True),
    "pairs by label": Aggregation((ONE,), (KINDS, TENTS, KINDS, TENTS), pairs=True),
    "pairs of chosen users": Aggregation(
        (ONE,), (TENTS, TENTS), pairs=True, users=UserGroups(pl.Series(["2", "3"]), pl.Series([0, 0]), (2,))
    ),
    "total of chosen users": Aggregation((X,), users=UserGroups(pl.Series(["3"]), pl.Series([0]), (1,)), cap=1),
}
"""The rules that are broken are mostly so by a user who is not chosen."""


@pytest.mark.seventh
@pytest.mark.parametrize("ext", ["parquet", "csv"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", BROKEN)
def test_nothing_is_said_where_a_rule_is_broken(name: str, form: str, ext: str, tmp_path: Path) -> None:
    data, more = BROKEN[name]
    table = declared(tmp_path, ext, data, **more)
    assert broken_rules(table)
    assert aggregate_checked(table, FORMS[form]) is None


@pytest.mark.seventh
@pytest.mark.parametrize("users", [3, 5, [1, 2, 3], [1, 2, 3, 4]], ids=["all", "more", "listed", "more listed"])
@pytest.mark.parametrize("ext", ["parquet", "csv"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_statistic_where_the_rules_hold(form: str, ext: str, users: Any, tmp_path: Path) -> None:
    table = declared(tmp_path, ext, users=users)
    (found,), (own,) = aggregate_checked(table, FORMS[form]) or (), aggregate(table, FORMS[form])
    assert found.open() == own.open()


def test_on_spark_what_is_added_up_by_user_is_checked_in_one_scan(spark: Any) -> None:
    def opened(data: dict[str, Any], more: dict[str, Any]) -> Table:
        frame = pl.DataFrame({**GOOD, **data}, schema=TYPES)
        rows = spark.createDataFrame(frame.to_arrow(compat_level=pl.CompatLevel.oldest()))
        return read(rows, user="user", **{"users": 3, "space": SPACE, **more})

    for place, (name, (data, more)) in enumerate(BROKEN.items()):
        table = opened(data, more)
        assert aggregate_checked(table, FORMS[("both", "total by label")[place % 2]]) is None, name
        assert broken_rules(table), name
    for users, forms in ((5, ("both", "total", "weighted total")), ([1, 2, 3, 4], ("chosen users", "total by label"))):
        table = opened({}, {"users": users})
        for form in forms:
            (found,), (own,) = aggregate_checked(table, FORMS[form]) or (), aggregate(table, FORMS[form])
            assert found.open() == own.open(), form
        # Read twice, since the records are then not shuffled.
        assert aggregate_checked(table, FORMS["histogram"]) is None
    (found,), (own,) = (
        one(opened({}, {"slots": 2}), FORMS["histogram"]) or () for one in (aggregate_checked, aggregate)
    )
    assert found.open() == own.open()


def hours(count: int) -> list[datetime.datetime]:
    start = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
    return [start + datetime.timedelta(hours=7 * place) for place in range(count)]


RNG = np.random.default_rng(27)
SIZE = 400
ROWS = pl.DataFrame(
    {
        "user": RNG.integers(0, 40, SIZE),
        "lat": RNG.uniform(40.0, 41.0, SIZE),
        "lon": RNG.uniform(-75.0, -74.0, SIZE),
        "x": RNG.uniform(-1.0, 6.0, SIZE),
        "kind": RNG.choice(["bar", "park", "sea"], SIZE),
        "seen": hours(SIZE),
    }
)
GEO = emdp.Geo("lat", "lon", (40, -75, 41, -74), unit="km")
MIDDLE = emdp.distance_to((40.5, -74.5))
VECTORS = pl.DataFrame({"kind": ["bar", "park", "sea"], "a": [0.0, 1.0, 0.5], "b": [1.0, 0.0, 0.5]})
HELD: dict[str, tuple[emdp.Space, tuple[Expression, ...], dict[str, Any]]] = {
    "place": (GEO, (MIDDLE, emdp.ramp(MIDDLE, 30, 1)), {}),
    "clamped": (emdp.Interval("x", 0, 5, on_invalid="clamp"), (X,), {}),
    "neutral": (emdp.Interval("x", 0, 5, on_invalid="neutral"), (X, X * X), {}),
    "listed users": (emdp.Interval("x", -1, 6), (X,), {"users": list(range(50))}),
    "labels": (emdp.Categories("kind", ["bar", "park", "sea"]), (BAR,), {}),
    "labels that count as another": (emdp.Categories("kind", ["bar", "park"], on_invalid="neutral"), (BAR,), {}),
    "vectors": (emdp.Embedding("kind", VECTORS), (emdp.dot([1.0, -1.0]),), {}),
    "hours": (emdp.Cycle("hour(seen)", 24), (emdp.distance_to(12.0),), {}),
    "a grid": (emdp.Grid(emdp.Interval("x", -1, 6), 7), (emdp.distance_to(2.0),), {}),
    "another column": (emdp.Product(GEO, emdp.Interval("x", -1, 6)), (X,), {}),
    "elsewhere": (emdp.Interval("x", 0, 5, on_invalid="elsewhere"), (X,), {"elsewhere": 1}),
    "labels elsewhere": (emdp.Categories("kind", ["bar"], on_invalid="elsewhere"), (BAR,), {"elsewhere": 1}),
    "slots": (emdp.Interval("x", 0, 5, on_invalid="elsewhere"), (X,), {"elsewhere": 1, "slots": 12}),
}


@pytest.mark.parametrize(
    "is_file", [pytest.param(True, id="file"), pytest.param(False, id="frame", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", HELD)
def test_where_the_rules_hold_it_is_the_statistic(name: str, is_file: bool, tmp_path: Path) -> None:
    space, values, more = HELD[name]
    ROWS.write_parquet(tmp_path / "rows.parquet")
    table = read(tmp_path / "rows.parquet" if is_file else ROWS, user="user", space=space, **{"users": 45, **more})
    assert not broken_rules(table)
    axes: tuple[Axis, ...] = (HatAxis(values[0], start=-10, step=10, size=4),)
    for asked in (Aggregation(values), Aggregation(values, axes), Aggregation(values, cap=5)):
        (found,), (own,) = aggregate_checked(table, asked) or (), aggregate(table, asked)
        assert found.open() == own.open()


@pytest.mark.parametrize("tables", [10, pytest.param(40, marks=pytest.mark.slow)])
def test_random_tables_are_told_apart_as_the_rules_tell_them(tables: int, tmp_path: Path) -> None:
    rng, seen = np.random.default_rng(3), set()
    for _ in range(tables):
        size, none = int(rng.integers(0, 12)), rng.random() < 0.2
        data = {
            "user": [None if none and rng.random() < 0.3 else int(rng.integers(0, 4)) for _ in range(size)],
            "x": [float(rng.choice([0.0, 2.5, 5.0, 5.0, 6.0], p=[0.25, 0.3, 0.2, 0.2, 0.05])) for _ in range(size)],
            "kind": [str(rng.choice(["bar", "park", "sea"], p=[0.5, 0.45, 0.05])) for _ in range(size)],
        }
        table = declared(tmp_path, "parquet", data, users=int(rng.integers(3, 5)))
        found = bool(broken_rules(table))
        for asked in (FORMS["both"], FORMS["total by label"]):
            checked = aggregate_checked(table, asked)
            assert (checked is None) == found
            if checked is not None:
                assert checked[0].open() == aggregate(table, asked)[0].open()
        seen.add(found)
    assert seen == {True, False}


def test_there_is_no_one_scan_where_users_are_left_out_first(tmp_path: Path) -> None:
    chosen = UserGroups(pl.Series(["1", "2"]), pl.Series([0, 1]), (1, 1))
    means, tents = Aggregation((X,), users=chosen), Aggregation((ONE,), (TENTS,), users=chosen)
    # A CSV file is read once, and its records are grouped by user.
    for ext, asked, is_one in (("parquet", means, True), ("csv", tents, True), ("parquet", tents, False)):
        table = declared(tmp_path, ext, users=[1, 2, 3])
        found = [one.open() for one in aggregate_checked(table, asked) or ()]
        assert found == [one.open() for one in aggregate(table, asked)] * is_one


def test_the_statement_reads_records_once(tmp_path: Path) -> None:
    table = declared(tmp_path)
    statement = checked_statement(table, (X,))
    assert statement.means.query.sql("duckdb").count("source_rows") == 1
    for name, scans in (("total", 1), ("total by label", 2), ("histogram", 2)):
        text = cell_statement(table, FORMS[name], is_checked=True).query.sql("duckdb")
        # Twice where the users' column alone is read before.
        assert text.count("source_rows") == scans, name
    # Its first columns are the rules: any of them that counts something says nothing of the rest.
    row = [0] * RULES + [7, 3, 2**51]
    assert statement.found(row, 3) is not None
    for place in range(RULES):
        assert statement.found([*row[:place], 1, *row[place + 1 :]], 3) is None
