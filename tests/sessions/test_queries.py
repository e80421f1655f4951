"""SQL and Python ask the same of a session: rows, batches, budgets, groups, refusals before anything is charged."""

import re
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import emdp
from emdp.answers.stored import StoredAnswer
from emdp.base.errors import BudgetExceededError, RefusedError, SqlError, UsageError

FRAME = pl.DataFrame(
    {"user": [1, 1, 1, 2, 2, 3], "x": [1.0, 3.0, 5.0, 2.0, 2.5, 9.0], "kind": ["a", "b", "a", "b", "b", "a"]}
)
USERS = pl.DataFrame({"user": [1, 2, 3, 4], "plan": ["free", "pro", "pro", "free"]})
SPACE = emdp.Product(emdp.Interval("x", 0, 10), emdp.Categories("kind", ["a", "b", "c"]))
HEADER = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 2)"
X = emdp.col("x")


def opened(place: Path, budget: object = emdp.EmdDP(10.0), **options: object) -> emdp.Session:
    table = emdp.read(FRAME, user="user", space=SPACE, users=USERS, name="visits")
    return emdp.Session(table, budget=budget, ledger=place / "t.ledger", **options)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sql", "query"),
    [
        ("AVG(x) AS mean FROM visits", emdp.mean(X, alpha=2)),
        ("AVG(x) AS mean FROM visits GROUP BY kind", emdp.mean(X, alpha=2, by="kind")),
        ("AVG(x) AS mean FROM visits WHERE kind = 'a'", emdp.mean(X, alpha=2, where=emdp.category_is("a"))),
        ("AVG(x) AS mean FROM visits WHERE plan = 'pro'", emdp.mean(X, alpha=2, where={"plan": "pro"})),
        ("AVG(x) AS mean FROM visits GROUP BY plan", emdp.mean(X, alpha=2, by="plan")),
        ("FREQUENCY(GRID(x, 2.5)) AS frequency FROM visits", emdp.frequencies(2.5, column="x", alpha=2)),
        ("FREQUENCY(kind) AS frequency FROM visits", emdp.frequencies("kind", alpha=2)),
        ("QUANTILE(x, 0.25, 0.5) AS quantile FROM visits", emdp.quantiles(X, [0.25, 0.5], alpha=2)),
    ],
)
def test_sql_and_python_give_the_same_answer(tmp_path: Path, sql: str, query: object) -> None:
    frames = []
    for number in range(2):
        with emdp.testing.seeded(3):
            (tmp_path / str(number)).mkdir()
            with opened(tmp_path / str(number)) as session:
                asked = session.sql(f"{HEADER} {sql}") if number else session.answer(query)  # type: ignore[arg-type]
                frames.append((asked.frame, asked.exact_frame))
                assert session.remaining().alpha == 8.0
    # A plain mean of Python keeps its own unit, one of SQL its share of alpha: the grids differ by powers of two.
    assert_frame_equal(frames[0][0], frames[1][0], rel_tol=1e-9)
    assert_frame_equal(frames[0][1], frames[1][1], rel_tol=1e-9)


def test_means_by_group_are_what_sql_says_in_our_weighting(tmp_path: Path) -> None:
    """Users 1 to 4 (4 has no record, so counts with the neutral item x = 5, kind 'a') weigh a quarter each."""
    with emdp.testing.seeded(3), opened(tmp_path) as session:
        answer = session.sql(f"{HEADER} kind, AVG(x) AS m, SHARE() AS s, PART(x) AS p FROM visits GROUP BY kind")
    exact = answer.exact_frame
    shares = [(2 / 3 + 0 + 1 + 1) / 4, (1 / 3 + 1) / 4, 0.0]
    parts = [(6 / 3 + 0 + 9 + 5) / 4, (3 / 3 + 2.25) / 4, 0.0]
    assert exact["kind"].to_list() == ["a", "b", "c"]
    assert exact["s"].to_list() == pytest.approx(shares, abs=1e-12)
    assert exact["p"].to_list() == pytest.approx(parts, abs=1e-11)
    assert exact["m"].to_list()[:2] == pytest.approx([parts[0] / shares[0], parts[1] / shares[1]], rel=1e-9)


def test_public_groups_of_users_have_their_own_number_and_one_price(tmp_path: Path) -> None:
    with emdp.testing.seeded(3), opened(tmp_path) as session:
        answer = session.sql(f"{HEADER} plan, AVG(x) AS m, COUNT(DISTINCT user) AS people FROM visits GROUP BY plan")
        assert session.spent().alpha == 2.0
    assert answer.exact_frame.to_dicts() == [
        {"plan": "free", "m": pytest.approx((3 + 5) / 2), "people": 2},
        {"plan": "pro", "m": pytest.approx((2.25 + 9) / 2), "people": 2},
    ]
    assert [mechanism.sensitivity for mechanism in answer.mechanisms] == pytest.approx([20 / 2, 20 / 2])


