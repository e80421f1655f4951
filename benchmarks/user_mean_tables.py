"""User-level means through a session against what was predicted: generated ratings, and real check-ins where they are.

For each question many seeded releases are compared with the exact mean; the root mean square of the differences should
be within 10 % of the plan's prediction (2,000 runs: the estimate alone has a standard error of 1.6 %).

    python benchmarks/user_mean_tables.py [--data ../shared/data/foursquare_nyc.parquet] [--runs 2000]
"""

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import emdp
from emdp.estimators.user_mean.user_means import plan_user_mean
from emdp.tables.readings import read_items

RATINGS = 900


@dataclass(frozen=True)
class Question:
    """One mean with what is assumed of it."""

    name: str
    table: emdp.Table
    query: Callable[[str, float, float], emdp.UserMean]


def ratings() -> emdp.Table:
    """Return generated ratings from 1 to 5: 900 people, a long tail of counts, people who differ."""
    generator = np.random.default_rng(11)
    counts = np.minimum(1 + np.floor(generator.pareto(1.1, RATINGS) * 8).astype(int), 2000)
    own = np.clip(generator.normal(3.6, 0.45, RATINGS), 1, 5)
    users = np.repeat(np.arange(RATINGS), counts)
    stars = np.clip(np.rint(generator.normal(own[users], 1.0)), 1, 5)
    frame = pl.DataFrame({"user": users, "stars": stars})
    return emdp.read(frame, user="user", users=RATINGS, space=emdp.Interval("stars", 1, 5))


def checkins(path: Path, column: str, space: emdp.Space) -> emdp.Table:
    """Return check-ins with the hour of the day beside the place."""
    frame = pl.read_parquet(path).with_columns(hour=pl.col("ts").dt.hour() + pl.col("ts").dt.minute() / 60.0)
    frame = frame.select("user_id", column).drop_nulls()
    return emdp.read(frame, user="user_id", users=frame["user_id"].n_unique(), space=space)


def questions(data: Path) -> list[Question]:
    """Return the questions: ratings always, check-ins where the file is."""
    found = [
        Question(
            "stars of generated ratings",
            ratings(),
            lambda model, epsilon, delta: emdp.user_mean(
                "stars", epsilon=epsilon, delta=delta, model=model, spread=1.0, between=0.45, records=4
            ),
        )
    ]
    if data.exists():
        hours = emdp.Interval("hour", 0, 24)
        degrees = emdp.Interval("lon", -180, 180)
        found += [
            Question(
                "hour of the day, foursquare",
                checkins(data, "hour", hours),
                lambda model, epsilon, delta: emdp.user_mean(
                    "hour", epsilon=epsilon, delta=delta, model=model, spread=7.0, between=2.0, records=50
                ),
            ),
            Question(
                "longitude in degrees, bounds of the whole Earth, foursquare",
                checkins(data, "lon", degrees),
                lambda model, epsilon, delta: emdp.user_mean(
                    "lon", epsilon=epsilon, delta=delta, model=model, spread=0.1, between=0.1, records=50
                ),
            ),
        ]
    return found


def compare(question: Question, model: str, epsilon: float, runs: int) -> None:
    """Print predicted and seen errors of one question in one model."""
    delta = 1e-6 if model == "shuffle" else 0.0
    table, query = question.table, question.query(model, epsilon, delta)
    plan = plan_user_mean(query, space=table.space, users=table.n)
    mechanism: Any = plan.releaser.mechanism  # type: ignore[attr-defined]
    with emdp.testing.seeded(7):
        blocks = list(read_items(table, plan.reading).open())
        start, errors, missed = time.perf_counter(), [], 0
        for _ in range(runs):
            released, exact = plan.releaser.release(iter(blocks), users=table.n, keep_exact=True)
            difference = float(released.value - exact[0][0])  # type: ignore[index]
            errors.append(difference)
            low, high = released.interval(0.95)
            missed += not low <= float(exact[0][0]) <= high  # type: ignore[index]
        seconds = (time.perf_counter() - start) / runs
    seen = math.sqrt(float(np.mean(np.square(errors))))
    wide = next(one for one in _candidates(query, table) if one.users_needed == 1)
    print(
        f"| {question.name} | {model} | {epsilon:g} | {mechanism.name} | {seen:.4g} | {mechanism.deviation:.4g} | "
        f"{seen / mechanism.deviation:.3f} | {wide.deviation:.4g} | {1 - missed / runs:.3f} | {seconds * 1000:.1f} |"
    )


def _candidates(query: emdp.UserMean, table: emdp.Table) -> Any:
    from emdp.estimators.user_mean.user_means import candidates_of

    return candidates_of(query, space=table.space, users=table.n)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/foursquare_nyc.parquet"))
    parser.add_argument("--runs", type=int, default=2000)
    given = parser.parse_args()
    print("| mean of | model | epsilon | by | error seen | predicted | ratio | one round | coverage | ms |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for question in questions(given.data):
        for model in ("central", "local", "shuffle"):
            for epsilon in (1.0, 2.0):
                compare(question, model, epsilon, given.runs)


if __name__ == "__main__":
    main()
