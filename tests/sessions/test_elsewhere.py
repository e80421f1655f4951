"""Answers where people or records are elsewhere: means of what is somewhere, shares, previews, ledgers that go on."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.base.errors import LedgerError, SqlError, UsageError
from emdp.budgets.redeclaring import redeclare_as
from emdp.ledger import open_ledger
from emdp.sessions.asking import declaration_of

FRAME = pl.DataFrame(
    {
        "user": [1, 2, 4, 5, 5],
        "x": [2.0, 4.0, 99.0, 6.0, None],
        "kind": ["a", "b", "a", "a", "b"],
    }
)
LINE = emdp.Interval("x", 0, 10, on_invalid="elsewhere")
BOTH = emdp.Product(LINE, emdp.Categories("kind", ["a", "b"]))
USERS = [1, 2, 3, 4, 5]
EXACT = 1e9
"""A price at which noise is far below what the tests look at."""


@pytest.fixture
def session(tmp_path: Path) -> emdp.Session:
    table = emdp.read(FRAME, user="user", space=BOTH, users=USERS, name="trips", elsewhere=1)
    budget = [emdp.EmdDP(alpha=1e13), emdp.UserDP(1e13)]
    return emdp.Session(table, budget=budget, ledger=tmp_path / "city.ledger")


def ask(session: emdp.Session, items: str, *, privacy: str = "EMD", more: str = "") -> pl.DataFrame:
    price = f"alpha = {EXACT}" if privacy == "EMD" else f"epsilon = {EXACT}{more}"
    clauses = more if privacy == "EMD" else ""
    statement = f"SELECT WITH {privacy}_PRIVACY OPTIONS ({price}) {items} FROM trips {clauses}"
    return session.sql(statement).frame


@pytest.mark.parametrize("privacy", ["EMD", "USER"])
def test_a_mean_is_among_the_records_that_are_somewhere(session: emdp.Session, privacy: str) -> None:
    # Shares somewhere: 1, 1, 0 (no record), 0 (invalid), 1/2.
    row = ask(session, "AVG(x) AS mean, SHARE(ELSEWHERE) AS gone, VARIANCE(x) AS var, PART(x) AS part", privacy=privacy)
    found = row.row(0, named=True)
    mean = (2 + 4 + 3) / 2.5
    assert found["gone"] == pytest.approx(0.5, abs=1e-6)
    assert found["mean"] == pytest.approx(mean, abs=1e-6)
    assert found["mean_low"] <= found["mean"] <= found["mean_high"]
    assert found["var"] == pytest.approx((4 + 16 + 18) / 2.5 - mean**2, abs=1e-5)
    assert found["part"] == pytest.approx((2 + 4 + 3) / 5, abs=1e-6)


def test_a_condition_and_its_negation_both_leave_it_out(session: emdp.Session) -> None:
    one, other = (ask(session, "SHARE() AS s", more=f"WHERE {word} kind = 'a'")["s"][0] for word in ("", "NOT"))
    gone = ask(session, "SHARE(ELSEWHERE) AS s")["s"][0]
    assert (one, other) == pytest.approx((1.5 / 5, 1 / 5), abs=1e-6)
    assert one + other + gone == pytest.approx(1.0, abs=1e-6)
    groups = ask(session, "kind, SHARE() AS s, AVG(x) AS mean", more="GROUP BY kind")
    assert groups["s"].to_list() == pytest.approx([0.3, 0.2], abs=1e-6)
    assert groups["mean"].to_list() == pytest.approx([(2 + 3) / 1.5, 4], abs=1e-6)


def test_histograms_have_a_row_of_it_and_quantiles_are_of_the_rest(session: emdp.Session) -> None:
    cells = ask(session, "FREQUENCY(GRID(x, 5))")
    assert cells["elsewhere"].to_list() == [False, False, False, True]
    assert cells["x"].to_list() == [0.0, 5.0, 10.0, None]
    assert cells["frequency"].sum() == pytest.approx(1.0, abs=1e-6)
    assert cells["frequency"][3] == pytest.approx(0.5, abs=1e-6)
    kinds = ask(session, "FREQUENCY(kind)")
    assert kinds["frequency"].to_list() == pytest.approx([0.3, 0.2, 0.5], abs=1e-6)
    assert kinds.rows()[2][:2] == (None, True)
    assert ask(session, "MEDIAN(x) AS m")["m"][0] == pytest.approx(4, abs=0.1)


def test_under_a_cap_records_that_are_elsewhere_are_none(session: emdp.Session) -> None:
    row = ask(session, "COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m", privacy="USER", more=", max_records_per_user = 9")
    assert [row[name][0] for name in ("n", "s", "m")] == pytest.approx([3, 12, 4], abs=1e-4)
    statement = (
        f"SELECT WITH USER_PRIVACY OPTIONS (epsilon = {EXACT}, max_records_per_user = 9) COUNT(*) AS n FROM trips"
    )
    # A condition on any column is asked of the rows themselves: the same records count.
    assert session.sql(f"{statement} WHERE user > 1").frame["n"][0] == pytest.approx(2, abs=1e-4)


def test_the_preview_says_that_the_share_is_free(session: emdp.Session) -> None:
    text = str(session.preview("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) AS mean FROM trips"))
    assert "lipschitz 20" in text
    assert "shares of all groups add up to less than 1; the share of records that are somewhere is free" in text
    assert "is elsewhere" in text


def test_python_asks_the_same(session: emdp.Session) -> None:
    one = session.mean(emdp.col("x"), alpha=EXACT).frame
    assert one["mean"][0] == pytest.approx(3.6, abs=1e-6)
    several = session.vector_mean([emdp.col("x"), emdp.col("x") * 2], alpha=EXACT).frame
    assert several["mean_2"][0] == pytest.approx(7.2, abs=1e-6)


def test_a_radius_of_vectors_is_refused_before_the_charge(session: emdp.Session) -> None:
    with pytest.raises(UsageError, match="one by one"):
        session.user_mean(["x", emdp.col("x") * 2], epsilon=1, radius=2.0)
    assert session.history().height == 0


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("model", "delta", "spread", "slots"),
    [
        ("central", 0.0, None, None), ("central", 0.1, 0.5, 3), ("local", 0.0, None, None),
        ("shuffle", 1e-6, None, 3),
    ],
)  # fmt: skip
def test_several_means_over_users_are_over_those_who_are_somewhere(
    tmp_path: Path, model: Any, delta: float, spread: float | None, slots: int | None
) -> None:
    # Of 900 users 300 have no record, 100 none that is valid, and of the others a half is not.
    valid = [(user, x) for user in range(100, 600) for x in (7.0 + user % 2, 99.0)]
    frame = pl.DataFrame([(user, 99.0) for user in range(100)] + valid, schema=["user", "x"], orient="row")
    table = emdp.read(frame, user="user", space=LINE, users=900, name="trips", elsewhere=1, slots=slots)
    budget = emdp.UserDP(1e4, 0.5, model=model)
    asked: dict[str, Any] = {} if spread is None else {"spread": spread, "between": 0.5}
    with emdp.testing.seeded(4), emdp.Session(table, budget=budget, ledger=tmp_path / "a") as session:
        both = [emdp.col("x"), emdp.col("x") * 2]
        answer = session.user_mean(both, epsilon=40.0, delta=delta, model=model, **asked)
        row = answer.frame.row(0, named=True)
        names = list(answer.exact)
        assert list(answer.exact.values()) == pytest.approx([7.5, 15.0], abs=1e-6)
        for name, truth in zip(names, (7.5, 15.0), strict=True):
            assert row[name] == pytest.approx(truth, abs=0.1 if model == "central" else 0.3 * truth)
            assert row[f"{name}_low"] <= truth <= row[f"{name}_high"]
        assert answer.diagnostics["share_somewhere"] == pytest.approx(500 / 900, abs=0.2)
        assert session.spent(emdp.UserDP).epsilon <= 40.0
        text = str(answer.explain())
        assert "2 means apart" in text
        assert ("users weigh alike here" in text) == (slots is not None)


def test_several_means_over_nobody_have_no_value(tmp_path: Path) -> None:
    frame = pl.DataFrame({"user": [1, 2], "x": [99.0, 99.0]})
    table = emdp.read(frame, user="user", space=LINE, users=50, name="trips", elsewhere=1)
    with emdp.testing.seeded(4), emdp.Session(table, budget=emdp.UserDP(1e4), ledger=tmp_path / "a") as session:
        answer = session.user_mean(["x", emdp.col("x") * 2], epsilon=1.0)
        assert answer.frame.row(0) == (None, 0.0, 10.0, None, 0.0, 20.0)
        assert set(answer.exact.values()) == {None}


@pytest.mark.parametrize(
    ("model", "delta", "spread"),
    [
        ("central", 0.0, None),
        ("central", 0.1, 0.5),
        ("local", 0.0, 0.5),
        pytest.param("shuffle", 1e-6, None, marks=pytest.mark.slow),
    ],
)
def test_a_mean_over_users_is_over_those_who_are_somewhere(
    tmp_path: Path, model: Any, delta: float, spread: float | None
) -> None:
    # Of 900 users 300 have no record, 100 none that is valid, and of the others a half is not.
    valid = [(user, x) for user in range(100, 600) for x in (7.0 + user % 2, 99.0)]
    frame = pl.DataFrame([(user, 99.0) for user in range(100)] + valid, schema=["user", "x"], orient="row")
    table = emdp.read(frame, user="user", space=LINE, users=900, name="trips", elsewhere=1)
    budget = emdp.UserDP(1e4, 0.5, model=model)
    asked: dict[str, Any] = {} if spread is None else {"spread": spread, "between": 0.5}
    with emdp.testing.seeded(4), emdp.Session(table, budget=budget, ledger=tmp_path / "a") as session:
        answer = session.user_mean("x", epsilon=20.0, delta=delta, model=model, **asked)
        row = answer.frame.row(0, named=True)
        assert answer.exact["user_mean"] == pytest.approx(7.5, abs=1e-9)
        assert row["user_mean"] == pytest.approx(7.5, abs=0.05 if model == "central" else 2.5)
        assert row["user_mean_low"] <= 7.5 <= row["user_mean_high"]
        assert answer.diagnostics["share_somewhere"] == pytest.approx(500 / 900, abs=0.15)
        assert "over the users who have a record somewhere" in str(answer.explain())
        assert session.spent(emdp.UserDP).epsilon <= 20.0


def test_a_mean_over_nobody_has_no_value(tmp_path: Path) -> None:
    frame = pl.DataFrame({"user": [1, 2], "x": [99.0, 99.0]})
    table = emdp.read(frame, user="user", space=LINE, users=50, name="trips", elsewhere=1)
    with emdp.testing.seeded(4), emdp.Session(table, budget=emdp.UserDP(1e4), ledger=tmp_path / "a") as session:
        answer = session.user_mean("x", epsilon=1.0)
        assert answer.frame.row(0) == (None, 0.0, 10.0)
        assert answer.exact == {"user_mean": None}
        statement = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) USER_MEAN(x) AS m FROM trips"
        assert session.sql(statement).frame["m"].to_list() == [None]


@pytest.mark.quarter
@pytest.mark.parametrize(("model", "slots"), [("local", None), ("shuffle", None), ("local", 4)])
def test_means_by_messages_are_among_what_is_somewhere(tmp_path: Path, model: Any, slots: int | None) -> None:
    users = 400
    frame = pl.DataFrame({"user": [user for user in range(300) for _ in "ab"], "x": [2.0, None, 4.0, 9.0] * 150})
    table = emdp.read(frame, user="user", space=LINE, users=users, name="trips", elsewhere=1, slots=slots)
    with emdp.testing.seeded(7), emdp.Session(table, budget=emdp.EmdDP(1e9, 0.1), ledger=tmp_path / "a") as session:
        answer = session.mean(emdp.col("x"), alpha=1e4, delta=1e-6, model=model)
        statement = (
            f"SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1e4, delta = 1e-6, model = '{model}') PART(x) AS p FROM trips"
        )
        part = session.sql(statement)
    # Of each two users one has a half at 2, the other halves at 4 and 9: weights 1 and 2 of a half.
    mean, weight = (2 + 4 + 9) / 3, 1 / 2 if slots is None else 1 / 4
    assert answer.exact == pytest.approx({"mean": mean})
    assert answer.frame["mean_low"][0] <= mean <= answer.frame["mean_high"][0]
    assert part.exact == pytest.approx({"p": 0.75 * 15 / 2 * weight})
    assert part.frame["p_low"][0] <= part.exact["p"] <= part.frame["p_high"][0]
    assert answer.guarantee.model == model


def test_the_share_is_refused_where_it_means_nothing(session: emdp.Session, tmp_path: Path) -> None:
    with pytest.raises(SqlError, match="chosen by no condition"):
        ask(session, "SHARE(ELSEWHERE)", more="WHERE kind = 'a'")
    with pytest.raises(SqlError, match="takes no arguments"):
        ask(session, "SHARE(kind)")
    table = emdp.read(FRAME[:2], user="user", space=emdp.Interval("x", 0, 10), users=5, name="trips")
    with (
        emdp.Session(table, budget=emdp.EmdDP(1), ledger=tmp_path / "other.ledger") as plain,
        pytest.raises(SqlError, match="declare elsewhere = 1"),
    ):
        plain.sql("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) SHARE(ELSEWHERE) FROM trips")


def test_nobody_somewhere_is_an_answer_without_a_value(tmp_path: Path) -> None:
    frame = pl.DataFrame({"user": [1], "x": [77.0]})
    table = emdp.read(frame, user="user", space=LINE, users=3, name="trips", elsewhere=1)
    # One in twenty draws is beyond the interval of a share of nobody.
    with (
        emdp.testing.seeded(4),
        emdp.Session(table, budget=emdp.EmdDP(1e4), ledger=tmp_path / "a.ledger") as session,
    ):
        found = session.mean(emdp.col("x"), alpha=1).frame.row(0)
    assert found[0] is None


def opened(tmp_path: Path, space: emdp.Space, elsewhere: Any = None) -> emdp.Session:
    if not os.path.exists(tmp_path / "trips.parquet"):
        FRAME.filter(pl.col("x") < 10).write_parquet(tmp_path / "trips.parquet")
    table = emdp.read(tmp_path / "trips.parquet", user="user", space=space, users=5, elsewhere=elsewhere)
    return emdp.Session(table, budget=emdp.EmdDP(1e4), ledger=tmp_path / "city.ledger")


def line(rule: Any) -> emdp.Space:
    return emdp.Interval("x", 0, 10, on_invalid=rule)


def product(rule: Any) -> emdp.Space:
    return emdp.Product(line(rule), emdp.Categories("kind", ["a", "b"]))


CARRIED: list[tuple[emdp.Space, Any, emdp.Space, Any, bool]] = [
    (line("error"), None, line("elsewhere"), 1, True),
    (line("neutral"), "neutral", line("elsewhere"), 1, True),
    (line("error"), None, line("error"), 1, True),
    (line("clamp"), None, line("clamp"), 1, True),
    (line("clamp"), None, line("elsewhere"), 1, False),
    (line("error"), None, line("elsewhere"), 0.5, False),
    (line("elsewhere"), 1, line("neutral"), None, False),
    (line("elsewhere"), 1, line("elsewhere"), 0.75, False),
    (product("error"), None, product("elsewhere"), 1, True),
    # An invalid record kept its other parts: two of them had different items, and are one point now.
    (product("neutral"), None, product("elsewhere"), 1, False),
    (emdp.Interval("x", 0, 9, on_invalid="error"), None, line("elsewhere"), 1, False),
]


@pytest.mark.quarter
@pytest.mark.parametrize("place", range(len(CARRIED)))
def test_a_ledger_goes_on_where_its_charges_hold(tmp_path: Path, place: int) -> None:
    before, had, after, has, holds = CARRIED[place]
    with opened(tmp_path, before, had) as session:
        session.mean(emdp.col("x"), alpha=1)
    with pytest.raises(LedgerError, match="hold for both" if holds else "another space"):
        opened(tmp_path, after, has)
    wanted = declaration_of(emdp.read(tmp_path / "trips.parquet", user="user", space=after, users=5, elsewhere=has))
    with open_ledger(str(tmp_path / "city.ledger")) as ledger:
        if not holds:
            with pytest.raises(LedgerError, match="in one metric"):
                redeclare_as(ledger, "trips", wanted)
            return
        assert redeclare_as(ledger, "trips", wanted).kind == "redeclare"
    with opened(tmp_path, after, has) as session:
        session.mean(emdp.col("x"), alpha=1)
        assert session.spent().alpha == 2
    with pytest.raises(LedgerError, match="another space"):
        opened(tmp_path, before, had)


@pytest.fixture
def kinds(tmp_path: Path) -> emdp.Session:
    """A table of listed values: of user 3 no record, of user 4 an unknown one."""
    frame = pl.DataFrame({"user": [1, 1, 2, 4], "kind": ["a", "b", "b", "zoo"]})
    space = emdp.Categories("kind", ["a", "b"], on_invalid="elsewhere")
    table = emdp.read(frame, user="user", space=space, users=[1, 2, 3, 4], name="trips", elsewhere=1)
    return emdp.Session(table, budget=[emdp.EmdDP(1e9), emdp.UserDP(1e9)], ledger=tmp_path / "kinds.ledger")


@pytest.mark.quarter
@pytest.mark.parametrize("method", ["histogram", "krr", "hadamard", "subset", "unary"])
def test_frequencies_of_all_items_have_it_as_one_more(kinds: emdp.Session, method: Any) -> None:
    model = "central" if method == "histogram" else "local"
    frame = kinds.frequencies(epsilon=200 if method == "histogram" else 20, method=method, model=model).frame
    assert frame["elsewhere"].to_list() == [False, False, True]
    assert frame["kind"].to_list() == ["a", "b", None]
    if method in ("histogram", "krr"):
        # Of the others a message is half noise at any price.
        assert frame["frequency"][2] == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("slots", [None, 3])
def test_who_is_elsewhere_has_no_fact(tmp_path: Path, slots: int | None) -> None:
    frame = pl.DataFrame({"user": [1, 1, 2, 4], "kind": ["a", "b", "b", "zoo"]})
    space = emdp.Categories("kind", ["a", "b"], on_invalid="elsewhere")
    table = emdp.read(frame, user="user", space=space, users=4, name="trips", elsewhere=1, slots=slots)
    asked = [emdp.category_is("a"), emdp.category_is("b"), 1 - emdp.category_is("a")]
    with emdp.testing.seeded(2), emdp.Session(table, budget=emdp.UserDP(1e9), ledger=tmp_path / "k.ledger") as session:
        answer = session.shares(asked, epsilon=20, names=["a", "b", "not a"])
    assert [float(one) for one in answer.exact_frame["share"]] == [0.25, 0.5, 0.5]


def test_an_item_wise_release_draws_for_it_too(tmp_path: Path) -> None:
    frame = pl.DataFrame({"user": [1, 1, 2, 2], "kind": ["a", "b", "b", "zoo"]})
    space = emdp.Categories("kind", ["a", "b"], on_invalid="elsewhere")
    table = emdp.read(frame, user="user", space=space, users=2, name="trips", elsewhere=1, records=2)
    budget = emdp.EmdDP(1e9, 1e-6, "bounded")
    with emdp.Session(table, budget=budget, ledger=tmp_path / "a.ledger") as session:
        released = session.itemwise(emdp.randomizers.KRR(table.space, 20.0)).frame
        with pytest.raises(UsageError):
            session.itemwise(emdp.randomizers.KRR(space, 20.0))
    assert released["elsewhere"].to_list() == [False, False, True]
    assert released["count"].to_list() == [1, 2, 1]


@pytest.mark.parametrize("model", ["central", "local", "shuffle"])
def test_an_item_wise_release_of_places_tells_who_is_elsewhere(tmp_path: Path, model: Any) -> None:
    frame = pl.DataFrame({"user": [1, 1, 2, 2, 3, 3], "x": [2.0, 4.0, 99.0, None, 9.0, -1.0]})
    table = emdp.read(frame, user="user", space=LINE, users=3, name="trips", elsewhere=1, records=2)
    budget = emdp.EmdDP(1e9, 1e-6, "bounded", model)
    with emdp.testing.seeded(5), emdp.Session(table, budget=budget, ledger=tmp_path / "a.ledger") as session:
        made = emdp.randomizers.PlanarLaplace(table.space, 80.0)
        assert made.truthful > 1 - 1e-15
        released = session.itemwise(made, model=model)
        assert "says wrongly with probability" in str(released.explain())
        found = released.frame
        with pytest.raises(UsageError, match="another space"):
            session.itemwise(emdp.randomizers.PlanarLaplace(LINE, 80.0), model=model)
    assert sorted(found["elsewhere"].to_list()) == [False, False, False, True, True, True]
    assert found.filter("elsewhere")["x"].to_list() == [None] * 3
    assert np.abs(found["x"].drop_nulls().sort().to_numpy() - [2, 4, 9]).max() < 4


@pytest.mark.parametrize("rho", [0.5, 0.75, 1.0])
def test_randomizers_keep_their_alpha0_on_the_space_with_it(rho: float) -> None:
    inner = emdp.Grid(emdp.Interval("x", 0, 10, on_invalid="elsewhere"), 5)
    space = emdp.spaces.Elsewhere(inner, rho)
    items = emdp.spaces.finite_items(space)
    assert items is not None
    apart = space.distances(items, items)
    for made in (emdp.randomizers.Exponential(space, 2.0), emdp.randomizers.Optimal(space, 2.0)):
        law = np.asarray(made.matrix, dtype=np.float64)
        steepest = max(float(np.log(law[i] / law[j]).max()) / apart[i, j] for i in range(6) for j in range(6) if i != j)
        assert steepest <= made.alpha0 * (1 + 1e-9) <= 2.0 * (1 + 1e-6)


ALL = ("every record counts", "none is left out", "of all records")
"""Sentences that are false of a table whose space sends records elsewhere."""

OF_RECORDS = (
    "(epsilon = 1, max_records_per_user = 2) COUNT(*) AS n, SUM(x) AS s FROM trips",
    "(epsilon = 1, max_records_per_user = 2) COUNT(*) AS n FROM trips WHERE user > 1",
    "(epsilon = 1, max_records_per_user = 'auto') COUNT(*) AS n FROM trips WHERE user > 1",
    "(epsilon = 1, max_records_per_user = 2, delta = 1e-6) kind, SUM(CLAMP(x, 0, 9)) AS s "
    "FROM trips WHERE kind IN ('a') GROUP BY kind",
    "(epsilon = 1, max_records_per_group = 2, max_groups_per_user = 2) kind, COUNT(*) AS n "
    "FROM trips WHERE kind IN ('a') GROUP BY kind",
    "(epsilon = 1, max_records_per_user = 2) MEDIAN(CLAMP(user, 0, 9)) AS m FROM trips",
    "(epsilon = 1, delta = 1e-6, max_records_per_user = 2, max_groups_per_user = 2) user % 2 AS k, COUNT(*) AS n "
    "FROM trips GROUP BY 1",
    "(epsilon = 1, neighbours = 'remove') COUNT(DISTINCT user) AS n FROM trips",
)


@pytest.mark.quarter
@pytest.mark.parametrize("asked", OF_RECORDS)
def test_no_sentence_says_that_what_is_elsewhere_counts(asked: str, tmp_path: Path) -> None:
    table = emdp.read(FRAME, user="user", space=LINE, users=5, name="trips", elsewhere=1)
    budget = emdp.UserDP(9, 0.1, neighbours="remove" if "remove" in asked else "replace")
    with emdp.testing.seeded(1), emdp.Session(table, budget=budget, ledger=tmp_path / "l") as session:
        statement = f"SELECT WITH USER_PRIVACY OPTIONS {asked}"
        preview, answer = session.preview(statement), session.sql(statement)
    notes = " ".join(answer.notes)
    assert "those without a value of x that the space takes" in notes
    for text in (str(preview), str(answer.explain()), notes):
        assert not [one for one in ALL if one in text]
        assert "records of trips that its space sends elsewhere are left out" in text
        if "users above" in text:
            assert "for the true total of the records that are somewhere" in text


@pytest.mark.parametrize(("rule", "count"), [("elsewhere", 3), ("clamp", 5), ("neutral", 5)])
def test_another_rule_counts_all_as_the_note_says(rule: Any, count: int, tmp_path: Path) -> None:
    space = emdp.Interval("x", 0, 10, on_invalid=rule)
    table = emdp.read(FRAME, user="user", space=space, users=5, name="trips", elsewhere=1)
    with emdp.Session(table, budget=emdp.UserDP(1e13), ledger=tmp_path / "l") as session:
        options = f"OPTIONS (epsilon = {EXACT}, max_records_per_user = 9)"
        for where in ("", " WHERE user > 0"):
            answer = session.sql(f"SELECT WITH USER_PRIVACY {options} COUNT(*) AS n FROM trips{where}")
            assert answer.frame["n"][0] == pytest.approx(count, abs=1e-4)
            assert ("are left out: those without" in str(answer.explain())) == (rule == "elsewhere")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1) COUNT(DISTINCT user) FROM t WHERE kind = 'bar'",
            "kind = 'bar'",
        ),
        ("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) AS mean FROM t", "x = 2.0"),
        ("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) kind, SHARE() AS s FROM t GROUP BY kind", "kind = 'bar'"),
        ("SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1) COUNT(*) AS n FROM t", None),
    ],
)
def test_values_that_count_as_the_neutral_one_are_named(tmp_path: Path, statement: str, said: str | None) -> None:
    """A record of no listed kind counts as one of bars: whoever counts bars is told, elsewhere or not."""
    line = emdp.Interval("x", 0, 10, on_invalid="neutral", neutral=2)
    space = emdp.Product(line, emdp.Categories("kind", ["bar", "inn"], on_invalid="neutral"))
    rows = {"user": [1, 2], "x": [1.0, None], "kind": ["zoo", "bar"]}
    for elsewhere in (1, None):
        table = emdp.read(rows, user="user", users=2, space=space, name="t", elsewhere=elsewhere)
        budget = [emdp.EmdDP(9.0), emdp.UserDP(9.0)]
        with emdp.Session(table, budget=budget, ledger=tmp_path / f"{elsewhere}.ledger") as session:
            notes = session.preview(statement).statements[0].notes
            found = [text for text in notes if text.startswith("records of t without a value of")]
            assert len(found) == (said is not None)
            assert said is None or f"count as {said} (on_invalid = 'neutral')" in found[0]


@pytest.mark.parametrize(
    ("asked", "is_said"),
    [
        (emdp.mean(emdp.category_is("bar"), alpha=1, name="m"), True),
        (emdp.frequencies(alpha=1), True),
        (emdp.heavy_hitters("kind", count=2, epsilon=4.0, delta=1e-6), False),
    ],
)
def test_what_names_no_column_says_it_too(tmp_path: Path, asked: Any, is_said: bool) -> None:
    space = emdp.Categories("kind", ["bar", "inn"], on_invalid="neutral")
    rows = {"user": [1, 2], "kind": ["zoo", "bar"]}
    table = emdp.read(rows, user="user", users=4000, space=space, name="t", elsewhere=1)
    budget = [emdp.EmdDP(9.0), emdp.UserDP(9.0, 1e-5)]
    with emdp.Session(table, budget=budget, ledger=tmp_path / "t.ledger") as session:
        notes = session.preview(asked).statements[0].notes
    assert any("count as kind = 'bar'" in text for text in notes) == is_said
