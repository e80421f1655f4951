"""One scan for several statements: the statistics of each alone, of one version of the data, behind its charge."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.base.errors import DataRuleError
from emdp.base.statistic import Statistic
from emdp.expressions import Expression
from emdp.expressions.cells.aggregation import Aggregation, Axis, HatAxis, LabelAxis, UserGroups
from emdp.expressions.nodes.base import Constant
from emdp.ledger import read_ledger
from emdp.sessions import records, scans
from emdp.sessions.scans import SharedScans
from emdp.tables import aggregate
from emdp.testing import seeded

SPACE = emdp.Product(emdp.Interval("x", 0, 10, on_invalid="clamp"), emdp.Categories("kind", ["bar", "park"]))
RNG = np.random.default_rng(5)
FRAME = pl.DataFrame(
    {"user": RNG.integers(0, 9, 60), "x": RNG.uniform(-1, 11, 60), "kind": ["bar", "park", "bar"] * 20}
)
X, BAR, ONE = emdp.col("x"), emdp.category_is("bar"), Constant(1.0)
VALUES: tuple[Expression, ...] = (X, ONE, X * X, BAR, emdp.ramp(X, 7, 3), X * BAR, emdp.sqrt(X + 1))
AXES: dict[str, tuple[Axis, ...]] = {
    "plain": (),
    "labels": (LabelAxis("kind", (("bar",), ("park",))),),
    "tents": (HatAxis(X, start=0, step=1, size=11),),
    "both": (LabelAxis("kind", (("bar",), ("park",))), HatAxis(X, start=0, step=2, size=6)),
}
STATEMENT = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) {} FROM t"
BATCH = (
    STATEMENT.format("AVG(x)"), STATEMENT.format("AVG(x * x), AVG(x)"), STATEMENT.format("MEDIAN(x)"),
    STATEMENT.format("kind, AVG(x)") + " GROUP BY kind", STATEMENT.format("kind, AVG(x * x)") + " GROUP BY kind",
    STATEMENT.format("AVG(x)") + " WHERE kind = 'bar'",
)  # fmt: skip
"""Three means, one distribution, two tables by kind: three scans."""


def table(path: object = FRAME, **more: Any) -> emdp.Table:
    return emdp.read(path, user="user", name="t", **{"space": SPACE, "users": 12, "version": "v1", **more})


def opened(folder: Path, ledger: str = "t.ledger", **more: Any) -> emdp.Session:
    return emdp.Session(table(**more), budget=emdp.EmdDP(100.0), ledger=folder / ledger)


@pytest.mark.quarter
@pytest.mark.parametrize("cap", [None, 2], ids=["mean", "total"])
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("name", ["clamped", "elsewhere", "listed"])
def test_statistics_of_one_scan_are_those_of_each_alone(name: str, axes: str, cap: int | None) -> None:
    more: dict[str, Any] = {"listed": {"users": list(range(12))}}.get(name, {})
    if name == "elsewhere":
        kinds = emdp.Categories("kind", ["bar", "park"])
        far = emdp.Interval("x", 0, 10, on_invalid="elsewhere")
        more = {"space": emdp.Product(far, kinds), "elsewhere": 1, "slots": 9}
    own, together = table(**more), SharedScans()
    asked = [Aggregation((*one, X), AXES[axes], cap=cap) for one in pairwise(VALUES)]
    for one in asked:
        together.expect(one)
    wide = together.widened(asked[0], 12)
    assert isinstance(wide, Aggregation)
    assert set(wide.values) == set(VALUES)
    together.keep(wide, aggregate(own, wide))
    for one in asked:
        (found,), (alone,) = together.take(one) or (), aggregate(own, one)
        assert repr(found) == "Statistic(hidden)"
        assert found.open() == alone.open()
    # Each is given once, and nothing is held when all are.
    assert together.take(asked[0]) is None
    assert not together._found


def test_a_batch_is_computed_together_and_is_what_each_is_alone(
    ran: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    for ledger, most in (("one.ledger", 32), ("each.ledger", 0)):
        monkeypatch.setattr(scans, "MOST_VALUES", most)
        with seeded(5), opened(tmp_path, ledger) as session:
            answers = session.sql_batch("; ".join(BATCH))
        with read_ledger(tmp_path / ledger) as own:
            made.append([[(one.kind, one.payload) for one in own.entries()][1:], [one.frame for one in answers]])
        made[-1].append(len(ran))
        ran.clear()
    (one, answers, few), (other, alone, many) = made
    assert (few, many) == (3, 6)
    assert one == other
    assert all(first.equals(second) for first, second in zip(answers, alone, strict=True))


def test_limits_of_what_is_computed_together() -> None:
    together, some = SharedScans(), [Aggregation((X, emdp.ramp(X, 9, 1 + place / 8))) for place in range(50)]
    for one in some:
        together.expect(one)
    wide: list[Any] = [together.widened(some[0], users) for users in (12, scans.MOST_SUMS // 10, 10**9)]
    sizes = [len(one.values) for one in wide]
    assert sizes == [scans.MOST_VALUES, 10, 2]
    assert together.widened(some[0], None) is some[0]
    keys = pl.DataFrame({"key": ["1"], "group": [0]})
    chosen = UserGroups(keys.get_column("key"), keys.get_column("group"), (1,))
    pairs = Aggregation((ONE,), AXES["labels"] * 2, pairs=True)
    for alone in (Aggregation((X,), users=chosen), pairs):
        together.expect(Aggregation((X * X,), alone.axes, alone.users))
        assert together.widened(alone, 12) is alone


def test_each_is_opened_after_its_own_charge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_, seen = Statistic.open, []

    def watched(own: Statistic) -> Any:
        with read_ledger(tmp_path / "t.ledger") as ledger:
            seen.append(len(ledger.entries(kind="charge")))
        return open_(own)

    monkeypatch.setattr(Statistic, "open", watched)
    with opened(tmp_path) as session:
        session.sql_batch("; ".join(BATCH))
    assert len(seen) == len(BATCH)
    assert min(seen) >= 1


def test_what_is_held_is_given_of_the_version_that_it_was_read_under_alone(tmp_path: Path) -> None:
    path, shared, found = tmp_path / "t.parquet", SharedScans(), []
    one, other = Aggregation((X,)), Aggregation((X * X,))
    for version, number, asked in (("v1", 2.0, one), ("v2", 3.0, other)):
        FRAME.with_columns(x=pl.lit(number)).write_parquet(path)
        held = records.TableRecords(table(str(path), version=version, users=9), shared)
        held.check_aggregation(one)
        held.check_aggregation(other)
        held.version()
        found.append(held.aggregate(asked)[0].open())
    assert found == [(2,), (9,)]


def test_nothing_is_held_of_data_that_were_others_during_the_scan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, number in (("good", 2.0), ("bad", 3.0)):
        FRAME.with_columns(x=pl.lit(number)).write_parquet(tmp_path / name)
    path, real = tmp_path / "t.parquet", records.aggregate

    def turn(name: str) -> None:
        (tmp_path / "new").symlink_to(tmp_path / name)
        (tmp_path / "new").replace(path)

    def turned(own: Any, asked: Any) -> Any:
        turn("bad")
        return real(own, asked)

    turn("good")
    shared, asked, found = SharedScans(), [Aggregation((X,)), Aggregation((X * X,))], []
    for one in asked:
        held = records.TableRecords(table(str(path), version=None, users=9), shared)
        for other in asked:
            held.check_aggregation(other)
        held.version()
        with monkeypatch.context() as patched:
            patched.setattr(records, "aggregate", turned if not found else real)
            found.append(held.aggregate(one)[0].open())
        # Put back before the second, which must not have what was read meanwhile. Its instance is locked to other data.
        turn("good")
    assert found == [(3,), (4,)]


FAILURES = [ValueError("{}"), DataRuleError("{}; mend it."), MemoryError("{}")]


@pytest.mark.parametrize("failure", FAILURES)
def test_a_scan_of_several_that_fails_is_as_if_it_had_not_been_tried(
    failure: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, tried = records.aggregate, []

    def fails(own: Any, asked: Any) -> Any:
        found = real(own, asked)
        if len(asked.values) > 2:
            tried.append(asked)
            raise type(failure)(str(failure).format(found[0].open()[0]))
        return found

    monkeypatch.setattr(records, "aggregate_checked", lambda *_: None)
    made = []
    for ledger in ("one.ledger", "other.ledger"):
        with seeded(3), opened(tmp_path, ledger) as session:
            made.append([one.frame for one in session.sql_batch("; ".join(BATCH))])
        monkeypatch.setattr(records, "aggregate", fails)
    assert tried
    assert all(one.equals(other) for one, other in zip(*made, strict=True))
