"""More random statements under USER_PRIVACY: stages, groups alone, lists that a statement writes, means by weights.

:func:`spelled` writes one, made of the parts of :mod:`owned_statements`; the same for the same seed.
"""

import random

from owned_statements import Writer

__all__ = ["spelled"]

LISTS = {
    "s": "('a'), ('A b'), ('nowhere')",
    "i": "(0), (1), (7)",
    "k": "('a'), ('b')",
    "d": "(DATE '2024-01-01'), (DATE '2024-01-05')",
    "b": "(TRUE)",
}
"""Columns with some of their values, as VALUES lists them."""


def spelled(seed: int) -> str:
    """Return a statement."""
    return _Spelled(random.Random(seed)).any()


class _Spelled(Writer):
    """A statement under construction."""

    def any(self) -> str:
        kind = self.draw.randrange(8)
        if kind < 4:
            return self.finished(self.in_stages())
        return self.finished([self.sums, self.weighted, self.listed, self.alone][kind - 4]())

    def head(self, *more: str) -> str:
        made = ["epsilon = " + self.one("1", "0.5", "3"), *more]
        made += ["neighbours = 'remove'"] if self.often(0.4) else []
        if self.often(0.4) and not any(own.startswith("delta") for own in made):
            made.append("delta = 1e-6")
        made += ["noise = 'laplace'"] if self.often(0.2) else []
        return f"SELECT WITH USER_PRIVACY OPTIONS ({', '.join(made)}) "

    def cap(self) -> str:
        return self.one(
            "max_records_per_user = 1", "max_records_per_user = 3", "cap = 'auto'", "max_records_per_user = 5"
        )

    def clamped(self) -> str:
        if self.chooses_ranges and self.often(0.8):
            return self.unbounded()
        ends = self.one("0, 7", "2, 40.5", "-9, -1", "-3, 5", "0, 0.5")
        return f"CLAMP({self.number()}, {ends})"

    def where(self) -> str:
        return f" WHERE {self.condition()}" if self.often(0.5) else ""

    def grouped_by(self) -> tuple[str, str]:
        """Return a key with its comma, and GROUP BY."""
        key = self.one("", "", "k", "b", "CASE WHEN i > 1 THEN 'yes' ELSE 'no' END")
        return (f"{key} AS key_0, ", " GROUP BY 1") if key else ("", "")

    def sums(self) -> str:
        key, group = self.grouped_by()
        items = [f"SUM({self.clamped()}) AS s{place}" for place in range(self.draw.choice([1, 2, 2, 3]))]
        items.insert(self.draw.randrange(len(items) + 1), "COUNT(*) AS n")
        if self.often(0.25):
            items.append("COUNT(DISTINCT u) AS people")
        return f"{self.head(self.cap())}{key}{', '.join(items)} FROM t{self.where()}{group}"

    def weighted(self) -> str:
        key, group = self.grouped_by()
        weight, value = f"CLAMP({self.number()}, 0, {self.one('1', '5', '40.5')})", self.clamped()
        condition = f" FILTER (WHERE {self.condition(0)})" if self.often(0.3) else ""
        above, below = f"SUM({weight} * {value}){condition}", f"SUM({weight}){condition}"
        mean = self.one(f"{above} / {below}", f"SAFE_DIVIDE({above}, {below})", f"{above} / NULLIF({below}, 0)")
        more = self.one("", "", ", COUNT(*) AS n", f", SUM({self.clamped()}) AS s", ", COUNT(DISTINCT u) AS p")
        return f"{self.head(self.cap())}{key}{mean} AS m{more} FROM t{self.where()}{group}"

    def listed(self) -> str:
        column = self.one(*LISTS)
        values = LISTS[column]
        item = self.one("COUNT(*)", f"AVG({self.clamped()})", f"QUANTILE({self.clamped()}, 0.1, 0.5, 0.9)",
                        "COUNT(DISTINCT u)", f"SUM({self.clamped()})", "COUNT(DISTINCT d)")  # fmt: skip
        cap = (
            ""
            if item.startswith("COUNT(DISTINCT")
            else self.one("max_records_per_user = 2", "max_records_per_user = 5")
        )
        head = self.head(*([cap] if cap else []))
        form = self.draw.randrange(3)
        if form == 0:
            return f"{head}{column} AS key_0, {item} AS v FROM t WHERE {column} IN (VALUES {values}) GROUP BY 1"
        if form == 1:
            joined = f"t JOIN kk ON {column} = key_0"
            return f"WITH kk(key_0) AS (VALUES {values}) {head}key_0, {item} AS v FROM {joined} GROUP BY 1"
        joined = f"t JOIN (VALUES {values}) kk(key_0) ON t.{column} = kk.key_0"
        return f"{head}kk.key_0, {item} AS v FROM {joined} GROUP BY 1"

    def alone(self) -> str:
        key = self.one("s", "i", "d", "DATE_TRUNC('month', d)", "LOWER(s)", "i % 3", "ts")
        more = self.one("", ", k", ", b")
        head = self.head("delta = 1e-6", f"max_groups_per_user = {self.one('1', '2', '4', 'auto')}")
        if self.often(0.5):
            return f"{head}{key} AS key_0{more} FROM t{self.where()} GROUP BY {key}{more}"
        head = self.head("delta = 1e-6", "max_groups_per_user = 2", "max_records_per_user = 3")
        return (
            f"WITH found AS (SELECT {key} AS key_0 FROM t{self.where()} GROUP BY 1) {head}{key} AS key_0, "
            f"COUNT(*) AS n FROM t WHERE {key} IN (SELECT key_0 FROM found) GROUP BY 1"
        )

    def in_stages(self) -> str:
        first = self.one(
            "SELECT k, COUNT(*) AS n FROM t{w} GROUP BY k", "SELECT k, AVG({c}) AS n FROM t{w} GROUP BY k",
            "SELECT b, SUM({c}) AS n FROM t{w} GROUP BY b", "SELECT AVG(z) AS n FROM t{w}",
            "SELECT COUNT(*) AS n FROM t{w}", "SELECT COUNT(DISTINCT u) AS n FROM t{w}",
            "SELECT k, COUNT(*) AS n FROM t{w} GROUP BY k ORDER BY n DESC LIMIT 2",
        ).replace("{w}", self.where())  # fmt: skip
        if "{c}" in first:
            first = first.replace("{c}", self.clamped())
        key = next((name for name in ("k", "b") if first.startswith(f"SELECT {name},")), "")
        items = self.one("COUNT(*) AS v", f"SUM({self.clamped()}) AS v", f"AVG({self.clamped()}) AS v, COUNT(*) AS w",
                         f"SUM({self.clamped()}) AS v, SUM({self.clamped()}) AS y, COUNT(*) AS w")  # fmt: skip
        head = self.head(self.one("max_records_per_user = 2", "max_records_per_user = 5"))
        if not key:
            later = self.one("z > (SELECT n FROM a)", "i < (SELECT n FROM a) + 1",
                             "x BETWEEN (SELECT n FROM a) - 2 AND (SELECT MAX(n) + 2 FROM a)")  # fmt: skip
            return f"WITH a AS ({first}) {head}{items} FROM t WHERE {later}"
        among = f"t WHERE t.{key} IN (SELECT {key} FROM a)"
        return self.one(
            f"WITH a AS ({first}) {head}t.{key} AS key_0, {items} FROM {among} GROUP BY 1",
            f"WITH a AS ({first}), c AS (SELECT {key} FROM a WHERE n >= (SELECT MAX(n) FROM a)) "
            f"{head}{items} FROM t WHERE {key} IN (SELECT {key} FROM c)",
            f"WITH a AS (SELECT {key} AS q, n FROM ({first}) f) {head}{items} FROM t JOIN a ON t.{key} = a.q "
            "WHERE z > n",
            f"WITH a AS ({first}) {head}{items} FROM t WHERE z > (SELECT AVG(n) FROM a)",
        )
