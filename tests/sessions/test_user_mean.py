"""User-level means through a session: what is refused, what is charged, what comes out."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.base.errors import BudgetExceededError, NotLipschitzError, SqlError, UsageError
from emdp.mechanisms.user_vector.plan import UserVectorSetting, user_vector_candidates

USERS = 2000
HOURS = emdp.Interval("hour", -50, 50, on_invalid="clamp", neutral=7.0)
BUDGETS = (emdp.UserDP(50.0, 1e-6), emdp.EmdDP(50.0))


@pytest.fixture(autouse=True)
def switched() -> Iterator[None]:
    with emdp.testing.seeded(23):
        yield


def rows() -> pl.DataFrame:
    # User u has 40 + u % 60 records; one in ten has none and counts with the neutral item.
    generator = np.random.default_rng(5)
    sizes = np.where(np.arange(USERS) % 10 == 0, 0, 40 + np.arange(USERS) % 60)
    users = np.repeat(np.arange(USERS), sizes)
    return pl.DataFrame({"user": users, "hour": generator.normal(7.3, 1.0, len(users))})


def opened(folder: Path, data: pl.DataFrame | None = None, space: emdp.Space = HOURS) -> emdp.Session:
    table = emdp.read(rows() if data is None else data, user="user", users=USERS, space=space)
    return emdp.Session(table, budget=BUDGETS, ledger=folder / "x.ledger")


def exact_mean(data: pl.DataFrame, low: float = -50.0, high: float = 50.0) -> float:
    own = data.with_columns(pl.col("hour").clip(low, high)).group_by("user").agg(pl.col("hour").mean())["hour"]
    return (own.sum() + (USERS - len(own)) * min(max(7.0, low), high)) / USERS


@pytest.mark.slow
@pytest.mark.parametrize("model", ["central", "local", "shuffle"])
def test_a_release_in_each_model(tmp_path: Path, model: Any) -> None:
    session = opened(tmp_path)
    delta = 1e-7 if model == "shuffle" else 0.0
    answer = session.user_mean("hour", epsilon=2.0, delta=delta, model=model, spread=1.0, records=40, name="hour_mean")
    assert answer.frame.columns == ["hour_mean", "hour_mean_low", "hour_mean_high"]
    assert isinstance(answer.guarantee, emdp.UserDP)
    assert answer.guarantee.model == model
    assert 0 < answer.guarantee.epsilon <= 2.0
    assert answer.guarantee.delta <= delta
    assert session.spent(emdp.UserDP).epsilon == answer.guarantee.epsilon
    assert session.spent(emdp.EmdDP).alpha == 0
    assert answer.exact["hour_mean"] == pytest.approx(exact_mean(rows()), abs=1e-9)
    ((value, low, high),) = answer.frame.rows()
    # An interval of 95 %, so four half-widths are beyond doubt; a range stage that failed is off by 3 and more.
    assert abs(value - answer.exact["hour_mean"]) < 2 * (high - low) < 3
    ((least, most),) = answer.diagnostics["ranges"]
    assert least < 7.3 < most
    assert most - least < 10


def test_the_preview_tells_what_is_compared_and_spends_nothing(tmp_path: Path) -> None:
    session = opened(tmp_path)
    query = emdp.user_mean("hour", epsilon=2.0, model="local", spread=1.0, records=40)
    preview = session.preview(query)
    assert session.spent(emdp.UserDP).epsilon == 0
    text = preview.explain()
    assert "users needed" in text
    assert "missed with probability" in text
    assert "accuracy, not privacy" in text
    assert preview.frame["expected_error"][0] < 0.2
    direct = session.preview(emdp.user_mean("hour", epsilon=2.0, model="local", method="direct"))
    assert direct.frame["expected_error"][0] > 1.0


@pytest.mark.slow
def test_ways_are_compared_by_the_same_error_and_told_apart(tmp_path: Path) -> None:
    session = opened(tmp_path)
    query = emdp.user_mean("hour", epsilon=2.0, model="local", spread=1.0, records=40)
    preview = session.preview(query)
    compared = preview.comparison.drop("statement")
    assert compared.columns == ["method", "expected_error", "measure", "is_chosen", "remark"]
    assert set(compared["measure"]) == {"root mean square"}
    assert compared["is_chosen"].to_list() == [True, *[False] * (len(compared) - 1)]
    assert compared["method"].n_unique() == len(compared) == 5
    *ways, linear = compared.rows(named=True)
    assert [way["expected_error"] for way in ways] == sorted(way["expected_error"] for way in ways)
    assert ways[0]["expected_error"] == preview.frame["expected_error"][0]
    assert ways[0]["method"] in preview.statements[0].choice
    both = [way["method"] for way in ways if "both rounds" in way["method"]]
    assert len(both) == 2
    assert all("(range epsilon " in name and "mean epsilon " in name for name in both)
    assert ways[-1]["remark"] == "looks for no range"
    assert all("users needed for 0.01" in way["remark"] for way in ways[:-1])
    assert linear["method"] == "linear query under d_EM-DP"
    assert "needs no range, since the metric bounds the change" in linear["remark"]
    assert "session.mean(..., alpha=2, model='local')" in linear["remark"]
    asked = session.preview(emdp.mean(emdp.col("hour"), alpha=2.0, model="local"))
    # Of a normal law the mean absolute error is the root mean square times sqrt(2/pi), of Laplace's one times 0.71.
    assert 0.7 < asked.frame["expected_error"][0] / linear["expected_error"] < 0.81
    answer = session.answer(query)
    assert answer.comparison.equals(compared)


SQL = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 2.0{}) USER_MEAN({}) {} FROM t {}"


@pytest.mark.quarter
@pytest.mark.parametrize("model", ["central", "local"])
def test_sql_asks_the_same(tmp_path: Path, model: Any) -> None:
    data = rows().with_columns(y=pl.col("hour") * 0.5 - 3.0)
    space = emdp.Product(HOURS, emdp.Interval("y", -20, 20, on_invalid="clamp"))
    table = emdp.read(data, user="user", users=USERS, space=space, name="t")
    session = emdp.Session(table, budget=BUDGETS, ledger=tmp_path / "s.ledger")
    options = f", model = '{model}', spread = 1, between_users = 0.2, records_per_user = 40, failure = 0.02"
    text = SQL.format(f", delta = 1e-7{options}", "hour, y", "AS m", "ORDER BY m_1 LIMIT 1")
    answer = session.sql(text)
    delta = 0.0 if model == "local" else 1e-7
    query = emdp.user_mean(
        ["hour", "y"], epsilon=2.0, delta=delta, model=model, spread=1.0, between=0.2, records=40, failure=0.02
    )
    own = session.preview(query)
    assert answer.frame.columns == ["m_1", "m_1_low", "m_1_high", "m_2", "m_2_low", "m_2_high"]
    assert answer.query == text
    assert answer.comparison.equals(own.comparison.drop("statement"))
    assert answer.guarantee == own.statements[0].guarantee
    assert abs(answer.frame["m_1"][0] - answer.exact["m_1"]) < 1.0
    assert "column       m_2 = USER_MEAN(hour, y), from y:" in answer.explain()
    assert session.spent(emdp.UserDP).epsilon == answer.guarantee.epsilon


def test_sql_cuts_the_one_row_and_says_what_does_not_fit(tmp_path: Path) -> None:
    table = emdp.read(rows(), user="user", users=USERS, space=HOURS, name="t")
    session = emdp.Session(table, budget=BUDGETS, ledger=tmp_path / "s.ledger")
    for clause, height in (("LIMIT 0", 0), ("LIMIT 1", 1), ("OFFSET 1", 0), ("ORDER BY user_mean_high DESC", 1)):
        assert session.sql(SQL.format("", "hour", "", clause)).frame.height == height
    with pytest.raises(SqlError, match="the spread leaves fewer than three bins"):
        session.sql(SQL.format(", spread = 1000, method = 'range'", "hour", "", ""))


def test_users_weigh_the_same_and_bounds_clip_records(tmp_path: Path) -> None:
    session = opened(tmp_path)
    answer = session.user_mean("hour", epsilon=2.0, bounds=(6.5, 7.5))
    assert answer.exact["user_mean"] == pytest.approx(exact_mean(rows(), 6.5, 7.5), abs=1e-9)
    assert answer.frame["user_mean_low"][0] >= 6.5


def test_a_vector_is_one_release(tmp_path: Path) -> None:
    data = rows().with_columns(y=pl.col("hour") * 0.5 - 3.0)
    session = opened(tmp_path, data, emdp.Product(HOURS, emdp.Interval("y", -20, 20, on_invalid="clamp")))
    answer = session.user_mean(
        ["hour", "y"], epsilon=2.0, delta=1e-7, spread=[1.0, 0.5], records=40, name=["hour", "other"]
    )
    assert answer.frame.columns == ["hour", "hour_low", "hour_high", "other", "other_low", "other_high"]
    assert len(answer.diagnostics["ranges"]) == 2
    for name in ("hour", "other"):
        assert abs(answer.frame[name][0] - answer.exact[name]) < 0.3
    assert session.spent(emdp.UserDP) == emdp.UserDP(answer.guarantee.epsilon, answer.guarantee.delta)


def test_no_more_is_charged_than_there_is(tmp_path: Path) -> None:
    session = opened(tmp_path)
    with pytest.raises(BudgetExceededError):
        session.user_mean("hour", epsilon=51.0)
    assert session.spent(emdp.UserDP).epsilon == 0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "epsilon must be given"),
        ({"alpha": 1.0}, "alpha does not fit user_mean"),
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"epsilon": 1.0, "model": "shuffle"}, "delta must be above 0 in the shuffle model"),
        ({"epsilon": 1.0, "model": "local", "delta": 1e-9}, "delta must be 0 in the local model"),
        ({"epsilon": 1.0, "model": "nobody"}, "model must be"),
        ({"epsilon": 1.0, "spread": -1.0}, "spread must be"),
        ({"epsilon": 1.0, "spread": (1.0, 2.0)}, "spread must be one number"),
        ({"epsilon": 1.0, "between": 1.0}, "between does nothing without spread"),
        ({"epsilon": 1.0, "radius": 1.0}, "radius is for a vector"),
        ({"epsilon": 1.0, "bounds": (2.0, 1.0)}, "bounds must have low below high"),
        ({"epsilon": 1.0, "bounds": 3.0}, r"bounds must be \(low, high\)"),
        ({"epsilon": 1.0, "method": "range"}, "spread must be given for a range"),
        ({"epsilon": 1.0, "method": "range", "spread": 1000.0}, "method='range' does not fit"),
        ({"epsilon": 1.0, "failure": 1.0}, "failure must be"),
        ({"epsilon": 1.0, "records": 0}, "records must be"),
        ({"epsilon": 1.0, "name": ["a", "b"]}, "names must be 1 distinct texts"),
    ],
)
def test_refusals_say_what_to_do(tmp_path: Path, arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError, match=text) as refused:
        opened(tmp_path).user_mean("hour", **arguments)
    assert str(refused.value).endswith(".")


def test_a_constant_and_an_unknown_column_are_refused(tmp_path: Path) -> None:
    session = opened(tmp_path)
    with pytest.raises(UsageError, match="must not be constant"):
        session.user_mean(emdp.col("hour") * 0.0, epsilon=1.0)
    with pytest.raises(UsageError, match="nothing"):
        session.user_mean("nothing", epsilon=1.0)
    with pytest.raises(NotLipschitzError):
        session.user_mean(emdp.exp(emdp.col("hour") * 1e6), epsilon=1.0)
    assert session.spent(emdp.UserDP).epsilon == 0


def test_a_table_that_declares_its_records_needs_no_records(tmp_path: Path) -> None:
    generator = np.random.default_rng(6)
    data = pl.DataFrame({"user": np.repeat(np.arange(USERS), 40), "hour": generator.normal(7.3, 1.0, 40 * USERS)})
    table = emdp.read(data, user="user", users=USERS, space=HOURS, records=40)
    session = emdp.Session(table, budget=BUDGETS, ledger=tmp_path / "y.ledger")
    declared = session.preview(emdp.user_mean("hour", epsilon=2.0, spread=1.0))
    stated = session.preview(emdp.user_mean("hour", epsilon=2.0, spread=1.0, records=40))
    assert declared.frame["expected_error"][0] == stated.frame["expected_error"][0]


@pytest.mark.parametrize(("model", "epsilon"), [("central", 4.0), ("local", 8.0)])
def test_a_vector_without_a_spread_has_no_range_stage(tmp_path: Path, model: Any, epsilon: float) -> None:
    # Users are at one end or the other: whatever were assumed of them would be wrong, and their means clipped.
    ends = (np.arange(USERS) % 10 < 7).astype(float)
    data = pl.DataFrame({"user": np.arange(USERS), "x": ends, "y": 1.0 - ends})
    session = opened(tmp_path, data, emdp.Product(emdp.Interval("x", 0, 1), emdp.Interval("y", 0, 1)))
    query = emdp.user_mean(["x", "y"], epsilon=epsilon, model=model, records=10_000)
    assert "accuracy, not privacy" not in session.preview(query).explain()
    answer = session.answer(query)
    assert [tuple(ends) for ends in answer.diagnostics["ranges"]] == [(0.0, 1.0)] * 2
    for name, exact in answer.exact.items():
        low, high = answer.frame[f"{name}_low"][0], answer.frame[f"{name}_high"][0]
        assert low - (high - low) < exact < high + (high - low)


@pytest.mark.parametrize(("level", "failure"), [(0.95, 0.1), (0.99, 0.02)])
def test_an_interval_with_next_to_no_tail_left_is_no_error(level: float, failure: float) -> None:
    setting = UserVectorSetting(10**6, (-50.0,) * 2, (50.0,) * 2, 2.0, spread=(1.0,) * 2, records=100, failure=failure)
    ranged = next(one for one in user_vector_candidates(setting) if one.missed_range > 0)
    means = np.zeros((4, 2), dtype=np.int64)
    released = ranged.release(iter([means]), (40, 40), (0, 0))
    low, high = released.interval(0, level)
    assert low < 0 < high


def test_what_intervals_rest_on_is_said_without_a_range_too(tmp_path: Path) -> None:
    # Users of one round in the local model are dealt to coordinates: how far that may be off follows from the spread.
    data = rows().with_columns(y=pl.col("hour"))
    session = opened(tmp_path, data, emdp.Product(HOURS, emdp.Interval("y", -50, 50, on_invalid="clamp")))
    direct = emdp.user_mean(["hour", "y"], epsilon=1.0, model="local", spread=1.0, method="direct")
    assert "accuracy, not privacy" in session.preview(direct).explain()


@pytest.mark.slow
@pytest.mark.parametrize("model", ["central", "local", "shuffle"])
@pytest.mark.parametrize("columns", [["hour"], ["hour", "y"]])
def test_a_preview_has_the_half_width_of_the_answer(tmp_path: Path, model: Any, columns: list[str]) -> None:
    data = rows().with_columns(y=pl.col("hour"))
    session = opened(tmp_path, data, emdp.Product(HOURS, emdp.Interval("y", -50, 50, on_invalid="clamp")))
    delta = 1e-7 if model == "shuffle" else 0.0
    query = emdp.user_mean(columns, epsilon=2.0, delta=delta, model=model, spread=1.0, records=40, name=columns)
    planned = session.preview(query).frame["interval_95"][0]
    frame = session.answer(query).frame
    assert 0.5 * (frame["hour_high"][0] - frame["hour_low"][0]) == pytest.approx(planned, rel=0.05)


def test_an_answer_says_so_where_people_differ_by_more_than_was_assumed(tmp_path: Path) -> None:
    apart = pl.DataFrame({"user": np.arange(USERS), "hour": np.where(np.arange(USERS) % 3 == 0, 30.0, -30.0)})
    session = opened(tmp_path, apart)
    wrong = session.user_mean("hour", epsilon=4.0, spread=0.5)
    assert wrong.diagnostics["near"] < 0.8
    assert "of users are near the range that was found" in wrong.explain()
    assert any("near the range" in caveat for caveat in wrong.caveats)
    assert "between = 0 assumes" in wrong.explain()
    right = session.user_mean("hour", epsilon=4.0, spread=0.5, between=30.0)
    assert "near the range" not in right.explain()
    assert "between = 0" not in right.explain()
