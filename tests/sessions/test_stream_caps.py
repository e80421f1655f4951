"""Streams with a cap on active periods: who counts is written down with each row, and what is kept is secret."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import emdp
from emdp.answers import StreamAnswer
from emdp.base.errors import LedgerError, UsageError
from emdp.ledger import Entry, read_ledger
from emdp.privacy import EmdDP, UserDP

WEEKS = ("W1", "W2", "W3", "W4", "W5")
BUDGET = UserDP(40.0, 1e-3)
MEAN = emdp.mean(emdp.col("x"), epsilon=5.0, delta=1e-5, name="x")
COUNT = (
    "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 5, delta = 1e-5, max_records_per_user = 3) COUNT(*) AS n FROM visits"
)
PRESENT: dict[int, dict[str, float]] = {
    1: {"ann": 0.9, "bob": 0.5},
    2: {"ann": 0.8, "cid": 0.1},
    3: {"ann": 0.7, "bob": 0.6, "cid": 0.2},
    4: {"ann": 0.6, "bob": 0.4, "cid": 0.3},
    5: {"dan": 1.0, "cid": 0.5},
}


def asked(
    folder: Path, week: int, rows: dict[str, float] | None = None, *, query: Any = MEAN, elsewhere: Any = 1, **more: Any
) -> StreamAnswer:
    present = PRESENT[week] if rows is None else rows
    frame = pl.DataFrame(
        {"user": list(present), "x": list(present.values())}, schema={"user": pl.String, "x": pl.Float64}
    )
    table = emdp.read(
        frame, user="user", space=emdp.Interval("x", 0, 1), users=4, name="visits", elsewhere=elsewhere,
        version=f"v{week}-{len(present)}",
    )  # fmt: skip
    values = {"periods": WEEKS, "unit": "user", "active": 2, **more}
    budget = values.pop("budget", BUDGET)
    with emdp.Session(table, budget=budget, ledger=folder / "x.ledger", period=f"W{week}") as opened:
        return opened.stream(query, **values)  # type: ignore[arg-type]


def entries(folder: Path, kind: str) -> tuple[Entry, ...]:
    with read_ledger(folder / "x.ledger") as ledger:
        return ledger.entries("visits", kind)


def drafts(folder: Path) -> dict[str, Any]:
    """Return what the state keeps, by digest."""
    with sqlite3.connect(folder / "x.ledger.state") as state:
        found = {digest: json.loads(text) for digest, text in state.execute("SELECT digest, numbers FROM draft")}
    state.close()
    return found


def named(folder: Path) -> list[dict[str, Any]]:
    """Return the drafts that rows name, in the rows' order."""
    kept = drafts(folder)
    return [kept[row.payload["digest"]] for row in entries(folder, "row")]


def exact(folder: Path) -> list[float]:
    """Return the statistics that rows were made of: of the mean ``((x - 1/2), s)``, in units of its grid."""
    grid = entries(folder, "charge")[0].payload["stream"]["terms"]["grid"]
    return [own["numbers"][0] * grid for own in named(folder)]


