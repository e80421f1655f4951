"""Ratings: exact sizes, reproducible, dirty as declared, and alike real ones in the ways that matter."""

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from emdp.base.errors import UsageError
from emdp.cli.generate import app
from emdp.resources import load_dataset_module

ratings = load_dataset_module("ratings")


def made(folder, name="t.parquet", **options):
    options = {"users": 300, "records": 30_000} | options
    ratings.write_ratings(folder / name, **options)
    return pl.read_parquet(folder / name)


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    return made(tmp_path_factory.mktemp("clean"), users=2000, records=200_000, dirty=0.0)


@pytest.mark.parametrize("records", [1, 2, 999, 30_001])
@pytest.mark.parametrize("users", [1, 7, 300])
def test_the_number_of_rows_is_exact_and_users_are_listed(tmp_path, users, records):
    frame = made(tmp_path, users=users, records=records, chunk=1000, dirty=0.01)
    assert frame.height == records
    assert set(frame["user_id"]) <= set(ratings.rating_users(users).tolist())


def test_the_schema_and_what_is_returned(tmp_path):
    written = ratings.write_ratings(tmp_path / "t.parquet", users=5, records=10)
    assert pq.read_schema(tmp_path / "t.parquet").equals(ratings.SCHEMA)
    assert (written.rows, written.users) == (10, 5)
    assert written.bytes == (tmp_path / "t.parquet").stat().st_size


@pytest.mark.parametrize("items", [5000, 40])
def test_rows_depend_on_the_seed_alone(tmp_path, items):
    first = made(tmp_path, "a.parquet", seed=4, chunk=2000, items=items)
    made(tmp_path, "b.parquet", seed=4, chunk=2000, items=items)
    other = made(tmp_path, "c.parquet", seed=5, chunk=2000, items=items)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    for column in ("user_id", "item", "stars"):
        assert not first[column].equals(other[column])


def test_one_chunk_at_a_time_is_written(tmp_path):
    done = []
    before = pa.total_allocated_bytes()
    held = []

    def progress(rows):
        done.append(rows)
        held.append(pa.total_allocated_bytes())

    made(tmp_path, records=40_000, chunk=2000, progress=progress)
    file = pq.ParquetFile(tmp_path / "t.parquet")
    assert [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)] == [2000] * 20
    assert done == list(range(2000, 40_001, 2000))
    # A chunk of Arrow is 60 kB here, all twenty are 1.2 MB.
    assert max(held) - before < 300_000


def test_dirty_rows_are_as_many_as_declared_and_of_every_kind(tmp_path):
    records, dirty = 35_000, 0.02
    frame = made(tmp_path, records=records, dirty=dirty, chunk=3000)
    each = int(records * dirty) // len(ratings.DIRTY_KINDS)
    counts = {
        "null": frame["stars"].null_count(),
        "zero": (frame["stars"] == 0).sum(),
        "ten": (frame["stars"] == 10).sum(),
        "no genre": frame["genre"].null_count(),
        "duplicate": frame.height - frame.unique().height,
    }
    assert counts == dict.fromkeys(ratings.DIRTY_KINDS, each)
    assert frame["stars"].drop_nulls().is_in([0, 1, 2, 3, 4, 5, 10]).all()


def test_without_dirt_every_row_is_valid(clean):
    assert clean["stars"].is_between(1, 5).all()
    assert set(clean["genre"]) == set(ratings.GENRES)
    assert clean.null_count().sum_horizontal()[0] == 0
    assert clean["item"].is_between(1, 5000).all()


def test_an_item_has_one_genre(clean):
    assert clean.group_by("item").agg(pl.col("genre").n_unique())["genre"].max() == 1


def test_some_listed_users_have_no_record(clean):
    silent = ratings.silent_raters(2000)
    assert len(silent) == 40
    assert not set(silent.tolist()) & set(clean["user_id"])
    # With 100 ratings a person, few others have none.
    assert 1900 <= clean["user_id"].n_unique() <= 1960


