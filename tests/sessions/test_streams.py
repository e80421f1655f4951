"""Streams of a session: one charge, a row a period that is drawn once, secret state, figures with exact intervals."""

import json
import math
import os
import stat
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.base.errors import BudgetExceededError, LedgerError, UsageError
from emdp.ledger import Entry, read_ledger
from emdp.privacy import EmdDP, UserDP

WEEKS = ("W1", "W2", "W3", "W4", "W5")
SHOWS = ("day", "last 7", "to date", "change")
USERS = 40
BUDGET = [EmdDP(400.0, 1e-3), EmdDP(30.0, 1e-4, unit="period")]
ROOMY = [EmdDP(4000.0, 1e-2), EmdDP(300.0, 1e-2, unit="period")]


def records(week: int, users: int = USERS) -> pl.DataFrame:
    random = np.random.default_rng(week)
    return pl.DataFrame({"user": np.repeat(np.arange(users), 3), "x": random.uniform(0, 1, size=3 * users)})


def table(week: int, **more: object) -> emdp.Table:
    return emdp.read(
        records(week),
        user="user",
        space=emdp.Interval("x", 0, 1),
        users=USERS,
        name="visits",
        version=f"v{week}",
        **more,
    )  # type: ignore[call-overload, no-any-return, misc]


def session(folder: Path, week: int, budget: object = None, **more: object) -> emdp.Session:
    budget = BUDGET if budget is None else budget
    return emdp.Session(table(week), budget=budget, ledger=folder / "x.ledger", period=f"W{week}", **more)  # type: ignore[arg-type]


def asked(folder: Path, week: int, *, budget: object = None, **more: object) -> emdp.answers.StreamAnswer:
    values = {
        "periods": WEEKS,
        "unit": "period",
        "plan": "both",
        "show": ("day", "last 7", "to date", "change"),
        **more,
    }
    query = values.pop("query", emdp.mean(emdp.col("x"), alpha=20.0, delta=1e-5, name="x"))
    with session(folder, week, budget) as opened:
        return opened.stream(query, **values)  # type: ignore[arg-type]


def entries(folder: Path, kind: str) -> tuple[Entry, ...]:
    with read_ledger(folder / "x.ledger") as ledger:
        return ledger.entries("visits", kind)


