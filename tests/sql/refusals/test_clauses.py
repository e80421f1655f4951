"""The lists of clauses are closed: whatever they do not hold is refused, and each refusal says why and what instead."""

import pytest
from sqlglot import exp

from emdp.base.errors import SqlError
from emdp.sql import Statement, parse
from emdp.sql.refusals.clauses import check_clauses
from emdp.sql.refusals.constructs import PARTS
from emdp.sql.refusals.reasons import ARGUMENTS, JOINS, NODES, Reason

HEADER = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)"
BASE = f"{HEADER} AVG(x) AS m FROM t JOIN s USING (k) WHERE a = 1 GROUP BY b ORDER BY m LIMIT 3 OFFSET 1"

ACCEPTED = [
    "COUNT(*), COUNT(DISTINCT user_id) FROM t",
    "AVG(x) FROM (SELECT *, x + 1 AS y FROM t) AS q",
    "AVG(x) FROM (SELECT v.*, x + 1 AS y FROM t AS v) AS q",
    "AVG(x) FROM t JOIN s ON t.a = s.a LEFT JOIN u USING (k, l)",
    "AVG(x) FROM t LIMIT 0",
    "AVG(x) FROM t GROUP BY a, t.b ORDER BY 1, m DESC NULLS FIRST LIMIT 10 OFFSET 10",
    "AVG(x::DOUBLE), AVG(CAST(x AS DECIMAL(10, 2))), AVG(TRY_CAST(x AS INT)) FROM t",
    "AVG(DOT(a, VECTOR[1, 2])), AVG(vector) FROM t",
    "AVG(EXTRACT(HOUR FROM at)) FROM t WHERE at >= DATE '2020-01-01' AND b LIKE 'a%'",
    'AVG("x.csv") FROM "my table"',
    "AVG(columns), AVG(values), AVG(window) FROM t",
]


def subclasses(kind: type[exp.Expr]) -> set[type[exp.Expr]]:
    return {kind, *(deeper for inner in kind.__subclasses__() for deeper in subclasses(inner))}


KINDS = sorted(
    (kind for kind in subclasses(exp.Expr) if issubclass(kind, exp.Expression)), key=lambda kind: kind.__name__
)


def refused(statement: Statement) -> SqlError:
    with pytest.raises(SqlError) as caught:
        check_clauses(statement)
    return caught.value


def statement_with(node: exp.Expr) -> Statement:
    """Return a statement, and put a node where its aggregate takes an argument."""
    (statement,) = parse(BASE)
    statement.tree.expressions[0].this.set("expressions", [node])
    return statement


@pytest.mark.parametrize("sql", ACCEPTED)
def test_the_clauses_of_the_language_pass(sql: str) -> None:
    (statement,) = parse(f"{HEADER} {sql}")
    check_clauses(statement)


@pytest.mark.quarter
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_construct_that_is_not_listed_is_refused(kind: type[exp.Expr]) -> None:
    if kind not in PARTS:
        sides = {"this": exp.Select(), "expression": exp.Select()} if issubclass(kind, exp.SetOperation) else {}
        error = refused(statement_with(kind(**sides)))
        assert error.code == (NODES[kind].code if kind in NODES else "unsupported")


@pytest.mark.quarter
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind in PARTS], ids=lambda kind: kind.__name__)
def test_a_part_that_is_not_listed_is_refused(kind: type[exp.Expr]) -> None:
    (statement,) = parse(BASE)
    present = next(iter(statement.tree.find_all(kind)), None)
    for part in (*kind.arg_types, "made_up"):
        if part in PARTS[kind]:
            continue
        for value in (exp.Null(), [exp.Null()], True, False, "word"):
            if present is not None:
                before = present.args.get(part)
                present.set(part, value)
                refused(statement)
                present.set(part, before)
            else:
                refused(statement_with(kind(**{part: value})))
    check_clauses(statement)


def test_a_tree_that_is_no_select_is_refused() -> None:
    (statement,) = parse(BASE)
    for tree in (exp.Null(), exp.Paren(this=exp.Null()), exp.union("SELECT 1 FROM t", "SELECT 2 FROM t")):
        other = Statement(
            statement.sql, statement.start, statement.end, statement.privacy, statement.options, statement.header, tree
        )  # type: ignore[arg-type]
        assert refused(other).code in ("unsupported", "set-operation")


@pytest.mark.parametrize("reason", [*NODES.values(), *ARGUMENTS.values(), *JOINS.values()], ids=lambda r: r.code)
def test_every_reason_reads_as_one_sentence(reason: Reason) -> None:
    assert reason.code == reason.code.lower()
    assert " " not in reason.code
    for text in (reason.problem, reason.remedy):
        assert len(text) > 8
        assert not text.endswith(".") or text.endswith("..")
        assert "sqlglot" not in text


def test_lists_do_not_contradict_each_other() -> None:
    assert not set(PARTS) & set(NODES)
    for kind, part in ARGUMENTS:
        assert part in kind.arg_types
        assert part not in PARTS[kind]


@pytest.mark.parametrize(
    ("sql", "code", "underlined"),
    [
        ("AVG(COUNT(*) OVER ()) FROM t", "window", "COUNT(*) OVER ()"),
        ("AVG(x) FROM t -- HAVING\n HAVING /* x */ y > 1\n LIMIT 3", "having", "HAVING /* x */ y > 1"),
        ("AVG(x)\nFROM t,\n  s", "join-condition", ",\n  s"),
        ("AVG(x) FROM (SELECT y FROM (SELECT * EXCLUDE (a) FROM t) AS r) AS q", "star", "* EXCLUDE (a)"),
        ("AVG(é) FROM t WHERE 東 IN (SELECT 1 FROM s)", "in-subquery", "(SELECT 1 FROM s)"),
        ("AVG(x) FROM t WHERE a = (SELECT b FROM s)", "scalar-subquery", "(SELECT b FROM s)"),
        ("AVG(x) FROM t WHERE a IN ((SELECT b FROM s), 1)", "scalar-subquery", "(SELECT b FROM s)"),
        ("(SELECT AVG(x) FROM t) FROM t", "scalar-subquery", "(SELECT AVG(x) FROM t)"),
        ("AVG(x) FROM t ORDER BY (SELECT 1 FROM s)", "scalar-subquery", "(SELECT 1 FROM s)"),
        ("AVG(x) FROM t JOIN s ON EXISTS (SELECT 1 FROM u)", "exists", "EXISTS (SELECT 1 FROM u)"),
        ("AVG(x) FROM t JOIN f(1) AS g USING (k)", "table-function", "f(1) AS g"),
        ("AVG(x) FROM t LIMIT 3 OFFSET -1", "limit", "-1"),
    ],
)
def test_refusals_underline_what_they_mean(sql: str, code: str, underlined: str) -> None:
    text = f"WITH first AS (SELECT x FROM t) {HEADER} {sql}"
    with pytest.raises(SqlError) as caught:
        parse(text)
    assert (caught.value.code, text[caught.value.start : caught.value.end]) == (code, underlined)
