"""What an analyst reads, from SQL to interval: coverage of every kind of column, and previews against simulated errors.

The table has the very values that previews assume (:mod:`emdp.estimators.mean.expectations`): half of every user's
records are chosen, their mean is a quarter of the range above its middle and their variance half of its largest.
Statements are planned by the session and computed by the engine; then 5,000 releases are drawn at once, as cells of one
draw.

Power. At p < 1e-9 the true scale passes; widths for a scale of 0.7 times the true one cover at most 0.88 and those for
1.3 times at least 0.979 (shown in test_ratio_coverage.py for 10,000 ratios), and both fail here. Columns that only
promise at least their level (variances) are tested from below. A simulated mean absolute error is within 12 % of the
previewed one: a Laplace's has a standard deviation of 1.5 % here, and 0.7 and 1.3 times the previewed one fail.
"""

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.stats

import emdp
from emdp.estimators.columns.values import Draw, Estimate, OutputColumn, Rows
from emdp.estimators.plan import Plan
from emdp.estimators.quantiles.quantiles import QuantileRows
from emdp.sessions.planning import plan_request
from emdp.tables import aggregate

RELEASES, LEVEL, THRESHOLD, OFF = 5_000, 0.95, 1e-9, 0.12
USERS = 800
VALUES = (10, 10, 10, 10, 10, 0, 5, 5)
SPACE = emdp.Product(emdp.Interval("x", 0, 10), emdp.Interval("y", 0, 1), emdp.Categories("kind", ["a", "b"]))
EMD = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 30"
USER = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 2"
CAP = f"{USER}, max_records_per_user = 4"
GAUSS = ", delta = 1e-6, noise = 'gaussian')"
STATEMENTS = {
    "plain": f"{EMD}) AVG(x) AS mean, AVG(y) AS other FROM t",
    "weighted": f"{EMD}, noise = 'laplace') WEIGHT(AVG(x), 3) AS mean, AVG(x * y) AS other FROM t",
    "filtered": f"{EMD}) AVG(x) AS mean, SHARE() AS share, PART(x) AS part FROM t WHERE kind = 'a'",
    "filtered, gaussian": f"{EMD}{GAUSS} AVG(x) AS mean, SHARE() AS share FROM t WHERE kind = 'a'",
    "grouped": f"{EMD}) kind, AVG(x) AS mean, SHARE() AS share FROM t GROUP BY kind",
    "by city": f"{EMD}) city, AVG(x) AS mean FROM t WHERE kind = 'a' GROUP BY city",
    "spread": f"{EMD}) VARIANCE(x) AS variance FROM t",
    "deviation": f"{EMD}) STDDEV(x) AS deviation FROM t",
    "spread, filtered": f"{EMD}) VARIANCE(x) AS variance FROM t WHERE kind = 'b'",
    "deviation, grouped": f"{EMD}) kind, STDDEV(x) AS deviation, AVG(x) AS mean FROM t GROUP BY kind",
    "deviation, gaussian": f"{EMD}{GAUSS} STDDEV(x) AS deviation FROM t WHERE kind = 'b'",
    "user means": f"{USER}, noise = 'laplace') AVG(x) AS mean, AVG(y) AS other FROM t",
    "user means, filtered": f"{USER}) AVG(x) AS mean FROM t WHERE kind = 'a'",
    "count": f"{CAP}) COUNT(*) AS number FROM t",
    "totals": f"{CAP}) COUNT(*) AS number, SUM(x) AS total, AVG(x) AS mean FROM t",
    "totals, gaussian": f"{CAP}{GAUSS} COUNT(*) AS number, SUM(x - 3) AS total, AVG(x) AS mean FROM t",
    "totals, filtered": f"{CAP}) AVG(x) AS mean FROM t WHERE kind = 'a'",
    "totals, spread": f"{CAP}) SUM(x) AS total, VARIANCE(x) AS variance FROM t",
    "totals, deviation": f"{CAP}) STDDEV(x) AS deviation FROM t",
}
AT_LEAST = ("variance", "deviation")
PLANTED = ("plain", "filtered", "filtered, gaussian", "grouped", "totals, gaussian", "user means, filtered")
"""Statements whose intervals are also made with wrong scales."""


