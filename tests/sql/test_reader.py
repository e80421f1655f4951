"""Texts become statements: words and signs, splitting at semicolons, headers, and the refusals of odd texts."""

import logging
import unicodedata
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from emdp.base.errors import SqlError, UsageError
from emdp.sql import Statement, parse
from emdp.sql.text.tokens import MAX_CHARACTERS, MAX_NESTING, MAX_TOKENS, read_tokens

HEADER = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)"


def refused(text: str) -> SqlError:
    with pytest.raises(SqlError) as caught:
        parse(text)
    return caught.value


def nested(depth: int, text: str) -> Any:
    """Parse at a depth of Python's stack."""
    return parse(text) if depth == 0 else nested(depth - 1, text)


def test_the_statements_of_design_are_read() -> None:
    text = """SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, delta = 1e-10)
       AVG(DISTANCE(POINT(40.7484, -73.9857)))                          AS km_to_midtown,
       AVG(RAMP(DISTANCE(POINT(40.7484, -73.9857)), 2, 1))              AS near_midtown     -- 1 within 1 km
FROM visits
GROUP BY category;                                                       -- a categorical part of the space

SELECT WITH EMD_PRIVACY OPTIONS (alpha = 2.0) FREQUENCY(GRID(1.0)) FROM visits;         -- smoothed histogram
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 2.0) QUANTILE(DISTANCE(POINT(40.7, -74.0)), 0.5, 0.9) FROM visits;
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, delta = 1e-9, max_records_per_user = 50) COUNT(*), SUM(amount)
FROM visits;"""
    statements = parse(text)
    assert [statement.privacy for statement in statements] == ["EMD_PRIVACY"] * 3 + ["USER_PRIVACY"]
    assert [len(statement.tree.expressions) for statement in statements] == [2, 1, 1, 2]
    assert {name: option.value for name, option in statements[0].options.items()} == {"alpha": 1.0, "delta": 1e-10}
    cap = statements[3].options["max_records_per_user"]
    assert (cap.value, type(cap.value), text[cap.start : cap.end]) == (50, int, "max_records_per_user = 50")
    assert all(statement.sql is text for statement in statements)
    assert statements[1].text == "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 2.0) FREQUENCY(GRID(1.0)) FROM visits"
    assert text[slice(*statements[0].header)] == "WITH EMD_PRIVACY OPTIONS (alpha = 1.0, delta = 1e-10)"


def test_a_header_is_read_whatever_its_case_spaces_and_comments() -> None:
    text = "select/**/With\n emd_Privacy -- a\n opTIONS(ALPHA=.5 , Noise = 'K_Norm',delta=0)avg(x)from t"
    (statement,) = parse(text)
    assert {name: option.value for name, option in statement.options.items()} == {
        "alpha": 0.5,
        "noise": "k_norm",
        "delta": 0,
    }
    assert text[slice(*statement.header)].endswith("delta=0)")
    assert statement.tree.expressions[0].this == "avg"


def test_the_header_belongs_to_the_select_behind_the_ctes() -> None:
    text = f"WITH q AS (SELECT x FROM t), r AS (SELECT x AS y FROM q) {HEADER} AVG(y) FROM r"
    (statement,) = parse(text)
    assert text[slice(*statement.header)] == HEADER.removeprefix("SELECT ")
    assert (statement.start, statement.end) == (0, len(text))
    assert [cte.alias for cte in statement.tree.args["with_"].expressions] == ["q", "r"]


def test_a_word_is_a_value_of_noise_as_a_string_is() -> None:
    header = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 2, delta = 1e-9, noise = {})"
    assert [
        parse(f"{header.format(noise)} COUNT(*) FROM t")[0].options["noise"].value
        for noise in ("gaussian", "'GAUSSIAN'")
    ] == ["gaussian", "gaussian"]


