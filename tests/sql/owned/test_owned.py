"""Statements under USER_PRIVACY over rows with owners, from the text to the answer."""

import datetime
import random
from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl
import pytest

import emdp
from emdp.base.errors import SqlError
from emdp.questions.owned.question import OwnedSelect
from emdp.sql import translate

HEADER = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, max_records_per_user = 1000) "
ZONES = pl.DataFrame({"cat": ["a", "b", "c", "a"], "zone": ["z1", "z2", "z1", "z3"], "size": [1, 2, None, 4]})
EPSILON = 1e5


@pytest.fixture(scope="module")
def records() -> pl.DataFrame:
    chance = random.Random(5)
    return pl.DataFrame(
        {
            "u": [chance.randrange(20) for _ in range(400)],
            "x": [chance.uniform(0, 10) for _ in range(400)],
            "cat": [chance.choice("abc") for _ in range(400)],
            "rating": [chance.choice([1, 2, 3, 4, 5, None]) for _ in range(400)],
            "day": [datetime.date(2026, 1, chance.randrange(1, 6)) for _ in range(400)],
            "odd": [chance.choice([1.5, float("nan"), float("inf"), None]) for _ in range(400)],
            "title": [chance.choice(["Joe's bar", "cafe", None]) for _ in range(400)],
        }
    )


@pytest.fixture
def session(tmp_path: Path, records: pl.DataFrame) -> Iterator[emdp.Session]:
    space = emdp.Product(emdp.Categories("cat", ["a", "b", "c"]), emdp.Interval("x", 0, 10))
    table = emdp.read(records, user="u", space=space, users=20, name="t")
    with (
        emdp.testing.seeded(3),
        emdp.Session(table, budget=emdp.UserDP(1e9, 1e-3), ledger=tmp_path / "l", public={"zones": ZONES}) as opened,
    ):
        yield opened


# Each with what plain DuckDB makes of it.
STATEMENTS = [
    ("COUNT(*) AS n FROM t WHERE rating >= 4", None),
    ("COUNT(rating) AS n FROM t", None),
    ("SUM(x * 2 + 1) AS n FROM t WHERE title = 'Joe''s bar'", None),
    ("AVG(x) AS n FROM t WHERE rating < 3 OR title IS NULL", None),
    ("AVG(CLAMP(rating, 1, 5)) AS n FROM t", "AVG(rating) AS n FROM t"),
    ("VARIANCE(x) AS n FROM t WHERE rating > 1", "VAR_POP(x) AS n FROM t WHERE rating > 1"),
    ("STDDEV(x) AS n FROM t WHERE rating > 1", "STDDEV_POP(x) AS n FROM t WHERE rating > 1"),
    ("COUNT(*) FILTER (WHERE rating > 3) AS n FROM t", None),
    ("cat, COUNT(*) AS n FROM t WHERE rating > 2 GROUP BY cat", None),
    ("rating, SUM(x) AS n FROM t WHERE rating BETWEEN 1 AND 5 GROUP BY rating", None),
    ("cat, rating >= 4 AS good, COUNT(*) AS n FROM t WHERE rating IS NOT NULL GROUP BY cat, good", None),
    ("zone, COUNT(*) AS n FROM t JOIN zones USING (cat) GROUP BY zone", None),
    ("COUNT(size) AS n FROM t LEFT JOIN zones z ON t.cat = z.cat AND z.zone <> 'z1'", None),
    ("COUNT(*) AS n FROM (SELECT x * 2 AS y, rating FROM t) q WHERE y > 3 AND rating > 2", None),
    ("day, COUNT(*) AS n FROM t WHERE day >= DATE '2026-01-02' AND day < DATE '2026-01-05' GROUP BY day", None),
    ("EXTRACT(ISODOW FROM day) AS weekday, COUNT(*) AS n FROM t WHERE day > DATE '2026-01-01' AND "
     "EXTRACT(ISODOW FROM day) IN (5, 6, 7) GROUP BY 1", None),
    ("COUNT(*) AS n FROM t WHERE title LIKE '%bar%' AND LENGTH(title) > 3", None),
    ("COUNT(*) AS n FROM t WHERE x % 2 = 1 OR CAST(title AS DOUBLE) IS NULL", "COUNT(*) AS n FROM t"),
    ("SUM(x) AS n FROM (SELECT x * 2 AS x, rating FROM t) t WHERE rating > 1", None),
    ("COUNT(y) AS n FROM (SELECT rating AS y FROM t z) q JOIN zones z ON z.size = y", None),
    ("SUM(x) / COUNT(x) AS n FROM t WHERE rating > 1", None),
    ("100.0 * COUNT(*) FILTER (WHERE rating > 3) / COUNT(*) AS n FROM t", None),
    ("ROUND(AVG(x), 1) AS n FROM t WHERE rating > 1", None),
    ("SUM(x) - 2 * SUM(CLAMP(rating, 1, 5)) + 1 AS n FROM t", "SUM(x) - 2 * SUM(rating) + 1 AS n FROM t"),
    ("cat, CASE WHEN COUNT(*) > 130 THEN AVG(x) ELSE -COUNT(*) END AS n FROM t WHERE rating > 0 GROUP BY cat", None),
    ("cat, cat || 's' AS big, SUM(x) * 2 / COUNT(*) AS n FROM t WHERE rating > 0 GROUP BY cat", None),
    ("GREATEST(COUNT(rating), AVG(x)) + COALESCE(AVG(x), 0) AS n FROM t WHERE rating > 1", None),
    ("COUNT(*) AS m, COUNT(*) + 0 AS n FROM t WHERE rating > 1", None),
    ("SUM(CLAMP(odd, 0, 2)) AS n FROM t", "SUM(least(odd, 2)) AS n FROM t WHERE NOT isnan(odd)"),
]  # fmt: skip