def test_counts_are_long_tailed(clean):
    counts = clean["user_id"].value_counts()["count"]
    # A Poisson count of mean 100 has a 99 % point 1.23 times its median.
    assert counts.quantile(0.99) > 8 * counts.median()
    popular = clean["item"].value_counts()["count"].sort(descending=True)
    assert popular.head(500).sum() > 0.45 * clean.height
    assert popular.len() > 4500


def test_stars_look_like_ratings(clean):
    shares = clean["stars"].value_counts().sort("stars")["count"].to_numpy() / clean.height
    assert shares.argmax() == 3
    assert 3.4 < clean["stars"].mean() < 4.1
    assert 0.8 < clean["stars"].std() < 1.3
    assert 0.005 < shares[0] < shares[1] < shares[2]


def test_genres_people_and_items_differ_more_than_by_chance(clean):
    """Spreads of means, against those of the same stars shuffled (0.01 to 0.1)."""
    shuffled = clean.with_columns(stars=pl.Series(np.random.default_rng(1).permutation(clean["stars"].to_numpy())))

    def spread(frame, key):
        means = frame.group_by(key).agg(pl.col("stars").mean(), n=pl.len()).filter(pl.col("n") >= 50)
        return means["stars"].std()

    for key in ("genre", "user_id", "item"):
        assert spread(clean, key) > 3 * spread(shuffled, key)
    means = dict(clean.group_by("genre").agg(pl.col("stars").mean()).iter_rows())
    assert means["Documentary"] > means["Drama"] > means["Action"] > means["Horror"]


def test_people_rate_the_genres_they_like(clean):
    """Among people with 200 ratings, shares of comedies spread more than twice as much as by chance."""
    active = clean.with_columns(count=pl.len().over("user_id")).filter(pl.col("count") >= 200)
    own = active.group_by("user_id").agg(share=(pl.col("genre") == "Comedy").mean(), count=pl.col("count").first())
    whole = (active["genre"] == "Comedy").mean()
    by_chance = np.sqrt(whole * (1 - whole) * (1 / own["count"]).mean())
    assert own.height > 150
    assert own["share"].std() > 2 * by_chance


def test_times_are_in_the_year_and_evenings_are_busy(clean):
    local = clean["ts"].dt.offset_by("-5h")
    assert local.min() >= pl.Series(["2025-01-06"]).str.to_datetime(time_zone="UTC")[0]
    counts = np.bincount(local.dt.hour().to_numpy(), minlength=24)
    assert counts[20] > 4 * counts[4]


def test_csv_and_parts_hold_the_same_rows(tmp_path):
    frame = made(tmp_path, chunk=4000, dirty=0.01)
    for name in ("t.csv", "parts"):
        ratings.write_ratings(tmp_path / name, users=300, records=30_000, chunk=4000, dirty=0.01)
    read = duckdb.sql(f"SELECT * FROM read_csv('{tmp_path}/t.csv', sample_size=-1)").pl()
    numbers = ["user_id", "item", "stars"]
    assert read.select(numbers).equals(frame.select(pl.col(numbers).cast(pl.Int64)))
    assert pl.read_parquet(tmp_path / "parts" / "*.parquet").equals(frame)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"items": 9}, "^items must be at least 10"), ({"users": 0}, "^users"), ({"dirty": 0.5}, "^dirty")],
)
def test_numbers_out_of_range(tmp_path, options, message):
    with pytest.raises(UsageError, match=message):
        made(tmp_path, **options)


@pytest.mark.parametrize("rows", ["--records", "--ratings"])
def test_the_command(tmp_path, rows):
    out = tmp_path / "r.parquet"
    arguments = ["ratings", "--users", "50", rows, "2000", "--out", str(out), "--items", "30"]
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 0
    assert "2,000 rows, 50 listed users" in found.output
    assert pl.read_parquet(out)["item"].max() <= 30
    again = CliRunner().invoke(app, arguments)
    assert isinstance(again.exception, UsageError)
    assert CliRunner().invoke(app, [*arguments, "--force"]).exit_code == 0
