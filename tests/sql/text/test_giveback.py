"""Nothing vanishes between a text and its tree, and the tree groups operations as DuckDB does."""

import itertools
import math
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from emdp.base.errors import SqlError
from emdp.sql import parse
from emdp.sql.text.dialect import tokenise
from emdp.sql.text.giveback import align

HEADER = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)"

ACCEPTED = [
    "AVG(DISTANCE(POINT(40.7484, -73.9857))) AS km FROM visits GROUP BY category",
    "AVG(RAMP(DISTANCE(POINT(40.7484, -73.9857)), 2, 1)), AVG(x ** 2 - 3 * y / z // 2 % 5) FROM visits",
    "QUANTILE(x, 0.5, 0.9, 0.99) FROM visits WHERE a <> 3 AND NOT b IN (1, 2) OR c BETWEEN 1 AND 2",
    "COUNT(*), SUM(amount), COUNT(DISTINCT user_id), SHARE(), WEIGHT(PART(e), 2) FROM visits",
    "DOT(word, VECTOR[0.1, -2, 3e-1]), SIMILARITY(word, 'cat''s') FROM visits",
    "EXTRACT(HOUR FROM ts), EXTRACT('hour' FROM ts), CAST(x AS DOUBLE), x::DECIMAL(10, 2), DATE '2020-01-01' FROM t",
    "CASE WHEN a = 'x' THEN 1 WHEN a IN ('y', 'z') THEN 2 ELSE 3 END, CASE a WHEN 'x' THEN 1 END FROM t",
    'a.x, "a"."X", "a b", left, date, value FROM t AS a JOIN s USING (k) LEFT JOIN u ON a.k = u.k',
    "x::DECIMAL, x::VARCHAR(10), CAST(x AS CHAR), TIMESTAMP '2020-01-01 00:00:00', x::INT[] FROM t",
    "a FROM (SELECT b AS a, * FROM t WHERE c = 1) AS q ORDER BY a DESC NULLS FIRST, b LIMIT 5 OFFSET 2",
    "x IS NULL, x IS NOT NULL, NOT x IS NULL, x IS DISTINCT FROM y, x LIKE 'a%', x NOT LIKE 'a', x IS TRUE FROM t",
    '- - x, -(-x), NOT NOT x, TRY_CAST(x AS INT), COALESCE(x, 0, 1), IF(a, b, c), MOD(x, 2), "q""t" FROM t',
]

EQUAL = [
    ("AVG(x) m FROM visits v", "AVG(x) AS m FROM visits AS v"),
    ("x FROM t INNER JOIN s USING (k)", "x FROM t JOIN s USING (k)"),
    ("x FROM t LEFT OUTER JOIN s USING (k)", "x FROM t LEFT JOIN s USING (k)"),
    ("x FROM t ORDER BY x ASC NULLS LAST", "x FROM t ORDER BY x"),
    ("x FROM t WHERE a != 1 AND b == 2", "x FROM t WHERE a <> 1 AND b = 2"),
    ("x ^ 2 FROM t", "x ** 2 FROM t"),
    ("x::INT, CAST(y AS VARCHAR), z::REAL FROM t", "CAST(x AS INTEGER), CAST(y AS TEXT), CAST(z AS FLOAT) FROM t"),
    ("x from t where a is not null and b not in (1)", "x FROM t WHERE a IS NOT NULL AND b NOT IN (1)"),
    ("SUBSTRING(x FROM 2 FOR 3) FROM t", "SUBSTRING(x, 2, 3) FROM t"),
    ("substring(x from 2) FROM t", "SUBSTRING(x, 2) FROM t"),
]