class TestWhoCounts:
    """The first two periods of each user with records, as they were when their rows were drawn."""

    def test_the_statistic_is_of_those_who_count(self, tmp_path: Path) -> None:
        for week in (1, 2, 3, 4, 5):
            answer = asked(tmp_path, week)
        assert [own["counted"] for own in named(tmp_path)] == [
            ["ann", "bob"],
            ["ann", "cid"],
            ["bob", "cid"],
            [],
            ["dan"],
        ]
        sums = [0.4 + 0.0, 0.3 - 0.4, 0.1 - 0.3, 0.0, 0.5]
        scale = entries(tmp_path, "charge")[0].payload["stream"]["terms"]["scales"][0]
        assert exact(tmp_path) == [pytest.approx(scale * number / 4, abs=1e-9) for number in sums]
        # A week in which nobody counts has its row, as any other.
        assert answer.released == WEEKS
        assert "at most 2 periods of a user count" in str(answer.explain())

    def test_what_was_written_counts_and_not_the_file_as_it_is_now(self, tmp_path: Path) -> None:
        """Correcting W1's file gives nobody a third period: its row is shown, and its diary stays."""
        asked(tmp_path, 1)
        asked(tmp_path, 1, {"dan": 0.5, "bob": 0.5, "cid": 0.1})
        asked(tmp_path, 2)
        asked(tmp_path, 3)
        assert [own["counted"] for own in named(tmp_path)] == [["ann", "bob"], ["ann", "cid"], ["bob", "cid"]]
        assert len(drafts(tmp_path)) == 3

    def test_a_period_that_is_passed_over_counts_for_nobody(self, tmp_path: Path) -> None:
        asked(tmp_path, 1)
        asked(tmp_path, 3)
        assert [own["counted"] for own in named(tmp_path)] == [["ann", "bob"], ["ann", "bob", "cid"]]
        with pytest.raises(UsageError, match="counts as skipped"):
            asked(tmp_path, 2)

    @pytest.mark.parametrize("elsewhere", [1, "neutral"])
    def test_counts(self, tmp_path: Path, elsewhere: object) -> None:
        for week in (1, 2, 3):
            asked(tmp_path, week, query=COUNT, elsewhere=elsewhere)
        grid = entries(tmp_path, "charge")[0].payload["stream"]["terms"]["grid"]
        assert [own["numbers"][0] * grid for own in named(tmp_path)] == [2.0, 2.0, 2.0]

    def test_another_stream_has_a_diary_of_its_own(self, tmp_path: Path) -> None:
        asked(tmp_path, 1)
        asked(tmp_path, 2)
        asked(tmp_path, 3, name="again")
        assert named(tmp_path)[-1]["counted"] == ["ann", "bob", "cid"]

    def test_a_longer_list_goes_on_with_the_diary(self, tmp_path: Path) -> None:
        """Of days two periods of a user are two in a longer stream: what is due is next to nothing."""
        for week in (1, 2):
            asked(tmp_path, week, periods=WEEKS[:4])
        answer = asked(tmp_path, 3)
        assert answer.periods == WEEKS
        first, more = (entry.payload["event"]["mu"] for entry in entries(tmp_path, "charge"))
        assert more < 1e-9 < first
        assert named(tmp_path)[-1]["counted"] == ["bob", "cid"]

    def test_totals_below_the_crossing(self, tmp_path: Path) -> None:
        """Below 4 of 5 periods totals are the better ones, and then they are made."""
        for week in (1, 2, 3):
            answer = asked(tmp_path, week, plan="totals", show=("to date",))
        assert answer.released == WEEKS[:3]
        assert [own["counted"] for own in named(tmp_path)][-1] == ["bob", "cid"]
        for active in (4, None):
            with pytest.raises(UsageError, match="or active below 4"):
                asked(tmp_path, 1, plan="totals", active=active)


class TestPromise:
    """What is charged and said."""

    def test_it_costs_less_than_without(self, tmp_path: Path) -> None:
        (tmp_path / "free").mkdir()
        asked(tmp_path, 1)
        asked(tmp_path / "free", 1, active=None)
        capped, free = (entries(one, "charge")[0].payload for one in (tmp_path, tmp_path / "free"))
        terms = capped["stream"]["terms"]
        ratio = (2 / 5) ** 0.5 * terms["reach"] / terms["sensitivity"]
        assert ratio < 0.75
        assert terms["sigma"] / free["stream"]["terms"]["sigma"] == pytest.approx(ratio)
        assert (capped["stream"]["key"]["active"], capped["stream"]["terms"]["active"]) == (2, 2)
        # What earlier versions wrote is what is written without a cap.
        assert not {"active", "reach"} & {*free["stream"]["key"], *free["stream"]["terms"]}
        assert capped["event"]["mu"] == pytest.approx(free["event"]["mu"], rel=1e-9)

    def test_another_cap_is_another_stream(self, tmp_path: Path) -> None:
        asked(tmp_path, 1)
        asked(tmp_path, 1, active=3)
        assert len(entries(tmp_path, "charge")) == 2

    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            ({"active": 0}, "active must be at least 1"),
            ({"active": 1.5}, "active must be a whole number"),
            ({"elsewhere": "neutral"}, "elsewhere=1"),
            ({"query": emdp.mean(emdp.col("x"), alpha=5.0, delta=1e-5), "budget": EmdDP(40.0, 1e-3)}, "with alpha"),
            (
                {
                    "query": emdp.mean(emdp.col("x"), alpha=5.0, delta=1e-5),
                    "budget": EmdDP(40.0, 1e-3),
                    "unit": "period",
                },
                "does not grow with a cap",
            ),
        ],
    )
    def test_what_is_refused_before_a_charge(self, tmp_path: Path, wrong: dict[str, Any], said: str) -> None:
        with pytest.raises(UsageError, match=said):
            asked(tmp_path, 1, **wrong)
        assert entries(tmp_path, "charge") == ()


