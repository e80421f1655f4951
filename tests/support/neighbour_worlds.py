"""Random spaces, small tables of them with neighbours, and queries: what sensitivities are checked on.

Every function draws from a ``rng`` with the methods of ``numpy.random.Generator``: a seeded one, or hypothesis.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

import emdp
from emdp.expressions import Expression
from emdp.expressions.nodes.lookup import LabelValue
from emdp.questions.names import Names
from emdp.tables import Table
from emdp.transport.bags import Bag, bag_from_items
from emdp.transport.routes import distance, prepare

LABELS = ("a", "b", "c", "d")
RELATIVE, ABSOLUTE = 1e-11, 1e-15
"""Error of a computed d_em: the second is that of a line's positions; one of a sphere is larger."""

ON_SPHERE = 1e-11
PUBLIC = {"rents": pl.DataFrame({"k": list("abcd"), "zone": ["n", "s", "n", None], "rent": [7.0, -2.5, 7.25, 100.0]})}
RULES = ("clamp", "neutral", "error")

Row = dict[str, Any]


# Spaces, and records of them -----------------------------------------------------------------------------------------


def random_part(name: str, rng: np.random.Generator) -> Any:
    rule = str(rng.choice(RULES))
    listed = "neutral" if rule == "clamp" else rule
    cut = rng.choice([None, None, 0.4, 0.05])
    kind = "categories" if name == "k" else rng.choice(["interval", "interval", "geo", "cycle", "vector", "finite"])
    if kind == "categories":
        return emdp.Categories("k", LABELS[: rng.integers(2, 5)], on_invalid=listed)
    if kind == "interval":
        low, width = rng.choice([0.0, -3.7, 1e6]), rng.choice([1.0, 0.3, 24.0, 1e-3])
        neutral = low if rng.random() < 0.3 else None
        diameter = None if cut is None else cut * width
        return emdp.Interval(name, low, low + width, diameter=diameter, on_invalid=rule, neutral=neutral)
    if kind == "geo":
        south, west, size = [(40.5, -74.2, 0.4), (-70.0, 10.0, 15.0), (50.0, 0.0, 30.0)][rng.integers(3)]
        box = (south, west, south + size, west + 2 * size)
        return emdp.Geo(name, f"{name}_lon", box=box, diameter=None if cut is None else 60 * cut, on_invalid=rule)
    if kind == "cycle":
        period = rng.choice([24.0, 1.0, 0.7])
        return emdp.Cycle(name, period, diameter=None if cut is None else cut * period, on_invalid=rule)
    if kind == "vector":
        columns = [name, f"{name}_2", f"{name}_3"][: rng.integers(1, 4)]
        ball = {"radius": 1.5} if rng.random() < 0.4 else {"box": [(-1.0, 2.0)] * len(columns)}
        return emdp.Vector(columns, **ball, diameter=cut, on_invalid=rule)
    return random_finite(name, rng, cut, listed)


def random_finite(name: str, rng: np.random.Generator, cut: float | None, rule: Any) -> Any:
    points = rng.permutation([[0.0, 0.0], [0.3, 0.0], [0.3, 2.0], [-1.0, 0.5]])
    kind = rng.choice(["clusters", "distances", "embedding", "keyed", "twins"])
    if kind == "clusters":
        return emdp.Clusters(name, dict(zip(LABELS, "ppqq", strict=True)), rng.choice([0.1, 0.6, 1.0]), on_invalid=rule)
    if kind == "distances":
        matrix = np.abs(points[:, None] - points[None]).sum(axis=2)
        return emdp.Distances(name, LABELS, matrix.tolist(), diameter=cut, on_invalid=rule)
    if kind == "twins":
        points[2] = points[0]
    table = {"key": LABELS, "x": points[:, 0].tolist(), "y": points[:, 1].tolist()}
    return emdp.Embedding(name, table, diameter=cut, on_invalid=rule, neutral="b" if kind == "keyed" else None)


def random_space(rng: np.random.Generator) -> Any:
    names = ["k", *("u", "v", "w")[: rng.integers(0, 4)]] if rng.random() < 0.7 else ["u"]
    parts = [random_part(name, rng) for name in names]
    if len(parts) == 1:
        return parts[0]
    return emdp.Product(*(part.weighted(rng.choice([1.0, 0.3, 5.0])) for part in parts))


