"""Spark computes what DuckDB computes: shipped queries, random accepted statements, every component of a time.

Tables are those of the fuzzer, with NULL, NaN, infinite, far and unlisted values, and users without records. Statistics
are sums of integers on both sides; what differs is the last bit of an elementary function or of a user's mean.
"""

import random
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import sql_grammar as grammar
import sql_worlds as worlds

import emdp
from emdp.base.errors import EmdpError
from emdp.base.frames import COMPONENTS
from emdp.estimators import Plan
from emdp.expressions import Expression, col
from emdp.expressions.cells.aggregation import Aggregation
from emdp.sessions.planning import plan_request
from emdp.tables import aggregate, engine, mean_of_user_means

RELATIVE = 1e-9
"""Largest difference, relative to the largest coordinate of a statistic."""

FAST = ("city", "count", "text")
"""Worlds that run unmarked: all kinds of parts but those of ``trips``, few and many users, words."""

QUERIES = Path(__file__).resolve().parents[2] / "queries"


@contextmanager
def settings(spark: Any, **wanted: str) -> Iterator[None]:
    names = {"zone": "spark.sql.session.timeZone", "ansi": "spark.sql.ansi.enabled"}
    before = {name: spark.conf.get(names[name]) for name in wanted}
    try:
        for name, value in wanted.items():
            spark.conf.set(names[name], value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(names[name], value)


def on_spark(spark: Any, frame: pl.DataFrame) -> Any:
    micros = frame.with_columns(pl.col(pl.Datetime("ms", "UTC")).cast(pl.Datetime("us", "UTC")))
    return spark.createDataFrame(micros.to_arrow(compat_level=pl.CompatLevel.oldest())).repartition(3)


def check_close(own: Sequence[Fraction], other: Sequence[Fraction], what: object) -> None:
    assert len(own) == len(other)
    largest = max(map(abs, own), default=0)
    for place, (one, two) in enumerate(zip(own, other, strict=True)):
        assert abs(one - two) <= RELATIVE * largest, (what, place, float(one), float(two))


def asked(name: str, seeds: range) -> tuple[tuple[Expression, ...], dict[Aggregation, str]]:
    """Return what accepted random statements on a world compute: means, and aggregations over cells or totals."""
    world = worlds.WORLDS[name]
    means: dict[Expression, None] = {}
    others: dict[Aggregation, str] = {}
    for seed in seeds:
        text = grammar.Writer(random.Random(seed), world, 0, False).text()
        try:
            planned = plan_request(text, world.names)
        except EmdpError:
            continue
        for aggregation in (one.plan.aggregation for one in planned if isinstance(one.plan, Plan)):
            if aggregation.is_plain:
                means.update(dict.fromkeys(aggregation.values))
            else:
                others[aggregation] = text
    return tuple(means), others


def check_world(spark: Any, name: str, seeds: range, cells: int) -> None:
    world = worlds.WORLDS[name]
    users = worlds.USERS if world.users == "listed" else world.users
    own = world.declared
    other = emdp.read(on_spark(spark, world.rows(1)), user="user_id", space=world.space, users=users, name=world.table)
    means, others = asked(name, seeds)
    assert means or others
    if means:
        # In one statement on each side; where they differ each value has its own largest one.
        pairs = zip(means, mean_of_user_means(own, means).open(), mean_of_user_means(other, means).open(), strict=True)
        for expression, one, two in pairs:
            check_close([one], [two], expression)
    for aggregation, text in list(others.items())[:cells]:
        engine.check_aggregation(other, aggregation)
        found = zip(aggregate(own, aggregation), aggregate(other, aggregation), strict=True)
        for one, two in found:
            check_close(one.open(), two.open(), text)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAST)
@pytest.mark.usefixtures("in_short")
def test_random_statements_mean_the_same(spark: Any, name: str) -> None:
    with settings(spark, zone="Asia/Kathmandu"):
        check_world(spark, name, range(25), 2)


@pytest.mark.full
@pytest.mark.parametrize(("place", "name"), list(enumerate(worlds.WORLDS)))
def test_random_statements_mean_the_same_at_full_size(spark: Any, place: int, name: str) -> None:
    # Every other world in either of Spark's modes; a statement over cells takes it seconds.
    with settings(spark, zone="America/St_Johns", ansi=("true", "false")[place % 2]):
        check_world(spark, name, range(150), 8)


