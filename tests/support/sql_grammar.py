"""Random trees of sqlglot over a wide grammar, of what the language has and of what it refuses.

Names and texts of the fuzzer's own (aliases, CTEs, comments, strings) begin with ``zq``, so that whatever of them
reaches the engine is recognised there.
"""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import sqlglot
from hypothesis import strategies as st
from sql_worlds import WORLDS, World
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.parsers.duckdb import DuckDBParser

OWN = "zq"
"""How names and texts of the fuzzer's own begin."""

FUNCTIONS = dict.fromkeys(("ABS", "EXP", "LN", "SQRT", "SIN", "COS", "TANH", "ATAN"), 1) | {"LEAST": 2, "GREATEST": 3}
"""Functions of expressions alone, with how many the grammar gives them."""

SAFE = (
    "LN(1 + ABS({e}))", "SQRT(ABS({e}) + 0.5)", "EXP(-ABS({e}) / 100)", "CLAMP({e}, -3, {k})", "RAMP({e}, 2, {k})",
    "POWER({e}, 2)", "({e}) ** 3", "POW(ABS({e}) + 1, -0.5)", "({e}) / {k}", "({e}) / (1 + ABS({e}))", "-({e})",
    "({e})", "{k} - ({e})", "({e}) * {k}", "TANH({e})", "ATAN({e})", "PI() * ({e})",
    "LEAST({e}, {k})", "CAST({e} AS DOUBLE)",
)  # fmt: skip
"""Expressions with a finite constant wherever ``e`` has one; ``k`` is a number above 0."""

JUMPS = (
    "FLOOR({e})", "ROUND({e}, 1)", "{e} % 3", "{e} // 2", "CAST({e} AS INTEGER)", "TRY_CAST({e} AS DECIMAL(3, 1))",
    "{e} > 1", "CASE WHEN {e} > 1 THEN 1 ELSE 0 END", "({e})::TINYINT", "NULL", "COALESCE({e}, 0)", "NULLIF({e}, 1)",
    "{e} IS NULL", "{e} BETWEEN 1 AND 2", "{e} IN (1, 2)", "random()", "now()", "user_id", "note", "'zq text'",
    "TRUE", "(SELECT max(price) FROM visits)", "EXISTS (SELECT 1 FROM visits)", "row_number() OVER (ORDER BY {e})",
    "SUM({e}) OVER (PARTITION BY user_id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)", "LAG({e}) OVER ()", "AVG({e})",
    "MAX({e})", "COUNT(*)", "{e} || 'zq'", "[{e}, 2][1]", "{{'a': {e}}}.a", "MAP {{'k': {e}}}['k']", "LN({e})",
    "list_transform([{e}], x -> x + 1)", "read_text('zq.txt')", "getenv('HOME')", "{e} COLLATE nocase",
    "IF({e} > 1, 1, 2)", "EXP(EXP(EXP({e})))", "1 / ({e})", "SQRT({e})", "POWER({e}, {e})",
    "9223372036854775807 + {e}", "1e308 * ({e})", "{e}::VARCHAR", "~CAST({e} AS INT)", "{e} & 1",
    "CASE category WHEN 'cafe' THEN {e} END", "ts AT TIME ZONE 'zq'", "DISTANCE({e}, {e})",
    "DISTANCE(POINT(1, 2, 3))", "DOT(VECTOR[1], VECTOR[2])", "SIMILARITY('zq')", "POINT(1, 2)", "DATE '2020-01-01'",
    "INTERVAL 1 DAY", "lower('zq')", "ANY_VALUE({e})", "FIRST({e} ORDER BY {e})", "{e} NOT NULL",
    "AVG({e}) FILTER (WHERE {e} > 1)", "QUANTILE_CONT({e}, 0.5)", "GROUPING({e})", "missing_zq", "visits.{e}", "$1",
    "?", "COLUMNS('p.*')", "TRY({e})", "{e} IS DISTINCT FROM 1", "(1, {e})", "RAMP({e}, 1, 1)", "CLAMP({e}, 2, 1)",
)  # fmt: skip
"""What has no finite constant, or is no part of the language; some of it only in places."""

