"""Periods: what ``{period}`` may stand for in a catalog, and that no period of a private table is taken for public."""

from dataclasses import replace
from pathlib import Path

import duckdb
import polars as pl
import pytest

import emdp
from emdp.base.errors import UsageError

TEXT = """
ledger = "city.ledger"
[tables.visits]
source = "SOURCE"
user = "user_id"
users = USERS
elsewhere = "neutral"
space = { kind = "interval", col = "x", low = 0, high = 10 }
budget = { alpha = 60.0, delta = 1e-8 }
"""


WEEKS = {"2026-W46": [1.0, 2.0, 3.0], "2026-W47": [5.0, 7.0, 9.0]}
"""Of the users 1, 1, 2; a third has no record and counts with 5."""

MEANS = {"2026-W46": (1.5 + 3 + 5) / 3, "2026-W47": (6 + 9 + 5) / 3}
ENDS = ("-wal", "-shm", "-journal", ".lock", ".state", ".state-journal")
LEDGER_FILES = ("city.ledger", *(f"city.ledger{end}" for end in ENDS))


@pytest.fixture
def weekly(tmp_path: Path) -> Path:
    """A folder with every kind of source that a period can be a part of."""
    (tmp_path / "lists").mkdir()
    with duckdb.connect(str(tmp_path / "city.duckdb")) as connection:
        for week, xs in WEEKS.items():
            frame = pl.DataFrame({"user_id": [1, 1, 2], "x": xs})
            (tmp_path / f"visits/week={week}").mkdir(parents=True)
            frame.write_parquet(tmp_path / f"visits/week={week}/part-0.parquet")
            frame.write_csv(tmp_path / f"{week}.csv")
            (tmp_path / f"lists/{week}.csv").write_text("user_id\n1\n2\n3\n")
            connection.register("frame", frame.to_arrow())
            connection.execute(f'CREATE TABLE "all_{week}" AS SELECT * FROM frame')
            connection.execute(f'CREATE VIEW "visits_{week}" AS SELECT * FROM "all_{week}"')
            connection.execute(f'CREATE SCHEMA "{week}"; CREATE VIEW "{week}".visits AS FROM "all_{week}"')
    return tmp_path


def periodic(folder: Path, source: str, users: str = "3", more: str = "") -> emdp.Catalog:
    (folder / "emdp.toml").write_text(TEXT.replace("SOURCE", source).replace("USERS", users) + more)
    return emdp.load_catalog(folder / "emdp.toml")


@pytest.mark.quarter
@pytest.mark.parametrize(
    "source",
    [
        "visits/week={period}",
        "visits/week={period}/*.parquet",
        "visits/*{period}/part-?.parquet",
        "{period}.csv",
        "city.duckdb::visits_{period}",
        "city.duckdb::main.visits_{period}",
        "city.duckdb::{period}.visits",
    ],
)
def test_a_period_fills_the_source(weekly: Path, source: str) -> None:
    found = periodic(weekly, source, '"lists/{period}.csv"')
    for week, mean in MEANS.items():
        assert found.table(period=week).name == "visits"
        assert found.names(period=week).users == 3
        (weekly / "city.ledger").unlink(missing_ok=True)
        with emdp.testing.seeded(7), found.session("visits", period=week) as opened:
            assert dict(opened.mean(emdp.col("x"), alpha=1, name="x").exact) == {"x": pytest.approx(mean)}
    for act in (found.table, found.names, found.session):
        with pytest.raises(UsageError, match=r"\[tables.visits\] of .* no period is given; name one"):
            act()
    for absent in ("2026-W48", "w"):
        with pytest.raises(UsageError, match=r"names no file|does not exist|has no table"):
            found.table(period=absent)


def test_a_period_may_stand_in_the_users_alone_or_nowhere(weekly: Path) -> None:
    found = periodic(weekly, "2026-W46.csv", '"lists/{period}.csv"')
    assert found.table(period="2026-W47").n == 3
    with pytest.raises(UsageError, match="no period is given"):
        found.table()
    named = periodic(weekly, "2026-W46.csv")
    versions = {found.table(period=week).data_version() for week in WEEKS}
    assert versions == {named.table().data_version(), named.table(period="any").data_version()}


@pytest.mark.quarter
@pytest.mark.parametrize(
    "period", ["", ".", "..", ".x", "a/b", "a::b", "a b", "*", "[a]", "{period}", "é", "x" * 65, 46, "a\n"]
)
def test_periods_that_are_no_names(weekly: Path, period: str) -> None:
    for source in ("{period}.csv", "2026-W46.csv"):
        for act in (periodic(weekly, source).table, periodic(weekly, source).session):
            with pytest.raises(UsageError, match="period must be a name"):
                act(period=period)


def test_a_dot_cannot_part_schema_and_table(weekly: Path) -> None:
    with duckdb.connect(str(weekly / "city.duckdb")) as connection:
        connection.execute("CREATE SCHEMA visits_2026; CREATE TABLE visits_2026.w AS SELECT 1 AS user_id, 1.0 AS x")
    with pytest.raises(UsageError, match=r"cannot take the period '2026.w', whose dot would part schema and table"):
        periodic(weekly, "city.duckdb::visits_{period}").table(period="2026.w")
    (weekly / "2026.w.csv").write_text("user_id,x\n1,1\n")
    assert periodic(weekly, "{period}.csv").table(period="2026.w").n == 3