@pytest.fixture(scope="module")
def table() -> emdp.Table:
    numbers = range(2 * USERS)
    records = {
        "user": [number // 2 for number in numbers],
        "x": [float(VALUES[number // 2 % 8]) for number in numbers],
        "y": [(number // 2 % 5) / 4 for number in numbers],
        "kind": ["ab"[number % 2] for number in numbers],
    }
    people = pl.DataFrame({"user": list(range(USERS)), "city": ["Oslo" if u < 160 else "Rome" for u in range(USERS)]})
    return emdp.read(pl.DataFrame(records), user="user", space=SPACE, users=people, name="t")


def planned(name: str, table: emdp.Table) -> Plan:
    (one,) = plan_request(STATEMENTS[name], table.names(None))
    return one.plan


def released(plan: Plan, table: emdp.Table, seed: int) -> tuple[Rows, Draw, list[list[Fraction]]]:
    """Release the first cell of the first group of users many times: as cells of one draw."""
    rows = plan.finisher
    assert isinstance(rows, Rows)
    # Of totals under a cap the intervals of what was capped: those of the truth have an end less.
    rows = rows.of_capped()
    cells = plan.aggregation.cells
    statistic = aggregate(table, plan.aggregation)[0].open()
    own = [statistic[place] for place in range(0, len(statistic), cells)]
    mechanism = replace(plan.mechanisms[0], dimension=len(own) * RELEASES)
    prepared = [value * Fraction(scale) for value, scale in zip(own, plan.scales, strict=True) for _ in range(RELEASES)]
    with emdp.testing.seeded(seed):
        noisy = mechanism.release(prepared)
    values = [value / Fraction(plan.scales[place // RELEASES]) for place, value in enumerate(noisy)]
    return rows, Draw(tuple(values), RELEASES, mechanism), [[value] for value in own]


def estimates(column: OutputColumn, draw: Draw, factor: float = 1.0) -> list[Estimate]:
    """Return the intervals that would be made if the noise had this many times its scale."""
    planted = replace(draw.mechanism, sensitivity=draw.mechanism.sensitivity * factor)
    return column.estimates(Draw(draw.values, draw.cells, planted), 0, LEVEL)


def hits(found: list[Estimate], exact: float) -> int:
    return sum(one.low <= exact <= one.high for one in found)


def too_few(count: int) -> float:
    return float(scipy.stats.binom.cdf(count, RELEASES, LEVEL))


def too_many(count: int) -> float:
    return float(scipy.stats.binom.sf(count - 1, RELEASES, LEVEL))


@pytest.mark.seventh
@pytest.mark.parametrize("name", list(STATEMENTS))
def test_intervals_cover_and_previews_are_what_happens(name: str, table: emdp.Table) -> None:
    plan = planned(name, table)
    rows, draw, exact = released(plan, table, seed=len(name))
    for column, preview in zip(rows.columns, plan.columns, strict=True):
        truth = float(column.exact([value for own in exact for value in own], 1, 0)[0])
        assert preview.low <= truth <= preview.high
        found = estimates(column, draw)
        assert too_few(hits(found, truth)) > THRESHOLD
        assert too_many(hits(found, truth)) > THRESHOLD or column.name in AT_LEAST
        if name in PLANTED:
            assert too_few(hits(estimates(column, draw, 0.7), truth)) < THRESHOLD
            assert too_many(hits(estimates(column, draw, 1.3), truth)) < THRESHOLD
        assert all(one.value is not None and one.low <= one.value <= one.high for one in found)
        errors = [abs(float(one.value or 0) - truth) for one in found]
        assert math.fsum(errors) / RELEASES == pytest.approx(preview.expected_error, rel=OFF), column.name
        widths = np.median([(one.high - one.low) / 2 for one in found])
        assert widths == pytest.approx(preview.interval_95, rel=OFF), column.name
    assert math.fsum(column.share for column in plan.columns) == pytest.approx(1.0)


def test_previews_of_single_coordinates_are_exact(table: emdp.Table) -> None:
    for name in ("plain", "weighted", "user means", "count"):
        plan = planned(name, table)
        for preview, scale in zip(plan.columns, plan.scales, strict=True):
            mechanism = plan.mechanisms[0]
            assert preview.expected_error == pytest.approx(mechanism.expected_absolute_error / scale)
            assert preview.interval_95 == pytest.approx(mechanism.interval_half_width(LEVEL) / scale)
            assert preview.noise_scale == pytest.approx(mechanism.scale / scale)
            assert preview.note == ""


def test_all_intervals_together_hold_at_once(table: emdp.Table, tmp_path: Path) -> None:
    """600 answers: true widths hold, 0.7 times the widths do not, in a statement of groups and of shares."""
    text = f"{EMD}) kind, city, SHARE() AS share, PART(x) AS part FROM t GROUP BY kind, city"
    (one,) = plan_request(text, table.names(None))
    plan, draws = one.plan, 600
    opened = [statistic.open() for statistic in aggregate(table, plan.aggregation)]
    rows = plan.finisher
    assert isinstance(rows, Rows)
    # Of totals under a cap the intervals of what was capped: those of the truth have an end less.
    rows = rows.of_capped()
    planted = replace(rows, mechanisms=tuple(replace(m, sensitivity=0.7 * m.sensitivity) for m in rows.mechanisms))
    exact = rows.exact(tuple(opened))
    held = [0, 0]
    with emdp.testing.seeded(3):
        for _ in range(draws):
            noisy = tuple(
                plan.restored(mechanism.release(plan.prepared(values)))
                for mechanism, values in zip(plan.mechanisms, opened, strict=True)
            )
            for place, finisher in enumerate((rows, planted)):
                frame = finisher.frame(noisy, LEVEL, together=True)
                held[place] += all(
                    bool(((frame[f"{c}_low"] <= exact[c]) & (exact[c] <= frame[f"{c}_high"])).all())
                    for c in ("share", "part")
                )
    assert float(scipy.stats.binom.cdf(held[0], draws, LEVEL)) > THRESHOLD
    assert float(scipy.stats.binom.cdf(held[1], draws, LEVEL)) < THRESHOLD


TIES = {
    "a mass": ([7.0], (0.001, 0.5, 0.999)),
    "both edges": ([0.0, 0.0, 10.0], (0.2, 0.9)),
    "few values": ([0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 5.0, 10.0], (0.05, 0.4, 0.8)),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", list(TIES))
def test_quantiles_of_discrete_values_cover_the_unsmoothed_ones(case: str) -> None:
    """600 answers: true noise holds; noise taken to be 0.3 times as large misses a mass, by the tails 5 % ** 0.3."""
    values, levels = TIES[case]
    records = {"user": [user for user in range(200) for _ in values], "x": values * 200}
    table = emdp.read(pl.DataFrame(records), user="user", space=emdp.Interval("x", 0, 10), users=200, name="t")
    listed = ", ".join(map(str, levels))
    (one,) = plan_request(f"{EMD}) QUANTILE(x, {listed}) AS v FROM t", table.names(None))
    plan, draws = one.plan, 600
    (statistic,) = aggregate(table, plan.aggregation)
    prepared = plan.prepared(statistic.open())
    rows = plan.finisher
    assert isinstance(rows, QuantileRows)
    planted = replace(rows, mechanisms=(replace(rows.mechanisms[0], sensitivity=0.3 * rows.mechanisms[0].sensitivity),))
    true = np.quantile(values, levels, method="inverted_cdf")
    held = np.zeros((2, len(levels)), dtype=int)
    with emdp.testing.seeded(8):
        for _ in range(draws):
            noisy = (plan.restored(plan.mechanisms[0].release(prepared)),)
            for place, finisher in enumerate((rows, planted)):
                frame = finisher.frame(noisy, LEVEL)
                held[place] += (frame["v_low"].to_numpy() <= true) & (true <= frame["v_high"].to_numpy())
    assert min(scipy.stats.binom.cdf(held[0], draws, LEVEL)) > THRESHOLD
    if case == "a mass":
        assert scipy.stats.binom.cdf(held[1][0], draws, LEVEL) < THRESHOLD