@pytest.mark.quarter
@pytest.mark.parametrize(("text", "plain"), STATEMENTS)
def test_it_means_what_duckdb_makes_of_it(
    session: emdp.Session, records: pl.DataFrame, text: str, plain: str | None
) -> None:
    answer = session.sql(HEADER + text)
    connection = duckdb.connect()
    connection.register("t", records)
    connection.register("zones", ZONES)
    expected = pl.DataFrame(connection.sql(f"SELECT {plain or text}").to_arrow_table())
    keys = [name for name in expected.columns if name not in ("n", "m")]
    found = answer.exact_frame
    if keys:
        found, expected = found.sort(keys), expected.sort(keys)
        assert found.select(keys).rows() == expected.select(keys).rows()
    assert found.get_column("n").to_list() == pytest.approx(expected.get_column("n").to_list(), rel=2e-5, abs=2e-4)


# Each is asked with so much privacy to spend that noise changes no order.
CHOSEN = [
    "cat, COUNT(*) AS n FROM t WHERE rating > 0 GROUP BY cat HAVING COUNT(*) > 100 ORDER BY n DESC",
    "cat FROM t WHERE rating > 0 GROUP BY cat HAVING AVG(x) > 4.9 AND SUM(x) / COUNT(*) < 9 ORDER BY SUM(x)",
    "rating, COUNT(*) AS n FROM t WHERE rating IN (1, 2, 3, 4, 5) GROUP BY rating HAVING n > 60 OR rating = 1 "
    "ORDER BY -n, rating LIMIT 3",
    "rating, AVG(x) AS m FROM t WHERE rating IN (1, 2, 3, 4, 5) GROUP BY rating ORDER BY AVG(x) * COUNT(*) DESC "
    "LIMIT 2 OFFSET 1",
    "DISTINCT COUNT(*) > 130 AS many FROM t WHERE rating > 0 GROUP BY cat ORDER BY many",
    "DISTINCT rating >= 3 AS high FROM t WHERE rating IN (1, 2, 3, 4, 5) GROUP BY rating HAVING COUNT(*) > 1 "
    "ORDER BY 1",
    "rating AS r, rating + 1 AS more, COUNT(*) > 70 AS many FROM t WHERE rating IN (1, 2, 3, 4, 5) GROUP BY r "
    "ORDER BY COUNT(*) / SUM(x), r",
]


