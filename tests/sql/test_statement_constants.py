"""No pair of items, near ones among them, moves what is released by more than its plan says."""

import random
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
import sql_oracle as oracle
from sql_oracle import HEADER, planned, seeded
from sql_writer import Writer

from emdp.estimators import Plan
from emdp.expressions.analysis.evaluate import evaluate
from emdp.expressions.cells.reference import cell_values
from emdp.privacy import EmdDP

SPACE = oracle.SPACE


RANGES = {"lat": oracle.BOX[::2], "lon": oracle.BOX[1::2], "price": (0, 100), 'odd "c".d': (-2, 3), "Größe": (1, 4)}
HEADERS = (
    "EMD_PRIVACY OPTIONS (alpha = 1)", "EMD_PRIVACY OPTIONS (alpha = 1, delta = 1e-6)",
    "EMD_PRIVACY OPTIONS (alpha = 1, noise = laplace)", "EMD_PRIVACY OPTIONS (alpha = 1, noise = k_norm)",
    "EMD_PRIVACY OPTIONS (alpha = 1, delta = 1e-6, noise = gaussian)", "USER_PRIVACY OPTIONS (epsilon = 1)",
    "USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 3)",
)  # fmt: skip
SOFT = (
    "RAMP(price, 20, 30)", "RAMP(DISTANCE(POINT(40.7, -74)), 2, 1)", "CLAMP(price / 100, 0, 1)",
    "NOT RAMP(price, 1, 2)", "1 - RAMP(DISTANCE(hour(ts), 8), 3, 2)", "RAMP(price, 0, 1) OR category = 'cafe'",
)  # fmt: skip


@cache
def neighbours(seed: int, count: int = 60) -> tuple[Any, Any, Any]:
    """Return pairs of items and their distances: far ones, and ones that differ in a part or two, or by very little."""
    rng, writer = np.random.default_rng(seed), random.Random(seed)
    items = oracle.rows(seed, count)
    for name, ends in RANGES.items():
        corners = pl.Series(name, np.where(rng.random(count) < 0.3, rng.choice(ends, count), items[name].to_numpy()))
        items = items.with_columns(corners)
    first, second = [], []
    for number in range(12):
        other, moved = oracle.rows(seed + 1000 + number, count), items
        for name in writer.sample(
            [*RANGES, "category", "gate", "is_paid", "word", "word_class", "ts"], number % 3 or 11
        ):
            column = other[name]
            if name in RANGES and number % 2:
                step = 10.0 ** rng.uniform(-6, 0) * (RANGES[name][1] - RANGES[name][0]) * rng.choice([-1, 1])
                column = (items[name] + step).clip(*RANGES[name])
            moved = moved.with_columns(column.alias(name))
        first.append(SPACE.encode(items))
        second.append(SPACE.encode(moved))
    distances = [np.diag(SPACE.distances(a, b)) for a, b in zip(first, second, strict=True)]
    return np.concatenate(first), np.concatenate(second), np.concatenate(distances)


def coordinates(plan: Plan, items: Any) -> Any:
    """Return the scaled vector that each item gives as all records of a user."""
    aggregation = plan.aggregation
    values = cell_values(aggregation, SPACE, items)
    if plan.is_cumulative:
        values = values.reshape(len(items), -1, aggregation.axes[-1].size).cumsum(axis=2).reshape(len(items), -1)
    if aggregation.chosen is not None:
        values = values * (evaluate(aggregation.chosen, SPACE, items) > 0)[:, None]
    return values * np.repeat(plan.scales, aggregation.cells) * (aggregation.cap or 1)


def check_constant(plan: Plan, seed: int, text: str) -> None:
    """No pair moves what is released by more than the noise is made for."""
    first, second, distances = neighbours(seed)
    one, two = coordinates(plan, first), coordinates(plan, second)
    mechanism, size = plan.mechanisms[0], plan.aggregation.group_sizes(9)[0]
    slack = 1e-11 * (1 + np.abs(one).max()) * np.sqrt(one.shape[1])
    if mechanism.is_exact:
        assert np.abs(one - two).max() <= slack, text
        return
    moved = np.linalg.norm(one - two, ord=mechanism.norm, axis=1)
    reach = distances if isinstance(plan.guarantee, EmdDP) else np.ones(len(distances))
    # Of noise on edges the sensitivity is that of flows, which has tests of its own.
    bound = mechanism.coordinate_change * (size if plan.aggregation.cap is None else 1)
    assert (moved <= bound * reach * (1 + 1e-9) + slack).all(), ((moved - slack - bound * reach).max(), text)


def any_statement(rng: random.Random) -> str:
    """Return a statement with several aggregates, soft filters and all kinds of noise."""
    writer = Writer(rng)
    asked = writer.statement()
    header = rng.choice(HEADERS)
    has_cap = "max_records" in header
    if rng.random() < 0.2 and not asked.levels and not asked.joins:
        asked = replace(asked, items=" AND ".join(f"({part})" for part in (rng.choice(SOFT), asked.items) if part))
    if rng.random() < 0.15 and not has_cap:
        cells = rng.choice(
            ["GRID(POINT(lat, lon), 5)", "GRID(price, 10)", "GRID(hour(ts), 2)", "category", "word", "gate"]
        )
        alone = rng.choice([f"FREQUENCY({cells})", "QUANTILE(price, 0.5, 0.9)", f"QUANTILE({asked.e[0]}, 0.1)"])
        other = (
            {} if alone.startswith("Q") else {"items": "", "levels": (), "joins": "", "is_partial": False, "users": ""}
        )
        return str(replace(asked, groups=(), **other).text(header, alone))
    kinds = ["AVG", "AVG", "VARIANCE", "STDDEV", "SUM" if has_cap else "PART"]
    expressions = [asked.e[0], *(writer.expression(rng.randrange(3))[0] for _ in range(rng.randrange(3)))]
    aggregates = [f"{rng.choice(kinds)}({e})" for e in expressions]
    if rng.random() < 0.2:
        aggregates[0] = f"WEIGHT({aggregates[0]}, {rng.choice(['2', '0.5', '1 / 3'])})"
    return str(asked.text(header, ", ".join(f"{one} AS m{number}" for number, one in enumerate(aggregates))))


def check_constants(rng: random.Random, count: int) -> None:
    checked = 0
    for _ in range(count):
        text = any_statement(rng)
        plan = planned(text)
        if plan is None or plan.aggregation.dimension > 300:
            continue
        check_constant(plan, rng.randrange(4), text)
        checked += 1
    assert checked > count / 2, "most statements were refused"


def test_no_pair_of_items_moves_a_release_by_more_than_its_plan_says() -> None:
    seeded(lambda rng: check_constants(rng, 40))


@pytest.mark.full
def test_no_pair_of_items_moves_a_release_by_more_than_its_plan_says_at_full_size() -> None:
    seeded(lambda rng: check_constants(rng, 1_000))


def test_the_pairs_that_constants_are_tested_on_reach_some_of_them() -> None:
    """The test above can fail: at a constant one part in a thousand smaller some plans would."""
    first, second, distances = neighbours(0)
    for text in ("AVG(price)", "AVG(CASE category WHEN 'cafe' THEN 1 ELSE 0 END)"):
        plan = planned(f"{HEADER} {text} FROM visits")
        assert plan is not None
        moved = np.abs(coordinates(plan, first) - coordinates(plan, second))[:, 0]
        assert (moved > 0.999 * plan.mechanisms[0].sensitivity * 9 * distances).any(), text
