"""Check-ins: exact sizes, reproducible, dirty as declared, and alike real ones in the ways that matter."""

import itertools

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from emdp.base.errors import UsageError
from emdp.resources import load_dataset_module

checkins = load_dataset_module("checkins")

SOUTH, WEST, NORTH, EAST = checkins.city_box()


def made(folder, name="t.parquet", **options):
    options = {"users": 300, "records": 30_000} | options
    checkins.write_checkins(folder / name, **options)
    return pl.read_parquet(folder / name)


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    return made(tmp_path_factory.mktemp("clean"), users=1000, records=100_000, dirty=0.0)


def km(lat, lon, to_lat, to_lon):
    return np.hypot(111.2 * (lat - to_lat), 84.2 * (lon - to_lon))


@pytest.mark.quarter
@pytest.mark.parametrize("records", [1, 2, 999, 30_001])
@pytest.mark.parametrize("users", [1, 7, 300])
def test_the_number_of_rows_is_exact_and_users_are_listed(tmp_path, users, records):
    frame = made(tmp_path, users=users, records=records, chunk=1000, dirty=0.01)
    assert frame.height == records
    assert set(frame["user_id"]) <= set(checkins.checkin_users(users).tolist())


def test_the_schema_and_what_is_returned(tmp_path):
    written = checkins.write_checkins(tmp_path / "t.parquet", users=5, records=10)
    assert pq.read_schema(tmp_path / "t.parquet").equals(checkins.SCHEMA)
    assert (written.rows, written.users) == (10, 5)
    assert written.bytes == (tmp_path / "t.parquet").stat().st_size


@pytest.mark.parametrize("venues", [None, 50])
def test_rows_depend_on_the_seed_alone(tmp_path, venues):
    first = made(tmp_path, "a.parquet", seed=4, chunk=2000, venues=venues)
    again = made(tmp_path, "b.parquet", seed=4, chunk=2000, venues=venues)
    other = made(tmp_path, "c.parquet", seed=5, chunk=2000, venues=venues)
    assert first.equals(again)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert not first["user_id"].equals(other["user_id"])
    assert not first["lat"].equals(other["lat"])


def test_one_chunk_at_a_time_is_in_memory(tmp_path):
    held, sizes, done = [], [], []

    def progress(rows):
        held.append(pa.total_allocated_bytes())
        sizes.append(sum(file.stat().st_size for file in tmp_path.iterdir()))
        done.append(rows)

    before = pa.total_allocated_bytes()
    made(tmp_path, records=40_000, chunk=2000, progress=progress)
    file = pq.ParquetFile(tmp_path / "t.parquet")
    assert [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)] == [2000] * 20
    assert done == list(range(2000, 40_001, 2000))
    assert all(later > earlier for earlier, later in itertools.pairwise(sizes))
    # Arrow counts 33 kB a chunk (numbers stay numpy's): one chunk measured 41 kB, twenty held 670 kB.
    assert max(held) - before < 200_000


def test_the_order_is_by_time_within_chunks_and_nearly_across(tmp_path):
    frame = made(tmp_path, chunk=5000)
    moments = frame["ts"].dt.epoch("s").to_numpy()
    for start in range(0, len(moments), 5000):
        assert np.all(np.diff(moments[start : start + 5000]) >= 0)
    assert np.diff(moments).min() > -7 * 3600


