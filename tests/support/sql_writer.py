"""Random statements with joins, sub-queries and groups over the tables of ``sql_oracle.py``, in two spellings."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from emdp.tables.source import quote_name

HIDDEN = ("zz_user", "zz_real", "zz_lat", "zz_lon", "zz_hour", "zz_x", "zz_y")
"""Columns of DuckDB's table that formulas are made of, so that a statement may rename all others."""
LITERALS: dict[str, Sequence[str]] = {
    "category": ("'cafe'", "'bar'", "'it''s'", "'Größe'", "'park'"),
    "gate": ("1", "2", "3", "1.0"),
    "is_paid": ("TRUE", "FALSE", "true"),
    "word_class": ("'noun'", "'verb'", "'article'"),
    "word": ("'linux'", "'kernel'", "'cat'", "'dog'", "'red'"),
    "plan": ("'pro'", "'free'", "'team'"),
    "city": ("'york'", "'leeds'", "'hull'", "'Hull'"),
    "age": ("31", "45", "27", "60", "44.5", "-1", "1e1"),
    "score": ("0.5", "1.5", "0.1", "2", "-1", "- 1.0", "0"),
    "is_staff": ("TRUE", "FALSE"),
    "joined": ("DATE '2025-03-01'", "TIMESTAMP '2025-04-01 12:00:00'", "CAST('2025-02-01' AS DATE)"),
    "seen": ("TIMESTAMP '2025-01-03 03:30:00'", "DATE '2025-01-05'", "'2025-01-02 02:30:00'::TIMESTAMP"),
    'User "x".y': ("1", "5", "7.5"),
    "sector": ("'food'", "'culture'"),
    "rent": ("30", "45.5", "0", "99"),
    "seats": ("20", "60", "0", "5"),
    "is_indoor": ("TRUE", "FALSE"),
    "floor": ("0", "2"),
    "owner": ("'ann'", "'bob'"),
    "side": ("'west'", "'east'"),
    "width": ("1.5", "2.5", "4"),
    "fee": ("2", "5.0"),
    "label": ("'yes'", "'no'"),
    "length": ("5", "6", "3"),
    "kind": ("'os'", "'pet'"),
    "Ünï": ("3", "2.0", "1"),
    "income": ("10", "20", "30.0", "35"),
    "district": ("'a'", "'b'", "'c'"),
}
ITEM_LISTS = ("category", "gate", "is_paid", "word_class", "word")
USER_COLUMNS = ("plan", "city", "age", "score", "is_staff", "joined", "seen", 'User "x".y')
NUMBERS = ("price", 'odd "c".d', "Größe", "lat", "lon")
TRUTHS = ("is_paid", "is_staff", "is_indoor")
JOINS = {
    "kinds": ("category", ("sector", "seats", "is_indoor", "rent"), ("rent",)),
    "sites": ("category", ("owner", "floor"), ("floor",)),
    "lines": ("gate", ("side", "width"), ("width",)),
    "paid": ("is_paid", ("label", "fee"), ("fee",)),
    "words": ("word", ("kind", "length"), ("length",)),
    'My "Pub".t': ("gate", ("Ünï",), ("Ünï",)),
    "demographics": ("user_id", ("income", "district"), ()),
}
"""By table: its key, columns to compare and group by, numbers without NULL."""

PARTIAL = ("sites", "words")
"""Tables without a row for some items, which an inner join leaves out."""

Pair = tuple[str, str]
"""A text for emdp and the one for DuckDB."""


@dataclass(frozen=True)
class Level:
    """One SELECT of rows, around the table or another level: its columns by names inside, conditions, a CTE's name."""

    columns: dict[str, str]
    items: str = ""
    users: str = ""
    cte: str = ""
    is_star: bool = False