@pytest.mark.quarter
@pytest.mark.parametrize("text", CHOSEN)
def test_groups_are_chosen_and_ordered_as_duckdb_does(session: emdp.Session, records: pl.DataFrame, text: str) -> None:
    answer = session.sql(HEADER.replace("1.0", "1e5") + text)
    connection = duckdb.connect()
    connection.register("t", records)
    expected = pl.DataFrame(connection.sql(f"SELECT {text}").to_arrow_table())
    found = answer.frame.select(expected.columns)
    for name in expected.columns:
        own, other = found.get_column(name).to_list(), expected.get_column(name).to_list()
        assert own == (pytest.approx(other, rel=1e-3) if expected[name].dtype.is_numeric() else other)


def test_what_is_computed_of_noisy_values_has_an_interval_where_one_is_true(session: emdp.Session) -> None:
    text = (
        "cat, COUNT(*) AS n, COUNT(*) / 2 AS half, CASE WHEN COUNT(*) > 9 THEN 'many' END AS word, "
        "AVG(x) * 10 AS ten, 1 / (COUNT(*) FILTER (WHERE rating > 9)) AS nothing FROM t WHERE rating > 0 GROUP BY cat"
    )
    answer = session.sql(HEADER.replace("1.0", "1e3") + text)
    frame, capped = answer.frame, answer.interval(of="capped")
    assert frame.columns == [
        "cat", *(f"{name}{end}" for name in ("n", "half") for end in ("", "_low", "_high")), "word",
        *(f"{name}{end}" for name in ("ten", "nothing") for end in ("", "_low", "_high")),
    ]  # fmt: skip
    # Of a capped total there is no upper end, nor of its half.
    assert frame.get_column("half_high").to_list() == [None] * 3
    assert frame.get_column("half_low").to_list() == pytest.approx([low / 2 for low in frame["n_low"]], rel=1e-12)
    # Nobody has such a rating: the divisor may be 0.
    assert frame.get_column("nothing").to_list() == frame.get_column("nothing_low").to_list() == [None] * 3
    ends = capped.filter(pl.col("query") == "ten")
    assert all(low < value < high for value, low, high in ends.select("value", "low", "high").rows())
    assert any("may be 0" in note for note in answer.notes)
    assert answer.exact["ten"] == pytest.approx([10 * one for one in session.sql(
        HEADER + "cat, AVG(x) AS m FROM t WHERE rating > 0 GROUP BY cat").exact["m"]])  # fmt: skip


def test_an_aggregate_that_stands_several_times_is_asked_once(session: emdp.Session) -> None:
    one = session.preview(HEADER + "COUNT(rating) AS n FROM t")
    two = session.preview(HEADER + "COUNT(rating) AS n, COUNT(rating) * 2 AS m, COUNT(rating) AS k FROM t "
                          "HAVING COUNT(rating) > 3 ORDER BY COUNT(rating)")  # fmt: skip
    widths = two.frame.get_column("interval_95").to_list()
    assert one.frame.get_column("interval_95").to_list() * 3 == pytest.approx([widths[0], widths[1] / 2, widths[2]])


EACH = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1e5, max_groups_per_user = {}, max_records_per_group = {}) "


def test_a_cap_of_each_group_counts_as_it_says(session: emdp.Session, records: pl.DataFrame) -> None:
    held = records.group_by("u", "cat").len().with_columns(groups=pl.col("cat").n_unique().over("u"))
    for groups, most in ((3, 5), (2, 1000), (1, 4)):
        answer = session.sql(EACH.format(groups, most) + "cat, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY cat")
        weighed = held.with_columns(
            n=pl.min_horizontal(pl.col("len"), most) * pl.min_horizontal(1.0, groups / pl.col("groups"))
        )
        expected = weighed.group_by("cat").agg(pl.col("n").sum()).sort("cat")
        assert answer.exact_frame.get_column("n").to_list() == pytest.approx(
            expected.get_column("n").to_list(), rel=1e-4
        )
        assert answer.frame.get_column("n_high").is_null().all()
    assert "above 4 in a group" in answer.explain()


