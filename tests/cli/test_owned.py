"""Statements over rows with owners from the command line: check, preview, query, and the stored answer."""

import random
from pathlib import Path

import polars as pl
import pytest

from emdp.cli import main

CATALOG = """
ledger = "l.ledger"
[tables.sales]
source = "sales.parquet"
user = "who"
users = 40
space = { kind = "interval", col = "price", low = 0, high = 50 }
budget = { epsilon = 2.5 }
"""

STATEMENT = (
    "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, max_records_per_user = 20) "
    "rating, COUNT(*) AS n, AVG(price) AS mean FROM sales WHERE rating BETWEEN 1 AND 3 GROUP BY rating ORDER BY rating"
)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    chance = random.Random(2)
    rows = {
        "who": [chance.randrange(40) for _ in range(600)],
        "price": [chance.uniform(0, 50) for _ in range(600)],
        "rating": [chance.choice([1, 2, 3, 4, None]) for _ in range(600)],
    }
    pl.DataFrame(rows).write_parquet("sales.parquet")
    Path("emdp.toml").write_text(CATALOG)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    out, err = capsys.readouterr()
    return int(caught.value.code or 0), out, err


@pytest.mark.slow
def test_it_is_previewed_answered_and_stored(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "preview", STATEMENT)
    assert status == 0
    assert "COUNT(*)" in out
    status, out, err = run(capsys, "query", STATEMENT, "--csv", "out.csv")
    assert (status, "remaining epsilon = 1.5" in err) == (0, True)
    frame = pl.read_csv("out.csv")
    assert frame.get_column("rating").to_list() == [1, 2, 3]
    assert frame.get_column("n_high").null_count() == 3
    assert "nothing spent" in run(capsys, "query", STATEMENT)[2]
    assert run(capsys, "check", STATEMENT)[0] == 0


def test_a_refusal_spends_nothing_and_says_what_to_write(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "query", STATEMENT.replace("AVG(price)", "AVG(rating + who)"))
    assert (status, out) == (2, "")
    assert "CLAMP(rating + who, 0, 100)" in err
    assert run(capsys, "query", STATEMENT)[2].count("remaining epsilon = 1.5") == 1