def random_values(part: Any, rng: np.random.Generator) -> Row:
    """One part of a record: often at an edge of the domain or of a likely cell."""
    if part.labels is not None:
        return {part.columns[0]: str(rng.choice(part.labels))}
    if isinstance(part, emdp.Cycle):
        eighth = part.period * rng.integers(0, 8) / 8
        places = [0.0, np.nextafter(part.period, 0), eighth, rng.uniform(0, part.period)]
        return {part.column: float(rng.choice(places))}
    lows, highs = bounds_of(part)
    shares = rng.choice([0.0, 1.0, rng.integers(0, 9) / 8, rng.uniform(), rng.uniform()], len(lows))
    return dict(zip(part.columns, np.clip(lows + shares * (highs - lows), lows, highs).tolist(), strict=True))


def bounds_of(part: Any) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(part, emdp.Interval):
        return np.array([part.low]), np.array([part.high])
    if isinstance(part, emdp.Geo):
        return np.array(part.box[:2]), np.array(part.box[2:])
    if part.box is None:
        inside = part.radius / len(part.columns) ** 0.5 * 0.999
        return np.full(len(part.columns), -inside), np.full(len(part.columns), inside)
    return np.array(part.box)[:, 0], np.array(part.box)[:, 1]


def nudged(row: Row, part: Any, rng: np.random.Generator) -> Row:
    """The record with one part moved, mostly by next to nothing."""
    if part.labels is not None:
        return row | random_values(part, rng)
    column = str(rng.choice(part.columns))
    index = part.columns.index(column)
    low, high = (
        (0.0, np.nextafter(part.period, 0))
        if isinstance(part, emdp.Cycle)
        else (bounds_of(part)[0][index], bounds_of(part)[1][index])
    )
    step = rng.choice([0.0, 0.0, 1e-12, 1e-9, 1e-5, 1e-2]) * (high - low) * rng.choice([-1, 1])
    value = row[column] + step if step else np.nextafter(row[column], rng.choice([-np.inf, np.inf]))
    return row | {column: float(np.clip(value, low, high))}


def spoilt(row: Row, part: Any, rng: np.random.Generator) -> Row:
    """The record with an invalid value in one part."""
    if part.labels is not None:
        return row | {part.columns[0]: rng.choice([None, "zz"])}
    return row | {str(rng.choice(part.columns)): rng.choice([None, np.nan, np.inf, -np.inf, 1e9, -1e9, 1e300])}


@dataclass(frozen=True, eq=False)
class World:
    """A space with bags, several of them next to one another."""

    space: Any
    bags: tuple[tuple[Row, ...], ...]

    @classmethod
    def random(cls, rng: np.random.Generator) -> "World":
        space = random_space(rng)

        def row() -> Row:
            return {name: value for part in space.parts for name, value in random_values(part, rng).items()}

        def moved(bag: Sequence[Row]) -> tuple[Row, ...]:
            place, part = rng.integers(len(bag)), space.parts[rng.integers(len(space.parts))]
            return tuple(nudged(own, part, rng) if at == place else own for at, own in enumerate(bag))

        first = tuple(row() for _ in range(rng.integers(1, 4)))
        neutral = {name: values[0] for name, values in space.decode(space.neutral_item).items()}
        if None in neutral.values():  # the mean vector has no key of its own, so that no record can hold it
            neutral = row()
        bags = [first, moved(first), moved(first), moved(first), first[::-1] * 2, (), (neutral,), first[:1], (row(),)]
        bags += [(*first * 6, row()), (*first[1:], row()), tuple(row() for _ in range(3)), moved((neutral,))]
        lenient = [part for part in space.parts if part.on_invalid != "error"]
        if lenient:
            bags += [(spoilt(first[0], lenient[rng.integers(len(lenient))], rng), *first[1:]) for _ in range(2)]
        return cls(space, tuple(bags))

    @cached_property
    def users(self) -> pl.DataFrame:
        """Public users: one a bag, in three cities of different sizes, one of which has one user."""
        count = len(self.bags)
        cities = ["Bari", *("Oslo" if number % 4 == 0 else "Rome" for number in range(1, count))]
        return pl.DataFrame({"user": [f"u{number}" for number in range(count)], "city": cities})

    def table(self, bags: Sequence[Sequence[Row]]) -> Table:
        """A table in which the users have these bags."""
        kinds = {name: pl.String if part.labels else pl.Float64 for part in self.space.parts for name in part.columns}
        rows = [{"user": key, **own} for key, bag in zip(self.users["user"], bags, strict=True) for own in bag]
        frame = pl.DataFrame(rows, schema={"user": pl.String, **kinds})
        # Declared, so that no connection is opened to look at them.
        types = {name: "VARCHAR" if kind == pl.String else "DOUBLE" for name, kind in frame.schema.items()}
        return emdp.read(frame, user="user", space=self.space, users=self.users, name="visits", columns=types)

    @cached_property
    def every(self) -> Table:
        """The table in which each bag has its user."""
        return self.table(self.bags)

    @cached_property
    def names(self) -> Names:
        """All that is public."""
        return self.every.names(PUBLIC)

    @cached_property
    def distances(self) -> dict[tuple[int, int], float]:
        """An upper bound of d_em, tight to rounding, for each pair of bags."""
        return {pair: self.distance(*pair) for pair in combinations(range(len(self.bags)), 2)}

    def distance(self, one: int, two: int) -> float:
        """An upper bound of the d_em of two bags, tight to rounding."""
        absolute = ON_SPHERE if any(isinstance(part, emdp.Geo) for part in self.space.parts) else ABSOLUTE
        left, right = prepare([self._encoded(self.bags[one]), self._encoded(self.bags[two])], self.space)
        d = distance(left, right, self.space)
        return d * (1 + RELATIVE) + absolute if d > 0 else 0.0

    def _encoded(self, bag: Sequence[Row]) -> Bag:
        kinds = {name: pl.String if part.labels else pl.Float64 for part in self.space.parts for name in part.columns}
        items = self.space.encode(pl.DataFrame(bag, schema=kinds)) if bag else self.space.neutral_item
        return bag_from_items("bag", items, None)