VANISHING = [
    "AVG(x IGNORE NULLS) FROM t",
    "AVG(ALL x) FROM t",
    "ALL x FROM t",
    "x FROM t FOR UPDATE",
    "x FROM t FOR SHARE NOWAIT",
    "x FROM t LIMIT 5 ROWS",
    "x FROM t OFFSET 5 ROWS",
    "+x FROM t",
    "x, FROM t",
    "x FROM t WITH (NOLOCK)",
    "x FROM t ORDER BY x WITH FILL FROM 1 TO 2",
    "x FROM t WHERE a BETWEEN SYMMETRIC 1 AND 2",
    "x FROM t WHERE a LIKE ANY ('b')",
    "CAST(x AS DATE FORMAT 'y') FROM t",
    "CAST(x AS VARCHAR(3) COLLATE nocase) FROM t",
    "TRY_CAST(x AS INT DEFAULT 3 ON CONVERSION ERROR) FROM t",
    "x FROM ONLY t",
    "x FROM t AS v TABLESAMPLE 5%",
    "x FROM t JOIN (s) USING (k)",
    "EXTRACT(HOUR, ts) FROM t",
    "SUBSTRING(x FOR 2) FROM t",
    "SUBSTRING(x, 1 FOR 2) FROM t",
    "SUBSTRING(x FROM 1, 2) FROM t",
    "SUBSTRING(x FROM) FROM t",
    "SUBSTR(x FROM 1 FOR 2) FROM t",
    "x NOT NULL FROM t",
    "x ISNULL FROM t",
    "'a' 'b' FROM t",
    "x FROM t GROUP BY x WITH ROLLUP",
    "x FROM t GROUP BY x WITH TOTALS",
    "x FROM t GROUP BY ALL x",
    "x FROM t LIMIT 3 WITH TIES",
    "x FROM t NATURAL INNER JOIN s",
    "x FROM t LEFT SEMI JOIN s USING (k)",
    "x FROM t ORDER SIBLINGS BY x",
    "{fn ABS(x)} FROM t",
    "x AS OF t FROM t",
    "x (+) FROM t",
    "AVG(x) KEEP (DENSE_RANK FIRST ORDER BY y) FROM t",
    "AVG(x HAVING MAX y) FROM t",
    "x FROM t PARTITION (p)",
    "x FROM t@link",
    "x FROM t VERSION AS OF 3",
    "INTERVAL '1 day' FROM t",
    "AS x FROM t",
    "x FROM t AS",
    "x FROM t OUTER JOIN s USING (k)",
    "x FROM t LEFT INNER JOIN s USING (k)",
    "x FROM t ORDER BY x ASC DESC",
    "x FROM t GROUP BY DISTINCT x",
]


@pytest.mark.parametrize("sql", ACCEPTED)
def test_what_is_accepted_comes_back_word_for_word(sql: str) -> None:
    (statement,) = parse(f"{HEADER} {sql}")
    assert statement.text_of(statement.tree) == statement.text


def test_no_argument_of_a_call_is_dropped() -> None:
    (statement,) = parse(f"{HEADER} QUANTILE(x, 0.5, 0.9), MAX(x, 2, 3), TRIM(x, 'a'), LOG(2, x, 3), NOW(1) FROM t")
    assert [(call.this, len(call.expressions)) for call in statement.tree.expressions] == [
        ("QUANTILE", 3),
        ("MAX", 3),
        ("TRIM", 2),
        ("LOG", 3),
        ("NOW", 1),
    ]
    assert all(type(call) is exp.Anonymous for call in statement.tree.expressions)


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_listed_variants_mean_the_same(one: str, other: str) -> None:
    first, second = (parse(f"{HEADER} {sql}")[0].tree for sql in (one, other))
    for tree in (first, second):
        for node in tree.find_all(exp.Ordered):
            node.set("desc", bool(node.args.get("desc")))
        for node in tree.find_all(exp.Join):
            node.set("kind", None)
    assert first == second


@pytest.mark.parametrize("sql", VANISHING)
def test_what_would_vanish_is_refused(sql: str) -> None:
    text = f"{HEADER} {sql}"
    with pytest.raises(SqlError) as caught:
        parse(text)
    error = caught.value
    assert error.start < error.end
    assert error.start > len(HEADER)


@pytest.mark.parametrize(
    ("written", "generated", "lost", "inserted"),
    [
        ("a b c", "a b c", None, ""),
        ("a AS b", "a b", "AS", ""),
        ("AS a b", "a AS b", "a", ""),
        ("a b", "a AS b", None, ""),
        ("x NULLS LAST, y", "x, y", None, ""),
        ("x ASC, y", "x, y", "ASC", ""),
        ("a != 1", "a <> 1", None, ""),
        ("a x b", "a b", "x", ""),
        ("a b", "a x b", "b", "x"),
        ("a = b IS NULL", "(a = b) IS NULL", "a", "("),
        ("'a'", '"a"', "'a'", ""),
        ("a 1", "a 2", "1", ""),
        ("a 1.0", "a 1", "1.0", ""),
        ("'A'", "'a'", "'A'", ""),
        ('"A"', '"a"', '"A"', ""),
        ("é", "É", "é", ""),
        ("avg", "AVG", None, ""),
        ("a NULLS FIRST", "a", "NULLS FIRST", ""),
        ("a b", "a", "b", ""),
        ("a", "a b", "a", "b"),
        ("NULLS a LAST", "a", "NULLS", ""),
    ],
)
def test_alignment_says_what_was_lost(written: str, generated: str, lost: str | None, inserted: str) -> None:
    tokens = tokenise(written)
    alignment = align(tokens, tokenise(generated))
    found = alignment.lost and written[tokens[alignment.lost[0]].start : tokens[alignment.lost[1] - 1].end + 1]
    assert (found, alignment.inserted) == (lost, inserted)


