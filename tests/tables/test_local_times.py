"""Components of local times: frames, both engines and Python's zoneinfo agree at every change of a zone's clocks."""

import datetime as dt
import importlib.resources
import random
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest

import emdp
from emdp.base.errors import UsageError
from emdp.base.frames import columns_of
from emdp.base.zones import END, START, offsets_of
from emdp.tables import read

EPOCH = dt.datetime(1970, 1, 1)
ZONES = ("America/New_York", "Europe/Dublin", "Africa/Casablanca", "Australia/Lord_Howe", "Pacific/Apia",
         "Asia/Kathmandu", "America/St_Johns", "Antarctica/Troll", "UTC")  # fmt: skip
PARTS = {"time": 24, "hour": 24, "minute": 60, "isodow": 8, "month": 13, "week": 54, "day": 32, "doy": 367}


def packaged(zone: str) -> ZoneInfo:
    with importlib.resources.files("tzdata.zoneinfo").joinpath(*zone.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=zone)


def component(part: str, time: dt.datetime) -> float:
    midnight = dt.datetime.combine(time.date(), dt.time())
    found: dict[str, float] = {
        "time": ((time - midnight) // dt.timedelta(microseconds=1)) / 3.6e9, "hour": time.hour, "minute": time.minute,
        "isodow": time.isoweekday(), "month": time.month, "week": time.isocalendar().week, "day": time.day,
        "doy": time.timetuple().tm_yday,
    }  # fmt: skip
    return found[part]


def instants(zone: str) -> list[dt.datetime]:
    """Return each change since 1965 with its neighbours, some instants of every year, and the ends."""
    source = random.Random(zone)
    changes = [EPOCH + dt.timedelta(seconds=own) for own in offsets_of(zone).instants]
    steps = (dt.timedelta(hours=-1), dt.timedelta(microseconds=-1), dt.timedelta(0), dt.timedelta(hours=1))
    found = [change + step for change in changes if change.year > 1964 for step in steps]
    span = (END - START) // dt.timedelta(microseconds=1)
    found += [START + dt.timedelta(microseconds=source.randrange(span)) for _ in range(150)]
    return sorted({START, END - dt.timedelta(microseconds=1), *found})


def space_of(zone: str) -> emdp.spaces.Space:
    parts = [emdp.Interval(f"{part}(ts, '{zone}')", 0, most, on_invalid="neutral") for part, most in PARTS.items()]
    return emdp.Product(*parts)


@pytest.mark.seventh
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("engine", ["duckdb", "spark"])
@pytest.mark.parametrize("is_naive", [True, False])
def test_components_are_those_of_zoneinfo(request: Any, engine: str, zone: str, is_naive: bool) -> None:
    times, rules = instants(zone), packaged(zone)
    local = [time.replace(tzinfo=dt.UTC).astimezone(rules).replace(tzinfo=None) for time in times]
    assert any(
        one.utcoffset() != other.utcoffset()
        for one, other in pairwise(time.replace(tzinfo=dt.UTC).astimezone(rules) for time in times)
    ) or zone == "UTC"  # fmt: skip
    kind = pl.Datetime("us") if is_naive else pl.Datetime("us", "UTC")
    frame = pl.DataFrame({"user": [1] * len(times), "ts": pl.Series(times).cast(kind)})
    expected = {f"{part}(ts, '{zone}')": [component(part, time) for time in local] for part in PARTS}
    for name, values in columns_of("P", frame, list(expected)).items():
        assert values.to_list() == expected[name], name
    space = space_of(zone)
    rows: Any = frame if engine == "duckdb" else request.getfixturevalue("spark").createDataFrame(frame.to_arrow())
    bag = read(rows, user="user", space=space, users=1).bag(1)
    assert sorted(bag.rows()) == sorted(zip(*expected.values(), strict=True))
    assert sorted(space.encode(frame).tolist()) == [list(row) for row in sorted(bag.rows())]


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_where_no_offset_is_known_the_item_is_invalid(request: Any, engine: str) -> None:
    times = [START - dt.timedelta(microseconds=1), START, END - dt.timedelta(microseconds=1), END, None]
    frame = pl.DataFrame({"user": [1] * 5, "ts": times})
    space = emdp.Cycle("time(ts, 'Asia/Kathmandu')", 24, on_invalid="neutral")
    mask = space.valid_mask(frame).tolist()
    assert mask == [False, True, True, False, False]
    rows: Any = frame if engine == "duckdb" else request.getfixturevalue("spark").createDataFrame(frame.to_arrow())
    table = read(rows, user="user", space=space, users=1)
    assert sorted(table.bag(1).rows()) == sorted((value,) for (value,) in space.encode(frame).tolist())
    assert [value for (value,) in table.bag(1).rows()].count(12.0) == 3
    strict = read(rows, user="user", space=emdp.Cycle("time(ts, 'Asia/Kathmandu')", 24), users=1)
    with pytest.raises(emdp.DataRuleError, match="3 records of 1 user"):
        strict.validate()


@pytest.mark.slow
def test_times_of_texts_and_words_have_zones_too(tmp_path: Any) -> None:
    (tmp_path / "t.csv").write_text(
        "user,ts,s\n1,2024-03-10 06:59:59,cat dog\n1,2024-03-10 07:00:00Z,dog\n1,2024-03-10T09:00:00+02:00,cat\n"
    )
    name = "time(ts, 'America/New_York')"
    table = read(tmp_path / "t.csv", user="user", space=emdp.Cycle(name, 24), users=1)
    assert sorted(table.bag(1).rows()) == [(1 + 3599 / 3600,), (3.0,), (3.0,)]
    vectors = {"word": ["cat", "dog"], "v": [[0.0, 1.0], [3.0, 4.0]]}
    space = emdp.Product(emdp.Words("s", vectors, on_invalid="neutral"), emdp.Cycle(name, 24))
    beside = read(tmp_path / "t.csv", user="user", space=space, users=1)
    assert sorted(beside.bag(1).rows()) == [
        ("cat", 1 + 3599 / 3600), ("cat", 3.0), ("dog", 1 + 3599 / 3600), ("dog", 3.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ("time(ts, 'America/Gotham')", "zone must be an IANA name of tzdata"),
        ("time(ts, 'america/new_york')", "zone must be an IANA name of tzdata"),
        ("epoch(ts, 'UTC')", "the same in all zones; leave the zone out"),
        ("dow(day, 'UTC')", "'day' is DATE, which has no UTC"),
        ("time(ts,'UTC')", "source has no column"),
    ],
)
def test_names_that_are_no_local_times(column: str, problem: str, tmp_path: Any) -> None:
    frame = pl.DataFrame({"user": [1], "ts": [dt.datetime(2024, 1, 1)], "day": [dt.date(2024, 1, 1)]})
    with pytest.raises(UsageError, match=problem):
        read(frame, user="user", space=emdp.Interval(column, 0, 1), users=1)
    frame.write_csv(tmp_path / "t.csv")
    if "day" not in column:
        with pytest.raises(UsageError, match=problem):
            read(tmp_path / "t.csv", user="user", space=emdp.Interval(column, 0, 1), users=1)
        with pytest.raises(UsageError):
            emdp.Interval(column, 0, 1).encode(frame)
