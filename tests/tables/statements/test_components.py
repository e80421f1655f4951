"""Components of times: the engine, frames and plain Python agree on every type, and nothing else is a time."""

import math
import os
import random
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import emdp
from emdp.base.errors import DataRuleError, UsageError
from emdp.base.frames import COMPONENTS, Component, columns_of, find_component
from emdp.expressions import evaluate
from emdp.tables import Table, check_statement, mean_of_user_means, read
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.components import component_value, instant_value

DAY = 86_400_000_000
SPECIAL = [
    "0001-01-01", "1582-10-10", "1900-02-28T23:59:59.999999", "1900-03-01", "1969-12-31T23:59:59.999999", "1970-01-01",
    "1968-02-29T12:30", "2000-02-29T00:00:00.000001", "2004-12-31T23:59:59", "2005-01-01", "2008-12-29", "2010-01-03",
    "2020-12-31", "2021-01-03T06:07:08.091011", "2024-02-29T23:59:59.5", "2024-12-29", "2024-12-30",
    "9999-12-31T23:59:59.999999",
]  # fmt: skip

REFERENCE: dict[str, Callable[[datetime], float]] = {
    "hour": lambda time: time.hour,
    "minute": lambda time: time.minute,
    "day": lambda time: time.day,
    "dow": lambda time: time.isoweekday() % 7,
    "isodow": lambda time: time.isoweekday(),
    "month": lambda time: time.month,
    "quarter": lambda time: (time.month + 2) // 3,
    "year": lambda time: time.year,
    "week": lambda time: time.isocalendar().week,
    "doy": lambda time: time.timetuple().tm_yday,
    "epoch": lambda time: microseconds(time) / 1e6,
    "time": lambda time: microseconds(time) % DAY / 3.6e9,
}


def microseconds(time: datetime) -> int:
    return (time - datetime(1970, 1, 1)) // timedelta(microseconds=1)


def times(seed: int = 5, count: int = 400) -> list[datetime | None]:
    source = random.Random(seed)
    first, last = microseconds(datetime(1, 1, 1)), microseconds(datetime.max)
    near = [source.randrange(-(10**15), 2 * 10**15) for _ in range(count)]
    wide = [source.randrange(first, last) for _ in range(count)]
    found: list[datetime | None] = [datetime(1970, 1, 1) + timedelta(microseconds=us) for us in near + wide]
    return [*found, *map(datetime.fromisoformat, SPECIAL), None]


def wanted(part: str, values: list[datetime | None]) -> list[float | None]:
    return [None if time is None else REFERENCE[part](time) for time in values]


def in_unit(values: list[datetime | None], unit: str) -> list[int | None]:
    size = {"s": 10**6, "ms": 10**3, "us": 1}
    if unit == "ns":  # 285 years on either side of 1970, with nanoseconds that are to be rounded down
        return [None if time is None else microseconds(time) * 1000 + 999 for time in values]
    return [None if time is None else microseconds(time) // size[unit] for time in values]


def rounded(values: list[datetime | None], unit: str) -> list[datetime | None]:
    step = {"s": 10**6, "ms": 10**3}.get(unit, 1)
    return [None if t is None else t - timedelta(microseconds=microseconds(t) % step) for t in values]


def engine(arrow: pa.Table, part: str, *, zone: str = "UTC") -> list[Any]:
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"SET TimeZone = '{zone}'")
        connection.register("source_rows", arrow)
        kind = connection.execute("SELECT column_type FROM (DESCRIBE source_rows)").fetchall()[0][0]
        instant = instant_value(sql.column("ts"), kind)
        value = component_value(Component(part, "ts"), instant).sql("duckdb", identify=True)
        return [row[0] for row in connection.execute(f"SELECT {value} FROM source_rows").fetchall()]


ARROW_TYPES = [(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "Europe/Berlin")]


@pytest.mark.quarter
@pytest.mark.parametrize(("unit", "zone"), ARROW_TYPES)
def test_engine_and_frames_give_what_python_does_on_every_type_of_timestamp(unit: str, zone: str | None) -> None:
    values = times()
    if unit == "ns":
        values = [time for time in values if time is None or 1700 < time.year < 2250]
    arrow = pa.table({"ts": pa.array(in_unit(values, unit), pa.timestamp(unit, zone))})
    for part in COMPONENTS:
        expected = wanted(part, rounded(values, unit))
        assert engine(arrow, part) == expected, part
        assert columns_of("P", arrow, [f"{part}(ts)"])[f"{part}(ts)"].to_list() == expected, part