@pytest.mark.parametrize(
    ("options", "text", "remedy"),
    [
        ("max_records_per_group = 5", "cat, COUNT(*) FROM t GROUP BY cat", "add max_groups_per_user"),
        ("max_groups_per_user = 2, max_records_per_group = 5", "COUNT(*) FROM t", "leave max_records_per_group out"),
        ("max_groups_per_user = 2, max_records_per_group = 5", "cat, COUNT(DISTINCT u) FROM t GROUP BY cat",
         "leave max_records_per_group out"),
        ("max_groups_per_user = 2, max_records_per_group = 5, max_records_per_user = 9",
         "cat, COUNT(*) FROM t GROUP BY cat", "leave max_records_per_user out"),
        ("max_groups_per_user = 2, max_records_per_group = 5, measure_cap = TRUE",
         "cat, COUNT(*) FROM t GROUP BY cat", "leave measure_cap out"),
        ("max_groups_per_user = 2", "cat, COUNT(*) FROM t GROUP BY cat", "max_records_per_group"),
    ],
)  # fmt: skip
def test_a_cap_of_each_group_without_what_it_needs_is_refused(
    session: emdp.Session, options: str, text: str, remedy: str
) -> None:
    with pytest.raises(SqlError) as caught:
        session.preview(f"SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, {options}) {text}")
    assert remedy in f"{caught.value.problem} {caught.value.remedy}"


def test_people_are_counted_with_conditions_and_groups(session: emdp.Session, records: pl.DataFrame) -> None:
    text = (
        "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) cat, COUNT(DISTINCT u) AS n FROM t WHERE x > 9 GROUP BY cat"
    )
    found = session.sql(text).exact_frame
    chosen = records.filter(pl.col("x") > 9).group_by("cat").agg(pl.col("u").n_unique())
    assert dict(found.rows()) == {**dict.fromkeys("abc", 0.0), **dict(chosen.rows())}


def test_a_group_without_records_is_there_with_noise(session: emdp.Session) -> None:
    answer = session.sql(HEADER + "rating, COUNT(*) AS n FROM t WHERE rating IN (1, 77) GROUP BY rating")
    assert answer.frame.get_column("rating").to_list() == [1, 77]
    assert dict(answer.exact_frame.rows())[77] == 0


def test_what_totals_answer_today_stays_with_them(session: emdp.Session) -> None:
    names = session.names
    for text in ("COUNT(*) FROM t", "cat, SUM(x) FROM t GROUP BY cat", "COUNT(*) FROM t WHERE cat = 'a'"):
        (translated,) = translate(HEADER + text, names)
        assert not isinstance(translated.query, OwnedSelect)


REFUSED = [
    ("SUM(rating) FROM t", "range", "CLAMP(rating, 0, 100)"),
    ("SUM(rating + 1) FROM t", "range", "CLAMP(rating + 1, 0, 100)"),
    ("title, COUNT(*) FROM t GROUP BY title", "unlisted-groups", "IN ('a', 'b')"),
    ("x, COUNT(*) FROM t WHERE rating > 1 GROUP BY x", "double-key", "CAST(FLOOR(x) AS BIGINT)"),
    ("COUNT(*) FROM t JOIN t v USING (cat)", "two-users", "public table"),
    ("COUNT(*) FROM zones LEFT JOIN t USING (cat)", "join-side", "FROM t"),
    ("COUNT(*) FROM t WHERE RANDOM() < rating", "random", ""),
    ("COUNT(*) FROM (SELECT rating FROM t WHERE rating > 1 LIMIT 5) q", "subquery-mixes-users", "outside"),
    ("COUNT(*) FROM (SELECT DISTINCT rating FROM t WHERE rating > 1) q", "subquery-mixes-users", "add u"),
    ("rating, COUNT(*) FROM t WHERE rating > 1", "not-grouped", "GROUP BY rating"),
    ("rating, COUNT(*) FROM t WHERE rating IN (1, 2) GROUP BY rating HAVING x > 1", "not-grouped", "GROUP BY x"),
    ("COUNT(*) AS n FROM t WHERE rating > 1 HAVING n + 1", "condition", "compare"),
    ("SUM(x) / COUNT(qqqqqq) FROM t", "unknown-column", "columns are"),
    ("SUM(x) / rating FROM t", "not-grouped", "GROUP BY rating"),
    ("COUNT(*) FROM t WHERE qqqqqq > 1", "unknown-column", "columns are"),
]


