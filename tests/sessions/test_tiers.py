"""One release for several readers: charged once, a view for each, kept in the ledger, and shown on pages apart."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.answers.stored import StoredAnswer
from emdp.base.errors import BudgetExceededError, InternalError, SqlError, UsageError
from emdp.catalog.catalog import load_catalog
from emdp.expressions import col
from emdp.ledger import read_ledger
from emdp.reports.checking import check_report
from emdp.reports.definition import load_report
from emdp.reports.run import run_report
from emdp.sessions.planning import plan_request
from emdp.sessions.store import Store
from emdp.testing import seeded

LEVELS = [8, 4, 1]
SQL = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = TIERS(8, 4, 1)) AVG(x) AS m FROM visits"
MADE = np.random.default_rng(7)
ROWS = pl.DataFrame(
    {"user": np.arange(4000) % 1000, "x": MADE.uniform(0, 1, 4000), "kind": MADE.choice(["a", "b"], 4000)}
)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., emdp.Session]]:
    ROWS.write_parquet(tmp_path / "visits.parquet")
    sessions = []

    def session(budget: Any = None, **options: Any) -> emdp.Session:
        space = emdp.Product(emdp.Interval("x", 0, 1), emdp.Categories("kind", ["a", "b"]))
        people = pl.DataFrame({"user": range(1000), "club": [("x", "y")[number % 2] for number in range(1000)]})
        table = emdp.read(tmp_path / "visits.parquet", user="user", space=space, users=people)
        budget = emdp.EmdDP(1000.0, 1e-6) if budget is None else budget
        sessions.append(emdp.Session(table, budget=budget, ledger=tmp_path / "v.ledger", **options))
        return sessions[-1]

    yield session
    for one in sessions:
        one.close()


REQUESTS: dict[str, Callable[[emdp.Session], emdp.Answer]] = {
    "mean": lambda session: session.mean(col("x"), alpha=emdp.tiers(LEVELS)),
    "mean, Gaussian": lambda session: session.vector_mean(
        [col("x")], alpha=emdp.tiers(LEVELS), delta=1e-9, noise="gaussian"
    ),
    "vector": lambda session: session.vector_mean([col("x"), col("x") * 0.5], alpha=emdp.tiers(LEVELS)),
    "groups": lambda session: session.mean(col("x"), by="club", alpha=emdp.tiers(LEVELS)),
    "conditional": lambda session: session.sql(SQL + " WHERE kind = 'a'"),
    "cells": lambda session: session.frequencies("kind", alpha=emdp.tiers(LEVELS)),
    "pitch": lambda session: session.frequencies(0.5, alpha=emdp.tiers(LEVELS), delta=1e-9, noise="gaussian"),
    "SQL": lambda session: session.sql(SQL),
}


@pytest.mark.quarter
@pytest.mark.parametrize("request_name", REQUESTS)
def test_each_tier_has_its_promise_and_all_are_one_charge(opened: Any, request_name: str) -> None:
    session = opened()
    answer = REQUESTS[request_name](session)
    assert session.spent().level == 8.0
    assert len(session.history()) == 1
    assert answer.guarantee.level == 8.0
    widths = []
    for number, level in enumerate(LEVELS, 1):
        tier = answer.tier(number)
        assert (tier.guarantee.level, tier.spent.level) == (level, 8.0)
        assert not tier.weaker
        rows = tier.interval(0.9)
        widths.append(float((rows["high"] - rows["low"]).max()))
        assert f"alpha = {level}" in str(tier.explain())
    assert widths == sorted(widths)
    if request_name != "conditional":
        assert 1.5 < widths[1] / widths[0] < 2.5


def test_widths_are_those_of_a_question_at_that_level(opened: Any) -> None:
    session = opened()
    tiered = session.frequencies("kind", alpha=emdp.tiers(LEVELS), noise="laplace")
    for number, level in enumerate(LEVELS, 1):
        own, plain = (
            one.interval(0.95)
            for one in (tiered.tier(number), session.frequencies("kind", alpha=level, noise="laplace"))
        )
        for one, other in zip(own["high"] - own["low"], plain["high"] - plain["low"], strict=True):
            assert one == pytest.approx(other, rel=1e-9)


def test_what_tiers_cost_beside_the_best_noise_is_said(opened: Any) -> None:
    text = str(opened().preview(emdp.frequencies("kind", alpha=emdp.tiers(LEVELS))))
    assert "with K-norm noise, which has no tiers: an expected error of" in text


@pytest.mark.slow
def test_intervals_of_every_tier_hold(tmp_path: Path) -> None:
    ROWS.write_parquet(tmp_path / "visits.parquet")
    held = np.zeros(3)
    runs = 60
    with seeded(11):
        space = emdp.Product(emdp.Interval("x", 0, 1), emdp.Categories("kind", ["a", "b"]))
        table = emdp.read(tmp_path / "visits.parquet", user="user", space=space, users=1000)
        with emdp.Session(table, budget=emdp.EmdDP(1e6), ledger=tmp_path / "t.ledger") as session:
            for _ in range(runs):
                answer = session.mean(col("x"), alpha=emdp.tiers(LEVELS), name="m")
                for place in range(3):
                    tier = answer.tier(place + 1)
                    (row,) = tier.interval(0.8).to_dicts()
                    held[place] += row["low"] <= tier.exact["m"] <= row["high"]
    # 48 of 60 are expected, with a deviation of 3.1.
    assert (held > 26).all()


def test_a_preview_says_what_each_tier_is_worth(opened: Any) -> None:
    session = opened()
    text = str(session.preview(SQL))
    assert "tier 3 alpha = 1, expected error" in text
    assert "would cost 13" in text
    assert session.spent().level == 0.0


def test_what_the_strongest_costs_must_be_left(opened: Any) -> None:
    session = opened(emdp.EmdDP(4.0))
    with pytest.raises(BudgetExceededError):
        session.mean(col("x"), alpha=emdp.tiers(LEVELS))
    assert session.mean(col("x"), alpha=emdp.tiers([4, 1])).tier(2).guarantee.level == 1.0


def test_user_level_tiers(opened: Any) -> None:
    session = opened(emdp.UserDP(10.0))
    answer = session.mean(col("x"), epsilon=emdp.tiers([2, 1, 0.5]))
    assert str(answer.tier(3).guarantee).startswith("epsilon = 0.5")
    assert session.spent().level == 2.0


def test_stored_answers_keep_all_tiers_behind_a_salt(opened: Any, tmp_path: Path) -> None:
    session = opened()
    (first,) = Store(session).ask(plan_request(SQL, session.names))
    (second,) = Store(session).ask(plan_request(SQL, session.names))
    assert second.is_reused
    for number in (1, 2, 3):
        one, other = first.answer.tier(number), second.answer.tier(number)
        assert one.frame.equals(other.frame)
        assert one.guarantee == other.guarantee
    with read_ledger(tmp_path / "v.ledger") as ledger:
        (entry,) = ledger.entries("visits", "answer")
        text = ledger.content(entry.payload["content"])
    assert text is not None
    # Digests of what is stored are on pages: without the salt a reader of tier 3 could try all answers of tier 1.
    assert len(json.loads(text)["salt"]) == 64
    answer = session.sql(SQL)
    assert answer.receipt is not None
    with pytest.raises(InternalError):
        StoredAnswer.of(answer, period=None, data_version="", receipt=answer.receipt)


CATALOG = """
ledger = "v.ledger"
[tables.visits]
source = "visits.parquet"
user = "user"
users = 1000
space = { kind = "interval", col = "x", low = 0, high = 1 }
budget = { alpha = 20.0 }
"""


def page(folder: Path, name: str, tier: int | None, query: str = SQL) -> Path:
    shown = "" if tier is None else f"tier = {tier}\n"
    text = f'title = "{name}"\ncatalog = "emdp.toml"\n[[entry]]\ntitle = "Mean"\nquery = "{query}"\n{shown}'
    (folder / f"{name}.toml").write_text(text)
    return folder / f"{name}.toml"


def run(path: Path) -> Any:
    report = load_report(path)
    catalog = load_catalog(report.catalog)
    return run_report(check_report(report, catalog), catalog)


def test_two_pages_from_one_charge(tmp_path: Path) -> None:
    ROWS.select("user", "x").write_parquet(tmp_path / "visits.parquet")
    (tmp_path / "emdp.toml").write_text(CATALOG)
    ministry, public = run(page(tmp_path, "Ministry", None)), run(page(tmp_path, "Public", 3))
    (strong,), (weak,) = ministry.outcomes, public.outcomes
    assert (strong.answer.guarantee.level, weak.answer.guarantee.level) == (8.0, 1.0)
    assert weak.is_reused
    assert not strong.answer.weaker
    assert not weak.answer.weaker
    with read_ledger(tmp_path / "v.ledger") as ledger:
        assert len(ledger.entries("visits", "charge")) == 1
    assert strong.answer.frame["m"][0] != weak.answer.frame["m"][0]


@pytest.mark.parametrize(
    ("tier", "query", "said"),
    [(4, SQL, "tiers 1 to 3"), (0, SQL, "tiers 1 to 3"), (2, SQL.replace("TIERS(8, 4, 1)", "8"), "has no tiers")],
)
def test_a_tier_that_is_not_there_is_said_before_a_charge(tmp_path: Path, tier: int, query: str, said: str) -> None:
    ROWS.select("user", "x").write_parquet(tmp_path / "visits.parquet")
    (tmp_path / "emdp.toml").write_text(CATALOG)
    with pytest.raises(emdp.EmdpError, match=said):
        run(page(tmp_path, "Page", tier, query))
    assert not (tmp_path / "v.ledger").exists() or not read_ledger(tmp_path / "v.ledger").entries("visits", "charge")


@pytest.mark.parametrize(
    "ask",
    [
        lambda session: session.quantiles(col("x"), 0.5, alpha=emdp.tiers(LEVELS)),
        lambda session: session.sql(SQL.replace("AVG(x)", "MEDIAN(x)")),
        lambda session: session.vector_mean([col("x"), 1.0], alpha=emdp.tiers(LEVELS), model="local"),
        lambda session: session.mean(col("x"), alpha=emdp.tiers(LEVELS), delta=1e-9, model="shuffle"),
        lambda session: session.itemwise(
            emdp.randomizers.KRR(emdp.Categories("kind", ["a", "b"]), 1.0), alpha=emdp.tiers(LEVELS)
        ),
        lambda session: session.mean(col("x"), alpha=emdp.tiers(LEVELS), epsilon=emdp.tiers(LEVELS)),
        lambda session: session.vector_mean([col("x"), col("x")], alpha=emdp.tiers(LEVELS), noise="k_norm"),
        lambda session: session.stream(SQL, periods=["a"], unit="user"),
        lambda session: session.sql(SQL).tier(4),
        lambda session: session.sql(SQL).tier(0),
        lambda session: session.sql(SQL).tier(True),
        lambda session: session.sql(SQL.replace("TIERS(8, 4, 1)", "8")).tier(1),
    ],
)
def test_refused(opened: Any, ask: Callable[[emdp.Session], Any]) -> None:
    with pytest.raises(emdp.EmdpError):
        ask(opened())


@pytest.mark.parametrize(
    "levels", [[], [1], [1, 2], [1, 1], [2, 1.9999], [0, -1], [5000, 1], "84", 3, [float("nan"), 1]]
)
def test_levels_that_are_refused(levels: Any) -> None:
    with pytest.raises(UsageError):
        emdp.tiers(levels)


@pytest.mark.parametrize(
    "value",
    ["TIERS()", "TIERS(8)", "TIERS(1, 8)", "TIERS(8, 4, )", "TIERS(8 4)", "TIERS(8, x)", "TIERS(8, -1)", "TIERS"],
)
def test_sql_that_is_refused(opened: Any, value: str) -> None:
    with pytest.raises(SqlError):
        opened().sql(SQL.replace("TIERS(8, 4, 1)", value))
