"""The shipped reports, as a person runs them: those in queries/ and in examples/, on generated and on real tables."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from emdp.cli import main
from emdp.reports.export import INDEX, MANIFEST
from emdp.resources import load_dataset_module

ROOT = Path(__file__).resolve().parents[2]
QUERIES, EXAMPLES = ROOT / "queries", ROOT / "examples" / "reports"
REAL = ROOT.parent / "shared" / "data"
SHIPPED = ("activity", "places", "ratings", "words")
"""Reports of queries/, on tables of `emdp generate`."""

TABLES = {
    "foursquare": ("foursquare_nyc",),
    "gowalla": ("gowalla_nyc",),
    "irc": ("irc_ubuntu", "glove_twitter_25d_12k"),
}
"""Reports of examples/reports, and the real tables of each."""

KINDS = {"bar", "distribution", "map"}
LARGEST_PAGE = 5_000_000
NEUTRAL_WORDS = ["coffee", "good", "bad", "the", "ubuntu"]


@dataclass(frozen=True)
class Place:
    """Where a report finds its tables: a catalog, and the ledger that it names."""

    catalog: Path
    ledger: Path


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return int(caught.value.code or 0), out, err


def entries_of(definition: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = tomllib.loads(definition.read_text())["entry"]
    return entries


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the comments of queries/generated.toml say how to make, of fewer rows."""
    place = tmp_path_factory.mktemp("generated")
    load_dataset_module("checkins").write_checkins(place / "checkins.parquet", users=2000, records=20_000)
    load_dataset_module("messages").write_messages(
        place / "messages.parquet", place / "words.parquet", users=2000, records=1000
    )
    load_dataset_module("ratings").write_ratings(place / "ratings.parquet", users=2000, records=10_000)
    with duckdb.connect() as connection:
        connection.execute(
            f"""COPY (SELECT *, strftime(ts, '%G-W%V') AS week FROM '{place}/checkins.parquet')
                TO '{place}/weekly' (FORMAT parquet, PARTITION_BY (week), OVERWRITE_OR_IGNORE)"""
        )
    return place


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with small tables of the columns of the real ones; nobody is in them."""
    data = tmp_path_factory.mktemp("made_up")
    rng = np.random.default_rng(7)
    for table, users in (("foursquare_nyc", 1083), ("gowalla_nyc", 7115)):
        _check_ins(rng, users).write_parquet(data / f"{table}.parquet")
    topics = pl.read_csv(EXAMPLES / "topics.csv").get_column("word").to_list()
    words = sorted({*topics, *NEUTRAL_WORDS})
    messages = 2000
    pl.DataFrame(
        {
            "user_id": [f"nick{number}" for number in rng.integers(0, 17_803, messages)],
            "ts": [datetime(2010, 1, 1)] * messages,
            "text": [" ".join(rng.choice([*words, "unheard"], 6)) for _ in range(messages)],
            "is_action": [False] * messages,
            "is_bot": [False] * messages,
        }
    ).write_parquet(data / "irc_ubuntu.parquet")
    vectors = rng.normal(0, 2, (len(words), 5)).astype(np.float32)
    pl.DataFrame({"word": words, "vector": vectors}).write_parquet(data / "glove_twitter_25d_12k.parquet")
    return data


def _check_ins(rng: np.random.Generator, users: int) -> pl.DataFrame:
    rows = 5000
    start = datetime(2012, 4, 1, tzinfo=UTC)
    return pl.DataFrame(
        {
            "user_id": rng.integers(0, users, rows).astype(np.int32),
            "ts": [start + timedelta(minutes=int(minutes)) for minutes in rng.integers(0, 400_000, rows)],
            "lat": rng.normal(40.73, 0.2, rows),
            "lon": rng.normal(-73.98, 0.2, rows),
            "place": rng.integers(0, 500, rows).astype(np.int32),
            "category": rng.choice(["Bar", "Office", "Park", "Zoo", None], rows).tolist(),
            "place_name": ["somewhere"] * rows,
        }
    ).with_columns(pl.col("ts").cast(pl.Datetime("ms", "UTC")))


def copied(catalog: Path, folder: Path, paths: Mapping[str, object]) -> Place:
    """Return a copy of a catalog with other paths, and a ledger of its own."""
    text = catalog.read_text()
    for old, new in paths.items():
        assert f'"{old}' in text
        text = text.replace(f'"{old}', f'"{new}')
    copy, ledger = folder / "emdp.toml", folder / "own.ledger"
    copy.write_text(re.sub(r'^ledger = ".*"$', f'ledger = "{ledger}"', text, flags=re.MULTILINE))
    return Place(copy, ledger)


def shipped_catalog(folder: Path, tables: Path) -> Place:
    return copied(QUERIES / "generated.toml", folder, {"../": f"{tables}/"})


def example_catalog(folder: Path, data: Path) -> Place:
    paths = {
        "../../../shared/data": data,
        "../../queries": QUERIES,
        "topics.csv": EXAMPLES / "topics.csv",
    }
    return copied(EXAMPLES / "emdp.toml", folder, paths)


def check(definition: Path, place: Place, capsys: pytest.CaptureFixture[str], *options: str) -> Path:
    """Run a report whole, twice, and look at all that it leaves; return its folder."""
    count = len(entries_of(definition))
    folder = place.catalog.parent / "page"
    command = ("report", definition, "-C", place.catalog, *options)
    status, out, _ = run(capsys, *command, "--dry-run")
    assert (status, out.count(": costs ")) == (0, count)
    assert not place.ledger.exists()

    for paid, stored in ((count, 0), (0, count)):
        status, out, err = run(capsys, *command, "--out", folder)
        assert (status, out) == (0, f"{folder / INDEX}\n"), err
        assert f"{paid} entries paid, {stored} stored answers used\n" in err
        assert "failed" not in err
        status, _, err = run(capsys, "ledger", "verify", place.ledger, "--manifest", folder / MANIFEST)
        assert status == 0, err
    status, out, _ = run(capsys, *command, "--dry-run")
    assert (status, out.count(": stored, costs nothing")) == (0, count)

    for suffix in ("csv", "parquet"):
        assert len(list(folder.glob(f"*.{suffix}"))) == count
    check_page(definition, (folder / INDEX).read_text())
    for path in folder.glob("*.parquet"):
        check_intervals(pl.read_parquet(path))
    return folder


def check_page(definition: Path, page: str) -> None:
    """Check that every entry stands there, in order, with its picture."""
    assert len(page) < LARGEST_PAGE
    body = page[page.index("<body") :]
    sections = re.findall(r"<section\b.*?</section>", body, re.DOTALL)
    for entry in entries_of(definition):
        heading = re.compile(rf"<h3\b[^>]*>[^<]*{re.escape(entry['title'])}")
        (own,) = [section for section in sections if heading.search(section)]
        assert own.count("<svg") >= 1, entry["title"]


def check_intervals(frame: pl.DataFrame) -> None:
    names = [name.removesuffix("_low") for name in frame.columns if name.endswith("_low")]
    assert names
    for name in names:
        outside = frame.filter(~pl.col(name).is_between(f"{name}_low", f"{name}_high"))
        assert outside.is_empty(), outside


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_report(name: str, generated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(QUERIES / f"{name}.toml", shipped_catalog(tmp_path, generated), capsys)


@pytest.mark.slow
def test_a_second_week_is_paid_and_joined_to_the_first(
    generated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    definition, place = QUERIES / "activity.toml", shipped_catalog(tmp_path, generated)
    count = len(entries_of(definition))
    pages = []
    for week in ("2025-W47", "2025-W48"):
        folder = tmp_path / week
        status, _, err = run(capsys, "report", definition, "-C", place.catalog, "--period", week, "--out", folder)
        assert status == 0, err
        assert f"{count} entries paid, 0 stored answers used\n" in err
        pages.append((folder / INDEX).read_text())
    first, second = pages
    assert "2025-W48" not in first
    assert "2025-W47" in second


def modes() -> list[tuple[str, str]]:
    """Every example on made-up tables, and on the real ones where those are."""
    here = [name for name, tables in TABLES.items() if all((REAL / f"{own}.parquet").is_file() for own in tables)]
    return [(name, "made up") for name in TABLES] + [(name, "real") for name in here]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "mode"), modes())
def test_an_example(name: str, mode: str, made_up: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(EXAMPLES / f"{name}.toml", example_catalog(tmp_path, REAL if mode == "real" else made_up), capsys)


def test_every_report_is_known() -> None:
    found = {path.stem for path in QUERIES.glob("*.toml") if "entry" in tomllib.loads(path.read_text())}
    assert found == set(SHIPPED)
    found = {path.stem for path in EXAMPLES.glob("*.toml") if "entry" in tomllib.loads(path.read_text())}
    assert found == set(TABLES)


def test_the_examples_show_every_picture_and_way_to_a_level() -> None:
    entries = [entry for name in TABLES for entry in entries_of(EXAMPLES / f"{name}.toml")]
    assert {entry["picture"] for entry in entries} == KINDS
    assert sum("weight" in entry for entry in entries) >= 3
    assert sum("target_error" in entry for entry in entries) >= 3
    assert sum("OPTIONS" in entry["query"] for entry in entries) >= 3
    for name in TABLES:
        own = entries_of(EXAMPLES / f"{name}.toml")
        assert 8 <= len(own) <= 12
        assert all(entry["text"] for entry in own)