MEANS = ("AVG({e})", "AVG({e})", "VARIANCE({e})", "STDDEV({e})", "WEIGHT(AVG({e}), {k})", "COUNT(DISTINCT user_id)")
SHARES = ("PART({e})", "SHARE()", "WEIGHT(PART({e}), {k})")
TOTALS = ("COUNT(*)", "SUM({e})", "WEIGHT(COUNT(*), {k})")
DISTRIBUTIONS = (
    "QUANTILE({e}, 0.5, 0.9)", "MEDIAN({e})", "QUANTILE({e}, 1 / (1 + {k}))", "FREQUENCY(GRID({k}))",
    "FREQUENCY(GRID({c}, {k}))", "FREQUENCY({c})",
)  # fmt: skip
USER_MEANS = ("USER_MEAN({e})", "USER_MEAN({e}, {e})", "USER_MEAN(CLAMP({e}, -3, {k}))")
NO_AGGREGATES = (
    "AVG(DISTINCT {e})", "{e}", "*", "MAX({e})", "AVG({e}) + 1", "AVG({e}, 2)", "COUNT({e})", "COUNT(DISTINCT {e})",
    "STRING_AGG({e}, ',')", "AVG({e}) FILTER (WHERE {e} > 1)", "AVG({e}) OVER ()", "AVG({e} ORDER BY {e})", "AVG(*)",
    "QUANTILE({e}, 1.5)", "QUANTILE({e})", "FREQUENCY({e})", "FREQUENCY(GRID(0))", "WEIGHT(AVG({e}), -1)", "AVG()",
    "ARG_MAX({e}, {e})", "HISTOGRAM({e})", "SHARE({e})", "WEIGHT(WEIGHT(AVG({e}), 1), 2)", "CORR({e}, {e})",
    "visits.*", "FREQUENCY(GRID(1e-9))", "QUANTILE({e} ORDER BY {e})", "MEDIAN({e}, 2)",
    "mode() WITHIN GROUP (ORDER BY {e})", "USER_MEAN()", "USER_MEAN(*)", "WEIGHT(USER_MEAN({e}), 2)",
)  # fmt: skip

SHAPES = (
    "{q} UNION ALL {q}", "{q} EXCEPT {q}", "SELECT * FROM ({q}) AS zq", "WITH zq AS ({q}) SELECT * FROM zq",
    "{q} QUALIFY 1 = 1", "CREATE TABLE zq AS {q}", "INSERT INTO zq {q}", "EXPLAIN {q}", "COPY ({q}) TO 'zq.csv'",
    "DROP TABLE visits", "({q})", "CREATE VIEW zq AS {q}", "SELECT DISTINCT x FROM ({q})",
    "{q} HAVING AVG(price) > 1", "{q} USING SAMPLE 10%", "ATTACH 'zq.db'", "PRAGMA version", "SET threads = 1",
    "DELETE FROM visits", "UPDATE visits SET price = 1", "{q} FOR UPDATE",
    "WITH RECURSIVE zq AS ({q} UNION ALL {q}) SELECT 1", "PIVOT visits ON category USING AVG(price)", "{q}; {q}",
    "{q} LIMIT 10%", "CREATE MACRO zq(a) AS a + 1", "VALUES (1)", "FROM visits SELECT 1", "TRUNCATE visits",
    "{q} OFFSET 1", "{q} LIMIT ALL",
)  # fmt: skip
"""Statements made of statements."""

SOURCES = (
    "{t}, {t} AS zq_two", "{t} CROSS JOIN kinds", "read_parquet('zq.parquet')", "'zq.csv'",
    "information_schema.tables", "main.{t}", "{t} NATURAL JOIN kinds", "{t} ASOF JOIN kinds USING (category)",
    "(VALUES (1)) AS zq(a)", "{t} TABLESAMPLE 1 ROWS", "kinds",
    "(SELECT AVG(price) AS price FROM {t} GROUP BY user_id) AS zq", "(SELECT * FROM {t} LIMIT 3) AS zq", "range(10)",
    "zq", "{t} FULL JOIN kinds USING (category)", "{t} JOIN kinds ON TRUE",
    "{t} JOIN (SELECT 1 AS category) zq USING (category)", "{t} JOIN LATERAL (SELECT 1) zq ON TRUE",
    "duckdb_settings()", "{t} SEMI JOIN kinds USING (category)", "unnest([1, 2])",
)  # fmt: skip
GOOD_SOURCES = (
    "{t}", "{t}", "{t}", "{t} AS zq_t", "(SELECT * FROM {t}) AS zq_s",
    "(SELECT *, 2 AS zq_two FROM {t} WHERE {w}) AS zq_s", "(SELECT * FROM (SELECT * FROM {t}) AS zq_in) AS zq_s",
    "{t} LEFT JOIN demographics USING (user_id)", "{t} JOIN demographics ON {t}.user_id = demographics.user_id",
    "{t} JOIN kinds USING (category)", "{t} JOIN kinds AS zq_k ON {t}.category = zq_k.category",
    "{t} AS zq_t LEFT JOIN kinds USING (category)",
)  # fmt: skip
"""First those of any table, then those of listed users, then those of a column ``category``."""

