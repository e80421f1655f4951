"""Ledgers, catalogs and reports of earlier versions open, show what they showed, and are charged further."""

import contextlib
import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

import emdp

from .commands import run
from .form import differences
from .keep import laid_out, looked_at

KEPT = sorted((Path(__file__).parent / "kept").glob("*/*"))
NEW = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 7) AVG(x / 3) AS third FROM visits"


@pytest.fixture(params=KEPT, ids=lambda path: "-".join(path.parts[-2:]))
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """Return a folder of what was kept, and a copy of it that may be written to."""
    with emdp.testing.seeded(5) if request.param.name == "switched" else contextlib.nullcontext():
        laid_out(request.param, tmp_path)
        yield request.param, tmp_path


def test_it_shows_what_it_showed(kept: tuple[Path, Path]) -> None:
    source, folder = kept
    before = json.loads((source / "shown.json").read_text(encoding="utf-8"))
    assert not (found := list(differences(before, looked_at(folder)))), "\n".join(found)


def test_it_is_charged_further(kept: tuple[Path, Path]) -> None:
    _, folder = kept
    with emdp.load_catalog(folder / "emdp.toml").session("visits") as session:
        before, entries = session.remaining().level, len(session.history())
        assert session.sql(NEW).spent == emdp.EmdDP(7.0)
        assert session.remaining().level == before - 7.0
        assert len(session.history()) == entries + 1
        with pytest.raises(emdp.BudgetExceededError):
            session.mean(emdp.col("x"), alpha=before - 6.0)
    assert run(folder, ["ledger", "verify", "city.ledger"])["out"].startswith("ok\n")


def test_a_changed_entry_is_found(kept: tuple[Path, Path], tmp_path: Path) -> None:
    source, _ = kept
    forged, text = tmp_path / "forged", (source / "ledger.sql").read_text(encoding="utf-8")
    shutil.copytree(source, forged)
    (forged / "ledger.sql").write_text(text.replace('"alpha":2.0', '"alpha":1.0', 1), encoding="utf-8")
    (tmp_path / "city.ledger").unlink()
    for path in tmp_path.glob("city.ledger-*"):
        path.unlink()
    with contextlib.suppress(sqlite3.Error):
        laid_out(forged, tmp_path)
    assert run(tmp_path, ["ledger", "verify", "city.ledger"])["status"] == 2


def test_something_is_kept() -> None:
    assert len(KEPT) >= 2
