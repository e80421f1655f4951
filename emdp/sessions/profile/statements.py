"""Statements of a first look, made from names and types of columns alone.

Each is plain SQL under ``USER_PRIVACY``, so that a first look promises what its statements promise together, and what
it asks can be read, changed and asked again. Shares of epsilon and delta are fixed by the schema, before anything is
read.

**Places of numbers.** Quartiles are chosen among the places of a grid, and nobody has declared a range here. So a
number is moved to a grid that has a place for every number there is, by a function that only rises, and what is
released is moved back: quantiles of ``f(x)`` are ``f`` of quantiles of ``x``. Whole numbers up to 16,384 have a place
each, larger ones lie within 0.2 %; other numbers lie within 0.13 %, below a millionth within a billionth; times have
days. A column of the space has the places of its declared range.
"""

import datetime
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from emdp.base.checks import check_count
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.privacy import UserDP
from emdp.privacy.guarantees.kinds import Neighbours
from emdp.privacy.rounding import split
from emdp.questions.names import Names
from emdp.rows.types import Kind
from emdp.sessions.presentation import filled_columns, gone_columns
from emdp.spaces.continuous.geo import LATITUDES, LONGITUDES

__all__ = ["LEVELS", "OCTAVES", "Options", "Part", "PartKind", "parts_of"]

PartKind = Literal["records", "users", "missing", "quartiles", "values"]
Readable: TypeAlias = float | datetime.date
"""A number or a day, as it is shown."""

LEVELS = (0.25, 0.5, 0.75)
"""Of the quantiles of a column."""

OCTAVES = tuple(2**power for power in range(21))
"""Users are counted by the least of these that their number of records does not exceed, or as above all of them."""

SHARES: Mapping[PartKind, float] = {"records": 0.1, "users": 0.1, "missing": 0.2}
"""Shares of epsilon; all columns that have a statement of their own divide the rest equally."""

MANY_SHARES = 16
"""Shares of missing values from which on their statement has a share of delta: Gaussian noise may be less then."""

WHOLE, BEND, SPREAD = 2**15, 2**14, 472
"""Whole numbers: places on each side of 0, those with a place each, and places for every factor e above."""

FINEST, FURTHEST = 1e6, 42
"""Other numbers: places are ``sign(x) ln(1 + 1e6 |x|)`` up to this."""

FIRST_DAY, LAST_DAY = -25567, 39968
"""Times: days since 1970-01-01, of the years 1900 to 2079."""

QUARTILE_CAP = 10
"""Records of a user that quartiles weigh at most.

Noise on ranks is proportional to the cap, and the weight of all records is not. Where noise decides, ranks are off by a
quarter to a half of what they are at a cap of 100, and intervals as well (three tables of real people with 4 to 93
records each, the median). Where it does not, a lower cap costs 1 to 2 % of the records: users with more count less.
"""

NEEDS_DELTA = "values that nobody listed need a delta: pass delta = 1e-9, or list them as categories"

MOST_VALUES = 1000
"""Values of a column that are shown at most."""

EPOCH = datetime.date(1970, 1, 1)


@dataclass(frozen=True)
class Options:
    """What the caller of a first look chose."""

    epsilon: float
    delta: float
    neighbours: Neighbours
    columns: Iterable[str] | None = None  # Columns to look at; all by default. Kept as a tuple.
    # As in SQL, of numbers of records; quartiles have it where it is below `QUARTILE_CAP`.
    max_records_per_user: int = 100
    max_groups_per_user: int = 3  # Values of a column in which a user counts at most
    top: int = 10  # Values of a column that are shown at most

    def __post_init__(self) -> None:
        promise = UserDP(self.epsilon, self.delta, neighbours=self.neighbours)
        if not promise.epsilon > 0:
            raise UsageError(f"epsilon must be above 0, got {self.epsilon}; pass the price of the first look.")
        if isinstance(self.columns, str):
            raise UsageError("columns must be names in a list, not one text; pass [name, ...].")
        if self.columns is not None:
            object.__setattr__(self, "columns", tuple(self.columns))
        check_count("max_records_per_user", self.max_records_per_user)
        check_count("max_groups_per_user", self.max_groups_per_user)
        if check_count("top", self.top) > MOST_VALUES:
            raise UsageError(f"top must be at most {MOST_VALUES}, got {self.top}; pass fewer values.")

    @property
    def quartile_cap(self) -> int:
        """Records of a user that quartiles weigh at most."""
        return min(self.max_records_per_user, QUARTILE_CAP)