CONDITIONS = (
    "RAMP({e}, 2, {k})", "{c} = {v}", "{c} <> {v}", "{c} IN ({v}, {v})", "NOT ({c} = {v})", "{c} = {v} OR {c} = {v}",
)  # fmt: skip
USER_CONDITIONS = (
    "plan = 'pro'", "age > 30", "city <> 'york'", "is_staff", "score IS NOT NULL", "age BETWEEN 20 AND 50",
)  # fmt: skip
NO_CONDITIONS = (
    "{e} > 1", "user_id = 3", "note = 'zq'", "{e} IN (SELECT 1)", "random() < 0.5", "{c} LIKE 'c%'", "{c} = {e}",
    "{e}", "1 = 1", "{c} = {v} OR plan = 'pro'", "{c} IS NULL", "AVG({e}) > 1", "rowid < 5",
    "ts > TIMESTAMP '2020-01-01'", "{c} = 'zq' COLLATE nocase",
)  # fmt: skip

HEADERS = (
    "WITH EMD_PRIVACY OPTIONS (alpha = 1.0)", "WITH EMD_PRIVACY OPTIONS (alpha = 2, delta = 1e-10)",
    "WITH EMD_PRIVACY OPTIONS (alpha = 0.5, noise = laplace)",
    "WITH EMD_PRIVACY OPTIONS (alpha = 1, noise = 'k_norm')", "WITH USER_PRIVACY OPTIONS (epsilon = 1.0)",
    "WITH USER_PRIVACY OPTIONS (epsilon = 1, delta = 1e-9, max_records_per_user = 5)",
    "WITH EMD_PRIVACY OPTIONS (alpha = 1, delta = 1e-6, noise = gaussian)",
    "WITH USER_PRIVACY OPTIONS (epsilon = 3, max_records_per_user = 2)",
    "WITH USER_PRIVACY OPTIONS (epsilon = 5, model = local, spread = 0.1, between_users = 0.5)",
)  # fmt: skip
NO_HEADERS = (
    "", "WITH EMD_PRIVACY", "WITH EMD_PRIVACY OPTIONS (alpha = 0)", "WITH EMD_PRIVACY OPTIONS (alpha = -1)",
    "WITH ANON OPTIONS (a = 1)", "WITH EMD_PRIVACY OPTIONS (alpha = 1e308)",
    "WITH EMD_PRIVACY OPTIONS (alpha = 1e-300)", "WITH EMD_PRIVACY OPTIONS (alpha = 1, delta = 1)",
    "WITH EMD_PRIVACY OPTIONS (alpha = 1, alpha = 2)", "WITH EMD_PRIVACY OPTIONS (epsilon = 1)",
    "WITH EMD_PRIVACY OPTIONS (alpha = 1 + 1)", "WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 0)",
    "WITH EMD_PRIVACY OPTIONS (alpha = NULL)", "WITH EMD_PRIVACY (alpha = 1)",
    "WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 1e30)",
    "WITH EMD_PRIVACY OPTIONS (alpha = 1, noise = zq)",
    "WITH EMD_PRIVACY OPTIONS (alpha = 1, delta = 1e-300, noise = gaussian)",
    "WITH USER_PRIVACY OPTIONS (epsilon = 1, noise = k_norm)",
    "WITH USER_PRIVACY OPTIONS (epsilon = 1, spread = 1e-300)", "WITH USER_PRIVACY OPTIONS (epsilon = 1, failure = 0)",
)  # fmt: skip


class Plain(DuckDB):
    """DuckDB with calls as they are written: the stock parser drops arguments that it does not expect."""

    class Parser(DuckDBParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}


@cache
def _parsed(snippet: str) -> exp.Expr:
    """Return the tree of a snippet whose holes are columns, or the text itself where sqlglot has no tree for it."""
    text = re.sub(r"\{(\w)\}", r"zq_hole_\1", snippet).replace("{{", "{").replace("}}", "}")
    try:
        return sqlglot.parse_one(text, read=Plain if "QUANTILE" in text or "USER_MEAN" in text else "duckdb")
    except sqlglot.ParseError:
        return exp.Var(this=text)


@dataclass(frozen=True)
class Drawn:
    """Choices that hypothesis makes, and can make smaller; the methods are those of ``random.Random``."""

    draw: Callable[[st.SearchStrategy[Any]], Any]

    def choice(self, values: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(values))

    def randint(self, low: int, high: int) -> int:
        return int(self.draw(st.integers(low, high)))


