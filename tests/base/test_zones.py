"""Offsets of zones: those of Python's zoneinfo on the same tzdata, at every change and between."""

import datetime as dt
import importlib.resources
from zoneinfo import ZoneInfo

import duckdb
import pytest

from emdp.base.errors import UsageError
from emdp.base.zones import END, START, offsets_of, tzdata_version, zone_names
from emdp.rows.nodes import Call, Column, Literal
from emdp.rows.types import Kind
from emdp.tables.base import CLOSED
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.rows import row_expression

FEW = ("America/New_York", "Europe/London", "Africa/Casablanca", "Australia/Lord_Howe", "Pacific/Apia", "UTC")
NAMES = sorted(zone_names())
CHUNKS = 40


def packaged(zone: str) -> ZoneInfo:
    with importlib.resources.files("tzdata.zoneinfo").joinpath(*zone.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=zone)


def local(instant: dt.datetime, rules: ZoneInfo) -> dt.datetime:
    return instant.replace(tzinfo=dt.UTC).astimezone(rules).replace(tzinfo=None)


def instants(zone: str) -> list[dt.datetime]:
    """Return every change, a second and an hour around it, and a day in each quarter."""
    changes = [dt.datetime(1970, 1, 1) + dt.timedelta(seconds=second) for second in offsets_of(zone).instants]
    around = [change + dt.timedelta(seconds=step) for change in changes for step in (-3600, -1, 0, 1, 3600)]
    days = [START + dt.timedelta(days=91 * place, hours=place % 24, microseconds=place) for place in range(553)]
    return sorted({time for time in [*around, *days, START, END - dt.timedelta(seconds=1)] if START <= time < END})


@pytest.mark.quarter
@pytest.mark.parametrize("zone", FEW)
def test_local_times_are_those_of_zoneinfo(zone: str) -> None:
    rules, times = packaged(zone), instants(zone)
    node = Call("local_time", (Column("t", "ts", Kind.TIMESTAMP), Literal(zone, Kind.TEXT)))
    text = row_expression(node, lambda column: sql.column(column.name)).sql("duckdb")
    with duckdb.connect(":memory:", config={**CLOSED}) as connection:
        found = connection.execute(f"SELECT ts, {text} FROM (SELECT unnest(?) AS ts)", [times]).fetchall()
    assert dict(found) == {time: local(time, rules) for time in times}


@pytest.mark.slow
@pytest.mark.parametrize("chunk", [0, *(pytest.param(chunk, marks=pytest.mark.full) for chunk in range(1, CHUNKS))])
def test_offsets_of_all_zones(chunk: int) -> None:
    for zone in NAMES[chunk::CHUNKS]:
        rules, offsets = packaged(zone), offsets_of(zone)
        assert list(offsets.instants) == sorted(set(offsets.instants))
        for time in instants(zone):
            second = (time - dt.datetime(1970, 1, 1)) // dt.timedelta(seconds=1)
            place = sum(change <= second for change in offsets.instants)
            assert time + dt.timedelta(seconds=offsets.seconds[place]) == local(time, rules), (zone, time)


def test_an_hour_is_twice_there_in_autumn_and_missing_in_spring() -> None:
    rules = packaged("America/New_York")
    autumn = [local(dt.datetime(2026, 11, 1, hour, 30), rules).hour for hour in (4, 5, 6, 7)]
    spring = [local(dt.datetime(2026, 3, 8, hour, 30), rules).hour for hour in (5, 6, 7, 8)]
    assert (autumn, spring) == ([0, 1, 1, 2], [0, 1, 3, 4])


def test_names_are_exact_and_the_version_is_known() -> None:
    for name in ("america/new_york", "IST", "New York", "../UTC", "posix/UTC"):
        with pytest.raises(UsageError, match="zone must be an IANA name"):
            offsets_of(name)
    assert tzdata_version()[:4].isdigit()
    assert len(offsets_of("Europe/London").digest) == 64
    assert offsets_of("Europe/London").digest != offsets_of("Europe/Paris").digest