@pytest.mark.parametrize("text", [";{};", "{};;;{};", " \n{} -- ; \n", "/* ; */{};/* ; */", "{}\n;\n;"])
def test_semicolons_split_statements_and_comments_mean_nothing(text: str) -> None:
    one = f"{HEADER} AVG(x) AS \"a;b\" FROM t WHERE c = 'd;--e'"
    statements = parse(text.replace("{}", one))
    assert [statement.text for statement in statements] == [one] * text.count("{}")


def test_comments_may_stand_between_any_two_words() -> None:
    text = "SELECT WITH EMD_PRIVACY OPTIONS ( alpha = 1 ) AVG ( x ) AS m FROM t GROUP BY c ORDER BY m DESC LIMIT 3"
    words = text.split()
    plain = parse(" ".join(words))[0].tree
    assert parse("/* a /* b */ */".join(words))[0].tree == plain
    assert parse(" -- c\r\n".join(words))[0].tree == plain


def test_names_and_strings_keep_their_letters() -> None:
    composed, decomposed = (unicodedata.normalize(form, "café") for form in ("NFC", "NFD"))
    text = f"{HEADER} AVG({composed}) AS {decomposed}, AVG(\"東 京\") FROM t WHERE c = '{decomposed} “x”'"
    (statement,) = parse(text)
    first, second = statement.tree.expressions
    assert (first.this.expressions[0].name, first.alias) == (composed, decomposed)
    assert composed != decomposed
    assert statement.text_of(second) == 'AVG("東 京")'
    assert statement.tree.args["where"].this.expression.name == f"{decomposed} “x”"


@pytest.mark.parametrize("number", [".5", "1.", "1e5", "1E-5", "1_000", "007", "0", "1e-300", "123456789012345678901"])
def test_numbers_stay_as_they_were_written(number: str) -> None:
    (statement,) = parse(f"{HEADER} AVG(x * {number}) FROM t")
    literal = statement.tree.expressions[0].expressions[0].expression
    assert literal.name == number.replace("_", "")
    assert statement.text_of(literal) == number


@pytest.mark.parametrize("text", ["", "   \n", ";", " ; ;; ", "-- nothing", "/* nothing */ ;"])
def test_a_text_without_statement_is_refused(text: str) -> None:
    error = refused(text)
    assert error.code == "empty"
    assert 0 <= error.start <= error.end <= len(text)


@pytest.mark.parametrize(
    "character", ["\0", "\x07", "\x1b", "\x7f", "\x85", "\u2028", "\u202e", "\ud800", "\ufeff", "\x0b"]
)
@pytest.mark.parametrize("where", ["AVG(x{})", 'AVG(x) AS "a{}"', "'a{}'", "AVG(x) -- {}"])
def test_invisible_characters_are_refused_wherever_they_stand(character: str, where: str) -> None:
    text = f"{HEADER} {where.format(character)} FROM t"
    error = refused(text)
    assert (error.code, text[error.start : error.end]) == ("character", character)
    assert character not in error.problem
    assert f"U+{ord(character):04X}" in error.problem


@pytest.mark.parametrize("quote", "‘’“”„´′″«»＇＂`")
def test_what_looks_like_a_quote_is_named(quote: str) -> None:
    text = f"{HEADER} AVG(x) FROM t WHERE c = {quote}a{quote}"
    error = refused(text)
    assert (error.code, text[error.start : error.end]) == ("quote", quote)


def test_text_is_bounded_in_length_words_and_nesting() -> None:
    assert refused("x" * (MAX_CHARACTERS + 1)).code == "too-long"
    assert refused(f"{HEADER} " + "x," * MAX_TOKENS).code == "too-long"
    deepest = "(" * MAX_NESTING + "x" + ")" * MAX_NESTING
    assert parse(f"{HEADER} {deepest} FROM t")
    assert refused(f"{HEADER} ({deepest}) FROM t").code == "nesting"
    assert parse(f"{HEADER} AVG({' + '.join(['x'] * 100)}) FROM t")
    assert refused(f"{HEADER} AVG({' + '.join(['x'] * 1000)}) FROM t").code == "nesting"
    assert refused(f"{HEADER} {'NOT ' * 900} x FROM t").code == "nesting"


