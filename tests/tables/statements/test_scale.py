"""What keeps answers fast on large tables, by the structure of statements and not by the clock."""

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.expressions import evaluate
from emdp.expressions.cells.aggregation import Aggregation, HatAxis, LabelAxis, UserGroups
from emdp.expressions.cells.errors import aggregation_errors
from emdp.expressions.nodes.base import Constant
from emdp.tables import Table, aggregate, mean_of_user_means, read
from emdp.tables.engines.duckdb.execution import opened
from emdp.tables.engines.duckdb.limits import THREADS_VARIABLE
from emdp.tables.statements import cell_rules
from emdp.tables.statements.cells import MEAN_BITS, cell_statement
from emdp.tables.statements.linear import linear_statement

GEO = emdp.Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km", on_invalid="clamp")
KIND = emdp.Categories("kind", ["bar", "park"], on_invalid="neutral")
SPACE = emdp.Product(GEO, KIND)
KM = emdp.distance_to((40.7484, -73.9857))
TEN = [emdp.ramp(KM, 2 + place, 1) for place in range(10)]
ONE = Constant(1.0)
LINE = HatAxis(KM, 0.0, 4.0, 14)
PLANE = (HatAxis(emdp.col("lat"), 40.48, 0.1, 5), HatAxis(emdp.col("lon"), -74.26, 0.2, 4))
BY_KIND = LabelAxis("kind", (("bar",), ("park",)))
MEANS = {
    "line": Aggregation((ONE,), (LINE,)),
    "plane": Aggregation((ONE,), PLANE),
    "kinds": Aggregation((KM - 20, ONE), (BY_KIND,)),
    "kinds and line": Aggregation((KM - 20,), (BY_KIND, LINE)),
}
MOST = 120
TOTALS = {
    "capped line": Aggregation((ONE,), (LINE,), cap=MOST),
    "capped kinds and line": Aggregation((KM - 20, ONE), (BY_KIND, LINE), cap=MOST),
    "loose cap": Aggregation((KM - 20,), PLANE, cap=10_000),
    "tight cap": Aggregation((KM - 20,), PLANE, cap=3),
}
TWO_SCANS = MEANS | TOTALS
ALL_FORTY = (pl.Series([str(user) for user in range(40)]), pl.Series([0] * 40, dtype=pl.Int64), (40,))


def frame(rows: int, users: int, seed: int = 1) -> pl.DataFrame:
    source = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "user": source.integers(0, users, rows),
            "lat": source.uniform(40.4, 41.0, rows),
            "lon": source.uniform(-74.3, -73.6, rows),
            "kind": source.choice(["bar", "park", "other"], rows),
        }
    )


def table_of(source: Any, users: Any = 40) -> Table:
    return read(source, user="user", space=SPACE, users=users, name="visits")


def plan(table: Table, query: Any, lookups: Mapping[str, pl.DataFrame]) -> list[dict[str, Any]]:
    """Every operator of a statement's plan."""
    with opened(table.source, lookups, table.users.keys) as connection:
        text = f"EXPLAIN (FORMAT json) {query.sql('duckdb', identify=True)}"
        (shown,) = connection.execute(text).fetchall()
    found, todo = [], list(json.loads(shown[1]))
    while todo:
        node = todo.pop()
        found.append(node)
        todo += node.get("children", [])
    return found


def scans(table: Table, query: Any, lookups: Mapping[str, pl.DataFrame]) -> list[Any]:
    """The columns that each scan of the source's file reads."""
    nodes = [
        node for node in plan(table, query, lookups) if "PARQUET" in json.dumps(node.get("extra_info", {})).upper()
    ]
    return [node["extra_info"].get("Projections") for node in nodes]


@pytest.fixture
def stored(tmp_path: Path) -> Table:
    path = tmp_path / "visits.parquet"
    frame(5000, 40).write_parquet(path)
    return table_of(path)


def test_ten_aggregates_are_one_scan(stored: Table) -> None:
    statement = linear_statement(stored, TEN)
    assert len(scans(stored, statement.query, statement.lookups)) == 1


@pytest.mark.quarter
@pytest.mark.parametrize("name", TWO_SCANS)
def test_cells_are_a_scan_and_one_of_the_users_alone(stored: Table, name: str) -> None:
    statement = cell_statement(stored, TWO_SCANS[name])
    found = scans(stored, statement.query, statement.lookups)
    assert len(found) == 2
    assert "user" in found
    operators = json.dumps(plan(stored, statement.query, statement.lookups))
    # A partial aggregate below the join would have a group for each user and cell.
    assert "EXPORT_STATE" not in operators


