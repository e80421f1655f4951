"""The shipped queries and the language's README: every statement is checked, previewed and answered."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.questions.names import Names
from emdp.rows.types import Kind
from emdp.sessions.planning import plan_request
from emdp.tables.released import of_public

QUERIES = Path(__file__).resolve().parents[2] / "queries"
REAL = Path(__file__).resolve().parents[3] / "shared" / "data"
README = (QUERIES / "README.md").read_text()
FILES = sorted(QUERIES.glob("*_[0-9][0-9].sql"))
BOX = (40.48, -74.26, 40.92, -73.70)
WORDS = ["linux", "windows", "computer", "please", "thanks", "thank", "good", "bad", "hello", "the", "ubuntu"]

LIPSCHITZ = {
    "foursquare_01": {"km_to_midtown": 135.975},
    "foursquare_02": {"near_midtown": 135.975},
    "foursquare_03": {"km_to_midtown": 135.975, "drinks": 4, "hours_from_half_past_one_utc": 48},
    "gowalla_01": {"check_ins": 0},
    "irc_10": {},
}
"""Constants of the first queries, worked out by hand: the box is 67.988 km wide, the shares are 1/2, 1/4, 1/4."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the catalog and its public tables, with small made-up tables in the shape of the real ones."""
    place = tmp_path_factory.mktemp("queries")
    data = place / "data"
    data.mkdir()
    rng = np.random.default_rng(5)
    for name, users in (("foursquare_nyc", 1083), ("gowalla_nyc", 7115)):
        rows = 20_000
        start = datetime(2012, 4, 1, tzinfo=UTC)
        pl.DataFrame(
            {
                "user_id": rng.integers(0, users, rows).astype(np.int32),
                "ts": [start + timedelta(minutes=int(m)) for m in rng.integers(0, 400_000, rows)],
                "lat": rng.normal(40.73, 0.05, rows),
                "lon": rng.normal(-73.98, 0.07, rows),
                "place": rng.integers(0, 500, rows).astype(np.int32),
                "category": rng.choice(["Bar", "Office", "Park", "Zoo", None], rows).tolist(),
                "place_name": ["somewhere"] * rows,
            }
        ).with_columns(pl.col("ts").cast(pl.Datetime("ms", "UTC"))).write_parquet(data / f"{name}.parquet")
    chats = 5_000
    pl.DataFrame(
        {
            "user_id": [f"nick{n}" for n in rng.integers(0, 17_803, chats)],
            "ts": [datetime(2010, 1, 1)] * chats,
            "text": [" ".join(rng.choice([*WORDS, "unheard"], 6)) for _ in range(chats)],
            "is_action": [False] * chats,
            "is_bot": [False] * chats,
        }
    ).write_parquet(data / "irc_ubuntu.parquet")
    vectors = rng.normal(0, 2, (len(WORDS), 5)).astype(np.float32)
    pl.DataFrame({"word": WORDS, "vector": vectors}).write_parquet(data / "glove_twitter_25d_12k.parquet")
    return _copy(place, data)


def _copy(place: Path, data: Path) -> Path:
    catalog = (QUERIES / "catalog.toml").read_text().replace("../../shared/data", str(data))
    (place / "catalog.toml").write_text(catalog)
    shutil.copy(QUERIES / "kinds.csv", place / "kinds.csv")
    return place