# Queries -------------------------------------------------------------------------------------------------------------


def scalar(part: Any, rng: np.random.Generator) -> Expression:
    column = part.columns[0]
    if part.labels is not None:
        numbers = rng.choice([-1.0, 0.0, 2.5, 2.75], len(part.labels)).tolist()
        chosen = rng.permutation(part.labels)[: rng.integers(1, len(part.labels))].tolist()
        pairs = list(zip(part.labels, numbers, strict=True))[: rng.integers(1, len(numbers) + 1)]
        choices = [
            LabelValue(tuple(pairs), float(rng.choice([0.0, 1.0])), (column,)),
            emdp.category_is(*chosen, column=column),
            emdp.distance_to(str(rng.choice(part.labels)), column=column),
        ]
        return choices[rng.integers(3)]
    if isinstance(part, emdp.Cycle):
        return emdp.distance_to(float(rng.choice([0.0, part.period / 3])), column=column)
    if rng.random() < 0.5:
        return emdp.col(str(rng.choice(part.columns)))
    lows, highs = bounds_of(part)
    point = (lows + rng.choice([0.5, 0.0, 1.1]) * (highs - lows)).tolist()
    return emdp.distance_to(point[0] if isinstance(part, emdp.Interval) else point, column=column)


def expression(space: Any, rng: np.random.Generator) -> Expression:
    parts = [space.parts[rng.integers(len(space.parts))] for _ in range(2)]
    first, second = scalar(parts[0], rng), scalar(parts[1], rng)
    kind = rng.choice(["one", "one", "ramp", "product", "sum", "shifted", "case", "tanh", "power"])
    if kind == "ramp":
        return weight(space, rng)
    if kind == "case":
        finite = [part for part in space.parts if part.labels is not None]
        if finite:
            part = finite[rng.integers(len(finite))]
            return emdp.case({part.labels[0]: first, part.labels[1]: 2}, otherwise=second, column=part.columns[0])
    made = {"product": first * second, "sum": first + 3 * second, "shifted": first - 1.1, "tanh": emdp.tanh(first)}
    return made.get(str(kind), first**2 if kind == "power" else first)


def weight(space: Any, rng: np.random.Generator) -> Expression:
    """A weight in [0, 1], such as a filter."""
    part = space.parts[rng.integers(len(space.parts))]
    inner = scalar(part, rng)
    low, high = inner.on(space).value_range
    if part.labels is not None and rng.random() < 0.6:
        return emdp.category_is(str(rng.choice(part.labels)), column=part.columns[0])
    ends = low + rng.choice([-0.1, 0.2, 0.5]) * (high - low), low + rng.choice([0.55, 0.9, 1.3]) * (high - low)
    a, b = ends if rng.random() < 0.5 else ends[::-1]
    return emdp.ramp(inner, a, b) if high > low else emdp.clamp(inner, 0, 1)


