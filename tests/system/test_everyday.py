"""The everyday questions of queries/everyday, previewed and answered on made-up tables and on the real ones."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.sessions.planning import plan_request

FOLDER = Path(__file__).resolve().parents[2] / "queries" / "everyday"
REAL = Path(__file__).resolve().parents[3] / "shared" / "data"
FILES = sorted(FOLDER.glob("*.sql"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small tables in the shape of the real ones."""
    place = tmp_path_factory.mktemp("everyday")
    rng = np.random.default_rng(5)
    rows = 4_000
    for name, users, start in (("foursquare_nyc", 1083, 2012), ("gowalla_nyc", 7115, 2010)):
        pl.DataFrame(
            {
                "user_id": rng.integers(0, users, rows).astype(np.int32),
                "ts": [
                    datetime(start, 4, 1, tzinfo=UTC) + timedelta(minutes=int(m)) for m in rng.integers(0, 4e5, rows)
                ],
                "lat": rng.normal(40.73, 0.05, rows),
                "lon": rng.normal(-73.98, 0.07, rows),
                "place": rng.integers(0, 50, rows).astype(np.int32),
                "category": rng.choice(["Bar", "Gym", "Park", None], rows).tolist(),
                "place_name": ["somewhere"] * rows,
            }
        ).with_columns(pl.col("ts").cast(pl.Datetime("ms", "UTC"))).write_parquet(place / f"{name}.parquet")
    pl.DataFrame(
        {
            "user_id": [f"nick{n}" for n in rng.integers(0, 17_803, rows)],
            "ts": [datetime(2010, 1, 1)] * rows,
            "text": rng.choice(["thanks a lot", "Müller?", "hi", ""], rows).tolist(),
            "is_action": [False] * rows,
            "is_bot": [False] * rows,
        }
    ).write_parquet(place / "irc_ubuntu.parquet")
    return place


def test_there_are_twenty() -> None:
    assert len(FILES) == 20
    assert all(path.read_text().startswith("-- ") for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_question_is_planned(path: Path, made: Path, tmp_path: Path) -> None:
    loaded = _catalog(made, tmp_path)
    name = path.stem.partition("_")[2]
    (planned,) = plan_request(path.read_text(), loaded.names(name), loaded.budgets(name))
    assert planned.plan.guarantee.level == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_question_is_previewed_and_answered(path: Path, made: Path, tmp_path: Path) -> None:
    _ask(path, made, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_question_is_answered_on_the_real_table_where_it_is(path: Path, tmp_path: Path) -> None:
    if (REAL / "foursquare_nyc.parquet").exists():
        _ask(path, REAL, tmp_path)


def _ask(path: Path, data: Path, place: Path) -> None:
    text, name = path.read_text(), path.stem.partition("_")[2]
    loaded = _catalog(data, place)
    with (
        emdp.testing.seeded(3),
        emdp.Session(loaded.table(name), budget=loaded.budget(name), ledger=place / "l") as session,
    ):
        (shown,) = session.preview(text).statements
        assert shown.affordable
        answer = session.sql(text)
        assert session.spent().level <= 1.0
    assert [column.name for column in answer.columns] == [column.name for column in shown.columns]


def _catalog(data: Path, place: Path) -> emdp.Catalog:
    catalog = place / "catalog.toml"
    catalog.write_text((FOLDER / "catalog.toml").read_text().replace("../../../shared/data", str(data)))
    return emdp.load_catalog(catalog)
