"""Statements whose ranges are chosen: what the users by bin cost and say, and what follows from them."""

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.base.errors import SqlError, UsageError
from emdp.base.statistic import Statistic
from emdp.estimators.owned.ranged import RangedPlan
from emdp.estimators.owned.ranges import BINS, ENDS, chosen_end, chosen_range, end_bins
from emdp.estimators.owned.statement import plan_statement
from emdp.privacy.rounding import as_decimal
from emdp.questions.owned.question import OwnedItem, OwnedSelect
from emdp.questions.owned.relations import Private
from emdp.questions.owned.totals import Key
from emdp.questions.price import Price
from emdp.rows.nodes import Column
from emdp.rows.types import Kind

X = Column("t", "x", Kind.DOUBLE)
Y = Column("t", "y", Kind.BIGINT)
KEYS = (Key("k", Column("t", "k", Kind.TEXT), ("a", "b")),)


def ranged(
    *kinds: Any, neighbours: Any = "remove", keys: Any = (), delta: float = 0.0, nodes: Any = (X,), **others: Any
) -> RangedPlan:
    items = tuple(OwnedItem(kind, f"{kind}_{node.name}", node, is_ranged=True) for kind in kinds for node in nodes)
    price = Price("epsilon", others.pop("epsilon", 1.0), delta, neighbours=neighbours)
    query = OwnedSelect(Private("t"), items, price, keys, ranged=nodes, **others)
    plan = plan_statement(query, users=None if neighbours == "remove" else 2000)
    assert isinstance(plan, RangedPlan)
    return plan


@pytest.mark.quarter
@pytest.mark.parametrize("neighbours", ["remove", "replace"])
@pytest.mark.parametrize(
    ("kinds", "others"),
    [
        (["sum"], {"measures_cap": True}),
        (["sum", "avg"], {"cap": 5, "keys": KEYS, "delta": 1e-9}),
        (["avg", "variance"], {"cap": 5, "nodes": (X, Y)}),
    ],
)
def test_one_charge_covers_all_readings_at_every_range(kinds: Any, others: Any, neighbours: Any) -> None:
    plan = ranged(*kinds, neighbours=neighbours, **others)
    counted = plan.rule.users
    assert counted.aggregation.groups_cap == 2 * len(others.get("nodes", (X,)))
    assert counted.mechanisms[0].sensitivity == (1 if neighbours == "remove" else 2) * counted.aggregation.groups_cap
    rest = plan.statement.guarantee.level
    assert as_decimal(counted.guarantee.level) + as_decimal(rest) <= 1
    assert counted.guarantee.level == pytest.approx(0.1)
    assert plan.guarantee.level == 1.0
    assert plan.guarantee.delta == others.get("delta", 0.0)
    assert plan.guarantee.kind == emdp.UserDP(0.0, neighbours=neighbours)
    places = [0, 1, 40, 70, 71, 72, 91, 100, BINS - 2, BINS - 1]
    slack = as_decimal(counted.event.slack_epsilon)
    for low, high in list(itertools.combinations(places, 2))[::4]:
        own = plan.rule.plan_at(((ENDS[low], ENDS[high]),) * len(plan.rule.query.ranged))
        assert own.guarantee.level <= rest
        assert own.guarantee.delta <= plan.guarantee.delta
        assert own.event.slack_epsilon <= plan.statement.slack_epsilon
        assert slack + as_decimal(own.event.slack_epsilon) <= as_decimal(plan.event.slack_epsilon)


@pytest.mark.parametrize(("neighbours", "moved"), [("remove", 1), ("replace", 2)])
def test_the_noise_of_the_users_by_bin_has_power(neighbours: Any, moved: int) -> None:
    """5,720 draws: the mean size is the scale that a user's moves need; 0.7 and 1.3 of it are 20 deviations away."""
    plan = ranged("sum", neighbours=neighbours, measures_cap=True)
    counted = plan.rule.users
    assert counted.mechanisms[0].scale == plan.rule.scale == pytest.approx(moved / 0.05)
    drawn = [
        float(value)
        for _ in range(20)
        for value in counted.release([[Fraction(0)] * 2 * BINS], Made([]), keep_exact=False)[0][0]  # type: ignore[list-item, arg-type]
    ]
    mean = float(np.mean(np.abs(drawn))) / (moved / 0.05)
    deviation = 1 / math.sqrt(len(drawn))
    assert abs(mean - 1) < 5 * deviation
    assert all(abs(mean - wrong) > 10 * deviation for wrong in (0.7, 1.3))


