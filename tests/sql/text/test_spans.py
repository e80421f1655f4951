"""Every node of a tree is found where it was written: with comments, over lines, in any letters, behind a CTE."""

from itertools import cycle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from emdp.sql import Statement, parse
from emdp.sql.text.spans import span_of

HEADER = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)"

TEXT = f"""-- naïve café
WITH q AS (SELECT price, "東 京" AS place FROM visits AS v /* all */ WHERE city IN ('a', 'b''c'))
{HEADER}
  avg( /* first ) */ price  *  -2.50
     ) mean,
  AVG(CASE WHEN place = 'é“' THEN 1 ELSE .5 END) AS "MEAN 2",
  COUNT (*)
FROM q INNER JOIN stations USING(station)
WHERE price NOT BETWEEN 1 AND 2 AND NOT place <> 'x' AND price::DOUBLE IS NOT NULL -- end
GROUP  BY  place, q.city
ORDER BY mean ASC NULLS LAST, "MEAN 2" DESC
LIMIT 3 OFFSET 1 ;"""


def find(statement: Statement, kind: type[exp.Expr]) -> list[str]:
    """Return the texts of all nodes of a kind, in the order of the text."""
    return [statement.sql[start:end] for start, end in sorted(map(statement.span, statement.tree.find_all(kind)))]


@pytest.fixture(scope="module")
def statement() -> Statement:
    return parse(TEXT)[0]


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (exp.CTE, ["q AS (SELECT price, \"東 京\" AS place FROM visits AS v /* all */ WHERE city IN ('a', 'b''c'))"]),
        (exp.Table, ["visits AS v", "q", "stations"]),
        (exp.In, ["city IN ('a', 'b''c')"]),
        (exp.Mul, ["price  *  -2.50"]),
        (exp.Neg, ["-2.50"]),
        (exp.Case, ["CASE WHEN place = 'é“' THEN 1 ELSE .5 END"]),
        (exp.If, ["place = 'é“' THEN 1"]),
        (exp.Star, ["*"]),
        (exp.Join, ["INNER JOIN stations USING(station)"]),
        (exp.Between, ["price NOT BETWEEN 1 AND 2"]),
        (exp.NEQ, ["place <> 'x'"]),
        (exp.Cast, ["price::DOUBLE"]),
        (exp.DataType, ["DOUBLE"]),
        (exp.Is, ["price::DOUBLE IS NOT NULL"]),
        (exp.Group, ["GROUP  BY  place, q.city"]),
        (exp.Order, ['ORDER BY mean ASC NULLS LAST, "MEAN 2" DESC']),
        (exp.Limit, ["LIMIT 3"]),
        (exp.Offset, ["OFFSET 1"]),
        (exp.With, [TEXT[TEXT.index("WITH q") : TEXT.index("\nSELECT WITH")]]),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_each_node_is_found_where_it_was_written(statement: Statement, kind: type[exp.Expr], texts: list[str]) -> None:
    assert find(statement, kind) == texts


def test_columns_and_their_names_are_found(statement: Statement) -> None:
    first, second, third = statement.tree.expressions
    assert statement.text_of(first) == "avg( /* first ) */ price  *  -2.50\n     ) mean"
    assert statement.text_of(first.this) == "avg( /* first ) */ price  *  -2.50\n     )"
    assert statement.text_of(first.args["alias"]) == "mean"
    assert statement.text_of(second.args["alias"]) == '"MEAN 2"'
    assert statement.text_of(third) == "COUNT (*)"
    assert statement.text_of(statement.tree.args["group"].expressions[1].args["table"]) == "q"
    where = statement.tree.args["where"]
    assert statement.text_of(where).startswith("WHERE price NOT")
    assert statement.text_of(where).endswith("IS NOT NULL")
    assert [statement.text_of(literal) for literal in where.find_all(exp.Literal, bfs=False)] == ["1", "2", "'x'"]


def test_the_tree_spans_the_statement(statement: Statement) -> None:
    assert statement.span(statement.tree) == (statement.start, statement.end)
    assert statement.text == TEXT[TEXT.index("WITH q") : TEXT.index(" ;")]
    assert statement.refusal(None, "a", remedy="b", code="c").start == statement.header[0]


def test_every_node_has_a_span_of_its_own(statement: Statement) -> None:
    for node in statement.tree.walk():
        start, end = statement.span(node)
        assert statement.start <= start < end <= statement.end
        if node.parent is not None:
            outer = statement.span(node.parent)
            assert outer[0] <= start
            assert end <= outer[1]