def test_weighted_totals_words_and_text_are_one_scan(stored: Table, tmp_path: Path) -> None:
    total = cell_statement(stored, Aggregation((ONE,), (LINE,), cap=5, chosen=emdp.ramp(KM, 2, 1)))
    assert len(scans(stored, total.query, total.lookups)) == 1
    text = tmp_path / "visits.csv"
    frame(50, 5).write_csv(text)
    words = emdp.Words("kind", pl.DataFrame({"word": ["bar", "park"], "a": [0.0, 1.0]}))
    written = read(frame(50, 5), user="user", space=words, users=5)
    for table, aggregation in (
        (table_of(text), MEANS["line"]),
        (table_of(text), TOTALS["capped line"]),
        (written, Aggregation((ONE,), (BY_KIND,))),
    ):
        query = cell_statement(table, aggregation).query.sql("duckdb")
        assert query.count("source_rows") == 1


def exact(table: Table, aggregation: Aggregation) -> list[list[Fraction]]:
    return [list(group.open()) for group in aggregate(table, aggregation)]


@pytest.mark.quarter
@pytest.mark.parametrize("name", MEANS)
def test_two_scans_give_the_means_of_one(stored: Table, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = pl.Series([place % 2 for place in range(30)], dtype=pl.Int64)
    some = UserGroups(pl.Series(list(map(str, range(30)))), groups, (15, 15))
    aggregation = MEANS[name]
    chosen = replace(aggregation, users=some)
    found = [exact(table_of(stored.source.pattern), one) for one in (aggregation, chosen)]
    monkeypatch.setattr(cell_rules, "reads_users_apart", lambda _: False)
    before = [exact(table_of(stored.source.pattern), one) for one in (aggregation, chosen)]
    for one, other in zip(found, before, strict=True):
        unit = cell_statement(stored, aggregation).units[0]
        for group, same in zip(one, other, strict=True):
            assert group != same
            # A user's mean has four corners, each rounded to half of the last bit, and a quotient of doubles before.
            assert max(abs(a - b) for a, b in zip(group, same, strict=True)) <= (4 + 2**MEAN_BITS) * unit


@pytest.mark.quarter
@pytest.mark.parametrize("users", [40, list(range(3, 40))])
@pytest.mark.parametrize("name", TOTALS)
def test_two_scans_give_the_totals_of_one(
    stored: Table, users: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = pl.Series([place % 2 for place in range(30)], dtype=pl.Int64)
    keys = pl.Series([str(3 + place) for place in range(30)])
    both = [TOTALS[name], replace(TOTALS[name], users=UserGroups(keys, groups, (15, 15)))]
    pattern = stored.source.pattern
    found = [exact(table_of(pattern, users), one) for one in both]
    monkeypatch.setattr(cell_rules, "reads_users_apart", lambda _: False)
    before = [exact(table_of(pattern, users), one) for one in both]
    if name == "loose cap":
        assert found == before
    errors = [2 * 40 * Fraction(error) for error in aggregation_errors(TOTALS[name], SPACE)]
    for one, other in zip(found, before, strict=True):
        for group, same in zip(one, other, strict=True):
            assert any(group)
            for place, (a, b) in enumerate(zip(group, same, strict=True)):
                assert abs(a - b) <= errors[place // TOTALS[name].cells]


def test_a_changed_user_changes_few_roundings() -> None:
    """The proof in cells.py on exact numbers: labels split nothing, and a value of 1 is an integer."""
    cap, source = 4, np.random.default_rng(7)
    aggregation = Aggregation((ONE,), (BY_KIND,), cap=cap)

    def bag(size: int) -> list[str]:
        return source.choice(["bar", "park"], size).tolist()

    def error(bags: list[list[str]]) -> list[Fraction]:
        rows = [(user, 40.7, -74.0, kind) for user, own in enumerate(bags) for kind in own]
        table = table_of(pl.DataFrame(rows, ["user", "lat", "lon", "kind"], orient="row"), len(bags))
        units.append(cell_statement(table, aggregation).units[0])
        (found,) = exact(table, aggregation)
        return [
            total - sum(Fraction(own.count(kind) * cap, max(cap, len(own))) for own in bags)
            for kind, total in zip(("bar", "park"), found, strict=True)
        ]

    units: list[Fraction] = []
    rounded = 0
    for old, new in [(3, 4), (4, 5), (5, 7), (7, 7), (9, 2), (6, 11), (1, 3)]:
        others = [bag(int(size)) for size in source.integers(1, 12, 6)]
        pair = zip(error([*others, bag(old)]), error([*others, bag(new)]), strict=True)
        moves = [abs(a - b) for a, b in pair]
        rounded += any(moves)
        assert max(moves) < 4 * units[0]
    assert rounded


@pytest.mark.quarter
@pytest.mark.parametrize("kind", [pl.Int32, pl.Int64, pl.UInt32, pl.Int16, pl.String])
@pytest.mark.parametrize("name", ["kinds", "tight cap"])
def test_keys_of_any_type_with_and_without_gaps(kind: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest number of the type has none above it; 21 is two above the largest listed key, and not listed."""
    rows = frame(2000, 22).with_columns(pl.col("user").replace(5, 7))
    rows = pl.concat([rows, rows.head(9).with_columns(user=pl.lit(None, pl.Int64))])
    rows = rows.with_columns(pl.col("user").cast(kind))
    last = "20" if kind == pl.String else pl.select(kind.max()).item()
    is_last = pl.col("user").cast(pl.String) == "20"
    ended = rows.with_columns(user=pl.when(is_last).then(pl.lit(last, kind)).otherwise("user"))
    listed = [str(user) if kind == pl.String else user for user in range(20)]
    cases = [(rows, 22), (rows, listed), (ended, [*listed, last])]
    found = [exact(table_of(one, users), TWO_SCANS[name]) for one, users in cases]
    monkeypatch.setattr(cell_rules, "reads_users_apart", lambda _: False)
    before = [exact(table_of(one, users), TWO_SCANS[name]) for one, users in cases]
    for one, other in zip(found, before, strict=True):
        assert list(map(float, one[0])) == pytest.approx(list(map(float, other[0])), rel=1e-9)


@pytest.mark.quarter
@pytest.mark.parametrize("users", [25, "listed"])
@pytest.mark.parametrize("name", TWO_SCANS)
def test_a_footer_that_lies_about_the_keys_changes_no_answer(users: Any, name: str, tmp_path: Path) -> None:
    """DuckDB would leave out records of a block whose footer has the keys elsewhere, though it counted them."""
    rows = frame(4000, 20).with_columns(pl.col("user") * 54_321 + 1_234_567)
    path = tmp_path / "true.parquet"
    rows.write_parquet(path, row_group_size=1000)
    block = rows.get_column("user").slice(2000, 1000)
    wrong = bytearray(path.read_bytes())
    footer = len(wrong) - 8 - int.from_bytes(wrong[-8:-4], "little")
    for number, other in ((block.min(), 777_777_777), (block.max(), 888_888_888)):
        true = wrong[footer:].replace(int(number).to_bytes(8, "little"), other.to_bytes(8, "little"))  # type: ignore[arg-type]
        assert true != wrong[footer:]
        wrong[footer:] = true
    (tmp_path / "wrong.parquet").write_bytes(wrong)
    public = rows.get_column("user").unique().to_list() if users == "listed" else users
    answers = [exact(table_of(tmp_path / f"{kind}.parquet", public), TWO_SCANS[name]) for kind in ("true", "wrong")]
    assert answers[0] == answers[1]


def test_keys_without_a_gap_are_joined_with_one_more(stored: Table) -> None:
    for aggregation in (MEANS["line"], replace(TOTALS["capped line"], users=UserGroups(*ALL_FORTY))):
        text = cell_statement(stored, aggregation).query.sql("duckdb")
        assert 'MAX("counted_user") AS INT128) + 2) AS BIGINT' in text


@pytest.mark.quarter
@pytest.mark.parametrize("name", TWO_SCANS)
def test_neither_order_nor_threads_change_an_answer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = frame(10_000, 300)
    mixed = rows.sample(fraction=1.0, shuffle=True, seed=2)
    answers = []
    for threads, order in (("1", rows), ("2", mixed), ("4", rows.reverse())):
        monkeypatch.setenv(THREADS_VARIABLE, threads)
        table = table_of(order, 300)
        answers.append((exact(table, TWO_SCANS[name]), list(mean_of_user_means(table, [KM, *TEN]).open())))
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize("is_giant", [True, False])
def test_a_user_with_all_records_and_users_with_one_each(is_giant: bool) -> None:
    count = 100_000
    users = 1 if is_giant else count
    rows = frame(count, 1).with_columns(user=pl.lit(0) if is_giant else pl.int_range(count))
    table = table_of(rows, users)
    found = mean_of_user_means(table, [KM]).open()
    (share,) = exact(table, MEANS["kinds"])
    listed = rows.get_column("kind").replace("other", "bar")
    assert float(share[2]) == pytest.approx(float((listed == "bar").mean()), rel=1e-12)  # type: ignore[arg-type]
    (line,) = exact(table, MEANS["line"])
    assert abs(sum(line) - 1) < Fraction(1, 10**12)
    values = evaluate(KM, SPACE, SPACE.encode(rows))
    assert float(found[0]) == pytest.approx(float(values.mean()), rel=1e-12)