def test_rows_are_sorted_by_what_the_frame_shows(tmp_path: Path) -> None:
    with emdp.testing.seeded(3), opened(tmp_path) as session:
        answer = session.sql(
            f"{HEADER} kind, SHARE() AS s FROM visits GROUP BY kind ORDER BY s_low DESC, kind LIMIT 2 OFFSET 1"
        )
        assert len(answer.frame) == 2
        assert answer.frame["s_low"].is_sorted(descending=True)


def test_a_batch_is_one_charge_and_all_or_nothing(tmp_path: Path) -> None:
    text = f"{HEADER} AVG(x) AS a FROM visits; {HEADER} FREQUENCY(kind) FROM visits;"
    with opened(tmp_path) as session:
        assert [len(answer.frame) for answer in session.sql_batch(text)] == [1, 3]
        assert session.spent().alpha == 4.0
        assert session.history()["mechanism"].to_list() == ["Batch"]
        assert len(session.preview(text).statements) == 2
        with pytest.raises(UsageError, match="sql_batch"):
            session.sql(text)
        with pytest.raises(BudgetExceededError):
            session.sql_batch(text * 2)
        assert len(session.history()) == 1
        with pytest.raises(SqlError):
            session.sql_batch(f"{text} {HEADER} AVG(FLOOR(x)) FROM visits")
        assert session.spent().alpha == 4.0


def test_two_kinds_of_privacy_are_charged_apart_in_one_batch(tmp_path: Path) -> None:
    text = (
        f"{HEADER} AVG(x) FROM visits; "
        "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 2) COUNT(*), SUM(x) FROM visits"
    )
    with opened(tmp_path, [emdp.EmdDP(10.0), emdp.UserDP(1.5)]) as session:
        session.sql_batch(text)
        assert (session.spent(emdp.EmdDP).alpha, session.spent(emdp.UserDP).epsilon) == (2.0, 1.0)
        with pytest.raises(BudgetExceededError):
            session.sql_batch(text)
        assert session.spent(emdp.EmdDP).alpha == 2.0
        assert len(session.history()) == 2


def test_user_privacy_needs_a_budget_of_its_kind(tmp_path: Path) -> None:
    with opened(tmp_path) as session, pytest.raises(UsageError):
        session.sql("SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1) AVG(x) FROM visits")
    assert not len(opened(tmp_path).history())


def test_totals_count_a_user_over_the_cap_with_less_weight(tmp_path: Path) -> None:
    with emdp.testing.seeded(3), opened(tmp_path, emdp.UserDP(10.0)) as session:
        answer = session.sql(
            "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 2) "
            "COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m FROM visits"
        )
    exact = answer.exact
    assert exact["n"] == pytest.approx(2 + 2 + 1)
    assert exact["s"] == pytest.approx(9 * 2 / 3 + 4.5 + 9)
    assert exact["m"] == pytest.approx((9 * 2 / 3 + 4.5 + 9) / 5)


def test_public_tables_are_joined_and_private_ones_are_none(tmp_path: Path) -> None:
    kinds = pl.DataFrame({"kind": ["a", "b", "c"], "price": [1.0, 2.0, 4.0]})
    with emdp.testing.seeded(3), opened(tmp_path, public={"kinds": kinds}) as session:
        answer = session.sql(f"{HEADER} AVG(k.price) AS m FROM visits JOIN kinds AS k ON visits.kind = k.kind")
        assert answer.exact["m"] == pytest.approx((4 / 3 + 2 + 1 + 1) / 4)
        with pytest.raises(RefusedError):
            session.sql(f"{HEADER} AVG(x) FROM elsewhere")


def test_a_preview_of_sql_touches_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        preview = session.preview(f"{HEADER} AVG(x) AS a, AVG(CASE kind WHEN 'a' THEN 1 ELSE 0 END) AS b FROM visits")
        assert preview.frame["query"].to_list() == ["a", "b"]
        assert preview.frame["share"].sum() == pytest.approx(1.0)
        assert preview.frame["affordable"].to_list() == [5, 5]
        assert "one draw" in preview.explain()
        assert not len(session.history())


