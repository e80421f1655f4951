"""What a first look found: facts of every column, from the released answers of its statements."""

import datetime
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import polars as pl

from emdp.base.classes import dataclass
from emdp.base.text import Text
from emdp.privacy import UserDP
from emdp.sessions.profile.lines import cut, number, percent, places, wrapped
from emdp.sessions.profile.plan import ProfilePlan, unanswered_lines
from emdp.sessions.profile.statements import LEVELS, OCTAVES, Part, Readable

__all__ = ["ColumnProfile", "Estimate", "Profile"]

UNKNOWN = "unknown at this price"
"""Shown where nothing bounds a number."""

WIDEST_VALUE = 40
"""Places of a terminal that a value takes."""


@dataclass(frozen=True)
class Estimate:
    """A released number or day with an interval.

    Parameters
    ----------
    value : float or date
        The number; NaN where there is none.
    low, high : float, date or None
        Ends of its interval; None where nothing bounds it.
    """

    value: Readable
    low: Readable | None
    high: Readable | None

    def __str__(self) -> str:
        return self._shown(number)

    def as_count(self) -> str:
        """Return it as a whole number of users, records or days, its interval rounded outwards."""
        if self.low is None and self.high is None:
            return UNKNOWN
        low = None if self.low is None else math.floor(_plain(self.low))
        high = None if self.high is None else math.ceil(_plain(self.high))
        return str(Estimate(float(round(_plain(self.value))), low, high))

    def as_share(self) -> str:
        """Return it as a percentage."""
        return self._shown(lambda end: percent(_plain(end)))

    def _shown(self, shown: Callable[[Readable], str]) -> str:
        if self.low is None and self.high is None:
            return UNKNOWN
        return f"{shown(self.value)} ({self._range(shown)})"

    def _range(self, shown: Callable[[Any], str]) -> str:
        if self.low == self.high:
            return "public"
        if self.high is None:
            return f"at least {shown(self.low)}"
        return f"at most {shown(self.high)}" if self.low is None else f"{shown(self.low)} to {shown(self.high)}"


@dataclass(frozen=True)
class ColumnProfile:
    """Facts of one column.

    Parameters
    ----------
    name, type : str
        The column and its type.
    missing : Estimate or None
        Share without a value of the average user's records; None where such a record is elsewhere, and left out.
    true : Estimate or None
        Of a truth value: share of the average user's records where it is true.
    quartiles : tuple of (float, Estimate)
        Levels with quantiles of numbers, or days of times.
    days : Estimate or None
        Of times: how many different days there are, at most the true number.
    values : tuple of (value, Estimate) or None
        The most frequent values with their numbers of people, the first of them first; None where it was not asked.
    note : str
        What the values rest on.
    unanswered : str
        Why there is no more; empty where there is.
    """

    name: str
    type: str
    missing: Estimate | None = None
    true: Estimate | None = None
    quartiles: tuple[tuple[float, Estimate], ...] = ()
    days: Estimate | None = None
    values: tuple[tuple[Any, Estimate], ...] | None = None
    note: str = ""
    unanswered: str = ""

    @property
    def lines(self) -> list[tuple[str, str]]:
        """Names and numbers of all but the values, as texts."""
        found = [("missing", self.missing), ("true", self.true)]
        lines = [(name, share.as_share()) for name, share in found if share is not None]
        lines += [(f"{level:.0%}", str(quantile)) for level, quantile in self.quartiles]
        return lines if self.days is None else [*lines, ("days", self.days.as_count())]

    def facts(self) -> Iterator[tuple[str, str | None, Estimate]]:
        """Yield name, key and number of each fact."""
        for name, found in (("missing", self.missing), ("true", self.true)):
            if found is not None:
                yield name, None, found
        for level, quantile in self.quartiles:
            yield "quantile", f"{level:g}", quantile
        if self.days is not None:
            yield "days", None, self.days
        for value, people in self.values or ():
            yield "people", None if value is None else str(value), people