@dataclass(frozen=True)
class Asked:
    """A statement: ``kind`` is its aggregate, ``e`` the expression in both spellings, ``joins`` what follows FROM."""

    kind: str
    e: Pair
    source: str
    alias: str = ""
    joins: str = ""
    is_partial: bool = False
    items: str = ""
    users: str = ""
    groups: tuple[tuple[str, str, bool], ...] = ()
    levels: tuple[Level, ...] = ()
    cap: int = 2

    @property
    def is_total(self) -> bool:
        return self.kind in ("COUNT", "SUM", "MEAN")

    @property
    def has_items(self) -> bool:
        own = any(level.items for level in self.levels) or any(not of_users for _, _, of_users in self.groups)
        return bool(self.items) or own or self.is_partial

    def text(self, header: str = "", aggregates: str = "") -> str:
        """Return it for emdp, perhaps with another header and other aggregates."""
        if not header:
            total = f"USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = {self.cap})"
            header = total if self.is_total else "EMD_PRIVACY OPTIONS (alpha = 1)"
        if not aggregates:
            own = {"COUNT": "COUNT(*)", "MEAN": f"AVG({self.e[0]})"}.get(self.kind, f"{self.kind}({self.e[0]})")
            aggregates = f"{own} AS m{', SHARE() AS s' if self.has_items and not self.is_total else ''}"
        keys = ", ".join(written for written, _, _ in self.groups)
        with_, source = self._source(("", ""))
        by = f" GROUP BY {keys}" if keys else ""
        select = f"{keys}, {aggregates}" if keys else aggregates
        return f"{with_}SELECT WITH {header} {select} FROM {source}{self._where(self.items, self.users)}{by}"

    def theirs(self) -> str:
        """Return it for DuckDB: a row a user and group, with the sums and the number of the records that are chosen."""
        keys = "".join(f"{written} AS key_{place}, " for place, (written, _, _) in enumerate(self.groups))
        sums = f"sum({self.e[1]})::DOUBLE, sum(({self.e[1]})::DOUBLE ** 2), count(*), bool_or(zz_real)"
        with_, source = self._source(HIDDEN)
        where = self._where(self.items, self.users)
        return f"{with_}SELECT {keys}zz_user, {sums} FROM {source}{where}\nGROUP BY ALL"

    def everybody(self) -> str:
        """Return DuckDB's statement for the users that count, with the groups that they are in."""
        levels = tuple(replace(level, items="") for level in self.levels)
        own = [written for written, _, of_users in self.groups if of_users]
        users = replace(self, items="", levels=levels)
        with_, source = users._source(HIDDEN)
        keys = "".join(f"{key} AS key_{place}, " for place, key in enumerate(own))
        source = re.sub(r"\b(?:INNER\s+|LEFT\s+(?:OUTER\s+)?)?JOIN\b", "LEFT JOIN", source)
        return f"{with_}SELECT DISTINCT {keys}zz_user FROM {source}{self._where('', self.users)}"

    def _source(self, hidden: Sequence[str]) -> Pair:
        extra = [name for name in hidden if name]
        source, ctes = self.source, []
        for level in self.levels:
            columns = ", ".join(
                [*(f"{inside} AS {quote_name(name)}" for name, inside in level.columns.items()), *extra]
            )
            where = self._where(level.items, level.users)
            body = f"SELECT {'*' if level.is_star else columns} FROM {source}{where}"
            source = f"({body})"
            if level.cte:
                ctes.append(f"{level.cte} AS {source}")
                source = level.cte
        alias = f" {self.alias}" if self.alias else ""
        return (f"WITH {', '.join(ctes)} " if ctes else "", f"{source}{alias}{self.joins}")

    @staticmethod
    def _where(items: str, users: str) -> str:
        both = " AND ".join(f"({part})" if items and users else part for part in (items, users) if part)
        return f" WHERE {both}" if both else ""