def test_dirty_rows_are_as_many_as_declared_and_of_every_kind(tmp_path):
    records, dirty = 35_000, 0.02
    frame = made(tmp_path, records=records, dirty=dirty, chunk=3000)
    each = int(records * dirty) // len(checkins.DIRTY_KINDS)
    lat, lon = pl.col("lat"), pl.col("lon")
    is_swapped = lat.is_between(WEST, EAST) & lon.is_between(SOUTH, NORTH)
    is_outside = (lat > NORTH) & (lon < EAST) & lat.is_not_nan() & lon.is_not_nan() & ~is_swapped
    counts = {
        "null": frame.filter(lat.is_null() & lon.is_null()).height,
        "half null": frame.filter(lat.is_not_null() & lon.is_null()).height,
        "nan": frame.filter(lat.is_nan() & lon.is_nan()).height,
        "zero": frame.filter((lat == 0) & (lon == 0)).height,
        "outside": frame.filter(is_outside).height,
        "swapped": frame.filter(is_swapped).height,
        "duplicate": frame.height - frame.unique().height,
    }
    assert counts == dict.fromkeys(checkins.DIRTY_KINDS, each)
    inside = frame.filter(lat.is_between(SOUTH, NORTH) & lon.is_between(WEST, EAST))
    assert inside.height == records - 6 * each


def test_without_dirt_every_row_is_valid(clean):
    assert clean["lat"].is_between(SOUTH, NORTH).all()
    assert clean["lon"].is_between(WEST, EAST).all()
    assert clean.unique().height == clean.height
    assert clean.drop("category").null_count().sum_horizontal()[0] == 0


def test_some_listed_users_have_no_record(clean):
    silent = checkins.silent_users(1000)
    assert len(silent) == 20
    assert not set(silent.tolist()) & set(clean["user_id"])
    assert 950 <= clean["user_id"].n_unique() <= 980


def test_the_seed_chooses_the_silent_users(tmp_path):
    silent = set(checkins.silent_users(300, seed=8).tolist())
    assert silent != set(checkins.silent_users(300, seed=9).tolist())
    assert not silent & set(made(tmp_path, seed=8)["user_id"])


def test_counts_are_long_tailed(clean):
    counts = clean["user_id"].value_counts()["count"]
    # A Poisson count of mean 100 has a 99 % point 1.23 times its median.
    assert counts.quantile(0.99) > 6 * counts.median()
    assert counts.max() > 12 * counts.median()
    assert counts.quantile(0.05) < counts.median() / 4


def test_a_few_places_hold_most_of_a_persons_records(clean):
    per_place = clean.group_by("user_id", "venue").len().sort("len", descending=True)
    top = per_place.group_by("user_id").agg(pl.col("len").head(5).sum() / pl.col("len").sum(), n=pl.col("len").sum())
    shares = top.filter(pl.col("n") >= 50)["len"]
    assert shares.median() > 0.6
    assert shares.max() < 1.0


def test_people_stay_near_home(clean):
    home = (
        clean.filter(pl.col("category") == "Residential Building")
        .group_by("user_id")
        .agg(home_lat=pl.col("lat").median(), home_lon=pl.col("lon").median())
    )
    paired = clean.join(home, on="user_id")
    own = km(*(paired[name].to_numpy() for name in ("lat", "lon", "home_lat", "home_lon")))
    order = np.random.default_rng(0).permutation(len(own))
    strangers = km(
        paired["lat"].to_numpy(),
        paired["lon"].to_numpy(),
        *(paired[c].to_numpy()[order] for c in ("home_lat", "home_lon")),
    )
    assert np.median(own) < 0.5 * np.median(strangers)
    assert np.quantile(own, 0.95) > 3.0


def test_hours_are_local_time_with_peaks_and_weekends(clean):
    local = clean["ts"].dt.offset_by("-5h")
    hours = local.dt.hour().cast(float) + local.dt.minute().cast(float) / 60 + local.dt.second().cast(float) / 3600
    assert np.allclose(hours.to_numpy(), clean["hour"].to_numpy(), atol=1e-9)
    assert clean["hour"].is_between(0, 24, closed="left").all()
    counts = clean.with_columns(weekend=local.dt.weekday() > 5, whole=pl.col("hour").floor())
    weekday = counts.filter(~pl.col("weekend"))["whole"].value_counts().sort("whole")["count"].to_numpy()
    weekend = counts.filter(pl.col("weekend"))["whole"].value_counts().sort("whole")["count"].to_numpy()
    assert weekday[8] > 4 * weekday[3]
    assert weekday[18] > 1.1 * weekday[15]
    # The morning peak is a weekday's alone.
    assert weekday[8] / weekday.sum() > 1.5 * weekend[8] / weekend.sum()


