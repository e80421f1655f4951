"""Views of an owner's files in a catalog: what may stand in them, what they mean, and that a ledger holds to them."""

from pathlib import Path

import duckdb
import polars as pl
import pytest

import emdp
from emdp.base.errors import DataRuleError, LedgerError, SqlError, UsageError
from emdp.catalog.catalog import Catalog, load_catalog
from emdp.rows.types import Kind
from emdp.sql.views import read_view
from emdp.tables.source import open_source
from emdp.tables.views import ViewSource

ROWS = (
    "who,amount,when\nAnn,5,2024-01-02\nann,,2024-01-03\nBEN,abc,x\nBen,1e999,2024-02-30\n,7,x\nCy,4,2024-05-06\n"
    "Test,9,\n"
)
VIEW = (
    'SELECT lower(who) AS person, TRY_CAST(amount AS DOUBLE) AS amount, CAST("when" AS DATE) AS day FROM source '
    "WHERE who <> 'Test' AND who <> ''"
)
CATALOG = """
ledger = "l.ledger"

[tables.sales]
source = "sales.csv"
view = '''{view}'''
user = "person"
users = 9
space = { kind = "interval", col = "amount", low = 0, high = 10, on_invalid = "neutral" }
budget = { epsilon = 99.0 }
"""
ASKED = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 9) "


def written(folder: Path, view: str = VIEW, more: str = "") -> Catalog:
    (folder / "sales.csv").write_text(ROWS)
    place = folder / "emdp.toml"
    place.write_text(CATALOG.replace("{view}", view) + more)
    return load_catalog(place)


def test_a_view_is_what_duckdb_makes_of_each_row(tmp_path: Path) -> None:
    catalog = written(tmp_path)
    with emdp.testing.seeded(1), catalog.session() as session:
        text = "COUNT(*) AS n, SUM(amount) AS s, COUNT(day) AS d FROM sales"
        (found,) = session.sql(ASKED + text).exact_frame.rows()
    expected = duckdb.sql(
        f"SELECT count(*), sum(coalesce(CASE WHEN amount BETWEEN 0 AND 10 THEN amount END, 5)), count(day) "
        f"FROM ({VIEW.replace('CAST(', 'TRY_CAST(').replace('TRY_TRY', 'TRY')}) q".replace(
            "FROM source", f"FROM read_csv('{tmp_path}/sales.csv', all_varchar = true)"
        )
    ).fetchall()
    assert found == pytest.approx(expected[0], abs=1e-4)


def test_the_view_has_types_of_its_own(tmp_path: Path) -> None:
    catalog = written(tmp_path)
    assert catalog.table().schema == {"person": "VARCHAR", "amount": "DOUBLE", "day": "DATE"}
    assert not catalog.table().source.is_text
    # Nothing but the columns is looked at: those that are declared, where the data are elsewhere.
    text = (
        (tmp_path / "emdp.toml")
        .read_text()
        .replace("users = 9", 'users = 9\ncolumns = { who = "VARCHAR", ' + ('amount = "VARCHAR", when = "VARCHAR" }'))
    )
    (tmp_path / "sales.csv").unlink()
    (tmp_path / "other.toml").write_text(text)
    assert load_catalog(tmp_path / "other.toml").table().schema == catalog_schema()


def catalog_schema() -> dict[str, str]:
    return {"person": "VARCHAR", "amount": "DOUBLE", "day": "DATE"}