@pytest.mark.parametrize(("text", "code", "remedy"), REFUSED)
def test_what_is_refused_says_why_and_what_to_write(session: emdp.Session, text: str, code: str, remedy: str) -> None:
    with pytest.raises(SqlError) as caught:
        session.preview(HEADER + text)
    assert caught.value.code == code
    assert remedy in caught.value.remedy
    assert "Lipschitz" not in str(caught.value)


def test_means_without_a_cap_and_a_cap_without_sums_are_refused(session: emdp.Session) -> None:
    for header, text, code in (
        ("", "AVG(x) FROM t WHERE rating > 3", "cap-missing"),
        (", max_records_per_user = 5", "COUNT(DISTINCT u) FROM t WHERE rating > 3", "cap-unused"),
        (", max_records_per_user = auto", "COUNT(DISTINCT u) FROM t WHERE rating > 3", "cap-unused"),
        (", max_records_per_user = auto", "MEDIAN(x) FROM t", "cap-automatic"),
        (", max_records_per_user = often", "COUNT(*) FROM t", "option-value"),
        (", max_records_per_user = 5, measure_cap = TRUE", "MEDIAN(x) FROM t", "cap-automatic"),
        (", delta = 1e-9, max_groups_per_user = 2", "title, COUNT(*) FROM t GROUP BY title", "plan"),
    ):
        with pytest.raises(SqlError) as caught:
            session.preview(f"SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0{header}) {text}")
        assert caught.value.code == code
    with pytest.raises(SqlError) as caught:
        session.preview("SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) AVG(x) FROM t WHERE rating > 3")
    assert "max_records_per_user = auto" in caught.value.remedy


AUTOMATIC = [
    ("", "COUNT(*) AS n FROM t"),
    (", max_records_per_user = auto", "COUNT(*) AS n FROM t WHERE rating > 2"),
    ("", "cat, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY cat ORDER BY n DESC LIMIT 2"),
    (", neighbours = 'remove'", "cat, COUNT(*) AS n, COUNT(DISTINCT u) AS people FROM t GROUP BY cat"),
    (", max_records_per_user = 'auto'", "AVG(x) AS n FROM t"),
    (", max_records_per_user = 7, measure_cap = TRUE", "COUNT(*) AS n FROM t"),
    (", delta = 1e-9, noise = 'gaussian'", "cat, COUNT(*) AS n FROM t GROUP BY cat"),
]


@pytest.mark.quarter
@pytest.mark.parametrize(("options", "text"), AUTOMATIC)
def test_a_cap_is_chosen_after_one_charge(session: emdp.Session, options: str, text: str) -> None:
    statement = f"SELECT WITH USER_PRIVACY OPTIONS (epsilon = 5.0{options}) {text}"
    is_given = "measure_cap" in options
    shown = str(session.preview(statement).explain())
    assert ("automatic: known after the charge" in shown) != is_given
    before = len(session.ledger.entries("t", "charge"))
    answer = session.sql(statement)
    charges = session.ledger.entries("t", "charge")[before:]
    assert len(charges) == 1
    assert charges[0].payload["event"]["guarantee"]["epsilon"] == 5.0
    assert answer.guarantee.level == 5.0
    told = answer.diagnostics
    assert told["cap"] == 7 if is_given else told["cap"] >= 1
    assert told["users_by_records"].columns == ["records_above", "records_up_to", "users"]
    assert any(f"{told['cap']} records a user" in remark for remark in answer.remarks)
    assert answer.frame.height == answer.interval(0.9, of="capped").height / len(answer.columns)
    assert str(told["cap"]) in str(answer.explain())


def test_an_automatic_cap_is_what_the_answer_says(session: emdp.Session, records: pl.DataFrame) -> None:
    answer = session.sql("SELECT WITH USER_PRIVACY OPTIONS (epsilon = 50.0) COUNT(*) AS n FROM t WHERE rating >= 2")
    counts = records.filter(pl.col("rating") >= 2).group_by("u").len()
    cap = answer.diagnostics["cap"]
    assert answer.exact == {"n": float(counts.get_column("len").clip(upper_bound=cap).sum())}
    told = answer.diagnostics["users_by_records"]
    # Noise of scale 0.4 users a bin.
    for low, high, users in told.rows():
        inside = counts.filter((pl.col("len") > low) & (pl.col("len") <= (high or 2**62))).height
        assert abs(users - inside) < 12