class TestOrder:
    """What is charged, read and drawn, and when."""

    def test_one_charge_and_a_row_a_period(self, tmp_path: Path) -> None:
        for week in (1, 2, 3):
            answer = asked(tmp_path, week)
            assert answer.is_new
            assert answer.released == WEEKS[:week]
        (charge,) = entries(tmp_path, "charge")
        assert charge.payload["event"]["event"] == "GaussianEvent"
        assert len(entries(tmp_path, "row")) == 3
        assert answer.frame.columns == ["period", "figure", "x", "x_low", "x_high"]
        # W1 has no change.
        assert answer.frame.height == 3 * 4 - 1
        assert answer.guarantee == EmdDP(20.0, 1e-5, unit="period")

    def test_a_stored_row_is_the_same_bytes_and_no_source_is_read(self, tmp_path: Path) -> None:
        first = asked(tmp_path, 1)
        asked(tmp_path, 2)
        with emdp.Session(
            emdp.read(
                records(99), user="user", space=emdp.Interval("x", 0, 1), users=USERS, name="visits", version="other"
            ),
            budget=BUDGET, ledger=tmp_path / "x.ledger", period="W1",
        ) as changed:  # fmt: skip
            again = changed.stream(
                emdp.mean(emdp.col("x"), alpha=20.0, delta=1e-5, name="x"),
                periods=WEEKS, unit="period", plan="both", show=("day", "last 7", "to date", "change"),
            )  # fmt: skip
        assert not again.is_new
        assert again.frame.filter(pl.col("period") == "W1").equals(first.frame)
        assert len(entries(tmp_path, "row")) == 2
        assert not any("other" in str(entry.payload) for entry in entries(tmp_path, "validated"))

    def test_later_rows_use_what_was_read_then(self, tmp_path: Path) -> None:
        """The exact statistics come back from the state; with noise taken out by hand they are those of the data."""
        for week in (1, 2):
            asked(tmp_path, week, plan="totals")
        rows = entries(tmp_path, "row")
        import sqlite3

        with sqlite3.connect(tmp_path / "x.ledger.state") as state:
            drafts = dict(state.execute("SELECT digest, numbers FROM draft"))
        grid = entries(tmp_path, "charge")[0].payload["stream"]["terms"]["grid"]
        for week, row in zip((1, 2), rows, strict=True):
            exact = json.loads(drafts[row.payload["digest"]])[0] * grid
            assert exact == pytest.approx(float(records(week)["x"].mean()), abs=1e-9)  # type: ignore[arg-type]
            assert row.payload["digest"] not in str(exact)

    def test_a_passed_over_period_counts_as_nothing_and_stays_so(self, tmp_path: Path) -> None:
        asked(tmp_path, 1)
        answer = asked(tmp_path, 4)
        assert answer.released == ("W1", "W4")
        assert "skipped      W2, W3" in str(answer.explain())
        with pytest.raises(UsageError, match="counts as skipped"):
            asked(tmp_path, 3)
        assert len(entries(tmp_path, "row")) == 2

    def test_what_the_budget_does_not_cover_reads_nothing(self, tmp_path: Path) -> None:
        with pytest.raises(BudgetExceededError):
            asked(tmp_path, 1, budget=[EmdDP(400.0, 1e-3), EmdDP(10.0, 1e-4, unit="period")])
        assert entries(tmp_path, "charge") == entries(tmp_path, "row") == ()
        assert not os.path.exists(tmp_path / "x.ledger.state")

    def test_every_period_of_the_stream_is_charged_per_period(self, tmp_path: Path) -> None:
        asked(tmp_path, 1)
        with session(tmp_path, 5) as other:
            assert other.spent(EmdDP(0.0, unit="period")).level == 20.0
            with pytest.raises(BudgetExceededError):
                other.mean(emdp.col("x"), alpha=11.0)
        with session(tmp_path, 9) as other:
            assert other.spent(EmdDP(0.0, unit="period")).level == 0.0
            # A stream per period counts per user with what all its periods may change together.
            assert other.spent(EmdDP(0.0)).level > 20.0

    def test_a_longer_list_prolongs_and_pays_the_difference(self, tmp_path: Path) -> None:
        asked(tmp_path, 1, periods=WEEKS[:2], plan="totals")
        answer = asked(tmp_path, 2, periods=WEEKS[:4], plan="totals")
        assert answer.periods == WEEKS[:4]
        assert answer.released == WEEKS[:2]
        first, second = entries(tmp_path, "charge")
        assert second.payload["stream"]["prolongs"] == first.hash
        new, old = second.payload["per_period"]
        assert (new["periods"], old["periods"]) == (["W3", "W4"], ["W1", "W2"])
        squares = [one["event"]["mu"] ** 2 for one in (first.payload["per_period"][0], old, new)]
        assert squares[0] + squares[1] == pytest.approx(squares[2])
        # A shorter list is the same stream.
        assert not asked(tmp_path, 2, periods=WEEKS[:3], plan="totals").is_new
        assert len(entries(tmp_path, "charge")) == 2

    def test_another_question_or_name_is_another_stream(self, tmp_path: Path) -> None:
        asked(tmp_path, 1)
        with pytest.raises(BudgetExceededError):
            asked(tmp_path, 1, name="again")
        asked(tmp_path, 1, query=emdp.mean(emdp.col("x"), alpha=5.0, delta=1e-5, name="x"))
        assert len(entries(tmp_path, "charge")) == 2