@dataclass(frozen=True, eq=False, repr=False)
class Profile:
    """A first look at a table: all of it is post-processing of what its statements released.

    Parameters
    ----------
    plan : ProfilePlan
        What was asked.
    answers : tuple of Answer or StoredAnswer
        Released answers of its statements, in order.

    Attributes
    ----------
    records, users : Estimate
        Numbers of records and of users; of users with ends that are equal where their number is public.
    users_by_records : polars.DataFrame
        records_up_to (None: more than all others), users, users_low, users_high.
    columns : tuple of ColumnProfile
        Facts of each column, in the order of the schema.
    frame : polars.DataFrame
        The same as a table, one row a fact: column, fact (missing, true, quantile, days, people), key (level or value),
        value, low, high; days of times as numbers since 1970-01-01.
    guarantee : UserDP
        What all of it promises.
    """

    plan: ProfilePlan
    answers: tuple[Any, ...]
    records: Estimate = field(init=False)
    users: Estimate = field(init=False)
    users_by_records: pl.DataFrame = field(init=False)
    columns: tuple[ColumnProfile, ...] = field(init=False)

    def __post_init__(self) -> None:
        parts = [part for part, _ in self.plan.parts]
        numbers = self.answers[0].frame.row(0, named=True)
        public = self.plan.names.users
        users = _count(numbers, "users") if "users" in numbers else Estimate(float(public or 0), public, public)
        made = {
            "records": _count(numbers, "records"),
            "users": users,
            "users_by_records": _by_records(self.answers[1].frame),
            "columns": tuple(self._columns(list(zip(parts, self.answers, strict=True))[2:])),
        }
        for name, value in made.items():
            object.__setattr__(self, name, value)

    @property
    def guarantee(self) -> UserDP:
        """What all of it promises; see the class."""
        return self.plan.guarantee

    @property
    def is_private(self) -> bool:
        """Whether the guarantee holds: False under the test switch."""
        return all(answer.is_private for answer in self.answers)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know."""
        most = self.plan.options.max_groups_per_user
        partly = PARTLY.format("one value" if most == 1 else f"{most} values")
        has_values = any(column.values is not None for column in self.columns)
        return (*NOTES, *([partly] if has_values else []), *filter(None, (self.plan.elsewhere, self.plan.filled)))

    @property
    def frame(self) -> pl.DataFrame:
        """Facts as a table; see the class."""
        rows = [
            (column.name, fact, key, _plain(found.value), _plain_end(found.low), _plain_end(found.high))
            for column in self.columns
            for fact, key, found in column.facts()
        ]
        return pl.DataFrame(rows, schema=SCHEMA, orient="row")

    @property
    def octaves(self) -> list[tuple[str, Estimate]]:
        """Users by records, from the first power of 2 that stands out of the noise to the last.

        It stands out with more users than its interval is wide, six scales of noise: of 22 empty ones one does so in
        at most 2.8 % of looks (``22 exp(-5.99)/2``), less often than a single interval misses.
        """
        rows = list(self.users_by_records.iter_rows())
        seen = [place for place, (_, users, low, high) in enumerate(rows) if users > high - low]
        kept = rows[min(seen) : max(seen) + 1] if seen else []
        names = {None: f"more than {OCTAVES[-1]:,}"}
        return [(names.get(upto, f"up to {upto or 0:,}"), Estimate(*rest)) for upto, *rest in kept]

    def explain(self) -> Text:
        """Return all of it as text, in lines of 80 characters."""
        lines = [] if self.is_private else ["NOT PRIVATE: made under the test switch", ""]
        lines += [f"{self.plan.names.table}: a first look", *wrapped(f"promise: {self.guarantee}", indent=2)]
        lines += ["", f"records  {self.records.as_count()}", f"users    {self.users.as_count()}"]
        lines += ["", "records of a user    users"]
        octaves = self.octaves
        lines += [f"  {name:<19}{found.as_count()}" for name, found in octaves] or ["  nothing stands out of the noise"]
        for column in self.columns:
            lines += ["", *_column_lines(column)]
        lines += unanswered_lines({column.name: column.unanswered for column in self.columns if column.unanswered})
        lines += ["", *(line for note in self.notes for line in wrapped(note))]
        return Text("\n".join(lines))

    def __repr__(self) -> str:
        return str(self.explain())

    def _columns(self, asked: Sequence[tuple[Part, Any]]) -> Iterator[ColumnProfile]:
        found = {part.column: (part, answer) for part, answer in asked}
        shares: dict[str, dict[str, Estimate]] = {}
        if "" in found:
            part, answer = found[""]
            row = answer.frame.row(0, named=True)
            for fact, aliases in (("missing", part.missing or {}), ("true", part.true or {})):
                for name, alias in aliases.items():
                    shares.setdefault(name, {})[fact] = _estimate(row, alias)
        types = self.plan.names.columns
        for name in types:
            if name not in shares and name not in found and name not in self.plan.unanswered:
                continue
            facts: dict[str, Any] = {"unanswered": self.plan.unanswered.get(name, ""), **shares.get(name, {})}
            if name in found:
                part, answer = found[name]
                facts |= _quartiles(part, answer) if part.kind == "quartiles" else _values(answer)
                if part.kind == "quartiles" and _may_be_empty(facts.get("missing")):
                    facts["quartiles"] = tuple((level, NOWHERE) for level, _ in facts["quartiles"])
            yield ColumnProfile(name, types[name], **facts)


SCHEMA = {
    "column": pl.String,
    "fact": pl.String,
    "key": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}
"""Columns of a profile's frame."""