def test_nothing_of_a_record_reaches_an_error(tmp_path: Path) -> None:
    values = {"u": [1, 2, 3], "x": [0.0, 1.0, 2.0], "note": ["secret", "9e999", ""], "n": [2**62, -(2**62), 0]}
    table = emdp.read(pl.DataFrame(values), user="u", space=emdp.Interval("x", 0, 10), users=3, name="t")
    with emdp.Session(table, budget=emdp.UserDP(1e6), ledger=tmp_path / "l") as session:
        for condition in (
            "CAST(note AS BIGINT) > 1", "n * n > 1", "n // (n - n) > 1", "10 % (n - n) = 1", "n / 0 > 1",
            "SQRT(x - 5) > 1", "LN(x - 5) > 1", "CAST(CAST(note AS DOUBLE) AS BIGINT) > 1", "-n > n + n + n",
        ):  # fmt: skip
            answer = session.sql(HEADER + f"COUNT(*) AS k FROM t WHERE ({condition}) OR x > 1")
            assert len(answer.frame) == 1


RHO = "SELECT WITH USER_PRIVACY OPTIONS (rho = 0.1, delta = 1e-9{}) {}"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (", max_records_per_user = 10", "cat, COUNT(*) AS n, AVG(x) AS m FROM t WHERE rating > 1 GROUP BY cat"),
        (", max_records_per_user = 10, neighbours = 'remove'", "COUNT(*) AS n FROM t"),
        ("", "COUNT(DISTINCT u) AS n FROM t WHERE rating > 1"),
    ],
)
def test_rho_is_the_price_of_gaussian_noise(session: emdp.Session, options: str, text: str) -> None:
    answer = session.sql(RHO.format(options, text))
    noise = answer.noise
    # rho = Delta^2/(2 sigma^2), but for what the grid takes of delta.
    assert (noise.sensitivity / noise.scale) ** 2 / 2 == pytest.approx(0.1, rel=1e-5)
    # The exact profile's epsilon, below the 2.98 that the conversion from rho alone gives (Bun and Steinke 2016, 1.3).
    assert 2.2 < answer.guarantee.level < 0.1 + 2 * (0.1 * 20.7233) ** 0.5
    assert answer.guarantee.delta == 1e-9


@pytest.mark.parametrize(
    ("header", "text", "code"),
    [
        ("rho = 0.1, max_records_per_user = 5", "COUNT(*) FROM t", "option-value"),
        ("rho = 0.1, epsilon = 1, delta = 1e-9, max_records_per_user = 5", "COUNT(*) FROM t", "option-twice"),
        ("rho = 0.1, delta = 1e-9, noise = 'laplace', max_records_per_user = 5", "COUNT(*) FROM t", "option-value"),
        ("rho = 1e-9, delta = 0.1, max_records_per_user = 5", "COUNT(*) FROM t", "option-value"),
        ("rho = 0.1, delta = 1e-9", "COUNT(*) FROM t", "rho-cap"),
        ("rho = 0.1, delta = 1e-9, max_records_per_user = 5, measure_cap = TRUE", "COUNT(*) FROM t", "rho-cap"),
    ],
)
def test_where_rho_says_nothing_it_is_refused(session: emdp.Session, header: str, text: str, code: str) -> None:
    with pytest.raises(SqlError) as caught:
        session.preview(f"SELECT WITH USER_PRIVACY OPTIONS ({header}) {text}")
    assert caught.value.code == code


def test_rho_is_paid_by_the_reserve_of_gaussian_noise_as_squares(tmp_path: Path, records: pl.DataFrame) -> None:
    table = emdp.read(records.select("u", "x"), user="u", space=emdp.Interval("x", 0, 10), users=20, name="t")
    with (
        emdp.testing.seeded(3),
        emdp.Session(table, budget=emdp.UserDP(8.0, 1e-6), ledger=tmp_path / "l", gaussian_share=0.9) as opened,
    ):
        for _ in range(3):
            opened.sql(RHO.format(", max_records_per_user = 10", "COUNT(*) FROM t"))
        # Three releases of epsilon 2.6 each, by the sum of their rho.
        assert opened.spent().level < 6.0
        assert opened.remaining().level == pytest.approx(0.8)
