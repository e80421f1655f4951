"""Linked tables in a catalog, in a ledger, and what a ledger holds them to."""

import os
from pathlib import Path

import duckdb
import polars as pl
import pytest

import emdp
from emdp.base.errors import LedgerError, UsageError
from emdp.budgets.redeclaring import redeclare_as
from emdp.catalog.catalog import Catalog, load_catalog
from emdp.cli.sql import table_of
from emdp.ledger import open_ledger
from emdp.sessions.asking import declaration_of

ASKED = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 9) COUNT(*) FROM orders"
CATALOG = """
ledger = "shop.ledger"

[tables.people]
source = "people.csv"
user = "u"
users = 3
space = { kind = "interval", col = "age", low = 0, high = 120 }
budget = { epsilon = 9.0 }

[tables.orders]
source = "orders.csv"
space = { kind = "interval", col = "total", low = 0, high = 100 }
link = { column = "buyer", table = "people", key = "u" }

[tables.lines]
source = "lines.csv"
space = { kind = "interval", col = "price", low = 0, high = 100 }
link = { column = "of", table = "orders", key = "id" }
"""
AGE = emdp.Interval("age", 0, 120)
ROWS = {"people": "u,age\na,30\nb,40\n", "orders": "id,buyer,total\n1,a,5\n2,c,6\n", "lines": "of,price\n1,2\n2,3\n"}


def written(folder: Path, text: str = CATALOG) -> Catalog:
    for name, rows in ROWS.items():
        (folder / f"{name}.csv").write_text(rows)
    (folder / "emdp.toml").write_text(text)
    return load_catalog(folder / "emdp.toml")


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return written(tmp_path)


def test_a_linked_entry_is_asked_through_its_people(catalog: Catalog) -> None:
    assert list(catalog.tables) == ["people"]
    assert catalog.table().name == catalog.table("lines").name == "people"
    assert list(catalog.table().linked) == ["orders", "lines"]
    _, name = table_of(ASKED, ASKED, str(catalog.path), None)
    assert name == "people"
    with catalog.session("lines") as session:
        answer = session.sql(ASKED)
        assert answer.frame.height == 1
        assert "whose the rows of orders, lines are" in str(answer.explain())
        assert {entry.table for entry in session.ledger.entries()} == {"", "people"}
    assert {os.path.basename(path) for path in catalog.paths()} >= {"orders.csv", "lines.csv"}


def test_every_file_is_of_the_data_version(catalog: Catalog) -> None:
    for name in ("people", "orders", "lines"):
        before = catalog.table().data_version()
        with open(catalog.path.parent / f"{name}.csv", "a", encoding="utf-8") as file:
            file.write("\n")
        assert catalog.table().data_version() != before


def test_data_that_change_while_they_are_read_show_nothing(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    from emdp.sessions import releasing

    drawn = releasing.Releasing._drawn

    def changing(*arguments: object) -> object:
        found = drawn(*arguments)  # type: ignore[arg-type]
        (catalog.path.parent / "lines.csv").write_text(ROWS["lines"] + "1,9\n")
        return found

    monkeypatch.setattr(releasing.Releasing, "_drawn", changing)
    with catalog.session() as session, pytest.raises(UsageError, match="changed while they were read"):
        session.sql(ASKED)


def test_a_declared_version_is_of_a_period_where_a_linked_file_is(catalog: Catalog) -> None:
    text = CATALOG.replace("orders.csv", "orders_{period}.csv").replace("users = 3", 'users = 3\nversion = "one"')
    for period in ("a", "b"):
        (catalog.path.parent / f"orders_{period}.csv").write_text(ROWS["orders"])
    periodic = load_catalog(_rewritten(catalog, text))
    found = [periodic.table(period=period).data_version() for period in ("a", "b")]
    assert found == ["declared:one/a", "declared:one/b"]


@pytest.mark.slow
def test_a_linked_file_has_no_second_budget(catalog: Catalog) -> None:
    with catalog.session() as session:
        session.sql(ASKED)
    folder = catalog.path.parent
    os.link(folder / "orders.csv", folder / "other.csv")
    space = emdp.Interval("total", 0, 100)
    other = emdp.read(folder / "other.csv", user="buyer", space=space, users=3, name="other")
    with emdp.Session(other, budget=emdp.UserDP(9.0), ledger=catalog.ledger_path) as session:
        with pytest.raises(LedgerError, match="those of table 'people'"):
            session.sql(ASKED.replace("orders", "other"))
        assert session.spent().epsilon == 0  # type: ignore[attr-defined]


@pytest.mark.slow
def test_links_are_held_to(catalog: Catalog) -> None:
    with catalog.session() as session:
        session.sql(ASKED)
    fewer = load_catalog(_rewritten(catalog, CATALOG.partition("[tables.lines]")[0]))
    none = load_catalog(_rewritten(catalog, CATALOG.partition("[tables.orders]")[0]))
    other = load_catalog(
        _rewritten(catalog, CATALOG.replace('key = "id"', 'key = "total"').replace("orders.csv", "o.csv"))
    )
    (catalog.path.parent / "o.csv").write_text("id,buyer,total,x\n1,a,1,4\n")
    for changed in (fewer, none):
        with pytest.raises(LedgerError, match=r"other linked tables .* redeclare"):
            changed.session()
    with pytest.raises(UsageError, match="among the columns of a space"):
        other.session()
    with open_ledger(catalog.ledger_path) as ledger:
        entry = redeclare_as(ledger, "people", declaration_of(none.table()))
    assert entry.payload["reveals"].startswith("whether values of the keys stand once")
    with none.session() as session:
        session.sql(ASKED.replace("orders", "people"))
    with pytest.raises(LedgerError, match="other linked tables"):
        written(catalog.path.parent).session()


def _rewritten(catalog: Catalog, text: str) -> Path:
    place = catalog.path.with_name(f"{abs(hash(text))}.toml")
    place.write_text(text)
    return place


def test_a_table_without_links_may_not_get_some_unseen(catalog: Catalog) -> None:
    # Whether each buyer is among the people, and each key unique, would be told for nothing.
    none = load_catalog(_rewritten(catalog, CATALOG.partition("[tables.orders]")[0]))
    with none.session() as session:
        session.sql(ASKED.replace("orders", "people"))
    with pytest.raises(LedgerError, match="other linked tables"):
        catalog.session()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('table = "people"', 'table = "lines"', "leads to no table without one"),
        ('table = "orders"', 'table = "nobody"', "leads to no table without one"),
        (', key = "id" }', " }", "link that is not"),
        ('key = "id"', 'key = "number"', "no target orders.number"),
        ('column = "of"', 'column = "nothing"', "no column 'nothing'"),
        ('source = "lines.csv"', 'source = "orders.csv"', "no column|reads the source of"),
        ("[tables.lines]", "[tables.lines]\nusers = 3", "unknown key 'users'"),
    ],
)
def test_what_is_no_link_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        written(tmp_path, CATALOG.replace(old, new)).table()


