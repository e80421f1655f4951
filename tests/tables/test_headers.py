"""A CSV file's first row: names, or somebody's record, which must never become names, nor stand in a message."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import emdp
from emdp.base.errors import DataRuleError, EmdpError, UsageError
from emdp.catalog.catalog import load_catalog
from emdp.tables import Table, mean_of_user_means, read, read_public
from emdp.tables.headers import kind_of_value, own_names, value_among
from emdp.tables.source import CsvSource, open_source

RECORDS = "1842,40.7128,-74.0060,2026-11-20T08:15:00Z,Bar\n1842,40.72,-74.1,2026-11-20T09:00:00Z,Park\n"
SPACE = emdp.Interval("column2", 40, 41)
SAYS = (
    r"seems to have a record where the names of its columns should be \(in its first row, name 1 looks like a number\)"
)

VALUES = [
    "1842", "-3", "40.7128", ".5", "1e5", "1,5", "1 000 000", "12 %", "$12", "+49 30 1234", "nan", "inf", "0x1F",
    "2026-11-20", "20.11.2026", "11/20/2026", "20261120", "2026-11-20T08:15:00Z", "2026-11-20 08:15:00.5+02:00",
    "08:15", "Tue Apr 03 18:00:09 +0000 2012", "3 April 2012", "20-Nov-2026", "Nov 20, 2026", "8:15 PM",
    "40.7128N", "N 40.7", "74,006W", "40\u00b042'46\"N", "POINT(1 2)", "40.7;-74.0", "ann|40.7", "x\t3",
    "true", "False", "NULL", "N/A", "NA", "\\N", "4bf58dd8d48988d1e0931735", "4bf58dd8-d489-88d1-e093-1735aaaaaaaa",
    "ann@example.org", "https://example.org/ann", "two\nlines", "192.168.0.1", "\u0661\u0662",
]  # fmt: skip
NAMES = [
    "user_id", "lat", "lon", "ts", "time(ts)", "x1", "Q1", "pm2.5", "co2", "2nd visit", "24h", "e", "n", "s", "no",
    "id", "price (EUR)", "#", "%", "\u540d\u524d", "longitude", "created at", "hour", "march", "may", "point",
    "true_label", "a.b", "face", "deadbeef", "nano", "week 1", "user;lat;lon",
]  # fmt: skip


@pytest.mark.parametrize("text", VALUES)
def test_values_look_like_values(text: str) -> None:
    assert kind_of_value(text) is not None
    assert kind_of_value(f" {text} ") is not None
    found = value_among(["user", text])
    assert found is not None
    assert found[0] == 2


@pytest.mark.parametrize("text", NAMES)
def test_names_do_not(text: str) -> None:
    assert kind_of_value(text) is None


def written(folder: Path, text: str = RECORDS, name: str = "visits.csv") -> Path:
    (folder / name).write_text(text)
    return folder / name


def exact(table: Table) -> float:
    table.validate()
    return float(mean_of_user_means(table, [emdp.col("column2")]).open()[0])


def shows_nothing(error: BaseException, text: str = RECORDS) -> bool:
    return not any(cell in str(error) for row in text.split() for cell in row.split(",") if len(cell) > 2)


def test_a_record_does_not_become_the_names(tmp_path: Path) -> None:
    path = written(tmp_path)
    calls: list[Any] = [
        lambda: open_source(path).schema(),
        lambda: read(path, user="column1", space=SPACE, users=1),
        lambda: read(path, user="1842", space=emdp.Interval("40.7128", 0, 90), users=1),
        lambda: read(f"{tmp_path}/*.csv", user="column1", space=SPACE, users=1),
        lambda: read_public("visits", path),
        lambda: read({"user": [1], "x": [0.5]}, user="user", space=emdp.Interval("x", 0, 1), users=path),
    ]
    for call in calls:
        with pytest.raises(EmdpError, match=SAYS) as refused:
            call()
        assert "header=False" in str(refused.value)
        assert shows_nothing(refused.value)


def test_a_list_of_keys_loses_none(tmp_path: Path) -> None:
    keys = written(tmp_path, "1842\n1843\n", "keys.csv")
    with pytest.raises(UsageError, match=SAYS):
        read({"user": [1842], "x": [0.5]}, user="user", space=emdp.Interval("x", 0, 1), users=keys)


def test_columns_without_names_get_them_by_place(tmp_path: Path) -> None:
    assert own_names(3) == ["column1", "column2", "column3"]
    table = read(written(tmp_path), user="column1", space=SPACE, users=1, header=False)
    assert list(table.schema) == own_names(5)
    assert exact(table) == pytest.approx((40.7128 + 40.72) / 2)
    frame = read_public("visits", tmp_path / "visits.csv", header=False)
    assert frame.columns == own_names(5)
    assert len(frame) == 2
    with pytest.raises(UsageError, match="no column 'user'; name one of 'column1', 'column2'"):
        read(tmp_path / "visits.csv", user="user", space=SPACE, users=1, header=False)
    written(tmp_path, "7,41\n", "other.csv")
    with pytest.raises(DataRuleError, match="different header rows"):
        read(f"{tmp_path}/*.csv", user="column1", space=SPACE, users=2, header=False).validate()


def test_names_that_look_like_values_are_names_where_the_owner_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, "user,2019,2020\n1,2.5,3\n")
    with pytest.raises(UsageError, match=r"name 2 looks like a number"):
        open_source(path).schema()
    table = read(path, user="user", space=emdp.Interval("2019", 0, 5), users=1, header=True)
    table.validate()
    assert mean_of_user_means(table, [emdp.col("2019")]).open()[0] == 2.5


def test_the_first_row_counts_in_the_data_version(tmp_path: Path) -> None:
    path = str(written(tmp_path, "column1,column2\n1,40.5\n"))
    versions = {header: CsvSource(path, "visits", header).fingerprint() for header in (None, True, False)}
    assert versions[None] == versions[True] != versions[False]


def test_header_is_of_csv_files(tmp_path: Path) -> None:
    pl.DataFrame({"user": [1], "x": [0.5]}).write_parquet(tmp_path / "t.parquet")
    for source in (tmp_path / "t.parquet", {"user": [1], "x": [0.5]}):
        with pytest.raises(
            UsageError, match="header says whether a CSV file has a row of names, and the source is none"
        ):
            read(source, user="user", space=emdp.Interval("x", 0, 1), users=1, header=True)
    with pytest.raises(UsageError, match="header must be True or False, not str"):
        read(written(tmp_path), user="user", space=SPACE, users=1, header="no")  # type: ignore[arg-type]


CATALOG = """
ledger = "l.ledger"
[tables.visits]
source = "visits.csv"
{header}
user = "{user}"
users = 1
space = {{ kind = "interval", col = "{col}", low = 40, high = 41 }}
budget = {{ alpha = 5.0 }}
[public.zones]
source = "zones.csv"
header = false
"""


def catalog(folder: Path, *, user: str, col: str, header: str = "") -> emdp.Catalog:
    (folder / "emdp.toml").write_text(CATALOG.format(user=user, col=col, header=header))
    return load_catalog(folder / "emdp.toml")


def test_a_catalog_says_which_it_is(tmp_path: Path) -> None:
    written(tmp_path)
    written(tmp_path, "Bar,1\nPark,2\n", "zones.csv")
    loaded = catalog(tmp_path, user="column1", col="column2", header="header = false")
    with loaded.session() as session:
        assert session.table.schema["column5"] == "VARCHAR"
        assert loaded.public()["zones"].rows() == [("Bar", 1), ("Park", 2)]
    with pytest.raises(UsageError, match="has a 'header' that is not true or false"):
        catalog(tmp_path, user="column1", col="column2", header='header = "no"').table()


def test_a_catalog_of_an_older_init_is_refused_without_its_names(tmp_path: Path) -> None:
    written(tmp_path)
    with pytest.raises(UsageError, match=SAYS) as refused:
        catalog(tmp_path, user="1842", col="40.7128").table()
    assert shows_nothing(refused.value)
    # The owner has put names into the file since; or the data are not at hand.
    written(tmp_path, "user,lat,lon,ts,kind\n" + RECORDS)
    for header in ("", 'columns = { 1842 = "VARCHAR", "40.7128" = "VARCHAR" }'):
        with pytest.raises(
            UsageError, match=r"in user=, then space=, then columns=, name 1 looks like a number"
        ) as refused:
            catalog(tmp_path, user="1842", col="40.7128", header=header).table()
        assert shows_nothing(refused.value)