@pytest.mark.parametrize("path", ["{week}.csv", "{Period}.csv", "{}.csv", "{period.csv", "{{period}}.csv", "a}.csv"])
def test_other_braces_are_refused(weekly: Path, path: str) -> None:
    for found in (periodic(weekly, path), periodic(weekly, "{period}.csv", f'"{path}"')):
        with pytest.raises(UsageError, match=r"has a brace in the path .* not part of {period}"):
            found.table(period="2026-W46")
    with pytest.raises(UsageError, match="periods are for private tables"):
        periodic(weekly, "2026-W46.csv", more=f'[public.p]\nsource = "{path}"').names()


def test_a_ledger_is_for_all_periods(weekly: Path) -> None:
    text = TEXT.replace("USERS", "3").replace("city.ledger", "city-{period}.ledger")
    (weekly / "emdp.toml").write_text(text)
    with pytest.raises(UsageError, match="has a ledger with a brace; one ledger is for all periods"):
        emdp.load_catalog(weekly / "emdp.toml")


def test_a_folder_with_braces_in_its_name_is_its_owners_matter(weekly: Path) -> None:
    (weekly / "{period}").mkdir()
    (weekly / "2026-W46.csv").rename(weekly / "{period}/2026-W46.csv")
    assert periodic(weekly / "{period}", "{period}.csv").table(period="2026-W46").n == 3


@pytest.mark.parametrize(
    ("source", "public"),
    [
        ("{period}.csv", "2026-W46.csv"),
        ("{period}.csv", "./visits/../2026-W47.csv"),
        ("visits/week={period}", "visits/week=2026-W46/part-0.parquet"),
        ("visits/week={period}/*.parquet", "visits"),
        ("city.duckdb::visits_{period}", "city.duckdb::visits_2026-W46"),
        ("city.duckdb::visits_{period}", "./city.duckdb::MAIN.Visits_2026-w46"),
        ("city.duckdb::main.visits_{period}", "city.duckdb::visits_2026-W46"),
        ("{period}.duckdb::visits", "city.duckdb::visits"),
    ],
)
def test_no_period_of_a_private_table_is_public(weekly: Path, source: str, public: str) -> None:
    found = periodic(weekly, source, more=f'[public.p]\nsource = "{public}"')
    with pytest.raises(UsageError, match="the source of a private table"):
        found.public()
    # Nor is another period of it a list of users.
    users = periodic(weekly, source, f'"{public}"')
    with pytest.raises(UsageError, match="read off the table itself, or a period of it"):
        users.table(period="city" if "{period}.duckdb" in source else "2026-W47")


def test_tables_beside_the_periods_may_be_public(weekly: Path) -> None:
    with duckdb.connect(str(weekly / "city.duckdb")) as connection:
        connection.execute("CREATE TABLE stations AS SELECT 'A' AS stop; CREATE SCHEMA s")
        connection.execute("CREATE TABLE s.visits_1 AS SELECT 'B' AS stop")
    more = """[public.stations]
source = "city.duckdb::stations"
[public.other]
source = "city.duckdb::s.visits_1"
"""
    found = periodic(weekly, "city.duckdb::visits_{period}", more=more)
    assert [len(frame) for frame in found.public().values()] == [1, 1]


def test_a_declared_version_is_that_of_each_period(weekly: Path) -> None:
    found = periodic(weekly, "{period}.csv", more='version = "1"\n')
    assert found.table(period="2026-W46").data_version() == "declared:1/2026-W46"
    assert periodic(weekly, "2026-W46.csv", more='version = "1"\n').table(period="x").data_version() == "declared:1"
    with pytest.raises(UsageError, match="has a 'version' that is not a text in quotes"):
        periodic(weekly, "2026-W46.csv", more="version = 2026-11-20\n").table()


def test_a_wait_reaches_the_source(weekly: Path) -> None:
    duck = "city.duckdb::visits_2026-W46"
    assert periodic(weekly, duck, more="wait = 2.5\n").table().source == replace(
        periodic(weekly, duck).table().source, wait=2.5
    )
    with pytest.raises(UsageError, match="wait must be at least 0"):
        periodic(weekly, duck, more="wait = -1\n").table()
    with pytest.raises(UsageError, match="has a 'wait' that is not a number of seconds"):
        periodic(weekly, duck, more='wait = "long"\n').table()


def test_the_paths_of_a_catalog(weekly: Path) -> None:
    found = periodic(weekly, "city-{period}.duckdb::v_{period}", '"u/{period}.csv"', '[public.p]\nsource = "p.csv"')
    assert found.paths() == tuple(
        str(weekly / name) for name in ("emdp.toml", *LEDGER_FILES, "city-*.duckdb", "u/*.csv", "p.csv")
    )


def test_a_table_of_periods_says_where_users_without_records_are(weekly: Path) -> None:
    silent = TEXT.replace('elsewhere = "neutral"\n', "").replace("USERS", "3")
    (weekly / "emdp.toml").write_text(silent.replace("SOURCE", "{period}.csv"))
    for period in ("2026-W46", None):
        # Before a period is asked for.
        with pytest.raises(UsageError, match=r"write elsewhere = 1, or elsewhere = \"neutral\""):
            emdp.load_catalog(weekly / "emdp.toml").table(period=period)
    # Of one file everybody may have a record.
    (weekly / "emdp.toml").write_text(silent.replace("SOURCE", "2026-W46.csv"))
    assert emdp.load_catalog(weekly / "emdp.toml").table().space.elsewhere is None
    (weekly / "emdp.toml").write_text(silent.replace("SOURCE", "{period}.csv") + "elsewhere = 1\n")
    found = emdp.load_catalog(weekly / "emdp.toml")
    assert found.table(period="2026-W46").space.elsewhere == 1
    with found.session(period="2026-W46") as session:
        assert abs(session.mean(emdp.col("x"), alpha=59).frame["mean"][0] - 2.25) < 2