class Made:
    """Records of a made-up table for AVG of one value a user, as an engine would compute them."""

    def __init__(self, values: Sequence[float]) -> None:
        self.values = np.array(values, dtype=float)
        self.most_users = max(len(values), 1)
        self.read: list[tuple[float, float]] = []

    def aggregate(self, aggregation: Any) -> tuple[Statistic]:
        if aggregation.counts_users:
            places = [np.searchsorted(ENDS, own) for own in (self.values, -self.values)]
            found = np.concatenate([np.bincount(own, minlength=BINS) for own in places])
            return (Statistic([Fraction(int(count)) for count in found]),)
        (argument,) = aggregation.arguments
        self.read.append((argument.low, argument.high))
        share = (np.clip(self.values, argument.low, argument.high) - argument.low) / (argument.high - argument.low)
        above = sum(Fraction(int(own), 2**20) for own in np.rint(share * 2**20))
        return (Statistic([Fraction(0), len(self.values) - above, above]),)


def releases(plan: RangedPlan, made: Made, runs: int) -> Iterator[Any]:
    for _ in range(runs):
        opened = [one.open() for one in plan.statistic(made, keep_exact=False)]  # type: ignore[arg-type]
        yield plan.release(opened, made, keep_exact=True)  # type: ignore[arg-type]


def test_the_range_follows_from_released_numbers() -> None:
    """What is shown of the bins makes the range: the same released numbers, the same law, whatever the records are."""
    made = Made([3.0] * 60 + [12.0] * 60)
    plan = ranged("avg", cap=1)
    with emdp.testing.seeded(3):
        found = list(releases(plan, made, 12))
    finisher: Any = plan.finisher
    shown = [finisher.diagnostics(released)["range"] for released, _ in found]
    assert made.read == shown
    assert len(set(shown)) > 3


def test_means_are_of_clamped_values_and_say_so() -> None:
    chance = np.random.default_rng(5)
    values = chance.lognormal(3, 1, 20_000)
    plan = ranged("avg", cap=1)
    finisher: Any = plan.finisher
    with emdp.testing.seeded(4):
        found = list(releases(plan, Made(values), 12))
    held = 0
    for released, exact in found:
        value, low, high = finisher.frame(released, 0.95).row(0)
        assert value == pytest.approx(float(values.mean()), rel=0.03)
        assert low is None
        assert high is None
        _, low, high = finisher.of_capped().frame(released, 0.95).row(0)
        held += low <= finisher.exact(exact).item(0, 0) <= high
        least, most = finisher.diagnostics(released)["range"]
        assert least <= 2.0
        assert 256.0 <= most <= 2048.0
        remark, interval = finisher.remarks(released)
        assert interval == f"95 % interval of avg_x of the values within its range: {low:.6g} to {high:.6g}"
        assert (
            remark == f"the range of avg of {X} was chosen as {least:g} to {most:g}; values beyond it count as its ends"
        )
    assert held >= 9


def test_bins_hold_what_they_say() -> None:
    noisy = [Fraction(place) for place in range(BINS)]
    largest, smallest = (end_bins(noisy, of_lowest=own).rows() for own in (False, True))
    # A value is in one bin of largest values, and its negative in the mirrored one of smallest values.
    for value in (-(2.0**50), -3.0, -2.0, 0.0, 2.0**-20, 1.0, 1.5, 2.0, 2.0**50):
        (up,) = [users for low, high, users in largest if (low is None or low < value) and value <= high]
        (down,) = [users for low, high, users in smallest if low <= value and (high is None or value < high)]
        assert ENDS[up] == min(end for end in ENDS if end >= value)
        assert -ENDS[down] == max(end for end in ENDS if end <= value)


@pytest.mark.parametrize(
    ("highest", "lowest", "expected"),
    [
        (64.0, 64.0, (-64.0, 64.0)),  # Values of both signs.
        (64.0, -8.0, (0.0, 64.0)),  # Positive ones over several octaves: from 0.
        (2.0**31, -(2.0**30), (2.0**30, 2.0**31)),  # Within one octave.
        (-8.0, 64.0, (-64.0, 0.0)),
        (8.0, -8.0, (4.0, 8.0)),  # One value.
        (0.0, 0.0, (-(2.0**-20), 0.0)),
        (ENDS[0], -ENDS[0], (ENDS[0], ENDS[1])),
        (4.0, -32.0, (0.0, 32.0)),  # The wrong way round, which noise alone makes.
    ],
)
def test_a_range_by_both_ends(highest: float, lowest: float, expected: tuple[float, float]) -> None:
    rows = [[Fraction(0)] * BINS for _ in range(2)]
    for row, end in zip(rows, (highest, lowest), strict=True):
        row[ENDS.index(end)] = Fraction(10_000)
    found = chosen_range(*rows, scale=20.0)
    assert found == (expected, True)


def test_few_users_have_a_range_that_is_said_to_be_unsure() -> None:
    noisy = [Fraction(0)] * BINS
    noisy[100] = Fraction(100)
    assert chosen_end(noisy, 20.0) == (100, False)