@dataclass
class Writer:
    """Random statements."""

    rng: random.Random
    names: dict[str, str] = field(default_factory=dict)
    alias: str = ""
    listed: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)

    def pick(self, *choices: Any) -> Any:
        return self.rng.choice(choices)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def name(self, column: str) -> str:
        """Return a column in one of its spellings."""
        known = self.names.get(column, column)
        is_plain = known.isidentifier()
        if known.isascii() and is_plain and self.chance(0.15):
            known = "".join(letter.upper() if self.chance(0.5) else letter for letter in known)
        written = quote_name(known) if not is_plain or self.chance(0.15) else known
        return f"{self.alias}.{written}" if self.alias and self.chance(0.25) else written

    def constant(self, depth: int = 1) -> str:
        """Return a constant."""
        plain = self.pick("1", "2", "0", "3", "0.5", "10", ".25", "1e1", "7.", "2.5e-1", "40")
        if depth <= 0 or self.chance(0.5):
            return str(plain)
        other = self.constant(depth - 1)
        return str(
            self.pick(
                f"{plain} + {other}",
                f"{plain} * {other}",
                f"-{plain}",
                f"({plain} - {other})",
                f"{plain} / 4",
                f"{plain} ** 2",
                f"2 ** - 2 * {plain}",
                "PI()",
                f"abs(-{plain})",
                f"-{plain} ** 2",
                f"1 / 2 * {plain}",
                f"greatest({other}, {plain})",
                f"CAST({plain} AS DOUBLE)",
                f"{plain}::DOUBLE",
                f"(- - {plain})",
            )
        )

    def leaf(self) -> Pair:
        """Return a number of a record."""
        kind = self.rng.randrange(12)
        if kind < 6:
            written = self.name(self.pick(*NUMBERS, *self.numbers))
            return written, written
        if kind == 6 and not self.names:
            hour = self.pick("hour(ts)", "EXTRACT(HOUR FROM ts)", '"hour(ts)"', "extract(hour from ts)", "Hour(TS)")
            at = self.pick("8", "23", "0", "12.5")
            return f"DISTANCE({hour}, {at})", f"round_trip(zz_hour, {at})"
        if kind == 7:
            lat, lon = self.pick(("40.7", "-74"), ("40 + 0.6", "- 74.1"))
            column = "" if self.names else self.pick("", "POINT(lat, lon), ", "lat, ")
            far = f"far(zz_lat, zz_lon, {lat}, {lon})"
            if self.chance(0.3):
                nearest = f"least({far}, far(zz_lat, zz_lon, 40.8, -73.9))"
                return f"distance({column}POINT({lat}, {lon}), POINT(40.8, -73.9))", nearest
            return f"DISTANCE({column}POINT({lat}, {lon}))", far
        if kind == 8:
            word, x, y = self.pick(("linux", 0, 1), ("dog", 3, 1), ("red", 1, 1))
            column = "" if self.names else self.pick("", "word, ", "(word), ")
            return f"SIMILARITY({column}'{word}')", f"(zz_x * {x} + zz_y * {y})"
        if kind == 9:
            x, y = self.pick("2", "-1", "0.5"), self.pick("1", "- 3", "1/2")
            return f"DOT(VECTOR[{x}, {y}])", f"(zz_x * ({x}) + zz_y * ({y}))"
        if kind == 10:
            return self.case(0)
        written = self.constant()
        return written, written

    def expression(self, depth: int) -> Pair:
        """Return an expression of a record."""
        if depth <= 0 or self.chance(0.2):
            return self.leaf()
        if self.chance(0.1):
            return self.case(depth - 1)
        form = self.pick(
            "{} + {}", "{} - {}", "{} * {}", "{} / 4", "{} / - 3", "({})", "- {}", "-({})", "{} ** 2", "({}) ^ 2",
            "ABS({})", "LEAST({}, {})", "greatest({}, {}, 1)", "CLAMP({}, -1, 2)", "RAMP({}, 2, 1)",
            "RAMP({}, -1, 3 * 2)", "SIN({})", "COS({})", "TANH({})", "ATAN({})", "SQRT(ABS({}) + 1)",
            "LN(ABS({}) + 0.5)",
            "EXP(TANH({}))", "{} / (ABS({}) + 1)", "(ABS({}) + 1) ** -1", "POWER({}, 3)", "({} + {}) * {} - {}",
        )  # fmt: skip
        inner = [self.expression(depth - 1) for _ in range(form.count("{}"))]
        return form.format(*(one for one, _ in inner)), form.format(*(two for _, two in inner))

    def case(self, depth: int) -> Pair:
        """Return a CASE, simple or searched, whose branches may overlap."""
        column = self.pick(*ITEM_LISTS, *self.listed)
        subject = self.name(column) if self.chance(0.4) else ""
        ours, theirs = [f"CASE {subject}"], [f"CASE {subject}"]
        for _ in range(self.rng.randrange(1, 4)):
            when = self.pick(*LITERALS[column]) if subject else self.condition([column], self.rng.randrange(3))
            then = self.expression(depth)
            ours.append(f"WHEN {when} THEN {then[0]}")
            theirs.append(f"WHEN {when} THEN {then[1]}")
        last = self.expression(depth)
        return " ".join([*ours, f"ELSE {last[0]} END"]), " ".join([*theirs, f"ELSE {last[1]} END"])

    def condition(self, columns: Sequence[str], depth: int) -> str:
        """Return a condition on listed or public columns."""
        if depth <= 0:
            return self.comparison(self.pick(*columns))
        form = self.pick(
            "{} AND {}", "{} AND {}", "{} OR {}", "{} OR {}", "NOT {}", "({})", "NOT ({})", "{} OR {} AND {}"
        )
        return str(form.format(*(self.condition(columns, depth - 1) for _ in range(form.count("{}")))))

    def comparison(self, column: str) -> str:
        """Return one comparison of a column."""
        literals, written, values = LITERALS[column], self.name(column), self.rng
        kind = values.randrange(10)
        if kind == 0 and column not in ITEM_LISTS:
            return f"{written} IS {self.pick('', 'NOT ')}NULL"
        if kind == 1 and column in TRUTHS:
            return written
        if kind in (2, 3):
            several = ", ".join(self.pick(*literals) for _ in range(values.randrange(1, 4)))
            return f"{written} {self.pick('IN', 'NOT IN')} ({several})"
        # an item that is no listed word has no place in their order
        if kind in (4, 5) and column not in (*TRUTHS, "word"):
            sign = self.pick("<", "<=", ">", ">=")
            return self.pick(f"{written} {sign} {self.pick(*literals)}", f"{self.pick(*literals)} {sign} {written}")  # type: ignore[no-any-return]
        if kind == 6 and column not in (*TRUTHS, "word"):
            return f"{written} {self.pick('', 'NOT ')}BETWEEN {self.pick(*literals)} AND {self.pick(*literals)}"
        sign = self.pick("=", "==", "<>", "!=")
        return self.pick(f"{written} {sign} {self.pick(*literals)}", f"{self.pick(*literals)} {sign} {written}")  # type: ignore[no-any-return]

    def statement(self) -> Asked:
        """Return a statement."""
        self.names, self.alias, self.listed, self.numbers = {}, "", [], []
        levels = tuple(self.level(number) for number in range(self.pick(0, 0, 1, 2)))
        alias = self.pick("", "v", "AS v")
        source = self.pick("visits", "visits", "Visits", '"visits"')
        joins, user_columns, is_partial = ("", [], False) if levels else self.joins(alias)
        self.alias = alias.split()[-1] if alias and not joins else ""
        lists = [*ITEM_LISTS, *self.listed]
        people = [*USER_COLUMNS, *user_columns]
        keys = self.rng.sample([*ITEM_LISTS, *self.listed[:2], *people], self.pick(0, 0, 1, 2))
        return Asked(
            kind=self.pick("AVG", "AVG", "AVG", "PART", "VARIANCE", "COUNT", "SUM", "MEAN"),
            e=self.expression(self.rng.randrange(4)),
            source=source,
            alias=alias,
            joins=joins,
            is_partial=is_partial,
            items=self.condition(lists, self.rng.randrange(4)) if self.chance(0.5) else "",
            users=self.condition(people, self.rng.randrange(3)) if self.chance(0.3) else "",
            groups=tuple((self.name(key), key, key in people) for key in keys),
            levels=levels,
        )

    def joins(self, alias: str) -> tuple[str, list[str], bool]:
        """Return joins with public tables, their columns of users, and whether they leave items out."""
        left = alias.split()[-1] if alias else "visits"
        text, users, is_partial = "", [], False
        for number, other in enumerate(self.rng.sample(list(JOINS), self.pick(0, 0, 1, 2))):
            key, listed, numbers = JOINS[other]
            name = self.pick("", f"j{number}", f"AS j{number}")
            called = name.split()[-1] if name else quote_name(other)
            # behind ON a bare key would be ambiguous to DuckDB
            on = f"USING ({key})" if other != "demographics" else f"ON {left}.{key} = {called}.{key}"
            how = "" if other in PARTIAL else self.pick("", "INNER ", "LEFT ", "LEFT OUTER ")
            text += f" {how}JOIN {quote_name(other)} {name} {on}"
            is_partial = is_partial or other in PARTIAL
            self.numbers += numbers
            if other == "demographics":
                users += listed
            else:
                self.listed += listed
        return text, users, is_partial

    def level(self, number: int) -> Level:
        """Return a sub-query that renames columns, and remember their names outside."""
        lists, people = list(ITEM_LISTS), list(USER_COLUMNS)
        items = self.condition(lists, self.rng.randrange(2)) if self.chance(0.4) else ""
        users = self.condition(people, self.rng.randrange(2)) if self.chance(0.2) else ""
        cte = self.pick("", *(("visits", "kinds") if number else ("q",)), f"q{number}")
        if not self.names and self.chance(0.2):
            return Level({}, items, users, cte, is_star=True)
        inside = {column: self.name(column) for column in (*NUMBERS, *ITEM_LISTS, *USER_COLUMNS)}
        shuffled = list(NUMBERS)
        self.rng.shuffle(shuffled)
        outside = dict(zip(NUMBERS, shuffled, strict=True)) if self.chance(0.5) else {}
        outside |= {column: f"{column}_{number}" for column in inside if column not in outside and self.chance(0.5)}
        self.names = {column: outside.get(column, column) for column in inside}
        return Level({self.names[column]: inside[column] for column in inside}, items, users, cte)
