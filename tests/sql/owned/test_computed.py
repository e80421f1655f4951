"""Intervals of what is computed of noisy aggregates: how often they hold, over two thousand groups of one answer."""

import math
from pathlib import Path

import polars as pl
import pytest

import emdp
from emdp.base.errors import UsageError

GROUPS = 2_000
LEVEL = 0.95

COLUMNS = {
    "difference": "SUM(x) - 3 * COUNT(y) + 1",
    "three": "SUM(x) + SUM(y) - COUNT(*) FILTER (WHERE y > 2)",
    "ratio": "SUM(x) / COUNT(*)",
    "share": "100.0 * COUNT(*) FILTER (WHERE y > 2) / COUNT(*)",
    "apart": "AVG(x) - AVG(y)",
    "chosen": "CASE WHEN COUNT(*) > 0 THEN AVG(x) * AVG(y) ELSE 0 END",
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, emdp.Answer]:
    records = pl.DataFrame({"u": range(40)}).join(pl.DataFrame({"g": range(GROUPS)}), how="cross")
    records = records.with_columns(x=(pl.col("u") % 5 + 1) * 1.0, y=(pl.col("u") % 4) * 1.0)
    space = emdp.Product(emdp.Interval("x", 0, 6), emdp.Interval("y", 0, 4))
    table = emdp.read(records, user="u", space=space, users=40, name="t")
    folder: Path = tmp_path_factory.mktemp("computed")
    made = {}
    with (
        emdp.testing.seeded(11),
        emdp.Session(table, budget=emdp.UserDP(1e9), ledger=folder / "l") as session,
    ):
        for name, text in COLUMNS.items():
            made[name] = session.sql(
                f"SELECT WITH USER_PRIVACY OPTIONS (epsilon = 4000, max_records_per_user = {GROUPS}) g, {text} AS v "
                f"FROM t WHERE g BETWEEN 0 AND {GROUPS - 1} GROUP BY g"
            )
    return made


def share_of_hits(answer: emdp.Answer, narrowed: float = 1.0) -> float:
    truth = answer.exact["v"]
    rows = answer.interval(LEVEL, of="capped").select("value", "low", "high").rows()
    hits = 0
    for exact, (value, low, high) in zip(truth, rows, strict=True):
        # Where there is no value nothing is claimed.
        hits += low is None or value - narrowed * (value - low) <= exact <= value + narrowed * (high - value)
    return hits / len(rows)


SLACK = 5 * math.sqrt(LEVEL * (1 - LEVEL) / GROUPS)


@pytest.mark.seventh
@pytest.mark.parametrize("name", COLUMNS)
def test_intervals_hold_as_often_as_they_say(answers: dict[str, emdp.Answer], name: str) -> None:
    assert share_of_hits(answers[name]) >= LEVEL - SLACK
    # Power: a quarter of the width holds too rarely, also where a union bound over noise of one draw, whose parts go
    # up and down together, has made it up to twice as wide as need be.
    assert share_of_hits(answers[name], 0.25) < LEVEL - SLACK


@pytest.mark.parametrize("name", ["difference", "three"])
def test_weighted_sums_have_the_exact_law_of_their_noise(answers: dict[str, emdp.Answer], name: str) -> None:
    assert share_of_hits(answers[name]) <= LEVEL + SLACK
    assert share_of_hits(answers[name], 0.7) < LEVEL - SLACK


@pytest.mark.slow
def test_intervals_that_hold_together_are_wider(answers: dict[str, emdp.Answer]) -> None:
    for answer in answers.values():
        each, every = (answer.interval(of="capped", coverage=kind) for kind in ("each", "all"))
        wider = (every["high"] - every["low"]) > (each["high"] - each["low"])
        assert all(wider.drop_nulls())
        truth = answer.exact["v"]
        assert all(
            low is None or low <= own <= high for own, low, high in zip(truth, every["low"], every["high"], strict=True)
        )


def test_every_aggregate_of_a_computed_column_has_its_part_of_the_level(answers: dict[str, emdp.Answer]) -> None:
    # AVG(x) - AVG(y): the width is that of both means, each by an interval of level 1 - 0.05/2.
    answer = answers["apart"]
    means = answer.finisher.finisher.frame(answer.released, 0.975)  # type: ignore[attr-defined]
    names = [name.removesuffix("_low") for name in means.columns if name.endswith("_low")]
    width = [sum(row) for row in zip(*(means[f"{name}_high"] - means[f"{name}_low"] for name in names), strict=True)]
    shown = answer.frame
    assert (shown["v_high"] - shown["v_low"]).to_list() == pytest.approx(width)


def test_a_difference_of_capped_totals_has_no_end_for_the_truth(answers: dict[str, emdp.Answer]) -> None:
    shown = answers["difference"].frame
    assert shown["v_low"].to_list() == shown["v_high"].to_list() == [None] * GROUPS


@pytest.mark.parametrize(
    "options",
    ["", ", max_records_per_user = 9, delta = 1e-6, max_groups_per_user = 3"],
    ids=["automatic cap", "unlisted keys"],
)
def test_groups_nobody_listed_and_automatic_caps_are_computed_with_too(tmp_path: Path, options: str) -> None:
    records = pl.DataFrame({"u": range(300), "x": [1.0, 2.0] * 150, "word": ["a", "b", "c"] * 100})
    space = emdp.Interval("x", 0, 4)
    table = emdp.read(records, user="u", space=space, users=300, name="t")
    listed = "" if options else " WHERE word IN ('a', 'b', 'c', 'd')"
    text = (
        f"SELECT WITH USER_PRIVACY OPTIONS (epsilon = 100{options}) word || '!' AS loud, SUM(x) / COUNT(*) AS mean, "
        f"COUNT(*) * 2 AS twice FROM t{listed} GROUP BY word HAVING COUNT(*) > 50 AND word <> 'b' "
        "ORDER BY word DESC LIMIT 5"
    )
    with (
        emdp.testing.seeded(4),
        emdp.Session(table, budget=emdp.UserDP(1e9, 0.1), ledger=tmp_path / "l") as session,
    ):
        session.preview(text)
        answer = session.sql(text)
        frame = answer.frame
        assert frame["loud"].to_list() == ["c!", "a!"]
        assert frame["mean"].to_list() == pytest.approx([1.5] * 2, rel=0.05)
        assert frame["twice"].to_list() == pytest.approx([200] * 2, rel=0.05)
        assert answer.interval(of="capped").height == 4
        if options:
            with pytest.raises(UsageError, match="each"):
                answer.interval(coverage="all")