def test_statements_of_one_text_have_their_own_places() -> None:
    one = f"{HEADER} AVG(x) FROM t"
    statements = parse(f"{one}; {one};\n{one}")
    assert [statement.span(statement.tree.expressions[0])[0] for statement in statements] == [
        index * (len(one) + 2) + one.index("AVG") for index in range(3)
    ]


def test_copies_keep_their_places_and_strangers_take_the_nearest(statement: Statement) -> None:
    mean = statement.tree.expressions[0].this
    assert statement.span(mean.copy()) == statement.span(mean)
    made = exp.Add(this=mean.copy(), expression=exp.Literal.number(1))
    assert statement.span(made) == statement.span(mean)
    inside = statement.tree.copy()
    case = next(iter(inside.find_all(exp.Case)))
    case.set("default", exp.Null())
    assert statement.span(case.args["default"]) == statement.span(case)
    assert statement.span(exp.column("stranger")) == (statement.start, statement.end)


def test_a_tree_without_notes_is_located_again(statement: Statement) -> None:
    bare = statement.tree.copy()
    for node in bare.walk():
        node._meta = None
    argument = bare.expressions[0].this.expressions[0]
    start, end = span_of(bare, argument, TEXT, statement.start, statement.end, statement.header)
    assert TEXT[start:end] == "price  *  -2.50"
    other = exp.select("a").from_("b")
    assert span_of(other, other.expressions[0], "a b '", 0, 5, (0, 0)) == (0, 5)
    assert span_of(exp.select("a"), exp.column("a"), "", 0, 0, (0, 0)) == (0, 0)


NAMES = st.sampled_from(["x", "visits.y", '"Z""z"', "ünï"])
ATOMS = st.one_of(
    NAMES, st.sampled_from(["1", ".5", "2e-3", "'it''s'", "NULL", "TRUE", "COUNT(*)", "VECTOR[1, -2.5, 3]"])
)


def calls(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(inner, inner)
    signs = ["+", "-", "*", "/", "//", "%", "**", "^", "=", "==", "<>", "!=", "<", ">=", "AND", "OR"]
    return st.one_of(
        st.tuples(st.sampled_from(["AVG", "avg", "f_1"]), inner).map(lambda p: f"{p[0]} ( {p[1]} )"),
        st.tuples(st.sampled_from(["RAMP", "POWER"]), inner, inner).map(lambda p: f"{p[0]} ( {p[1]} , {p[2]} )"),
        st.tuples(st.sampled_from(signs), inner, inner).map(lambda p: f"( {p[1]} ) {p[0]} ( {p[2]} )"),
        st.tuples(inner, ATOMS).map(lambda p: f"( {p[0]} ) + {p[1]}"),
        inner.map(lambda a: f"- ( {a} )"),
        inner.map(lambda a: f"NOT ( {a} )"),
        inner.map(lambda a: f"( {a} ) IS NOT NULL"),
        inner.map(lambda a: f"( {a} ) :: DECIMAL ( 10 , 2 )"),
        inner.map(lambda a: f"CAST ( {a} AS INTEGER )"),
        two.map(lambda p: f"( {p[0]} ) NOT IN ( 1 , {p[1]} )"),
        two.map(lambda p: f"( {p[0]} ) BETWEEN 0 AND ( {p[1]} )"),
        two.map(lambda p: f"CASE WHEN {p[0]} THEN {p[1]} END"),
        two.map(lambda p: f"CASE {p[0]} WHEN 'a' THEN {p[1]} ELSE 0 END"),
    )


EXPRESSIONS = st.recursive(ATOMS, calls, max_leaves=5)
GAPS = st.lists(st.sampled_from([" ", "\n", "\t ", " /* ) , ' */ ", " -- ' x\n"]), min_size=1, max_size=4)


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(st.lists(EXPRESSIONS, min_size=1, max_size=3), GAPS)
def test_the_text_of_a_node_is_the_node(expressions: list[str], gaps: list[str]) -> None:
    gap = cycle(gaps)
    columns = ",".join("".join(character if character != " " else next(gap) for character in e) for e in expressions)
    (statement,) = parse(f"{HEADER} {columns} FROM visits")
    nodes = [node for column in statement.tree.expressions for node in column.walk()]
    assert len(nodes) >= len(expressions)
    for node in nodes:
        part_of_another = isinstance(node, exp.If | exp.Star | exp.Identifier | exp.DataTypeParam) or (
            # NOT stands inside the text of ``a NOT IN (b)``; a type is no expression.
            isinstance(node.parent, exp.Not | exp.Cast | exp.DataType) and not isinstance(node, exp.Paren)
        )
        if not part_of_another:
            (again,) = parse(f"{HEADER} {statement.text_of(node)} FROM visits")
            assert again.tree.expressions[0] == node