class TestSecret:
    """The diary is as secret as the data, and a row without it is the end of the stream."""

    def test_the_ledger_and_texts_hold_no_key(self, tmp_path: Path) -> None:
        answer = asked(tmp_path, 1)
        with read_ledger(tmp_path / "x.ledger") as ledger:
            said = [entry.text for entry in ledger.entries()]
        for key in ("ann", "bob"):
            assert not any(f'"{key}"' in text for text in [*said, str(answer.explain()), repr(answer)])
        from emdp.ledger.state import Draft

        assert repr(Draft((7,), ("ann",))) == "Draft(hidden)"

    @pytest.mark.parametrize("change", ['"bob"]', '"bob","cid"]', "]"])
    def test_a_changed_or_lost_diary_ends_the_stream(self, tmp_path: Path, change: str) -> None:
        asked(tmp_path, 1)
        with sqlite3.connect(tmp_path / "x.ledger.state") as state:
            state.execute('UPDATE draft SET numbers = replace(numbers, \'"ann","bob"]\', ?)', (change,))
        state.close()
        with pytest.raises(LedgerError, match="the stream has ended"):
            asked(tmp_path, 2)
        assert len(entries(tmp_path, "row")) == 1
        assert not asked(tmp_path, 1).is_new

    def test_a_draft_that_no_row_names_is_in_no_diary(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A process that dies before its row is written has counted nobody."""
        import emdp.sessions.streaming as streaming

        asked(tmp_path, 1)
        with monkeypatch.context() as broken:
            broken.setattr(streaming, "append_row", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                asked(tmp_path, 2)
        assert len(drafts(tmp_path)) == 2
        asked(tmp_path, 2, {"cid": 0.3})
        asked(tmp_path, 3)
        assert [own["counted"] for own in named(tmp_path)] == [["ann", "bob"], ["cid"], ["ann", "bob", "cid"]]


@pytest.mark.parametrize("moment", ["keep", "drawn"])
def test_a_row_that_another_wrote_meanwhile_is_in_the_diary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """W3's statistic is computed anew where W2's row was written after it was computed first."""
    from emdp.estimators.streams.plan import StreamPlan
    from emdp.ledger.state import StreamState

    asked(tmp_path, 1)
    owner: Any = StreamState if moment == "keep" else StreamPlan
    own, other = getattr(owner, moment), []

    def late(self: object, *arguments: object) -> object:
        if not other:
            other.append(asked)
            asked(tmp_path, 2)
        return own(self, *arguments)

    monkeypatch.setattr(owner, moment, late)
    asked(tmp_path, 3)
    assert [own["counted"] for own in named(tmp_path)] == [["ann", "bob"], ["ann", "cid"], ["bob", "cid"]]
    assert [row.payload["place"] for row in entries(tmp_path, "row")] == [1, 2, 3]
    # The first draft of W3 counted ann as well.
    assert ["ann", "bob", "cid"] in [own["counted"] for own in drafts(tmp_path).values()]