class TestOthers:
    """Other processes at the same stream, at the worst moment."""

    @pytest.mark.parametrize("moment", ["keep", "drawn"])
    def test_a_row_that_another_wrote_first_is_shown(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
    ) -> None:
        """What was drawn for a row that exists by then is thrown away unseen."""
        from emdp.estimators.streams.plan import StreamPlan
        from emdp.ledger.state import StreamState

        asked(tmp_path, 1)
        owner = StreamState if moment == "keep" else StreamPlan
        own, other = getattr(owner, moment), []

        def late(self: object, *arguments: object) -> object:
            if not other:
                other.append(None)
                other[0] = asked(tmp_path, 2)
            return own(self, *arguments)

        monkeypatch.setattr(owner, moment, late)
        answer = asked(tmp_path, 2)
        assert answer.frame.equals(other[0].frame)  # type: ignore[attr-defined]
        assert [entry.payload["place"] for entry in entries(tmp_path, "row")] == [1, 2]
        assert len(entries(tmp_path, "charge")) == 1

    def test_a_stream_that_another_opened_first_is_paid_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from emdp.estimators.streams.plan import StreamPlan

        own, other = StreamPlan.event, []

        def late(self: StreamPlan, *arguments: object) -> object:
            if not other:
                other.append(None)
                other[0] = asked(tmp_path, 1, budget=ROOMY)
            return own(self, *arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(StreamPlan, "event", late)
        answer = asked(tmp_path, 1, budget=ROOMY)
        assert answer.frame.equals(other[0].frame)  # type: ignore[attr-defined]
        assert len(entries(tmp_path, "charge")) == 1


class TestState:
    """The secret state: its owner's alone, and the end of a stream when it is lost."""

    def test_it_is_the_owner_s_alone(self, tmp_path: Path) -> None:
        mask = os.umask(0)
        try:
            asked(tmp_path, 1)
        finally:
            os.umask(mask)
        path = tmp_path / "x.ledger.state"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o640)
        with pytest.raises(LedgerError, match="chmod 600"):
            asked(tmp_path, 2)
        assert len(entries(tmp_path, "row")) == 1

    def test_the_chain_holds_no_exact_number(self, tmp_path: Path) -> None:
        asked(tmp_path, 1)
        (row,) = entries(tmp_path, "row")
        assert set(row.payload) == {"stream", "place", "period", "values", "digest", "data_version"}
        assert len(row.payload["digest"]) == 64

    def test_a_lost_or_changed_state_ends_the_stream(self, tmp_path: Path) -> None:
        asked(tmp_path, 1)
        path = tmp_path / "x.ledger.state"
        kept = path.read_bytes()
        path.unlink()
        with pytest.raises(LedgerError, match="the stream has ended"):
            asked(tmp_path, 2)
        assert not asked(tmp_path, 1).is_new
        # No draft is written for a stream that has ended.
        assert not path.exists()
        path.write_bytes(kept)
        path.chmod(0o600)
        import sqlite3

        with sqlite3.connect(path) as state:
            state.execute("UPDATE draft SET numbers = '[12345]'")
        state.close()
        with pytest.raises(LedgerError, match="the stream has ended"):
            asked(tmp_path, 2)
        assert len(entries(tmp_path, "row")) == 1

    def test_a_foreign_file_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "x.ledger.state").write_text("notes")
        (tmp_path / "x.ledger.state").chmod(0o600)
        with pytest.raises(LedgerError, match=r"x\.ledger\.state"):
            asked(tmp_path, 1)
        assert entries(tmp_path, "row") == ()

    def test_nothing_else_is_written_over_it(self, tmp_path: Path) -> None:
        from emdp.ledger import is_of_a_ledger

        asked(tmp_path, 1)
        assert is_of_a_ledger(tmp_path / "x.ledger.state")


class TestPeriodsApart:
    """What is promised of one period needs that no data are read as two, whatever the budgets are."""

    def test_data_under_two_names(self, tmp_path: Path) -> None:
        path = tmp_path / "w1.parquet"
        records(1).write_parquet(path)
        query = emdp.mean(emdp.col("x"), alpha=20.0, delta=1e-5, name="x")
        space = emdp.Interval("x", 0, 1)
        for period, is_refused in (("W1", False), ("w1", True)):
            read = emdp.read(path, user="user", space=space, users=USERS, name="visits")
            budget = EmdDP(100.0, 1e-3)
            with emdp.Session(read, budget=budget, ledger=tmp_path / "x.ledger", period=period) as opened:
                if not is_refused:
                    opened.stream(query, periods=("W1", "w1", "W2"), unit="period", plan="totals", show=("to date",))
                    continue
                with pytest.raises(LedgerError, match="for W1"):
                    opened.stream(query, periods=("W1", "w1", "W2"), unit="period", plan="totals", show=("to date",))

    def test_under_another_table_s_budget(self, tmp_path: Path) -> None:
        asked(tmp_path, 1)
        query = emdp.mean(emdp.col("x"), alpha=20.0, delta=1e-5, name="x")
        months = emdp.read(
            records(1), user="user", space=emdp.Interval("x", 0, 1), users=USERS, name="months", shares="visits"
        )
        with (
            emdp.Session(months, budget=BUDGET, ledger=tmp_path / "x.ledger", period="2026-11") as opened,
            pytest.raises(UsageError, match="under another table's budget"),
        ):
            opened.stream(query, periods=("2026-11",), unit="period", plan="days", show=("day",))


