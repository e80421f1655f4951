"""Random statements under USER_PRIVACY over rows with owners: any filter, key, shape and option of that language.

:func:`statement` writes one; the same for the same seed. Some four of five are accepted, the others ask for what does
not go together.
"""

import datetime as dt
import random

import polars as pl

import emdp

__all__ = ["PUBLIC", "SECRETS", "SPACE", "TYPES", "Writer", "rows_of_user", "statement"]

SECRETS = ("zq7secret", "918273645", "8.25e+77")
"""Values of records that no error may show."""

TYPES = {
    "u": pl.Int64, "k": pl.String, "z": pl.Float64, "i": pl.Int64, "x": pl.Float64, "s": pl.String, "d": pl.Date,
    "ts": pl.Datetime("us"), "b": pl.Boolean,
}  # fmt: skip

SPACE = emdp.Product(emdp.Categories("k", ["a", "b", "c"]), emdp.Interval("z", 0, 10, on_invalid="clamp"))

PUBLIC = {
    "zones": pl.DataFrame(
        {"k": ["a", "b", "c", "a"], "zone": ["z1", "z2", "z1", None], "size": pl.Series([1, 2, None, 4])}
    )
}

TEXTS = [None, "", "a", "A b", "12", "-3", "1e5", "2024-01-05", "%", "é", "2024-01-05 10:11:12", "x" * 40, SECRETS[0]]
WHOLES = [None, 0, 1, -1, 2, 3, 7, 30, 2**62, -(2**63), 2**63 - 1, int(SECRETS[1])]
REALS = [None, float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 0.5, 2.5, -1.25, 1e300, 3.75, float(SECRETS[2])]


def rows_of_user(chance: random.Random, user: int, most: int = 9) -> list[tuple[object, ...]]:
    """Return random rows of a user, in the order of ``TYPES``; also none, and equal ones."""
    rows = []
    for _ in range(chance.randrange(most + 1)):
        own = [user, chance.choice("abc"), chance.choice([0.0, 2.5, 9.0, None, 40.0]), chance.choice(WHOLES)]
        own += [chance.choice(REALS), chance.choice(TEXTS)]
        own.append(chance.choice([None, dt.date(2024, 1, 1), dt.date(2024, 1, 5), dt.date(1, 1, 1)]))
        own.append(chance.choice([None, dt.datetime(2024, 1, 2, 3, 4, 5), dt.datetime(2026, 3, 8, 7), dt.datetime.max]))
        rows.append((*own, chance.choice([True, False, None])))
    return rows + rows[: chance.randrange(3)]


def statement(seed: int) -> str:
    """Return a statement."""
    return Writer(random.Random(seed)).statement()