@pytest.mark.parametrize("text", ["", ";", None, 3])
def test_no_statement_is_refused(tmp_path: Path, text: object) -> None:
    with opened(tmp_path) as session, pytest.raises((SqlError, UsageError)):
        session.sql(text)  # type: ignore[arg-type]


SHARED = [
    (f"{HEADER} AVG(x) AS m FROM visits WHERE kind = 'a'", {"where": emdp.category_is("a")}),
    (f"{HEADER} AVG(x) AS m FROM visits GROUP BY kind", {"by": "kind"}),
]


@pytest.mark.parametrize(("sql", "options"), SHARED)
def test_a_preview_says_which_share_it_assumes_and_takes_another(
    tmp_path: Path, sql: str, options: dict[str, object]
) -> None:
    with opened(tmp_path) as session:
        assumed = session.preview(sql)
        assert "assuming that 33.3 % of records match" in assumed.explain()
        assert "expected_share = ..." in assumed.explain()
        stated = session.preview(sql.replace("(alpha = 2)", "(alpha = 2, expected_share = 0.1)"))
        assert "10 % of records match" in stated.explain()
        python = session.preview(emdp.mean(X, alpha=2, name="m", share=0.1, **options))
        assert_frame_equal(stated.frame.drop("expression"), python.frame.drop("expression"))
        scales = [shown.frame["noise_scale"][0] for shown in (assumed, stated)]
        assert scales[1] / scales[0] == pytest.approx(10 / 3)


def test_quantiles_follow_the_share_that_is_stated(tmp_path: Path) -> None:
    with opened(tmp_path, emdp.EmdDP(1e6)) as session:
        sql = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1000) MEDIAN(x) FROM visits WHERE kind = 'a'"
        assert "33.3 % of records match" in session.preview(sql).explain()
        few = session.preview(sql.replace("1000)", "1000, expected_share = 0.01)"))
        same = session.preview(emdp.quantiles(X, 0.5, alpha=1000, where=emdp.category_is("a"), share=0.01))
        assert (
            few.frame["interval_95"][0] == same.frame["interval_95"][0] > session.preview(sql).frame["interval_95"][0]
        )


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (lambda: emdp.mean(X, alpha=2, share=0.5), "pass one of them"),
        (lambda: emdp.mean(X, alpha=2, share=0.5, where={"plan": "pro"}), "leave it out"),
        (lambda: emdp.vector_mean([X], alpha=2, share=0.5, by="plan"), "leave it out"),
        (lambda: emdp.quantiles(X, 0.5, alpha=2, share=0.5, by="plan"), "leave it out"),
        (lambda: emdp.mean(X, alpha=2, share=1.5, by="kind"), "share must be"),
    ],
)
def test_a_share_of_nothing_chosen_is_refused(tmp_path: Path, query: object, said: str) -> None:
    with opened(tmp_path) as session, pytest.raises(UsageError, match=said):
        session.preview(query())  # type: ignore[operator]


@pytest.mark.parametrize(
    ("budget", "sql"),
    [
        (emdp.EmdDP(1e9), "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1e6) kind, AVG(x) AS m FROM visits GROUP BY kind"),
        (
            emdp.EmdDP(1e9),
            "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1e6) kind, AVG(x) AS m FROM visits GROUP BY kind ORDER BY m "
            "LIMIT 1",
        ),
        (
            emdp.UserDP(1e9),
            "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1e6, max_records_per_user = 9) kind, VARIANCE(x) AS m "
            "FROM visits GROUP BY kind",
        ),
    ],
)
def test_an_answer_says_where_fewer_records_came_than_its_preview_assumed(
    tmp_path: Path, budget: object, sql: str
) -> None:
    """Nobody has a record of kind c; the remark is made of released numbers, and is told wherever the answer is."""
    with emdp.testing.seeded(3), opened(tmp_path, budget) as session:
        answer = session.sql(sql)
    (remark,) = answer.remarks
    assert re.match(r"in \d of 3 rows fewer records (match|are counted) than the ", remark)
    assert remark in answer.caveats
    assert remark in repr(answer)
    assert f"found        {remark}" in answer.explain()
    assert StoredAnswer.of(answer, period=None, data_version="1", receipt=answer.receipt).remarks == (remark,)


def test_an_answer_about_as_many_records_as_assumed_has_no_remark(tmp_path: Path) -> None:
    with emdp.testing.seeded(3), opened(tmp_path, emdp.EmdDP(1e9)) as session:
        for sql in (
            "AVG(x) FROM visits",
            "AVG(x) FROM visits WHERE kind = 'a'",
            "kind, SHARE() FROM visits GROUP BY kind",
        ):
            assert session.sql(f"SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1e6) {sql}").remarks == ()