class TestFigures:
    """Values and intervals, from the noise's exact deviation."""

    def test_figures_are_near_the_truth(self, tmp_path: Path) -> None:
        query = emdp.mean(emdp.col("x"), alpha=2000.0, delta=1e-5, name="x")
        big = [EmdDP(90_000.0, 1e-2)]
        for week in range(1, 6):
            answer = asked(tmp_path, week, query=query, budget=big)
        truth = [float(records(week)["x"].mean()) for week in range(1, 6)]  # type: ignore[arg-type]
        sure = answer.interval(1 - 1e-9)
        found = {(row["period"], row["figure"]): row for row in sure.to_dicts()}
        for key, number in {
            ("W5", "day"): truth[4],
            ("W5", "to date"): float(np.mean(truth)),
            ("W3", "to date"): float(np.mean(truth[:3])),
            ("W4", "last 7"): float(np.mean(truth[:4])),
            ("W4", "change"): truth[3] - truth[2],
        }.items():
            assert found[key]["x_low"] <= number <= found[key]["x_high"]
            assert found[key]["x_high"] - found[key]["x_low"] < 0.02
        wide = answer.interval(0.95, coverage="all")
        widths = wide["x_high"] - wide["x_low"]
        assert (widths > answer.frame["x_high"] - answer.frame["x_low"]).all()

    def test_a_mean_among_some_is_a_ratio_of_sums(self, tmp_path: Path) -> None:
        query = emdp.mean(emdp.col("x"), where=emdp.ramp(emdp.col("x"), 0.3, 0.6), alpha=4000.0, delta=1e-5, name="x")
        big = [EmdDP(900_000.0, 1e-2)]
        for week in (1, 2):
            answer = asked(tmp_path, week, query=query, budget=big, show=("day", "to date"))
        chosen = [records(week)["x"].to_numpy() for week in (1, 2)]
        weights = [np.clip((x - 0.3) / 0.3, 0, 1) for x in chosen]
        ratio = sum((x * w).sum() for x, w in zip(chosen, weights, strict=True)) / sum(w.sum() for w in weights)
        row = answer.frame.filter((pl.col("period") == "W2") & (pl.col("figure") == "to date")).to_dicts()[0]
        # Eight standard deviations: with true noise a 95 % interval misses once in twenty runs.
        half = (row["x_high"] - row["x_low"]) / 2
        assert abs(row["x"] - ratio) <= 4 * half
        assert half < 0.01

    @pytest.mark.parametrize(
        "text", ["AVG(x) AS x FROM visits WHERE RAMP(x, 0.3, 0.6)", "VARIANCE(x) AS x FROM visits"]
    )
    def test_a_change_of_what_is_not_linear_is_that_of_its_days(self, tmp_path: Path, text: str) -> None:
        """A ratio of differences, cut to the range of a mean, is none."""
        query = f"SELECT WITH EMD_PRIVACY OPTIONS (alpha = 20000, delta = 1e-5) {text}"
        for week in (1, 2):
            answer = asked(tmp_path, week, query=query, budget=[EmdDP(9e9, 1e-2)], show=("day", "change"))
        chosen = [records(week)["x"].to_numpy() for week in (1, 2)]
        weights = [np.clip((x - 0.3) / 0.3, 0, 1) if "AVG" in text else np.ones_like(x) for x in chosen]
        means = [np.average(x, weights=w) for x, w in zip(chosen, weights, strict=True)]
        spread = [np.average((x - m) ** 2, weights=w) for x, w, m in zip(chosen, weights, means, strict=True)]
        one, two = means if "AVG" in text else spread
        sure = answer.interval(1 - 1e-9).to_dicts()[-1]
        assert sure["figure"] == "change"
        assert sure["x_low"] <= two - one <= sure["x_high"]
        assert sure["x_high"] - sure["x_low"] < 0.05
        days = answer.frame.filter(pl.col("figure") == "day")["x"]
        assert answer.frame.row(-1, named=True)["x"] == days[1] - days[0]

    @pytest.mark.parametrize("is_grouped", [False, True])
    def test_changes_where_records_may_be_elsewhere(self, tmp_path: Path, is_grouped: bool) -> None:
        """With ``elsewhere=1`` a mean is among what is somewhere, and with groups it is of each group's records."""
        space = emdp.Product(emdp.Interval("x", 0, 1), emdp.Categories("kind", ["a", "b"]))
        asks = "kind, AVG(x) AS x FROM visits GROUP BY kind" if is_grouped else "AVG(x) AS x FROM visits"
        query = f"SELECT WITH EMD_PRIVACY OPTIONS (alpha = 20000, delta = 1e-5) {asks}"
        means: dict[int, list[float]] = {}
        for week in (1, 2):
            data = records(week).with_columns(pl.Series("kind", ["a", "b"] * (USERS * 3 // 2)))
            # Half of the users are there in the first week, three quarters in the second.
            data = data.filter(pl.col("user") < USERS * (week + 1) // 4)
            groups = data.partition_by("kind", maintain_order=True) if is_grouped else [data]
            # A record weighs as one of its user's three.
            means[week] = [float(group["x"].mean()) for group in groups]  # type: ignore[arg-type]
            read = emdp.read(
                data, user="user", space=space, users=USERS, name="visits", version=f"v{week}", elsewhere=1
            )
            with emdp.Session(read, budget=EmdDP(9e9, 1e-2), ledger=tmp_path / "x.ledger", period=f"W{week}") as opened:
                answer = opened.stream(query, periods=WEEKS, unit="period", plan="totals", show=("change",))
        sure = answer.interval(1 - 1e-9, coverage="all")
        assert sure["period"].to_list() == ["W2"] * len(means[1])
        for row, one, two in zip(sure.to_dicts(), means[1], means[2], strict=True):
            assert row["x_low"] <= two - one <= row["x_high"]
            assert row["x_high"] - row["x_low"] < 0.1

    @pytest.mark.parametrize("where", [None, emdp.ramp(emdp.col("x"), 0.3, 0.6)])
    def test_changes_alone_are_no_rows_in_the_first_period(self, tmp_path: Path, where: object) -> None:
        query = emdp.mean(emdp.col("x"), where=where, alpha=20.0, delta=1e-5, name="x")  # type: ignore[arg-type]
        answer = asked(tmp_path, 1, query=query, show=("change",))
        assert answer.frame.height == answer.interval(0.5, coverage="all").height == 0
        days = asked(tmp_path, 1, query=query, show=("day",))
        assert answer.frame.schema == days.frame.schema
        assert "x_low" in repr(answer)
        assert asked(tmp_path, 2, query=query, show=("change",)).frame["period"].to_list() == ["W2"]

    def test_a_histogram(self, tmp_path: Path) -> None:
        query = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 20, delta = 1e-5) FREQUENCY(GRID(0.5)) FROM visits"
        answer = asked(tmp_path, 1, query=query, show=("day",))
        assert answer.frame.height == 3
        assert answer.frame.columns[:2] == ["period", "figure"]

    def test_at_user_level(self, tmp_path: Path) -> None:
        query = (
            "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 5, delta = 1e-5, max_records_per_user = 3) COUNT(*) AS n "
            "FROM visits"
        )
        mean = emdp.mean(emdp.col("x"), epsilon=5.0, delta=1e-5, name="x")
        budget = [UserDP(10.0, 1e-4)]
        answer = asked(tmp_path, 1, query=mean, budget=budget, unit="user", plan="days")
        assert answer.guarantee == UserDP(5.0, 1e-5)
        with pytest.raises(UsageError, match="unit must be 'user'"):
            asked(tmp_path, 1, query=mean, budget=budget, plan="days")
        counted = asked(tmp_path, 1, query=query, budget=budget, unit="user", plan="days", show=("day",))
        assert counted.frame.columns[2] == "n"

    def test_coverage_of_totals_to_date(self, tmp_path: Path) -> None:
        """Sixty coordinates of three weeks: 95 % intervals of means to date hold the truth about as often."""
        columns = [f"x{place}" for place in range(60)]
        random = np.random.default_rng(1)
        data = {week: random.uniform(0, 1, size=(USERS, 60)) for week in (1, 2, 3)}
        space = emdp.Vector(columns, box=[(0.0, 1.0)] * 60)
        query = emdp.vector_mean([emdp.col(name) for name in columns], alpha=20.0, delta=1e-5)
        for week, values in data.items():
            frame = pl.DataFrame({"user": range(USERS), **dict(zip(columns, values.T, strict=True))})
            read = emdp.read(frame, user="user", space=space, users=USERS, name="visits", version=f"v{week}")
            with emdp.Session(
                read, budget=EmdDP(4000.0, 1e-2), ledger=tmp_path / "x.ledger", period=f"W{week}"
            ) as opened:
                answer = opened.stream(query, periods=WEEKS, unit="period", plan="both", show=("to date",))
        (last,) = answer.frame.filter(pl.col("period") == "W3").to_dicts()
        truth = np.mean([data[week].mean(axis=0) for week in data], axis=0)
        names = [name for name in answer.frame.columns[2:] if not name.endswith(("_low", "_high"))]
        held = [last[f"{name}_low"] <= value <= last[f"{name}_high"] for name, value in zip(names, truth, strict=True)]
        assert len(held) == 60
        # Binomial(60, 0.95): below 46 with probability 1e-6; with 0.5 times the width 67 % would hold.
        assert sum(held) >= 46
        assert math.isfinite(last[f"{names[0]}_low"])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"unit": "year"}, "unit"),
        ({"unit": "user", "plan": "totals"}, "plan must be 'days'"),
        ({"plan": "weeks"}, "plan"),
        ({"show": ("week",)}, "show"),
        ({"show": ()}, "show"),
        ({"periods": ("W8", "W9")}, "one of the stream's"),
        ({"periods": ()}, "periods"),
        ({"periods": ("W1", "W1")}, "once"),
        ({"query": emdp.mean(emdp.col("x"), alpha=1.0, name="x")}, "delta"),
        ({"query": emdp.quantiles(emdp.col("x"), 0.5, alpha=1.0, delta=1e-6)}, "stream is of means"),
        ({"query": emdp.mean(emdp.col("x"), alpha=1.0, name="x", model="local")}, "delta"),
        # Noise on edges is for flows, which are half of what cells move by; rows have noise on cells.
        ({"query": emdp.frequencies(0.25, alpha=1e-4, delta=5e-5, noise="edges")}, "noise must be Gaussian"),
        ({"query": emdp.heavy_hitters("x", epsilon=1.0, delta=1e-6, threshold=0.1)}, ""),
        ({"name": "two\nlines"}, "name"),
    ],
)
def test_what_is_refused(tmp_path: Path, wrong: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as error:
        asked(tmp_path, 1, **wrong)  # type: ignore[arg-type]
    assert said in str(error.value)
    assert entries(tmp_path, "charge") == ()


def test_a_session_without_a_period_has_no_row(tmp_path: Path) -> None:
    with (
        emdp.Session(table(1), budget=BUDGET, ledger=tmp_path / "x.ledger") as opened,
        pytest.raises(UsageError, match="period of the session"),
    ):
        opened.stream(emdp.mean(emdp.col("x"), alpha=1.0, delta=1e-5), periods=WEEKS, unit="period")


def test_under_the_test_switch_rows_are_marked(tmp_path: Path) -> None:
    with emdp.testing.seeded(1):
        answer = asked(tmp_path, 1)
    assert not answer.is_private
    assert "NOT PRIVATE" in repr(answer)
    assert "NOT PRIVATE" in str(answer.explain())


class TestPreview:
    """What a stream would cost, and how far off it would be, before anything is charged."""

    @staticmethod
    def ahead(folder: Path, week: int, *, budget: object = None, **more: object) -> emdp.answers.StreamPreview:
        query = more.pop("query", emdp.mean(emdp.col("x"), alpha=20.0, delta=1e-5, name="x"))
        values = {"periods": WEEKS[:3], "unit": "period", "plan": "both", "show": SHOWS, **more}
        with session(folder, week, budget) as opened:
            return opened.preview_stream(query, **values)  # type: ignore[arg-type]

    @pytest.mark.parametrize("plan", ["days", "totals", "both"])
    def test_it_has_the_errors_of_the_last_period(self, tmp_path: Path, plan: str) -> None:
        told = self.ahead(tmp_path, 1, plan=plan)
        assert not entries(tmp_path, "charge")
        assert not (tmp_path / "x.ledger.state").exists()
        for week in (1, 2, 3):
            answer = asked(tmp_path, week, plan=plan, periods=WEEKS[:3])
        last = answer.frame.filter(pl.col("period") == "W3")
        assert last["figure"].to_list() == told.frame["figure"].to_list() == list(SHOWS)
        halves = ((last["x_high"] - last["x_low"]) / 2).to_list()
        assert told.frame["interval_95"].to_list() == pytest.approx(halves, rel=1e-9)
        # Gaussian: the expected absolute error is sqrt(2/pi) of the deviation, the half-width 1.96 of it.
        for scale, error, half in told.frame.select("noise_scale", "expected_error", "interval_95").rows():
            assert (error, half) == pytest.approx((scale * math.sqrt(2 / math.pi), scale * 1.959964), rel=1e-6)

    def test_it_has_what_each_budget_is_charged_and_then_nothing(self, tmp_path: Path) -> None:
        told = self.ahead(tmp_path, 1)
        assert told.is_affordable
        assert told.guarantee == EmdDP(20.0, 1e-5, unit="period")
        answer = asked(tmp_path, 1, periods=WEEKS[:3])
        (charge,) = entries(tmp_path, "charge")
        (_, whole, once), (_, each, times) = told.costs
        assert whole.level == charge.payload["event"]["alpha"]
        (part,) = charge.payload["per_period"]
        assert (once, times, each.level) == (0, 3, part["event"]["alpha"])
        again = self.ahead(tmp_path, 1)
        assert again.costs == ()
        assert again.released == ("W1",)
        assert "costs nothing" in again.cost
        assert again.frame.equals(told.frame)
        longer = self.ahead(tmp_path, 1, periods=WEEKS)
        assert longer.released == ("W1",)
        asked(tmp_path, 1)
        payload = entries(tmp_path, "charge")[1].payload
        # The new periods pay what one costs, the old ones the difference.
        due = [(part["event"]["alpha"], len(part["periods"])) for part in payload["per_period"]]
        assert [(own.level, times) for _, own, times in longer.costs] == [(payload["event"]["alpha"], 0), *due]
        assert answer.guarantee == told.guarantee

    def test_what_no_budget_covers_is_told_as_it_is_refused(self, tmp_path: Path) -> None:
        query = emdp.mean(emdp.col("x"), alpha=31.0, delta=1e-5, name="x")
        told = self.ahead(tmp_path, 1, query=query)
        assert not told.is_affordable
        with pytest.raises(BudgetExceededError) as refused:
            asked(tmp_path, 1, query=query, periods=WEEKS[:3])
        assert str(refused.value) == told.refusal
        assert told.refusal in str(told.explain())
        with pytest.raises(UsageError, match="period of the session must be one"):
            self.ahead(tmp_path, 5)

    def test_a_ratio_and_its_change_are_previewed_under_what_is_assumed(self, tmp_path: Path) -> None:
        """The change of what is not linear is the difference of two figures, each with half the probability."""
        where = emdp.ramp(emdp.col("x"), 1, 0)
        query = emdp.mean(emdp.col("x"), alpha=20.0, delta=1e-5, where=where, name="m")
        told = self.ahead(tmp_path, 1, query=query, plan="days", show=("day", "last 7", "change"))
        day, week, change = told.frame["interval_95"].to_list()
        assert week == pytest.approx(day / math.sqrt(3))
        assert change == pytest.approx(day * 2 * 2.241403 / 1.959964, rel=1e-6)
        assert any("match" in note for note in told.notes)
        assert any("people without records count with the neutral item, x = 0.5" in note for note in told.notes)