class Writer:
    """A statement under construction; ``draw`` chooses."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.prefix = ""
        self.chooses_ranges = draw.random() < 0.12
        self.unknown: list[str] = []

    def one(self, *choices: str) -> str:
        return self.draw.choice(choices)

    def often(self, share: float) -> bool:
        return self.draw.random() < share

    def column(self, name: str) -> str:
        return f"{self.prefix}{name}"

    def number(self, depth: int = 1) -> str:
        if depth == 0 or self.often(0.25):
            return self.one(*map(self.column, "ixz"))
        own, other = self.number(depth - 1), self.one("0", "1", "-3", "7", self.number(depth - 1))
        return self.one(
            f"({own} {self.one('+', '-', '*', '/', '%', '//')} {other})",
            f"ABS({own})", f"FLOOR({own})", f"ROUND({own}, 1)", f"SQRT({own})", f"LN({own})", f"EXP({own})",
            f"POWER({own}, 2)", f"GREATEST({own}, {other})", f"COALESCE({own}, {other})", f"NULLIF({own}, {other})",
            f"CAST({own} AS BIGINT)", f"CAST({self.text(depth - 1)} AS {self.one('BIGINT', 'DOUBLE')})",
            f"TRY_CAST({self.text(depth - 1)} AS DOUBLE)", f"LENGTH({self.text(depth - 1)})",
            f"CASE WHEN {self.condition(depth - 1)} THEN {own} ELSE {other} END",
            f"EXTRACT({self.one('YEAR', 'MONTH', 'DAY', 'ISODOW')} FROM {self.column('d')})",
            f"HOUR({self.column('ts')} AT TIME ZONE '{self.one('America/New_York', 'Asia/Kathmandu')}')",
            f"DATE_DIFF('day', {self.column('d')}, DATE '2024-02-01')", f"-{own}",
        )  # fmt: skip

    def text(self, depth: int = 1) -> str:
        own = self.column(self.one("s", "s", "k"))
        if depth <= 0 or self.often(0.4):
            return own
        return self.one(f"LOWER({own})", f"TRIM({own})", f"SUBSTR({own}, 1, 2)", f"REPLACE({own}, 'a', 'b')",
                        f"COALESCE({own}, 'none')", f"CAST({self.column('i')} AS VARCHAR)")  # fmt: skip

    def condition(self, depth: int = 1) -> str:
        if depth > 0 and self.often(0.4):
            return self.one(
                f"({self.condition(depth - 1)} {self.one('AND', 'OR')} {self.condition(depth - 1)})",
                f"NOT ({self.condition(depth - 1)})",
            )
        number = self.number(self.draw.choice([0, 0, 1, 2]))
        return self.one(
            f"{number} {self.one('>', '<', '>=', '<=', '=', '<>')} {self.one('0', '1', '3', '7', '2.5')}",
            f"{number} BETWEEN -2 AND 9", f"{number} IN (0, 1, 2, 7)", f"{number} IS NULL", self.column("b"),
            f"{self.text()} LIKE '%{self.one('a', '1', '_')}%'", f"{self.text()} IN ('a', 'A b', '12')",
            f"{self.text()} IS NOT NULL", f"{self.column('d')} >= DATE '2024-01-02'",
            f"{self.column('ts')} < TIMESTAMP '2025-01-01 00:00:00'", f"CAST({self.text()} AS DATE) IS NOT NULL",
        )  # fmt: skip

    def source(self) -> tuple[str, str]:
        """Return what follows FROM, and a condition of WHERE that belongs to it; sets how columns are called."""
        kind = self.draw.randrange(14)
        self.prefix = ""
        inner = f" WHERE {self.condition(1)}" if self.often(0.5) else ""
        every = "u, k, z, i, x, s, d, ts, b"
        if kind < 4:
            return "t", ""
        if kind == 4:
            self.prefix = "t."
            return "t JOIN zones ON t.k = zones.k", ""
        if kind == 5:
            self.prefix = "a."
            return f"t a LEFT JOIN zones y ON a.k = y.k AND {self.condition(0)}", ""
        if kind == 6:
            return f"(SELECT {every} FROM t{inner}) q", ""
        if kind == 7:
            return f"(SELECT DISTINCT u, k, z, i, x, s, d, ts, b FROM t{inner}) q", ""
        if kind == 8:
            union = self.one("UNION ALL", "UNION")
            return f"(SELECT {every} FROM t{inner} {union} SELECT {every} FROM t WHERE {self.condition(1)}) q", ""
        if kind == 9:
            return self.grouped(inner), ""
        if kind == 10:
            return self.windowed(inner, every), ""
        self.prefix = "a."
        if kind == 11:
            exists = f"EXISTS (SELECT 1 FROM t o WHERE o.u = a.u AND o.i > a.i AND o.k {self.one('=', '<>')} a.k)"
            return "t a", self.one(exists, f"NOT {exists}")
        if kind == 12:
            listed = self.one("a.u IN (SELECT u FROM t WHERE b)", "a.u NOT IN (SELECT u FROM t WHERE i > 1)",
                              "a.k IN (SELECT k FROM zones WHERE size > 1)")  # fmt: skip
            return "t a", listed
        return "t a JOIN (SELECT u, COUNT(*) AS m FROM t GROUP BY u) g ON a.u = g.u", self.one("g.m > 2", "g.m < 5")

    def grouped(self, inner: str) -> str:
        keys = self.one("u, k", "u, k, b", "u, d, k")
        spare = {name: f"MAX({name}) AS {name}" for name in ("z", "i", "x", "s", "d", "ts", "b", "k")}
        spare["b"] = "BOOL_OR(b) AS b"
        spare["i"] = self.one("COUNT(*) AS i", "SUM(i) AS i", "COUNT(DISTINCT s) AS i", "MIN(i) AS i", "MEDIAN(i) AS i")
        spare["x"] = self.one("SUM(CLAMP(x, 0, 9)) AS x", "AVG(CLAMP(i, 0, 9)) AS x", "MAX(x) AS x",
                              "QUANTILE_DISC(x, 0.5) AS x")  # fmt: skip
        held = ", ".join([keys, *(text for name, text in spare.items() if name not in keys.split(", "))])
        having = f" HAVING COUNT(*) > {self.one('1', '2')}" if self.often(0.4) else ""
        return f"(SELECT {held} FROM t{inner} GROUP BY {keys}{having}) q"

    def windowed(self, inner: str, every: str) -> str:
        order = f"ORDER BY {self.one('i', 'x', 'd', 's DESC', 'ts')}"
        window = self.one(
            f"ROW_NUMBER() OVER (PARTITION BY u {order})", f"DENSE_RANK() OVER (PARTITION BY u, k {order})",
            f"LAG(i) OVER (PARTITION BY u {order})", f"COUNT(*) OVER (PARTITION BY u, {self.one('k', 'b')})",
            f"SUM(i % 5) OVER (PARTITION BY u {order} ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
            f"FIRST_VALUE(i) OVER (PARTITION BY u {order})",
        )  # fmt: skip
        return f"(SELECT {every.replace('i,', f'{window} AS i,', 1)} FROM t{inner}) q"

    def unbounded(self) -> str:
        """Return a number whose range nobody knows."""
        column = self.column(self.one("i", "x"))
        self.unknown.append(self.one(column, f"({self.number()} - {column})", f"COALESCE({column}, {self.number()})"))
        return self.unknown[-1]

    def finished(self, text: str) -> str:
        """Return a statement with the option that chooses ranges, where a sum or mean of it needs one."""
        sums = ("SUM", "AVG", "VARIANCE", "STDDEV")
        needs = any(f"{name}({own})" in text for own in self.unknown for name in sums)
        return text.replace("OPTIONS (", "OPTIONS (range = auto, ") if needs else text

    def clamped(self) -> str:
        """Return a number with a range, or one whose range is to be chosen."""
        if self.chooses_ranges and self.often(0.8):
            return self.unbounded()
        return f"CLAMP({self.number()}, {self.one('0', '-3', '-0.5')}, {self.one('1', '7', '40.5')})"

    def aggregate(self) -> str:
        clamped = self.clamped()
        found = self.one(
            "COUNT(*)", "COUNT(*)", f"COUNT({self.number()})", f"SUM({clamped})", f"SUM({clamped})", f"AVG({clamped})",
            f"{self.one('VARIANCE', 'STDDEV')}({clamped})", f"COUNT(DISTINCT {self.column('u')})",
        )  # fmt: skip
        return f"{found} FILTER (WHERE {self.condition(1)})" if self.often(0.2) else found

    def aggregates(self) -> list[str]:
        kind = self.draw.randrange(12)
        if kind == 0:
            return [f"QUANTILE(CLAMP({self.number()}, -2, {self.one('30', '9.5')}), {self.one('0.5', '0.1', '0.95')})"]
        if kind == 1:
            return [f"COUNT(DISTINCT {self.one(self.text(), self.number(1), self.column('d'))})"]
        if kind == 2:
            return [f"MEDIAN(CLAMP({self.column('i')}, 0, 9))", "COUNT(*)"]
        if kind == 3:
            return [f"SUM({self.clamped()}) / COUNT(*)"]
        return [self.aggregate() for _ in range(self.draw.choice([1, 1, 1, 1, 2]))]

    def keys(self) -> list[tuple[str, str, bool]]:
        """Return keys, each with its condition, and whether a list is known of it."""
        if self.often(0.35):
            return []
        column = self.column
        days = f"{column('d')} BETWEEN DATE '2024-01-01' AND DATE '2024-01-06'"
        parity = f"LENGTH({column('s')}) % 2"
        whole = f"({column('i')} % 3)"
        known = [
            (column("b"), "", True), (f"{whole}", f"{whole} IN (0, 1)", True), (column("d"), days, True),
            (f"CASE WHEN {self.condition(1)} THEN 'yes' ELSE 'no' END", "", True), (parity, f"{parity} = 1", True),
            (f"{column('i')} IS NULL", "", True),
        ]  # fmt: skip
        if self.prefix != "" or self.often(0.3):
            known.append((column("k"), f"{column('k')} IN ('a', 'b')", True))
        free = [(self.text(), "", False), (column("i"), "", False),
                (f"FLOOR(CAST({column('i')} AS DOUBLE) / 2) = 1", "", True), (column("ts"), "", False),
                (f"DATE_TRUNC('month', {column('d')})", "", False)]  # fmt: skip
        chosen = [self.draw.choice(known if self.often(0.6) else free)]
        if self.often(0.3):
            chosen.append(self.draw.choice(known))
        return list({key: (key, where, is_listed) for key, where, is_listed in chosen}.values())

    def options(self, items: list[str], keys: list[tuple[str, str, bool]]) -> str:
        people = [item for item in items if "DISTINCT" in item and "u)" in item]
        made = ["epsilon = " + self.one("1", "0.5", "3")]
        is_open = not all(is_listed for _, _, is_listed in keys)
        if is_open or self.often(0.4):
            made.append("delta = 1e-6")
        has_records = len(people) < len(items) and not items[0].startswith("COUNT(DISTINCT")
        if not items:
            return ", ".join([*made, "max_groups_per_user = 3"])
        each = has_records and keys and self.often(0.2)
        if is_open or each or (people and keys and self.often(0.5)):
            made.append("max_groups_per_user = " + self.one("1", "2", "3", "auto"))
        if each:
            made.append("max_records_per_group = " + self.one("1", "2"))
        elif has_records and (is_open or self.often(0.85)):
            made.append("max_records_per_user = " + self.one("1", "2", "3", "5"))
            if self.often(0.05):
                made.append("measure_cap = TRUE")
        if self.often(0.4):
            made.append("neighbours = 'remove'")
        if self.often(0.3):
            made.append("noise = 'laplace'")
        elif "delta = 1e-6" in made and self.often(0.5):
            made.append("noise = 'gaussian'")
        return ", ".join(made)

    def statement(self) -> str:
        source, of_source = self.source()
        keys, items = self.keys(), self.aggregates()
        if not all(is_listed for _, _, is_listed in keys) and self.often(0.2):
            items = []
        wheres = [where for where in (of_source, *(where for _, where, _ in keys)) if where]
        if self.often(0.5):
            wheres.append(self.condition())
        named = [f"{key} AS key_{place}" for place, (key, _, _) in enumerate(keys)]
        named += [f"{item} AS value_{place}" for place, item in enumerate(items)]
        text = f"SELECT WITH USER_PRIVACY OPTIONS ({self.options(items, keys)}) {', '.join(named)} FROM {source}"
        text += f" WHERE {' AND '.join(wheres)}" if wheres else ""
        text += f" GROUP BY {', '.join(str(place + 1) for place in range(len(keys)))}" if keys else ""
        text += " HAVING value_0 > 3" if keys and items and self.often(0.05) else ""
        return self.finished(text + (" ORDER BY value_0 DESC LIMIT 2" if items and self.often(0.1) else ""))