NOTES = (
    "Intervals have 95 %, each by itself. Missing and true are shares of the average user's records. Numbers of "
    "records and quartiles count users with many records up to a cap. Values that few people have are not shown.",
    "Quartiles of columns without a declared range: whole numbers above 16,384 within 0.2 %, others within 0.13 %.",
)
"""What a reader of a profile must know."""

PARTLY = (
    "People with more than {} of a column count partly in each of them: numbers of people with a value are at most the "
    "true ones, but for noise."
)
"""What a reader of numbers of people with a value must know."""


def _column_lines(column: ColumnProfile) -> list[str]:
    lines = [f"{cut(column.name, 50)}  {cut(column.type, 28)}"]
    lines += [f"  {name:<9}{shown}" for name, shown in column.lines]
    if column.values is not None:
        lines.append("  people with a value" if column.values else "  no value stands out")
        for value, found in column.values:
            shown = cut("NULL" if value is None else str(value), WIDEST_VALUE)
            lines.append(f"    {shown}{' ' * (WIDEST_VALUE + 1 - places(shown))}{found.as_count()}")
        lines += wrapped(column.note, indent=4)
    return lines


def _estimate(row: Mapping[str, Any], name: str) -> Estimate:
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    if value is None:
        # A quotient whose divisor may be 0.
        return Estimate(math.nan, None, None)
    ends = [end if end is not None and math.isfinite(end) else None for end in (low, high)]
    return Estimate(float(value), *ends)


NOWHERE = Estimate(math.nan, None, None)
"""A quartile of what may be no values at all."""


def _may_be_empty(missing: Estimate | None) -> bool:
    """Say whether all that was released of a column allows that every value is missing."""
    return missing is not None and (missing.high is None or _plain(missing.high) >= 1.0)


def _count(row: Mapping[str, Any], name: str) -> Estimate:
    """Return a number of users, records or days: none is below 0."""
    found = _estimate(row, name)
    low, high = (None if end is None else max(0.0, _plain(end)) for end in (found.low, found.high))
    return Estimate(max(0.0, _plain(found.value)), low, high)


def _quartiles(part: Part, answer: Any) -> dict[str, Any]:
    row = answer.frame.row(0, named=True)
    ranges = {column.name: (column.low, column.high) for column in answer.columns}
    # Each was drawn by itself, and quantiles rise.
    values = sorted(row[f"q{place}"] for place in range(len(LEVELS)))
    found = []
    for place, (level, value) in enumerate(zip(LEVELS, values, strict=True)):
        name = f"q{place}"
        low, high = min(row[f"{name}_low"], value), max(row[f"{name}_high"], value)
        # An end of the grid bounds nothing.
        first = None if low <= ranges[name][0] else part.back(low)
        last = None if high >= ranges[name][1] else part.above(high)
        found.append((level, Estimate(part.back(value), first, last)))
    days = {"days": _count(row, "days")} if "days" in row else {}
    return {"quartiles": tuple(found), **days}


def _values(answer: Any) -> dict[str, Any]:
    rows = answer.frame.select("value", "people", "people_low", "people_high").rows()
    found = tuple((value, Estimate(people, low, high)) for value, people, low, high in rows)
    note = next((column.note for column in answer.columns if column.name == "people"), "")
    return {"values": found, "note": note}


def _by_records(frame: pl.DataFrame) -> pl.DataFrame:
    last = 2 * OCTAVES[-1]
    upto = pl.when(pl.col("records_up_to") == last).then(None).otherwise(pl.col("records_up_to"))
    columns = ("users", "users_low", "users_high")
    return frame.sort("records_up_to").select(upto.alias("records_up_to"), *columns)


def _plain(value: Readable) -> float:
    return float((value - datetime.date(1970, 1, 1)).days) if isinstance(value, datetime.date) else float(value)


def _plain_end(value: Readable | None) -> float | None:
    return None if value is None else _plain(value)