def test_there_are_ten_of_each_table() -> None:
    names = [path.stem.rpartition("_")[0] for path in FILES]
    assert {name: names.count(name) for name in names} == {"foursquare": 10, "gowalla": 10, "irc": 10}


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_query_is_previewed_and_answered(path: Path, folder: Path, tmp_path: Path) -> None:
    _run(path, emdp.load_catalog(folder / "catalog.toml"), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_query_runs_on_the_real_table_where_it_is(path: Path, folder: Path, tmp_path: Path) -> None:
    if (REAL / "foursquare_nyc.parquet").exists():
        _copy(tmp_path, REAL)
        _run(path, emdp.load_catalog(tmp_path / "catalog.toml"), tmp_path)


def _run(path: Path, catalog: emdp.Catalog, place: Path) -> None:
    text = path.read_text()
    table = path.stem.rpartition("_")[0]
    with emdp.testing.seeded(3):
        session = emdp.Session(
            catalog.table(table), budget=catalog.budget(table), ledger=place / "q.ledger", public=catalog.public()
        )
        with session:
            frame = session.preview(text).frame
            answers = session.sql_batch(text)
    assert frame.get_column("affordable").min() >= 1
    assert frame.select("lipschitz", "low", "high", "noise_scale").null_count().sum_horizontal().item() == 0
    costly = [answer for answer in answers if not answer.noise.is_exact]
    assert frame.get_column("share").sum() == pytest.approx(len(costly))
    for name, constant in LIPSCHITZ.get(path.stem, {}).items():
        assert frame.filter(query=name).get_column("lipschitz").item() == pytest.approx(constant, rel=1e-3), name
    for answer in answers:
        shown, exact = answer.frame, answer.exact_frame
        for column in answer.columns:
            assert {column.name, f"{column.name}_low", f"{column.name}_high"} <= set(shown.columns)
            own = exact.get_column(column.name).drop_nulls().drop_nans()
            assert column.low - 1e-9 <= own.min()
            assert own.max() <= column.high + 1e-9


def _sales() -> Names:
    zones = pl.DataFrame({"category": ["bar", "cafe"], "zone": ["north", "south"]})
    kinds = {"user_id": Kind.BIGINT, "amount": Kind.DOUBLE, "rating": Kind.BIGINT} | dict.fromkeys(
        ("title", "note", "category"), Kind.TEXT
    )
    columns = {"user_id": "BIGINT", "amount": "DOUBLE", "rating": "BIGINT"}
    columns |= dict.fromkeys(("title", "note", "category"), "VARCHAR")
    return Names(
        "sales",
        "user_id",
        emdp.Interval("amount", 0, 200),
        columns,
        1000,
        public={"zones": zones},
        kinds=kinds,
        public_kinds={"zones": dict.fromkeys(zones.columns, Kind.TEXT)},
    )


def _names(table: str) -> Names:
    if table == "sales":
        return _sales()
    box = emdp.Geo("lat", "lon", box=BOX, unit="km")
    vectors = {"word": ["linux", "windows", "coffee"], "vector": [[2.0, 0.0], [1.0, 0.0], [0.0, 1.0]]}
    spaces = {
        "prices": emdp.Interval("price", 0, 50),
        "visits": box,
        "hours": emdp.Cycle("hour(ts)", 24),
        "months": emdp.Interval("month(ts)", 1, 12),
        "points": emdp.Vector(["x", "y"], box=[(0, 3), (0, 4)]),
        "words": emdp.Embedding("word", vectors),
        "trips": emdp.Product(box, emdp.Categories("category", ["bar", "cafe", "park"])),
    }
    space = spaces[table]
    columns = {"user_id": "BIGINT", **dict.fromkeys(space.columns, "DOUBLE"), "ts": "TIMESTAMP"}
    return Names(table, "user_id", space, columns, 1000)


def _examples() -> Iterator[tuple[str, float]]:
    for line in README.splitlines():
        found = re.match(r"\| .* \| `SELECT (.*)` \| ([\d.]+) \|$", line)
        if found:
            yield f"SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) {found[1]}".replace("\\|", "|"), float(found[2])


@pytest.mark.parametrize(("text", "constant"), list(_examples()))
def test_a_function_has_the_constant_that_the_readme_states(text: str, constant: float) -> None:
    (planned,) = plan_request(text, _names(text.rpartition("FROM ")[2]))
    assert planned.plan.columns[0].lipschitz == pytest.approx(constant, rel=1e-4)


def test_every_function_of_the_readme_has_an_example() -> None:
    assert len(list(_examples())) >= 22


@pytest.mark.quarter
@pytest.mark.parametrize("text", re.findall(r"```sql\n(.*?)```", README, re.DOTALL))
def test_the_blocks_of_the_readme_are_accepted(text: str) -> None:
    for statement in filter(str.strip, text.split(";")):
        names = _names(re.search(r"FROM (\w+)", statement)[1])  # type: ignore[index]
        plan_request(statement, replace(names, compute_public=of_public))