def test_dates_have_components_of_days_alone() -> None:
    values = [None if time is None else time.date() for time in times()]
    midnights = [None if day is None else datetime(day.year, day.month, day.day) for day in values]
    arrow = pa.table({"ts": pa.array(values, pa.date32())})
    for part in COMPONENTS:
        if part in ("hour", "minute", "time"):
            with pytest.raises(UsageError, match=f"dates, which have no {part}"):
                columns_of("P", arrow, [f"{part}(ts)"])
            with pytest.raises(UsageError, match=f"'ts' is DATE, which has no {part}"):
                read(
                    {"user": [1], "ts": [date(2024, 1, 1)]},
                    user="user",
                    space=emdp.Interval(f"{part}(ts)", 0, 1),
                    users=1,
                )
            continue
        assert engine(arrow, part) == wanted(part, midnights)
        assert columns_of("P", arrow, [f"{part}(ts)"])[f"{part}(ts)"].to_list() == wanted(part, midnights)


def test_no_time_zone_of_a_session_changes_anything() -> None:
    values = times()
    arrow = pa.table({"ts": pa.array(in_unit(values, "us"), pa.timestamp("us", "UTC"))})
    for zone in ("America/New_York", "Asia/Kathmandu", "Pacific/Apia"):
        for part in COMPONENTS:
            assert engine(arrow, part, zone=zone) == wanted(part, values)
    # What the time zone would have changed.
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'Asia/Kathmandu'")
        assert connection.execute("SELECT hour(TIMESTAMPTZ '2024-01-01 00:00:00+00')").fetchall() == [(5,)]


SCRIPT = """
import sys, duckdb, emdp
from emdp.tables import mean_of_user_means
if {moved}:
    assert duckdb.sql("SELECT hour(TIMESTAMPTZ '2024-01-01 00:00:00+00')").fetchall() != [(0,)]
space = emdp.Product(emdp.Cycle("time(ts)", 24, on_invalid="neutral"), emdp.Interval("doy(ts)", 1, 366))
table = emdp.read(sys.argv[1], user="user", space=space, users=2)
table.validate()
print(mean_of_user_means(table, [emdp.distance_to(3, column="time(ts)"), emdp.col("doy(ts)")]).open())
view = emdp.read(sys.argv[2], user="user", space=emdp.Interval("hour", 0, 24), users=2)
print(mean_of_user_means(view, [emdp.col("hour")]).open())
"""


@pytest.mark.slow
def test_the_machines_time_zone_changes_nothing(tmp_path: Path) -> None:
    times = [datetime(2023, 12, 31, 23, 30, tzinfo=UTC), datetime(2024, 6, 1, 2, 15, tzinfo=UTC)]
    pl.DataFrame({"user": [1, 2], "ts": times}).write_parquet(tmp_path / "t.parquet")
    with duckdb.connect(str(tmp_path / "city.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t AS FROM '{tmp_path}/t.parquet'")
        connection.execute('CREATE VIEW v AS SELECT "user", CAST(hour(ts) AS DOUBLE) AS hour FROM t')
    found = set()
    for zone in ("UTC", "America/New_York"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT.format(moved=zone != "UTC"), str(tmp_path / "t.parquet"),
             f"{tmp_path}/city.duckdb::v"],
            capture_output=True, text=True, check=True, env={**os.environ, "TZ": zone},
        )  # fmt: skip
        found.add(done.stdout)
    assert len(found) == 1