def test_work_is_for_weekdays_and_bars_are_for_nights(clean):
    weekend = clean["ts"].dt.offset_by("-5h").dt.weekday() > 5
    office = (clean["category"] == "Office").fill_null(False)
    assert office.filter(~weekend).mean() > 2 * office.filter(weekend).mean()
    bar, coffee = (clean.filter(pl.col("category") == name)["hour"] for name in ("Bar", "Coffee Shop"))
    assert coffee.is_between(6, 11).mean() > 2 * bar.is_between(6, 11).mean()


def test_categories_are_the_listed_ones_and_belong_to_venues(clean):
    listed = checkins.venue_categories()
    assert 18 <= len(listed) <= 25
    assert set(clean["category"].drop_nulls()) == set(listed)
    assert 0.06 < clean["category"].is_null().mean() < 0.2
    assert clean.group_by("venue").agg(pl.col("category").n_unique())["category"].max() == 1


def test_free_coordinates_are_all_different_and_near_the_venue(clean):
    assert clean.select(pl.struct("lat", "lon").n_unique()).item() > 0.99 * clean.height
    shops = clean.filter(pl.col("category") == "Coffee Shop")
    spread = shops.group_by("venue").agg(pl.col("lat").std(), n=pl.len()).filter(pl.col("n") > 30)["lat"]
    assert 0.5 * 0.015 / 111.2 < spread.median() < 2 * 0.015 / 111.2


def test_given_venues_are_the_only_points(tmp_path):
    frame = made(tmp_path, venues=40, dirty=0.0)
    points = frame.select(pl.struct("lat", "lon").n_unique()).item()
    assert 20 < points <= 40
    assert frame.group_by("venue").agg(pl.struct("lat", "lon").n_unique())["lat"].max() == 1
    assert frame["venue"].max() < 40


def test_the_smallest_city_works(tmp_path):
    for seed in range(5):
        assert made(tmp_path, venues=10, records=1000, seed=seed)["venue"].n_unique() > 1
    with pytest.raises(UsageError, match=r"^venues must be at least 10"):
        made(tmp_path, venues=9)


def test_csv_and_parts_hold_the_same_rows(tmp_path):
    frame = made(tmp_path, chunk=4000, dirty=0.01)
    for name in ("t.csv", "parts"):
        checkins.write_checkins(tmp_path / name, users=300, records=30_000, chunk=4000, dirty=0.01)
    columns = "user_id, epoch_ms(ts) AS ts, lat, lon, venue, category, hour"
    query = f"SELECT {columns} FROM read_csv('{tmp_path}/t.csv', sample_size=-1)"
    read = duckdb.sql(query).pl()
    wanted = frame.with_columns(ts=pl.col("ts").dt.epoch("ms"), user_id=pl.col("user_id").cast(pl.Int64))
    assert read.equals(wanted.with_columns(venue=pl.col("venue").cast(pl.Int64)).select(read.columns))
    assert len(list((tmp_path / "parts").iterdir())) == 8
    assert pl.read_parquet(tmp_path / "parts" / "*.parquet").equals(frame)


def test_equal_users_have_as_many_records_each(tmp_path):
    frame = made(tmp_path, equal=True, dirty=0.2, chunk=4000)
    counts = frame.group_by("user_id").len()
    assert len(counts) == 300
    assert counts["len"].unique().to_list() == [100]
    # Long-tailed otherwise, with silent users.
    assert made(tmp_path)["user_id"].n_unique() < 300
    with pytest.raises(UsageError, match=r"^records must be a multiple of the 300 users"):
        made(tmp_path, equal=True, records=30_001)
