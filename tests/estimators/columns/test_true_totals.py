"""Intervals of totals under a cap: for the true total, or without that end."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import emdp

HEADER = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, max_records_per_user = 5) "


def opened(tmp_path: Path, **others: Any) -> emdp.Session:
    # 40 users of 100 records each: a cap of 5 counts 200 of 4,000
    chance = random.Random(1)
    values = [chance.uniform(0, 4) for _ in range(4000)]
    rows = pl.DataFrame(
        {"u": [place // 100 for place in range(4000)], "x": values, "y": [value - 2 for value in values]}
    )
    space = emdp.Product(emdp.Interval("x", 0, 4), emdp.Interval("y", -2, 2))
    table = emdp.read(rows, user="u", space=space, users=40, name="t", **others)
    return emdp.Session(table, budget=emdp.UserDP(1e6), ledger=tmp_path / "l")


@pytest.fixture
def session(tmp_path: Path) -> Iterator[emdp.Session]:
    with emdp.testing.seeded(1), opened(tmp_path) as made:
        yield made


@pytest.mark.parametrize("condition", ["", " WHERE y > -9 OR x IS NULL"])
def test_a_capped_count_has_no_upper_end_and_a_lower_one_for_the_truth(session: emdp.Session, condition: str) -> None:
    # The known example of user-level-sql.md, 1.4, small: the interval around the capped total misses the true one.
    answer = session.sql(f"{HEADER} COUNT(*) AS n, SUM(x) AS s, SUM(y) AS d, SUM(x - 4) AS m FROM t{condition}")
    (row,) = answer.frame.rows(named=True)
    assert row["n_low"] <= 4000
    assert row["n_high"] is None
    assert row["s_low"] <= 8000
    assert row["s_high"] is None
    assert row["d_low"] is None
    assert row["d_high"] is None
    assert row["m_low"] is None
    assert row["m_high"] >= -8000
    capped = {own["query"]: own for own in answer.interval(of="capped").to_dicts()}
    assert capped["n"]["low"] <= 200 <= capped["n"]["high"] < 4000
    assert None not in [end for own in capped.values() for end in (own["low"], own["high"])]
    assert "users above 5 records count as 5" in answer.explain()


def test_a_declared_number_of_records_within_the_cap_keeps_both_ends(tmp_path: Path) -> None:
    header = HEADER.replace("= 5", "= 100")
    with emdp.testing.seeded(1), opened(tmp_path, records=100) as session:
        (row,) = session.sql(f"{header} COUNT(*) AS n FROM t").frame.rows(named=True)
    assert row["n_low"] <= 4000 <= row["n_high"]


def test_signed_totals_need_lose_neither_or_both_ends() -> None:
    # Counterexamples: under a cap of 1 a sum of numbers of both signs may rise or fall.
    for bag, truth, capped in (((3.0, -1.0, -1.0), 1.0, 1 / 3), ((-3.0, 1.0, 1.0), -1.0, -1 / 3)):
        assert sum(bag) == truth
        assert sum(bag) / len(bag) == pytest.approx(capped)
        assert (capped > truth) == (truth < 0)