def test_what_is_no_time_is_null_and_no_error() -> None:
    out = [-(2**63) + 1, -(2**63) + 2, 2**63 - 2, 2**63 - 1, microseconds(datetime.max) + 1, -719_162 * DAY - 1, None]
    for zone in (None, "UTC"):
        arrow = pa.table({"ts": pa.array(out, pa.timestamp("us", zone))})
        for part in COMPONENTS:
            assert engine(arrow, part) == [None] * len(out)
            assert columns_of("P", arrow, [f"{part}(ts)"])[f"{part}(ts)"].to_list() == [None] * len(out)
    for kind in (pa.timestamp("s"), pa.timestamp("ms")):
        arrow = pa.table({"ts": pa.array([2**62, -(2**62), 2**63 - 1, -(2**63) + 1, 10**15 * 1000, 0], kind)})
        assert engine(arrow, "hour") == [None] * 5 + [0]
        assert engine(arrow, "epoch") == [None] * 5 + [0]
    arrow = pa.table({"ts": pa.array([2**31 - 1, -(2**31) + 1, 3_000_000, -719_163, 0], pa.date32())})
    assert engine(arrow, "year") == [None] * 4 + [1970]
    assert columns_of("P", pl.DataFrame(arrow), ["year(ts)"])["year(ts)"].to_list() == [None] * 4 + [1970]
    edges = [-(2**63), -(2**63) + 1, -(2**63) + 2, -1, 2**63 - 2, 2**63 - 1]
    arrow = pa.table({"ts": pa.array(edges, pa.timestamp("ns"))})
    expected = [-(2**63) // 1000 / 1e6, None, (-(2**63) + 2) // 1000 / 1e6, -1e-6, (2**63 - 2) // 1000 / 1e6, None]
    assert engine(arrow, "epoch") == expected
    assert columns_of("P", arrow, ["epoch(ts)"])["epoch(ts)"].to_list() == expected


def test_times_of_a_frame_that_fit_no_microseconds_are_invalid_items() -> None:
    far = pl.Series([10**17, 2**63 - 2, -(2**63), 3_600_000, None]).cast(pl.Datetime("ms", "UTC"))
    frame = pl.DataFrame({"user": [1, 1, 1, 1, 1], "ts": far})
    table = read(frame, user="user", space=emdp.Interval("hour(ts)", 0, 24, on_invalid="neutral"), users=1)
    table.validate()
    assert sorted(table.bag(1).get_column("hour(ts)")) == [1, 12, 12, 12, 12]
    assert sorted(table.space.encode(frame)[:, 0].tolist()) == [1, 12, 12, 12, 12]


@pytest.mark.slow
def test_infinities_are_invalid_items_and_not_errors(tmp_path: Path) -> None:
    path = tmp_path / "city.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            'CREATE TABLE t ("user" INT, a TIMESTAMP, b TIMESTAMPTZ, c DATE, d TIMESTAMP_S, e TIMESTAMP_NS)'
        )
        for value in ("'infinity'", "'-infinity'", "NULL", "'2024-01-01'"):
            connection.execute(f"INSERT INTO t VALUES (1, {', '.join([value] * 5)})")
    for column in "abcde":
        space = emdp.Categories(f"year({column})", [1999, 2024], on_invalid="neutral")
        table = read(f"{path}::t", user="user", space=space, users=1)
        table.validate()
        assert float(mean_of_user_means(table, [emdp.category_is(2024)]).open()[0]) == 0.25
        strict = read(f"{path}::t", user="user", space=emdp.Interval(f"year({column})", 1, 9999), users=1)
        with pytest.raises(DataRuleError, match="outside the space's domain"):
            strict.validate()


def rows(seed: int, count: int = 300) -> pl.DataFrame:
    source = random.Random(seed)
    stamps = [
        None if source.random() < 0.1 else datetime(1960, 1, 1) + timedelta(microseconds=source.randrange(2 * 10**15))
        for _ in range(count)
    ]
    return pl.DataFrame({
        "user": [source.randrange(12) for _ in range(count)],
        "ts": stamps,
        "zoned": pl.Series(stamps).dt.replace_time_zone("Europe/Berlin", ambiguous="earliest", non_existent="null"),
        "day": pl.Series(stamps).cast(pl.Date),
        "text": [source.choice(["cat dog", "it's", "", None]) for _ in range(count)],
    })  # fmt: skip