WORDS = st.lists(st.sampled_from(["a", "b", "(", ")", ",", "1", "'s'", '"q"', "x", "+"]), min_size=1, max_size=30)


@settings(deadline=None, max_examples=200)
@given(WORDS, st.data())
def test_a_change_of_any_one_token_is_seen(words: list[str], data: st.DataObject) -> None:
    tokens = tokenise(" ".join(words))
    assert align(tokens, tokens).lost is None
    place = data.draw(st.integers(0, len(words) - 1))
    word = data.draw(st.sampled_from(["a", "1", "'t'", "NOT", "("]))
    dropped = words[:place] + words[place + 1 :]
    added = [*words[:place], word, *words[place:]]
    assert align(tokens, tokenise(" ".join(dropped))).lost is not None
    assert align(tokens, tokenise(" ".join(added))).lost is not None
    if words[place] != word:
        assert align(tokens, tokenise(" ".join([*words[:place], word, *words[place + 1 :]]))).lost is not None


@pytest.mark.slow
def test_a_long_list_with_one_lost_word_is_refused_quickly() -> None:
    text = f"{HEADER} {', '.join(['x'] * 3000)}, +x, {', '.join(['x'] * 3000)} FROM t"
    with pytest.raises(SqlError, match="write the number without") as caught:
        parse(text)
    assert text[caught.value.start : caught.value.end] == "+"


SIGNS = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.IntDiv: "//", exp.Mod: "%", exp.Pow: "**",
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.GTE: ">=", exp.And: "AND", exp.Or: "OR", exp.Is: "IS",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
}  # fmt: skip


def bracketed(node: exp.Expr) -> str:
    """Return an expression with every operation in parentheses."""
    if type(node) in SIGNS:
        return f"({bracketed(node.this)} {SIGNS[type(node)]} {bracketed(node.expression)})"
    if isinstance(node, exp.Neg | exp.Not):
        return f"({'-' if isinstance(node, exp.Neg) else 'NOT'} {bracketed(node.this)})"
    if isinstance(node, exp.Between):
        return "({} BETWEEN {} AND {})".format(*(bracketed(node.args[key]) for key in ("this", "low", "high")))
    if isinstance(node, exp.In):
        return f"({bracketed(node.this)} IN ({', '.join(map(bracketed, node.expressions))}))"
    if isinstance(node, exp.Cast):
        return f"CAST({bracketed(node.this)} AS {node.args['to'].sql('duckdb')})"
    assert isinstance(node, exp.Literal | exp.Null)
    return node.sql("duckdb")


def expressions() -> list[str]:
    """Return expressions without parentheses, whose value depends on how they are grouped."""
    found = []
    for first, second in itertools.product(["+", "-", "*", "/", "//", "%", "**", "^"], repeat=2):
        found += [f"{a}7 {first} {b}3 {second} {c}2" for a, b, c in itertools.product(["", "- "], repeat=3)]
    posts = ["", " IS NULL", " IS NOT NULL", " IN (0, 1)", " NOT IN (0, 1)", " NOT BETWEEN 0 AND 1", "::INT"]
    logic = ["+", "*", "=", "<>", "<", "AND", "OR", "IS DISTINCT FROM"]
    for sign, post, last in itertools.product(logic, posts, posts):
        found += [f"{a}1{post} {sign} {b}0{last}" for a, b in [("", ""), ("NOT ", ""), ("", "NOT "), ("- ", "")]]
    for first, second, post in itertools.product(logic, logic, posts):
        found.append(f"NOT 1 {first} 0{post} {second} 2")
    return found


def value(connection: duckdb.DuckDBPyConnection, sql: str) -> object:
    try:
        ((found,),) = connection.sql(f"SELECT {sql}").fetchall()
    except duckdb.Error:
        return "error"
    return "nan" if isinstance(found, float) and math.isnan(found) else found


@pytest.mark.slow
def test_operations_are_grouped_as_duckdb_groups_them() -> None:
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    compared = 0
    for text in expressions():
        try:
            (statement,) = parse(f"{HEADER} {text} FROM t")
        except SqlError:
            continue
        own = value(connection, text)
        if own != "error":
            assert value(connection, bracketed(statement.tree.expressions[0])) == own, text
            compared += 1
    assert compared > 1200


@pytest.mark.quarter
@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[1] / "accepted").glob("*.sql")), ids=lambda path: path.stem
)
def test_accepted_statements_come_back(path: Path) -> None:
    assert parse(path.read_text(encoding="utf-8"))