def spending(rng: np.random.Generator) -> dict[str, float]:
    level = {"alpha" if rng.random() < 0.7 else "epsilon": float(rng.choice([0.3, 2.0, 40.0]))}
    return level | {"delta": float(rng.choice([0.0, 1e-6]))}


def random_query(world: World, rng: np.random.Generator) -> Any:
    space = world.space
    by = [name for name in ("k", "city") if rng.random() < 0.35 and (name == "city" or name in space.columns)]
    where = [weight(space, rng), {"city": "Rome"}, None, None][rng.integers(4)]
    kind = rng.choice(["mean", "vector", "frequencies", "quantiles", "sql", "sql", "sql"])
    if kind == "sql":
        return random_sql(world, rng)
    if kind == "mean":
        return emdp.mean(expression(space, rng), by=by, where=where, **spending(rng))
    if kind == "vector":
        return emdp.vector_mean([expression(space, rng) for _ in range(rng.integers(2, 4))], by=by, where=where,
                                noise=str(rng.choice(["auto", "laplace", "k_norm"])), **spending(rng))  # fmt: skip
    users = {"by": [name for name in by if name == "city"]}
    if kind == "quantiles":
        levels, step = [0.25, 0.5], rng.choice([None, 0.3])
        return emdp.quantiles(expression(space, rng), levels, where=where, step=step, **users, **spending(rng))
    part = space.parts[rng.integers(len(space.parts))]
    own = {"where": where if isinstance(where, dict) else None, **users, **spending(rng)}
    if part.labels is not None:
        return emdp.frequencies(part.columns[0], **own)
    return emdp.frequencies(part.domain_diameter * rng.choice([0.11, 0.3, 0.5]), column=part.columns[0], **own)


def random_sql(world: World, rng: np.random.Generator) -> str:
    numbers = [f"DISTANCE({part.column}, 0.25)" if isinstance(part, emdp.Cycle) else part.columns[0]
               for part in world.space.parts if part.labels is None and not isinstance(part, emdp.Geo)]  # fmt: skip
    labels = [part.columns[0] for part in world.space.parts if part.labels is not None]
    joined = "k" in labels and rng.random() < 0.3
    numbers += [f"DISTANCE({name}, 'a')" for name in labels] + ["rent"] * 2 * joined
    numbers += [f"CASE {name} WHEN 'a' THEN {numbers[0]} WHEN 'b' THEN -1 ELSE 3 END" for name in labels]
    if not numbers:
        numbers = ["1"]
    e, f = (numbers[rng.integers(len(numbers))] for _ in range(2))
    w = [f"{name} = 'a'" for name in labels] + [f"{name} IN ('a', 'b')" for name in labels]
    w += [f"RAMP({e}, 0.1, 0.9)", "city = 'Rome'", f"NOT RAMP({f}, 2, 1)", *["zone <> 'n'"] * joined]
    groups = [name for name in (["k"] if "k" in labels else []) + ["city"] + ["zone"] * joined if rng.random() < 0.4]
    where = f" WHERE {w[rng.integers(len(w))]}" if rng.random() < 0.6 else ""
    group = f" GROUP BY {', '.join(groups)}" if groups else ""
    source = "visits JOIN rents USING (k)" if joined else "visits"
    level, delta = rng.choice(["0.5", "3"]), rng.choice(["", ", delta = 1e-7", ", noise = laplace"])
    kind = rng.choice(["mean", "mean", "total", "moments", "distribution"])
    header, items = f"EMD_PRIVACY OPTIONS (alpha = {level}{delta})", f"AVG({e}), AVG({f} * {e})"
    if kind == "mean" and (where or groups):
        items += f", WEIGHT(SHARE(), 2), PART({f})"
    if kind == "moments":
        items = f"VARIANCE({e}), STDDEV({f}), WEIGHT(AVG({e}), 3)"
    if kind == "distribution":
        items, group = f"QUANTILE({e}, 0.5, 0.75)", " GROUP BY city" if "city" in groups else ""
    if kind == "total" or rng.random() < 0.2:
        cap = int(rng.choice([1, 2, 3, 100]))
        header = f"USER_PRIVACY OPTIONS (epsilon = {level}{delta}"
        header += f", max_records_per_user = {cap})" if kind == "total" else ")"
    if kind == "total":
        items = ["COUNT(*), SUM({e})", "AVG({e})", "SUM({e}), VARIANCE({f})", "COUNT(*)"][rng.integers(4)]
        items = items.format(e=e, f=f)
    return f"SELECT WITH {header} {items} FROM {source}{where}{group}"