def test_public_tables_and_users_are_no_linked_ones(catalog: Catalog) -> None:
    folder = catalog.path.parent
    with pytest.raises(UsageError, match="is the private table"):
        catalog.table().names({"shops": folder / "orders.csv"})
    with pytest.raises(UsageError, match="private table"):
        load_catalog(_rewritten(catalog, CATALOG + '\n[public.o]\nsource = "orders.csv"\n')).public()
    links = {
        "orders": {
            "source": folder / "orders.csv", "column": "buyer", "table": "people", "key": "u",
            "space": emdp.Interval("total", 0, 100),
        }
    }  # fmt: skip
    (folder / "orders.csv").write_text(ROWS["orders"].replace("buyer", "u"))
    links["orders"]["column"] = "u"
    with pytest.raises(UsageError, match="read off a linked table"):
        emdp.read(folder / "people.csv", user="u", space=AGE, users=folder / "orders.csv", links=links)
    with pytest.raises(UsageError, match="no name or taken"):
        emdp.read(folder / "people.csv", user="u", space=AGE, users=3, links={"People": links["orders"]})


def test_one_engine_reads_all_linked_tables() -> None:
    kinds = {"u": "BIGINT", "age": "DOUBLE"}
    links = {
        "orders": {
            "source": "spark::orders",
            "column": "u",
            "table": "people",
            "key": "u",
            "columns": kinds,
            "space": AGE,
        }
    }
    with pytest.raises(UsageError, match="by another engine than 'people'"):
        emdp.read(pl.DataFrame({"u": [1], "age": [2.0]}), user="u", space=AGE, users=3, name="people", links=links)
    links["orders"]["source"] = pl.DataFrame({"u": [1], "age": [2.0]})  # type: ignore[assignment]
    with pytest.raises(UsageError, match="by another engine than 'people'"):
        emdp.read("spark::people", user="u", space=AGE, users=3, columns=kinds, links=links)


@pytest.mark.slow
def test_tables_of_one_duckdb_file(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        for name in ROWS:
            (tmp_path / f"{name}.csv").write_text(ROWS[name])
            connection.execute(f"CREATE TABLE {name} AS FROM read_csv('{tmp_path}/{name}.csv')")
        # A macro of the file means nothing to a statement.
        connection.execute("CREATE MACRO coalesce(a, b) AS 7")
        connection.execute("CREATE VIEW every_line AS SELECT * FROM lines")

    def table(lines: str) -> emdp.Table:
        return emdp.read(
            f"{tmp_path}/shop.duckdb::people",
            user="u",
            space=emdp.Interval("age", 0, 120),
            users=3,
            links={
                "orders": {
                    "source": f"{tmp_path}/shop.duckdb::orders", "column": "buyer", "table": "people", "key": "u",
                    "space": emdp.Interval("total", 0, 100),
                },
                "lines": {
                    "source": lines, "column": "of", "table": "orders", "key": "id",
                    "space": emdp.Interval("price", 0, 100),
                },
            },
        )  # fmt: skip

    text = ASKED.replace("orders", "orders JOIN lines ON id = of WHERE total > 5")
    with (
        emdp.testing.seeded(1),
        emdp.Session(
            table(f"{tmp_path}/shop.duckdb::every_line"), budget=emdp.UserDP(9.0), ledger=tmp_path / "l"
        ) as session,
    ):
        assert session.sql(text).exact_frame.item() == 1
    with duckdb.connect(str(tmp_path / "other.duckdb")) as connection:
        connection.execute(f"CREATE TABLE lines AS FROM read_csv('{tmp_path}/lines.csv')")
    with pytest.raises(UsageError, match="several DuckDB files"):
        table(f"{tmp_path}/other.duckdb::lines")
    # Lines of a Parquet file beside a DuckDB file are joined as well.
    pl.read_csv(tmp_path / "lines.csv").write_parquet(tmp_path / "lines.parquet")
    with (
        emdp.testing.seeded(1),
        emdp.Session(table(f"{tmp_path}/lines.parquet"), budget=emdp.UserDP(9.0), ledger=tmp_path / "m") as session,
    ):
        assert session.sql(text).exact_frame.item() == 1