TIMES = [
    datetime(1970, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(1, 1, 1), datetime(9999, 12, 31, 23),
    datetime(2012, 2, 29, 13, 5, 7, 1), datetime(2021, 1, 3, 0, 30), datetime(2020, 12, 31, 2, 30), None,
    datetime(2012, 3, 25, 2, 30), datetime(1582, 10, 10, 12), datetime(1900, 3, 1), datetime(2000, 12, 31, 6, 7, 8, 9),
]  # fmt: skip
"""The ends of the calendar and of the epoch, leap days, hours that some clocks skip, days that some calendars do."""


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_every_component_of_every_type_of_time_is_the_same(spark: Any, ansi: str) -> None:
    frame = pl.DataFrame(
        {
            "user": range(len(TIMES)),
            "zoned": pl.Series([time and time.replace(tzinfo=UTC) for time in TIMES], dtype=pl.Datetime("us", "UTC")),
            "clock": pl.Series(TIMES, dtype=pl.Datetime("us")),
            "day": pl.Series([time and date(time.year, time.month, time.day) for time in TIMES], dtype=pl.Date),
        }
    )
    names = [f"{part}({column})" for column in ("zoned", "clock", "day") for part in COMPONENTS]
    names = [name for name in names if name not in {"hour(day)", "minute(day)", "time(day)"}]
    # Each record of its own user: a user's mean is then the component itself, and sums of it and of its square differ
    # if any one does.
    space = emdp.Product(*(emdp.Interval(name, -1e12, 1e12, on_invalid="neutral") for name in names))
    values = [value for name in names for value in (col(name), (col(name) / 1e6) * (col(name) / 1e6))]
    with settings(spark, zone="Asia/Kathmandu", ansi=ansi):
        # Made of whole numbers, so that no conversion on the way knows a zone.
        micros = frame.with_columns(pl.col("zoned", "clock").to_physical(), pl.col("day").to_physical().cast(pl.Int64))
        rows = on_spark(spark, micros).selectExpr(
            "user",
            "TIMESTAMP_MICROS(zoned) AS zoned",
            "TIMESTAMP_NTZ'1970-01-01 00:00:00' + MAKE_DT_INTERVAL(0, 0, 0, clock / 1000000BD) AS clock",
            "DATE_FROM_UNIX_DATE(CAST(day AS INT)) AS day",
        )
        assert [kind for _, kind in rows.dtypes] == ["bigint", "timestamp", "timestamp_ntz", "date"]
        found = []
        for source in (frame, rows):
            table = emdp.read(source, user="user", space=space, users=len(TIMES))
            found.append(mean_of_user_means(table, values).open())
    assert found[0] == found[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped catalog with small made-up tables in the shape of the real ones, as files."""
    place = tmp_path_factory.mktemp("spark_queries")
    rng = np.random.default_rng(5)
    for name, users in (("foursquare_nyc", 1083), ("gowalla_nyc", 7115)):
        count = 2_000
        minutes = rng.integers(0, 400_000, count)
        pl.DataFrame(
            {
                "user_id": rng.integers(0, users, count).astype(np.int32),
                "ts": pl.Series(minutes * 60_000_000 + 1_333_238_400_000_000).cast(pl.Datetime("us", "UTC")),
                "lat": rng.normal(40.73, 0.05, count),
                "lon": rng.normal(-73.98, 0.07, count),
                "place": rng.integers(0, 500, count).astype(np.int32),
                "category": rng.choice(["Bar", "Office", "Park", "Zoo", None], count).tolist(),
                "place_name": ["somewhere"] * count,
            }
        ).write_parquet(place / f"{name}.parquet")
    said = [" ".join(rng.choice([*worlds.WORDS, "unheard"], 6)) for _ in range(1_000)]
    pl.DataFrame(
        {
            "user_id": [f"nick{n}" for n in rng.integers(0, 17_803, len(said))],
            "ts": [datetime(2010, 1, 1)] * len(said),
            "text": said,
            "is_action": [False] * len(said),
            "is_bot": [False] * len(said),
        }
    ).write_parquet(place / "irc_ubuntu.parquet")
    vectors = rng.normal(0, 2, (len(worlds.WORDS), 5)).astype(np.float32)
    pl.DataFrame({"word": list(worlds.WORDS), "vector": vectors}).write_parquet(place / "glove_twitter_25d_12k.parquet")
    shutil.copy(QUERIES / "kinds.csv", place / "kinds.csv")
    (place / "catalog.toml").write_text((QUERIES / "catalog.toml").read_text().replace("../../shared/data", str(place)))
    return place


def check_queries(spark: Any, folder: Path, table: str, numbers: Sequence[int]) -> None:
    """Compare the exact values of all that some shipped files ask, each in one batch on either engine."""
    catalog = emdp.load_catalog(folder / "catalog.toml")
    own = catalog.table(table)
    rows = spark.read.parquet(str(folder / {"irc": "irc_ubuntu"}.get(table, f"{table}_nyc")) + ".parquet")
    other = emdp.read(rows, user=own.user, space=own.space, users=own.users.count, name=own.name)
    names = own.names(catalog.public())
    for number in numbers:
        text = (QUERIES / f"{table}_{number:02}.sql").read_text()
        for planned in plan_request(text, names):
            if isinstance(planned.plan, Plan):
                aggregation = planned.plan.aggregation
                found = zip(aggregate(own, aggregation), aggregate(other, aggregation), strict=True)
                for one, two in found:
                    check_close(one.open(), two.open(), planned.text)


@pytest.mark.parametrize(("table", "number"), [("foursquare", 3), ("gowalla", 1), ("irc", 10)])
@pytest.mark.usefixtures("in_short")
def test_shipped_queries_have_the_same_exact_values(spark: Any, folder: Path, table: str, number: int) -> None:
    with settings(spark, zone="Pacific/Chatham"):
        check_queries(spark, folder, table, [number])


@pytest.mark.full
@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("table", ["foursquare", "gowalla", "irc"])
def test_all_shipped_queries_have_the_same_exact_values(spark: Any, folder: Path, table: str, ansi: str) -> None:
    with settings(spark, zone="Pacific/Chatham", ansi=ansi):
        check_queries(spark, folder, table, range(1, 11))