def test_a_full_stack_is_a_refusal_too() -> None:
    text = f"{HEADER} {'f(' * MAX_NESTING}x{')' * MAX_NESTING} FROM t"
    with pytest.raises(SqlError) as caught:
        nested(600, text)
    assert caught.value.code == "nesting"


def test_every_parenthesis_closes_in_its_own_statement() -> None:
    text = f"{HEADER} AVG(x FROM t; {HEADER} AVG(x)) FROM t"
    error = refused(text)
    assert (error.code, text[error.start : error.end], error.start) == ("syntax", "(", text.index("(x"))


def test_a_text_is_a_string() -> None:
    with pytest.raises(UsageError, match="read the file first"):
        parse(b"SELECT 1")  # type: ignore[arg-type]


def test_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for part in ("AVG(x IGNORE NULLS)", "x -> '$.a[', 1", "x ->> '$..'", "AVG(x) FILTER (y)", "x[1]"):
            refused(f"{HEADER} {part} FROM t")
        refused(f"WITH q AS (VACUUM t) {HEADER} x FROM q")
        refused(f"WITH q AS (EXPLAIN SELECT 1) {HEADER} x FROM q")
    assert not caplog.records


def test_tokens_are_those_of_the_text() -> None:
    text = "SELECT  GROUP /* x */ BY a.b, 'it''s', \"q\"\"t\", .5e3 -- end"
    tokens = read_tokens(text)
    assert [text[token.start : token.end + 1] for token in tokens] == [
        "SELECT", "GROUP /* x */ BY", "a", ".", "b", ",", "'it''s'", ",", '"q""t"', ",", ".5e3",
    ]  # fmt: skip


VOCABULARY = """
SELECT WITH EMD_PRIVACY USER_PRIVACY OPTIONS alpha epsilon noise delta FROM WHERE GROUP BY ORDER LIMIT AS JOIN ON USING
AND OR NOT IN IS NULL BETWEEN CASE WHEN THEN ELSE END OVER UNION DISTINCT EXISTS VALUES CAST INTERVAL LATERAL PIVOT ALL
SAMPLE ANY FETCH FOR UPDATE WINDOW QUALIFY HAVING EXTRACT(HOUR EXTRACT( TRY_CAST( CAST( AVG( COUNT(*) x t 'a' 1 1.5
1e999 VECTOR[ DATE $$ -- /* */ :: -> ->> ** // || <=> ß é ‘ 東 \u200b DOUBLE MAP ROW {{ {# {%
"""

PIECES = [
    *"()[]{};,.*+-/%<>=!|&^~@#$?:\\'\"` \n\t\0_",
    *VOCABULARY.split(),
    f"{HEADER} ",
    f"{HEADER} AVG(x) FROM t ",
]


def outcome(text: str) -> SqlError | tuple[Statement, ...]:
    """Parse, and return the refusal if it is one; anything else that is raised fails the test."""
    try:
        return parse(text)
    except SqlError as error:
        return error


@pytest.mark.slow
@settings(deadline=None, max_examples=500)
@given(st.lists(st.sampled_from(PIECES), max_size=25), st.sampled_from(["", " "]))
@example(["'"], "")
@example([f"{HEADER} ", "CAST(", "x", "AS", "FROM"], " ")
def test_any_text_is_read_or_refused(pieces: list[str], between: str) -> None:
    text = between.join(pieces)
    found = outcome(text)
    if isinstance(found, SqlError):
        assert 0 <= found.start <= found.end <= len(text)
        assert found.start < found.end or not text.strip()
        assert found.code
        assert "sqlglot" not in str(found)
    else:
        assert all(statement.text == text[statement.start : statement.end] for statement in found)


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(st.text(max_size=40))
def test_any_characters_are_read_or_refused(text: str) -> None:
    for whole in (text, f"{HEADER} {text} FROM t", f"{HEADER} AVG(x) FROM t WHERE c = '{text}'"):
        found = outcome(whole)
        assert isinstance(found, tuple) or 0 <= found.start <= found.end <= len(whole)