ROWS = pl.DataFrame({"u": [0, 0, 1, 2], "z": [0.5] * 4, "x": [1.0, 5.0, -3.0, math.nan], "y": [1, 2, 3, None],
                     "k": ["a", "b", "a", "a"]})  # fmt: skip


@pytest.fixture
def session(tmp_path: Path) -> Iterator[emdp.Session]:
    table = emdp.read(ROWS, user="u", space=emdp.Interval("z", 0, 1), users=3, name="t")
    with emdp.Session(table, budget=emdp.UserDP(1e6, 0.1), ledger=tmp_path / "l") as made:
        yield made


HEAD = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1"


@pytest.mark.parametrize(
    ("options", "text", "code"),
    [
        ("range = auto", "SUM(z) FROM t", "range-unused"),
        ("range = auto", "COUNT(*) FROM t", "range-unused"),
        ("range = auto", "SUM(CLAMP(x, 0, 1)) FROM t", "range-unused"),
        ("range = 5", "SUM(x) FROM t", "option-value"),
        ("range = auto, max_records_per_user = 5", "MEDIAN(x) FROM t", "range"),
        ("range = auto, range = auto", "SUM(x) FROM t", "option-twice"),
        ("range = auto", "AVG(x) FROM t", "cap-missing"),
    ],
)
def test_what_is_refused(session: emdp.Session, options: str, text: str, code: str) -> None:
    with pytest.raises(SqlError) as refused:
        session.preview(f"{HEAD}, {options}) {text}")
    assert refused.value.code == code


def test_it_is_no_price_in_rho_and_no_option_of_distances(session: emdp.Session) -> None:
    head = "SELECT WITH USER_PRIVACY OPTIONS (rho = 0.1, delta = 1e-9, max_records_per_user = 5, range = auto)"
    with pytest.raises(SqlError) as refused:
        session.preview(f"{head} SUM(x) FROM t")
    assert refused.value.code == "rho-cap"
    with pytest.raises(SqlError) as refused:
        session.preview("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1, range = auto) AVG(z) FROM t")
    assert refused.value.code == "unknown-option"


def test_an_unknown_range_is_refused_with_it(session: emdp.Session) -> None:
    with pytest.raises(SqlError) as refused:
        session.preview(f"{HEAD}) SUM(x) FROM t")
    assert "range = auto in OPTIONS" in refused.value.remedy
    found = session.preview(f"{HEAD}, range = auto) SUM(x) FROM t")
    assert "errors if the range is 0 to 100" in str(found)


CAP = "max_records_per_user = 5"


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("", "SUM(x) AS s FROM t"),
        (CAP, "k, SUM(x), AVG(y), COUNT(*) FROM t WHERE k IN ('a', 'b') GROUP BY k"),
        (f"delta = 1e-9, max_groups_per_user = 2, {CAP}", "k, SUM(x) FROM t GROUP BY k"),
        ("", "SUM(m) AS s FROM (SELECT u, MAX(x) AS m FROM t GROUP BY u) q"),
        ("", "SUM(x) / COUNT(*) AS r, SUM(y) FILTER (WHERE k = 'a') AS s FROM t HAVING COUNT(*) > -1e9"),
        (CAP, "SUM(x * y) / SUM(y) AS r FROM t"),
        ("", "s / n AS r FROM (SELECT SUM(x) AS s FROM t) a CROSS JOIN (SELECT COUNT(*) AS n FROM t) b"),
    ],
)
def test_it_is_charged_once_whatever_the_shape(session: emdp.Session, options: str, text: str) -> None:
    answer = session.sql(f"{HEAD}, range = auto{', ' if options else ''}{options}) {text}")
    assert answer.receipt is not None
    assert answer.guarantee.level == 1.0
    assert any("was chosen as" in remark for remark in answer.remarks)
    assert answer.frame.width


def test_sums_of_one_argument_have_each_its_own_range_and_no_ends(session: emdp.Session) -> None:
    """Made of one sum and a count, they would be clamped to another range, and their intervals had ends."""
    answer = session.sql(
        f"{HEAD}, range = auto) SUM(m) AS a, SUM(2 * m) AS b, SUM(3 * m) AS c "
        "FROM (SELECT u, MAX(x) AS m FROM t GROUP BY u) q"
    )
    row = answer.frame.row(0, named=True)
    assert {row[f"{name}_{end}"] for name in "abc" for end in ("low", "high")} == {None}
    assert sum("was chosen as" in remark for remark in answer.remarks) == 3


def test_ranged_names_what_items_are_of() -> None:
    query = OwnedSelect(Private("t"), (OwnedItem("sum", "s", X),), Price.asked(epsilon=1.0), ranged=(X,), cap=1)
    with pytest.raises(UsageError):
        plan_statement(query, users=5)
    with pytest.raises(UsageError):
        OwnedItem("count", "n", X, is_ranged=True)
