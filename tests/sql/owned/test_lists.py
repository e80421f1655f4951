"""Public lists of groups that follow from conditions: through sub-queries, public tables, alternatives, components."""

from pathlib import Path

import polars as pl
import pytest

import emdp
from emdp.base.errors import SqlError

HEADER = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 9) "
ROWS = pl.DataFrame(
    {"u": [1, 2, 2], "shop": [1, 2, 3], "x": [0.5, 1.5, 2.5], "day": pl.Series(["2024-02-03"] * 3).str.to_date()}
)
SHOPS = pl.DataFrame({"shop": [1, 2, 3], "town": ["Rome", "Oslo", "Bari"], "land": [7, 8, 7], "size": [1.5, None, 4.0]})
LANDS = pl.DataFrame({"land": [7, 8], "label": ["Italy", "Norway"]})
JOINED = "FROM t JOIN shops s USING (shop) JOIN lands l ON s.land = l.land "


@pytest.fixture
def session(tmp_path: Path) -> emdp.Session:
    space = emdp.Product(emdp.Interval("x", 0, 9), emdp.Interval("year(day)", 2022, 2025))
    table = emdp.read(ROWS, user="u", space=space, users=3, name="t")
    public = {"shops": SHOPS, "lands": LANDS}
    return emdp.Session(table, budget=emdp.UserDP(1e6), ledger=tmp_path / "l", public=public)


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (f"town AS k, COUNT(*) {JOINED} GROUP BY town", ["Bari", "Oslo", "Rome"]),
        (f"town AS k, COUNT(*) {JOINED} WHERE label = 'Italy' GROUP BY town", ["Bari", "Rome"]),
        (f"town AS k, COUNT(*) {JOINED} WHERE label IN ('Italy', 'Norway') AND town <> 'x' GROUP BY 1", None),
        (f"label AS k, COUNT(*) {JOINED} WHERE town = 'Oslo' GROUP BY label", ["Norway"]),
        ("k, COUNT(*) FROM (SELECT town AS k, label, x FROM shops s, lands l, t WHERE s.shop = t.shop AND s.land = "
         "l.land AND label = 'Italy') q WHERE x > 0 GROUP BY k", ["Bari", "Rome"]),
        (f"town AS k, COUNT(*) {JOINED} WHERE town = 'Rome' AND x > 1 OR town = 'Oslo' GROUP BY 1", ["Oslo", "Rome"]),
        ("town AS k, COUNT(*) FROM t LEFT JOIN shops s ON t.shop = s.shop AND town = 'Rome' GROUP BY town",
         ["Bari", "Oslo", "Rome"]),
        ("EXTRACT(year FROM day) AS k, COUNT(*) FROM t GROUP BY k", [2022, 2023, 2024, 2025]),
        ("shop AS k, COUNT(*) FROM t WHERE shop IN (2, NULL, 5) GROUP BY shop", [2, 5]),
        # A join makes the private column equal to a public one, whose values are its list.
        ("shop AS k, COUNT(*) FROM t JOIN shops USING (shop) GROUP BY shop", [1, 2, 3]),
        ("t.shop AS k, COUNT(*) FROM t JOIN shops s ON s.shop = t.shop WHERE town = 'Rome' GROUP BY 1", [1]),
    ],
)  # fmt: skip
def test_groups_are_those_that_public_facts_allow(session: emdp.Session, text: str, keys: list[object] | None) -> None:
    frame = session.sql(HEADER + text).frame
    assert sorted(frame.get_column("k")) == (keys or ["Bari", "Oslo", "Rome"])


def test_no_value_is_left(session: emdp.Session) -> None:
    with pytest.raises(SqlError, match="no value of `town` is left"):
        session.preview(f"{HEADER} town, COUNT(*) {JOINED} WHERE label = 'France' GROUP BY town")


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("SUM(shop) FROM t WHERE shop BETWEEN 1 AND 5", 0, 3 * 9 * 5),
        ("SUM(shop * x) FROM t WHERE shop IN (1, 4) AND 0 < x", 0, 3 * 9 * 36),
        ("SUM(shop) FROM t WHERE shop > -2 AND 4 >= shop AND shop < 7", -3 * 9 * 2, 3 * 9 * 4),
        ("SUM(n) FROM (SELECT u, SUM(shop) AS n FROM t GROUP BY u) q WHERE n BETWEEN 0 AND 9", 0, 3 * 9),
    ],
)
def test_conditions_say_ranges_that_nobody_declared(session: emdp.Session, text: str, low: int, high: int) -> None:
    header = HEADER if "GROUP" not in text else HEADER.replace(", max_records_per_user = 9", "")
    frame = session.preview(header + text).frame
    assert (frame.get_column("low").item(), frame.get_column("high").item()) == (low, high)


@pytest.mark.parametrize("condition", ["shop > 1", "shop > 5 AND shop < 2", "shop <> 3", "shop < 2 OR shop = 9"])
def test_half_a_range_is_none(session: emdp.Session, condition: str) -> None:
    with pytest.raises(SqlError, match="the range of `shop` is not known"):
        session.preview(f"{HEADER} SUM(shop) FROM t WHERE {condition}")


def test_a_key_of_a_left_join_has_no_list(session: emdp.Session) -> None:
    with pytest.raises(SqlError, match="known from the records alone"):
        session.preview(f"{HEADER} t.shop, COUNT(*) FROM t LEFT JOIN shops s ON s.shop = t.shop GROUP BY 1")


def test_ranges_of_public_columns_are_known(session: emdp.Session) -> None:
    preview = session.preview(f"{HEADER} SUM(size - x) AS s {JOINED}")
    assert preview.frame.get_column("low").item() == 3 * 9 * -7.5
    assert preview.frame.get_column("high").item() == 3 * 9 * 4.0