HOURS, WEEKDAYS = list(range(24)), [1, 2, 3, 6]
SPACES: dict[str, tuple[emdp.Space, list[emdp.Expression]]] = {
    "interval": (
        emdp.Interval("epoch(ts)", 0, 1e9, on_invalid="clamp"), [emdp.col("epoch(ts)"), emdp.distance_to(3e8)],
    ),
    "cycle": (emdp.Cycle("time(zoned)", 24, on_invalid="neutral"), [emdp.distance_to(23.5), emdp.distance_to(0.25)]),
    "categories": (
        emdp.Categories("hour(ts)", HOURS[:20], on_invalid="neutral"), [emdp.category_is(3), emdp.category_is(0, 7)],
    ),
    "distances": (
        emdp.Distances("isodow(day)", WEEKDAYS, np.abs(np.subtract.outer(WEEKDAYS, WEEKDAYS)), on_invalid="neutral"),
        [emdp.distance_to(6)],
    ),
    "vector": (
        emdp.Vector(["doy(day)", "minute(ts)"], box=[(1, 300), (0, 40)], on_invalid="clamp"), [emdp.dot([0.25, -1])],
    ),
    "embedding": (
        emdp.Embedding("quarter(zoned)", {"key": [1, 2, 3], "v": [[0.0, 1], [2, 2], [4, 1]]}, on_invalid="neutral"),
        [emdp.dot([1.0, 2.0]), emdp.category_is(2)],
    ),
    "product": (
        emdp.Product(
            emdp.Cycle("time(ts)", 24, on_invalid="neutral"),
            emdp.Categories("dow(ts)", [0, 1, 2, 3, 4, 5], on_invalid="neutral").weighted(2),
            emdp.Interval("week(zoned)", 1, 52, on_invalid="clamp"),
            emdp.Interval("year(day)", 1970, 2000, on_invalid="neutral"),
        ),
        [
            emdp.distance_to(3, column="time(ts)") * emdp.category_is(0, column="dow(ts)"),
            emdp.col("week(zoned)") - emdp.col("year(day)"),
        ],
    ),
}  # fmt: skip


def reference(table: Table, frame: pl.DataFrame, expression: emdp.Expression) -> float:
    means = []
    for key in range(table.n):
        own = frame.filter(pl.col("user") == key)
        items = table.space.encode(own) if len(own) else table.space.neutral_item
        means.append(float(np.mean(evaluate(expression, table.space, items))))
    return math.fsum(means) / table.n


@pytest.mark.quarter
@pytest.mark.parametrize("name", SPACES)
def test_every_space_takes_components(name: str, tmp_path: Path) -> None:
    space, expressions = SPACES[name]
    frame = rows(3)
    frame.write_parquet(tmp_path / "t.parquet")
    for source in (frame, tmp_path / "t.parquet"):
        table = read(source, user="user", space=space, users=13)
        check_statement(table, expressions)
        table.validate()
        found = mean_of_user_means(table, expressions).open()
        for value, expression in zip(found, expressions, strict=True):
            assert float(value) == pytest.approx(reference(table, frame, expression), rel=1e-9, abs=1e-9)
        bag = table.bag(5)
        own = frame.filter(pl.col("user") == 5)
        assert list(bag.columns) == list(space.columns)
        assert sorted(space.encode(bag).tolist()) == sorted(space.encode(own).tolist())
        assert emdp.d_em(bag, own, space) == pytest.approx(0, abs=1e-12)


def test_words_beside_a_time() -> None:
    vectors = {"word": ["cat", "dog", "it's"], "v": [[0.0, 1.0], [3.0, 4.0], [1.0, 1.0]]}
    space = emdp.Product(
        emdp.Words("text", vectors, on_invalid="neutral"), emdp.Interval("hour(ts)", 0, 24, on_invalid="neutral")
    )
    frame = pl.DataFrame(
        {"user": [1, 1], "ts": [datetime(2024, 1, 1, 6), datetime(2024, 1, 1, 20)], "text": ["cat dog", "dog"]}
    )
    table = read(frame, user="user", space=space, users=1)
    table.validate()
    assert sorted(table.bag(1).rows()) == [("cat", 6.0), ("dog", 6.0), ("dog", 20.0)]
    assert float(mean_of_user_means(table, [emdp.col("hour(ts)")]).open()[0]) == pytest.approx(32 / 3)


def test_frames_measure_distances_between_components() -> None:
    space = emdp.Cycle("time(ts)", 24)
    left, right = {"ts": [datetime(2024, 1, 1, 23)]}, {"ts": [datetime(1960, 5, 5, 1), datetime(2020, 2, 29, 11, 30)]}
    assert space.pairwise(left, right).tolist() == [[2 / 12, 11.5 / 12]]
    assert emdp.d_em(left, right, space) == pytest.approx((2 + 11.5) / 24)