@dataclass(frozen=True, eq=False)
class Part:
    """One statement of a first look."""

    kind: PartKind
    text: str
    epsilon: float
    delta: float = 0.0
    column: str = ""  # The column; empty where it is about all of them
    # back, above: From a place of the grid to the number or day that is shown, and to the largest that has this place.
    back: Callable[[float], Readable] = float
    above: Callable[[float], Readable] = float
    # missing, true: Of `missing`: the answer's column for each of the table's.
    missing: Mapping[str, str] | None = None
    true: Mapping[str, str] | None = None


def parts_of(names: Names, options: Options) -> tuple[tuple[Part, ...], dict[str, str]]:
    """Return the statements, and for each column that none of them can answer why."""
    kinds, unanswered = _kinds(names, options)
    own = [name for name, kind in kinds.items() if kind is not Kind.BOOLEAN]
    texts = [name for name in own if kinds[name] is Kind.TEXT and not _is_listed(names, name)]
    if options.delta == 0:
        unanswered |= dict.fromkeys(texts, NEEDS_DELTA)
        own = [name for name in own if name not in texts]
        texts = []
    # A record without a value of these is elsewhere, and no row, or has the neutral item's: none would be missing.
    gone = {*gone_columns(names.space, names.columns), *filled_columns(names.space, names.columns)}
    asked = {name: kind for name, kind in kinds.items() if name not in gone}
    true = {name: kind for name, kind in kinds.items() if kind is Kind.BOOLEAN}
    fixed = {kind: share for kind, share in SHARES.items() if asked or true or kind != "missing"}
    rest = 1.0 - math.fsum(fixed.values())
    prices = iter(split(options.epsilon, (*fixed.values(), *(rest / len(own) for _ in own))))
    shares = len(asked) + len(true)
    sharing = [*texts, *([""] if shares >= MANY_SHARES else [])]
    deltas = dict(zip(sharing, split(options.delta, (1.0,) * len(sharing)), strict=True)) if sharing else {}
    parts = [_records(names, options, next(prices)), _octaves(names, options, next(prices))]
    if asked or true:
        parts.append(_missing(names, asked, true, options, next(prices), deltas.get("", 0.0)))
    for name, epsilon in zip(own, prices, strict=True):
        if kinds[name] is Kind.TEXT:
            delta = deltas.get(name, 0.0)
            parts.append(Part("values", _values(names, name, options, epsilon, delta), epsilon, delta, name))
        else:
            parts.append(_quartiles(names, name, kinds[name], options, epsilon))
    return tuple(parts), unanswered


def _kinds(names: Names, options: Options) -> tuple[dict[str, Kind], dict[str, str]]:
    if not names.kinds:
        raise UsageError(
            "profile reads records in columns, and those of this table are words of a text; declare the table with "
            "another space."
        )
    wanted = list(names.columns) if options.columns is None else list(options.columns)
    for name in wanted:
        if name not in names.columns:
            raise UsageError(f"columns has {name!r}, which is no column; name some of {', '.join(names.columns)}.")
    wanted = [name for name in dict.fromkeys(wanted) if name != names.user]
    kinds = {name: names.kinds[name] for name in wanted if name in names.kinds}
    unread = {
        name: f"values of type {names.columns[name]} are not read in SQL; write them as numbers, texts or times"
        for name in wanted
        if name not in kinds
    }
    return kinds, unread


def _is_listed(names: Names, name: str) -> bool:
    return any(name in part.columns and part.labels is not None for part in names.space.parts)


def _records(names: Names, options: Options, epsilon: float) -> Part:
    people = f", COUNT(DISTINCT {_name(names.user)}) AS users" if options.neighbours == "remove" else ""
    header = _header(options, epsilon, max_records_per_user=options.max_records_per_user)
    text = f"{header}\n  COUNT(*) AS records{people}\nFROM {_name(names.table)}"
    return Part("records", text, epsilon)


def _octaves(names: Names, options: Options, epsilon: float) -> Part:
    user = _name(names.user)
    cases = " ".join(f"WHEN n <= {most} THEN {most}" for most in OCTAVES)
    text = (
        f"{_header(options, epsilon)}\n  CASE {cases} ELSE {2 * OCTAVES[-1]} END AS records_up_to, COUNT(*) AS users\n"
        f"FROM (SELECT {user}, COUNT(*) AS n FROM {_name(names.table)} GROUP BY {user}) AS q\nGROUP BY 1"
    )
    return Part("users", text, epsilon)