EXTREMES = (
    "1e300", "1e-300", "1e155", "1e-170", "1e80", "1e-80", "1e48", "1e-48", "1e24", "1e-24", "1e17", "1e-17",
    "0.9999999999999999", "9007199254740993",
)  # fmt: skip
"""Numbers whose products, powers and quotients leave the range or the precision of doubles."""


@dataclass(frozen=True)
class Writer:
    """Draws trees over one world; the wilder, the more of them hold what the language refuses."""

    rng: random.Random | Drawn
    world: World
    wildness: int
    is_extreme: bool

    @property
    def is_listed(self) -> bool:
        return isinstance(self.world.users, str)

    def one_of(self, good: Sequence[Any], bad: Sequence[Any] = ()) -> Any:
        """Return one of the good, or now and then of the bad."""
        is_bad = bad and self.wildness and self.rng.randint(0, 99) < self.wildness
        return self.rng.choice(bad if is_bad else good)

    def tree(self, snippet: str, depth: int) -> exp.Expr:
        """Return a snippet with its holes filled."""
        found = _parsed(snippet).copy()
        for hole in list(found.find_all(exp.Column)):
            if hole.name.startswith("zq_hole_"):
                filled = self.fill(hole.name[-1], depth)
                if hole is found:
                    return filled
                hole.replace(exp.Paren(this=filled) if isinstance(filled, exp.Binary) else filled)
        return found

    def fill(self, hole: str, depth: int) -> exp.Expr:
        """Return what belongs into a hole: expression, constant, listed column, value, or condition."""
        if hole == "e" and self.is_extreme and self.rng.randint(0, 2) == 0:
            factor = exp.Literal.number(self.rng.choice(EXTREMES))
            return exp.Mul(this=exp.Paren(this=self.number(depth - 2)), expression=factor)
        if hole == "e":
            return self.number(depth - 1)
        if hole == "k":
            return self.constant()
        if hole == "w":
            return self.condition(depth - 1)
        if not self.world.labels:
            return self.tree(self.one_of(self.world.numbers) if hole == "c" else "'zq'", 0)
        column, values = self.one_of(list(self.world.labels.items()))
        return self.tree(column, 0) if hole == "c" else self.literal(self.one_of(values, ["zq", 3, "SeCrEt", None]))

    def literal(self, value: Any) -> exp.Expr:
        return exp.convert(value)

    def constant(self) -> exp.Expr:
        common = ["1", "2", "0.5", "10", "1e-3", "40", "100", "7.25"]
        odd = ["0", "1e309", "1e-320", "99999999999999999999", "0x10", "9" * 250, "4.9e-324"]
        return exp.Literal.number(self.one_of([*common, *EXTREMES] if self.is_extreme else common, odd))

    def number(self, depth: int) -> exp.Expr:
        """Return an expression of one record."""
        if depth <= 0:
            return self.constant() if self.rng.randint(0, 5) == 0 else self.tree(self.one_of(self.world.numbers), 0)
        kind = self.one_of(["leaf", "binary", "safe", "safe", "case"], ["jump", "jump", "function"])
        if kind == "binary":
            make = self.one_of([exp.Add, exp.Sub, exp.Mul], [exp.Div, exp.Pow, exp.Mod, exp.IntDiv])
            left, right = self.number(depth - 1), self.number(depth - 1)
            return make(this=self.inside(left), expression=self.inside(right))
        if kind == "function":
            name = self.one_of(list(FUNCTIONS))
            count = self.one_of([FUNCTIONS[name]], [0, 1, 4])
            return exp.Anonymous(this=name, expressions=[self.number(depth - 1) for _ in range(count)])
        if kind == "case" and self.world.labels:
            cases = ["CASE WHEN {c} = {v} THEN {e} ELSE {e} END", "CASE WHEN {c} IN ({v}, {v}) THEN 1 ELSE {k} END"]
            return self.tree(self.one_of(cases), depth)
        return self.tree(self.one_of(JUMPS if kind == "jump" else SAFE), depth)

    def inside(self, node: exp.Expr) -> exp.Expr:
        return exp.Paren(this=node) if isinstance(node, exp.Binary) and self.rng.randint(0, 1) == 0 else node

    def condition(self, depth: int) -> exp.Expr:
        """Return a condition on records or users."""
        good = [*(CONDITIONS if self.world.labels else CONDITIONS[:1]), *(USER_CONDITIONS if self.is_listed else ())]
        found = self.tree(self.one_of(good, NO_CONDITIONS), depth)
        if depth > 0 and self.rng.randint(0, 3) == 0:
            return exp.And(this=exp.Paren(this=found), expression=exp.Paren(this=self.condition(depth - 1)))
        return found

    def items(self, header: str, is_filtered: bool) -> list[exp.Expr]:
        """Return a select list."""
        kinds = MEANS + (TOTALS if "records" in header else SHARES if is_filtered else ())
        if "spread" in header:
            found = [self.tree(self.one_of(USER_MEANS, kinds), self.rng.randint(1, 2))]
        elif self.rng.randint(0, 4) == 0 and "records" not in header:
            found = [self.tree(self.one_of((*DISTRIBUTIONS, "USER_MEAN({e})"), kinds), self.rng.randint(1, 2))]
        else:
            count = self.rng.randint(1, 4)
            bad = NO_AGGREGATES + TOTALS + SHARES
            found = [self.tree(self.one_of(kinds, bad), self.rng.randint(1, 3)) for _ in range(count)]
        aliases = [
            self.one_of([f"zq_{place}", f'zq "{place}"'], ["zq_0", "", "user_id"]) for place in range(len(found))
        ]
        return [
            exp.alias_(item, name, quoted=True) if name else item for item, name in zip(found, aliases, strict=True)
        ]

    def select(self, header: str) -> exp.Select:
        """Return a statement, with ``ZQ_HEADER`` where its header belongs."""
        good = GOOD_SOURCES[: 7 if not self.is_listed else 9 if "category" not in self.world.labels else None]
        found = self.tree(f"SELECT 1 FROM {self.one_of(good, SOURCES)}".replace("{t}", self.world.table), 2)
        if not isinstance(found, exp.Select):
            found = exp.select("1").from_(self.world.table)
        is_filtered, is_grouped = self.rng.randint(0, 2) == 0, self.rng.randint(0, 3) == 0
        found.set("expressions", [exp.column("ZQ_HEADER"), *self.items(header, is_filtered or is_grouped)])
        if is_filtered:
            found = found.where(self.condition(2), copy=False)
        columns = [*self.world.labels, *(("plan", "city") if self.is_listed else ())]
        if is_grouped and columns:
            column = self.tree(
                self.one_of(columns, ["ALL", "user_id", "1", "ROLLUP (a)", "note", "sector", "price"]), 0
            )
            found = found.group_by(column, copy=False)
            if self.rng.randint(0, 1) == 0:
                found.expressions.insert(1, column.copy())
        if self.rng.randint(0, 4) == 0:
            found = found.order_by(self.one_of(["zq_0", "zq_0 DESC"], ["random()", "ALL", "price", "2"]), copy=False)
        if self.rng.randint(0, 5) == 0:
            found = found.limit(self.one_of(["3", "0"], ["-1", "1e9", "(SELECT 1)", "9" * 20]), copy=False)
        if self.rng.randint(0, 7) == 0:
            found = found.with_("zq_c", as_=f"SELECT * FROM {self.world.table}", copy=False)
        return found

    def shuffled(self, tree: exp.Expr) -> exp.Expr:
        """Return a tree in which one part took the place of another."""
        nodes = [node for node in tree.walk() if node.parent is not None]
        old, new = self.rng.choice(nodes), self.rng.choice(nodes).copy()
        old.replace(new)
        return tree

    def text(self) -> str:
        """Return a statement as text."""
        header = self.one_of(HEADERS, NO_HEADERS)
        tree = self.select(header)
        if self.wildness and self.rng.randint(0, 3) == 0:
            tree = self.shuffled(tree)
        text = tree.sql("duckdb", pretty=self.rng.randint(0, 1) == 0)
        if self.is_extreme:
            header = re.sub(r"(?<== )[\d.e-]+", lambda _: self.one_of(["1", "1e-9", "0.5", *EXTREMES]), header, count=2)
        text = re.sub(r"ZQ_HEADER,?\s*", lambda _: f"{header} ", text)
        shape = self.one_of(["{q}", "{q};", "{q} -- zq", "/* zq */ {q}"], SHAPES)
        return shape.replace("{q}", text)


@st.composite
def trees(draw: Any) -> tuple[str, str]:
    """Return a world and a statement from a random tree."""
    # Half of them are drawn by hypothesis, which repeats itself but makes what fails smaller, half from a seed.
    rng = Drawn(draw) if draw(st.booleans()) else draw(st.randoms(use_true_random=True))
    name = rng.choice(["city", "city", *(name for name in WORLDS if name not in ("city", "irc", "plain"))])
    wildness, is_extreme = rng.choice([0, 0, 2, 5, 20, 60]), rng.randint(0, 4) == 0
    return name, Writer(rng, WORLDS[name], wildness, is_extreme).text()