def test_a_column_of_that_very_name_is_meant_first(tmp_path: Path) -> None:
    frame = pl.DataFrame({"user": [1], "ts": [datetime(2024, 1, 1, 23)], "hour(ts)": [5]})
    assert find_component("hour(ts)", frame.columns) is None
    space = emdp.Interval("hour(ts)", 0, 24)
    assert space.encode(frame).tolist() == [[5.0]]
    assert space.encode(frame.drop("hour(ts)")).tolist() == [[23.0]]
    for source, hour in ((frame, 5), (frame.drop("hour(ts)"), 23)):
        table = read(source, user="user", space=space, users=1)
        assert float(mean_of_user_means(table, [emdp.col("hour(ts)")]).open()[0]) == hour
    odd = {"user": [1], 'a "b" (c)': [datetime(2024, 1, 1, 7)]}
    table = read(odd, user="user", space=emdp.Interval('hour(a "b" (c))', 0, 24), users=1)
    assert float(mean_of_user_means(table, [emdp.col('hour(a "b" (c))')]).open()[0]) == 7


FRAME = pl.DataFrame({"user": [1], "ts": [datetime(2024, 1, 1)], "x": [1.5], "s": ["2024-01-01"], "n": [7]})


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (emdp.Interval("hour(x)", 0, 24), "'x' is DOUBLE, but hour\\(x\\) needs a timestamp or a date; convert"),
        (emdp.Interval("hour(s)", 0, 24), "'s' is VARCHAR, but hour\\(s\\) needs a timestamp"),
        (emdp.Interval("epoch(n)", 0, 24), "'n' is BIGINT, but epoch\\(n\\) needs a timestamp"),
        (emdp.Interval("second(ts)", 0, 24), "no column 'second\\(ts\\)'"),
        (emdp.Interval("HOUR(ts)", 0, 24), "no column 'HOUR\\(ts\\)'"),
        (emdp.Interval("hour(tz)", 0, 24), "no column 'hour\\(tz\\)'"),
        (emdp.Interval("hour (ts)", 0, 24), "no column 'hour \\(ts\\)'"),
        (emdp.Categories("time(ts)", [0, 1]), "'time\\(ts\\)' has fractions"),
        (emdp.Categories("epoch(ts)", [0, 1]), "'epoch\\(ts\\)' has fractions"),
        (emdp.Categories("hour(ts)", ["0", "1"]), "list whole numbers"),
        (emdp.Categories("hour(ts)", [True, False]), "list whole numbers"),
        (emdp.Words("hour(ts)", {"w": ["1", "2"], "v": [[0.0], [1.0]]}), "list whole numbers"),
    ],
)  # fmt: skip
def test_refused_components(space: emdp.Space, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read(FRAME, user="user", space=space, users=1)


def test_a_user_column_is_no_component() -> None:
    with pytest.raises(UsageError, match="no column 'year\\(ts\\)'"):
        read(FRAME, user="year(ts)", space=emdp.Interval("x", 0, 5), users=1)


def test_frames_refuse_what_is_no_time() -> None:
    with pytest.raises(UsageError, match="'x' of the frame must hold timestamps or dates for hour\\(x\\), not Float64"):
        emdp.Interval("hour(x)", 0, 24).encode(FRAME)
    with pytest.raises(UsageError, match=r"'s' of the frame must hold timestamps .* str\.to_datetime"):
        emdp.Interval("hour(s)", 0, 24).encode(FRAME)
    with pytest.raises(UsageError, match="no column 'hour\\(tz\\)'"):
        emdp.Interval("hour(tz)", 0, 24).encode(FRAME)
    assert emdp.Interval("hour(ts)", 0, 24, on_invalid="neutral").encode({"ts": [None]}).tolist() == [[12.0]]


TEXTS = {
    "2024-01-01T10:30:00": 10.5, "2024-01-01 10:30": 10.5, "2024-01-01": 0, "2024-1-1 7:15:00": 7.25,
    "2024-01-01T10:30:00Z": 10.5, "2024-01-01 10:30:00.5 UTC": 10.5 + 0.5 / 3600, " 2024-01-01T10:30:00 ": 10.5,
    "2024-01-01T10:30:00+02:00": 8.5, "2024-01-01T10:30:00-05": 15.5, "2024-01-01 10:30:00+0530": 5,
    "1900-06-01T23:59:59.999999": 24 - 1e-6 / 3600, "0001-01-01": 0, "9999-12-31 23:00:00": 23,
    "": None, "oops": None, "infinity": None, "epoch": None, "1704067200": None, "2024-02-30": None,
    "2024-01-01T10:30:00 America/New_York": None, "0044-03-15 (BC)": None, "12024-01-01": None,
    "2024-01-01T25:00:00": None, "01/02/2024": None, "2024-01-01T10:30:00+19:00": None,
}  # fmt: skip


@pytest.mark.slow
def test_texts_of_a_csv_file_are_iso_times_and_offsets_count(tmp_path: Path) -> None:
    keys = list(range(len(TEXTS)))
    pl.DataFrame({"user": keys, "ts": list(TEXTS)}).write_csv(tmp_path / "t.csv", quote_style="always")
    space = emdp.Cycle("time(ts)", 24, on_invalid="neutral", neutral=13)
    table = read(tmp_path / "t.csv", user="user", space=space, users=len(keys))
    table.validate()
    check_statement(table, [emdp.distance_to(0)])
    for key, (text, hours) in enumerate(TEXTS.items()):
        found = table.bag(key).get_column("time(ts)").to_list()
        assert found == [pytest.approx(13 if hours is None else hours)], text
    strict = read(tmp_path / "t.csv", user="user", space=emdp.Cycle("time(ts)", 24), users=len(keys))
    with pytest.raises(DataRuleError, match="outside the space's domain"):
        strict.validate()


def test_files_that_differ_in_the_type_of_a_time_are_refused(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "a.parquet")
    FRAME.with_columns(pl.col("ts").cast(pl.Datetime("ns"))).write_parquet(tmp_path / "b.parquet")
    table = read(f"{tmp_path}/*.parquet", user="user", space=emdp.Interval("hour(ts)", 0, 24), users=1)
    with pytest.raises(DataRuleError, match="differ in column 'ts'"):
        table.validate()


def test_declared_columns_are_checked_against_the_file(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "a.parquet")
    space = emdp.Interval("hour(ts)", 0, 24)
    columns = {"user": "BIGINT", "ts": "TIMESTAMP"}
    read(tmp_path / "a.parquet", user="user", space=space, users=1, columns=columns).validate()
    absent = read("/nowhere/a.parquet", user="user", space=space, users=1, columns=columns)
    check_statement(absent, [emdp.col("hour(ts)")])
    assert absent.source_columns == ("user", "ts")
    with pytest.raises(UsageError, match="needs a timestamp or a date"):
        read("/nowhere/a.parquet", user="user", space=space, users=1, columns={**columns, "ts": "TIME"})
    other = read(tmp_path / "a.parquet", user="user", space=space, users=1, columns={**columns, "ts": "TIMESTAMP_NS"})
    with pytest.raises(DataRuleError, match="no column 'ts' of type TIMESTAMP_NS"):
        other.validate()


def test_a_source_column_is_read_once_however_many_components_it_has() -> None:
    space = emdp.Product(emdp.Interval("hour(ts)", 0, 24), emdp.Interval("dow(ts)", 0, 6), emdp.Interval("x", 0, 5))
    table = read(FRAME, user="user", space=space, users=1)
    assert table.source_columns == ("user", "ts", "x")
    assert {name: table.type_of(name) for name in space.columns} == {
        "hour(ts)": "BIGINT",
        "dow(ts)": "BIGINT",
        "x": "DOUBLE",
    }


def test_a_bag_of_listed_numbers_and_truth_values_has_their_types() -> None:
    frame = pl.DataFrame({"user": [1, 1, 1], "n": [3, 1, 9], "b": [True, False, None]})
    space = emdp.Product(
        emdp.Categories("n", [1, 2, 3], on_invalid="neutral"), emdp.Categories("b", [False, True], on_invalid="neutral")
    )
    bag = read(frame, user="user", space=space, users=1).bag(1)
    assert sorted(bag.rows()) == [(1, False), (1, False), (3, True)]
    assert sorted(space.encode(bag).tolist()) == sorted(space.encode(frame).tolist())