def _missing(
    names: Names, kinds: Mapping[str, Kind], flags: Iterable[str], options: Options, epsilon: float, delta: float
) -> Part:
    """Return the statement of shares of each user's own records: every user weighs the same, and none needs a cap."""
    user, table = _name(names.user), _name(names.table)
    missing = {name: f"missing_{place}" for place, name in enumerate(kinds, 1)}
    places = {name: place for place, name in enumerate(dict.fromkeys((*kinds, *flags)), 1)}
    true = {name: f"true_{places[name]}" for name in flags}
    inner = [f"COUNT(*) FILTER (WHERE {_is_missing(name, kinds[name])}) AS {alias}" for name, alias in missing.items()]
    inner += [f"COUNT(*) FILTER (WHERE {_name(name)}) AS {alias}" for name, alias in true.items()]
    outer = [f"AVG(CLAMP({alias} / n, 0, 1)) AS {alias}" for alias in (*missing.values(), *true.values())]
    text = (
        f"{_header(options, epsilon, delta)}\n  {_lines(outer)}\n"
        f"FROM (\n  SELECT {user}, COUNT(*) AS n,\n  {_lines(inner)}\n  FROM {table} GROUP BY {user}\n) AS q"
    )
    return Part("missing", text, epsilon, delta, missing=missing, true=true)


def _is_missing(name: str, kind: Kind) -> str:
    column = _name(name)
    return f"{column} IS NULL OR ISNAN({column})" if kind is Kind.DOUBLE else f"{column} IS NULL"


def _lines(items: Sequence[str]) -> str:
    return ",\n  ".join(items)


def _values(names: Names, name: str, options: Options, epsilon: float, delta: float) -> str:
    column, listed = _name(name), _is_listed(names, name)
    return (
        f"{_header(options, epsilon, delta, max_groups_per_user=options.max_groups_per_user)}\n"
        f"  {column} AS value, COUNT(DISTINCT {_name(names.user)}) AS people\nFROM {_name(names.table)}\n"
        f"{'' if listed else f'WHERE {column} IS NOT NULL' + chr(10)}GROUP BY 1\n"
        f"ORDER BY people DESC\nLIMIT {options.top}"
    )


def _quartiles(names: Names, name: str, kind: Kind, options: Options, epsilon: float) -> Part:
    place, back, above = _grid(names, name, kind)
    items = [f"QUANTILE({place}, {level}) AS q{number}" for number, level in enumerate(LEVELS)]
    if kind.is_time:
        items.append(f"COUNT(DISTINCT DATE({_name(name)})) AS days")
    text = (
        f"{_header(options, epsilon, max_records_per_user=options.quartile_cap)}\n  {_lines(items)}\n"
        f"FROM {_name(names.table)}"
    )
    return Part("quartiles", text, epsilon, column=name, back=back, above=above)


_Back: TypeAlias = Callable[[float], Readable]


def _grid(names: Names, name: str, kind: Kind) -> tuple[str, _Back, _Back]:
    """Return the place of a value on a grid as SQL, and the way back, to the place's least and largest value."""
    column = _name(name)
    if kind.is_time:
        return f"CLAMP(CAST(FLOOR(EPOCH({column}) / 86400) AS BIGINT), {FIRST_DAY}, {LAST_DAY})", _day, _day
    if any(name in part.columns and part.labels is None for part in names.space.parts):
        return column, float, float
    if kind is Kind.BIGINT:
        number = f"CAST({column} AS DOUBLE)"
        bent = (
            f"CASE WHEN ABS({number}) <= {BEND} THEN {number} "
            f"ELSE SIGN({number}) * ({BEND} + {SPREAD} * LN(ABS({number}) / {BEND})) END"
        )
        return f"CAST(FLOOR(CLAMP({bent}, {-WHOLE}, {WHOLE - 1})) AS BIGINT)", _whole, _whole_above
    if name.lower() in LATITUDES:
        return f"CLAMP({column}, -90, 90)", float, float
    if name.lower() in LONGITUDES:
        return f"CLAMP({column}, -180, 180)", float, float
    bent = f"SIGN({column}) * LN(1 + {FINEST:.0f} * ABS({column}))"
    return f"CLAMP({bent}, {-FURTHEST}, {FURTHEST})", _number, _number


def _day(place: float) -> Readable:
    return EPOCH + datetime.timedelta(days=round(place))


def _whole(place: float) -> Readable:
    size = abs(place)
    return float(place if size <= BEND else math.copysign(round(BEND * math.exp((size - BEND) / SPREAD)), place))


def _whole_above(place: float) -> Readable:
    return _whole(place + 1) if abs(place) >= BEND else _whole(place)


def _number(place: float) -> Readable:
    return math.copysign(math.expm1(abs(place)) / FINEST, place)


def _header(options: Options, epsilon: float, delta: float = 0.0, **others: int) -> str:
    chosen: Sequence[str] = (
        f"epsilon = {epsilon!r}",
        *([f"delta = {delta!r}"] if delta else []),
        *([f"neighbours = '{options.neighbours}'"] if options.neighbours == "remove" else []),
        *(f"{name} = {value}" for name, value in others.items()),
    )
    return f"SELECT WITH USER_PRIVACY OPTIONS ({', '.join(chosen)})"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