REFUSED = [
    ("SELECT who, amount FROM source GROUP BY who, amount", "view-rows"),
    ("SELECT DISTINCT who FROM source", "view-rows"),
    ("SELECT who FROM source LIMIT 5", "view-rows"),
    ("SELECT who FROM source ORDER BY who", "view-rows"),
    ("SELECT who FROM source, source", "view-rows"),
    ("SELECT a.who FROM source a", "view-source"),
    ("SELECT who FROM source JOIN sales USING (who)", "view-rows"),
    ("SELECT who FROM source QUALIFY ROW_NUMBER() OVER (ORDER BY who) = 1", "view-rows"),
    ("SELECT who FROM source UNION ALL SELECT who FROM source", "view-rows"),
    ("WITH a AS (SELECT who FROM source) SELECT who FROM a", "view-rows"),
    ("SELECT who FROM 'sales.csv'", None),
    ("SELECT who FROM read_csv('sales.csv')", "view-source"),
    ("SELECT who FROM sales", "view-source"),
    ("SELECT who FROM (SELECT who FROM source)", "view-source"),
    ("SELECT who, COUNT(*) AS n FROM source", None),
    ("SELECT who, SUM(amount) OVER () AS n FROM source", None),
    ("SELECT who, random() AS n FROM source", None),
    ("SELECT who, (SELECT 1) AS n FROM source", None),
    ("SELECT who FROM source WHERE EXISTS (SELECT 1 FROM source)", None),
    ("SELECT who FROM source WHERE who IN (SELECT who FROM source)", None),
    ("SELECT who, getenv('HOME') AS n FROM source", None),
    ("SELECT who || 'x' FROM source", "view-name"),
    ("SELECT nobody FROM source", "unknown-column"),
    ("SELECT who, who FROM source", "view"),
    ("SELECT who FROM source WHERE amount", "view"),
    ("SELECT who FROM source; SELECT who FROM source", "several"),
    ("DROP TABLE source", None),
    ("", "empty"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code"), REFUSED)
def test_what_is_no_function_of_a_row_is_refused(text: str, code: str | None) -> None:
    kinds = dict.fromkeys(("who", "amount", "when"), Kind.TEXT)
    with pytest.raises(SqlError) as caught:
        read_view(text, kinds)
    assert code is None or caught.value.code == code


def test_a_row_that_is_refused_would_move_the_rows_of_others() -> None:
    # Why: the record of c decides which rows a and b have.
    for query, is_other in (
        ("SELECT DISTINCT ON (x) who, x FROM t ORDER BY who DESC", True),
        ("SELECT who, count(*) OVER () AS n FROM t", True),
        ("SELECT who, x + 1 AS x FROM t WHERE x > 0", False),
    ):
        found = []
        for more in ([], [("c", 1)]):
            rows = [("a", 1), ("b", 2), *more]
            connection = duckdb.connect()
            connection.register("t", pl.DataFrame(rows, schema=["who", "x"], orient="row"))
            found.append({row for row in connection.execute(query).fetchall() if row[0] != "c"})
        assert (found[0] != found[1]) is is_other


def test_a_ledger_holds_to_the_view(tmp_path: Path) -> None:
    # Which rows a view leaves, and whether they keep to the rules, would be told as often as somebody likes.
    with written(tmp_path).session() as session:
        session.sql(ASKED + "COUNT(*) FROM sales")
    for other in (VIEW.replace("'Test'", "'Ann'"), VIEW + " AND amount > '4'"):
        with pytest.raises(LedgerError, match=r"another view of the files .* redeclare"):
            written(tmp_path, other).session()


def test_text_and_files_are_the_data_version(tmp_path: Path) -> None:
    catalog = written(tmp_path)
    before = catalog.table().data_version()
    assert catalog.table().data_version() == before
    (tmp_path / "other.toml").write_text(catalog.path.read_text().replace("'Test'", "'Ann'"))
    assert load_catalog(tmp_path / "other.toml").table().data_version() != before
    (tmp_path / "sales.csv").write_text("who,amount,when\n")
    assert catalog.table().data_version() != before


def test_the_file_itself_has_no_second_budget(tmp_path: Path) -> None:
    catalog = written(tmp_path)
    (tmp_path / "sales.csv").write_text("who,amount,when\na,1,2024-01-01\n")
    with catalog.session() as session:
        session.sql(ASKED + "COUNT(*) FROM sales")
    plain = emdp.read(tmp_path / "sales.csv", user="who", space=emdp.Interval("amount", 0, 10), users=9, name="plain")
    opened = emdp.Session(plain, budget=emdp.UserDP(9.0), ledger=catalog.ledger_path)
    with opened as session, pytest.raises(LedgerError, match="those of table 'sales'"):
        session.sql(ASKED + "COUNT(*) FROM plain")
    with pytest.raises(UsageError, match="private table"):
        catalog.table().names({"public": tmp_path / "sales.csv"})


def test_files_of_other_types_are_no_data_of_a_view(tmp_path: Path) -> None:
    pl.DataFrame({"u": [1, 2], "x": [1, 2]}).write_parquet(tmp_path / "t.parquet")
    source = open_source(tmp_path / "t.parquet")
    view = read_view("SELECT u, x + 1 AS x FROM source", {"u": Kind.BIGINT, "x": Kind.BIGINT})
    table = emdp.read(
        ViewSource(source, view, source.schema()), user="u", space=emdp.Interval("x", 0, 9), users=2, version="one"
    )
    pl.DataFrame({"u": [1, 2], "x": ["1", "b"]}).write_parquet(tmp_path / "t.parquet")
    with emdp.Session(table, budget=emdp.UserDP(9.0), ledger=tmp_path / "l") as session:
        with pytest.raises(DataRuleError, match="no column 'x' of type BIGINT"):
            session.sql(ASKED + "COUNT(*) FROM t")
        assert session.spent().epsilon == 0  # type: ignore[attr-defined]


def test_duckdb_files_have_views_of_their_own(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS u, 2 AS x")
    source = open_source(f"{tmp_path}/a.duckdb::t")
    with pytest.raises(UsageError, match="view of the DuckDB file"):
        ViewSource(source, read_view("SELECT u FROM source", {"u": Kind.BIGINT}), {})


def test_a_linked_table_may_be_a_view(tmp_path: Path) -> None:
    (tmp_path / "notes.csv").write_text("sale,stars\n1,5\n2,x\n3,4\n")
    catalog = written(
        tmp_path,
        'SELECT lower(who) AS person, TRY_CAST(amount AS DOUBLE) AS amount, CAST("when" AS BIGINT) AS id FROM source',
        """
[tables.notes]
source = "notes.csv"
view = "SELECT CAST(sale AS BIGINT) AS sale, TRY_CAST(stars AS DOUBLE) AS stars FROM source WHERE stars <> 'x'"
space = { kind = "interval", col = "stars", low = 0, high = 5 }
link = { column = "sale", table = "sales", key = "id" }
""",
    )
    (tmp_path / "sales.csv").write_text("who,amount,when\nann,1,1\nben,2,2\nANN,3,3\n")
    with emdp.testing.seeded(1), catalog.session() as session:
        text = "COUNT(*) AS n FROM sales JOIN notes ON sale = id WHERE person = 'ann' AND stars + amount > 5"
        assert session.sql(ASKED + text).exact_frame.item() == 2
