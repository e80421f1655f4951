"""The queries and randomizers with which every mechanism is tried on a given space."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import EmdpError
from emdp.expressions import Expression, category_is, col, distance_to, similarity
from emdp.expressions.analysis.checker import analyse
from emdp.mechanisms.items.planar_charts import CHARTS
from emdp.mechanisms.items.randomizer import Randomizer
from emdp.privacy import BoundedReduction
from emdp.questions import frequencies, heavy_hitters, itemwise, mean, quantiles, shares, user_mean, vector_mean
from emdp.questions.itemwise import Model
from emdp.questions.linear_fit import linear_fit_query
from emdp.questions.resolution import Query
from emdp.questions.tiers import tiers
from emdp.randomizers import (
    GKRR,
    KRR,
    Exponential,
    Geometric,
    HadamardResponse,
    OneBit,
    Optimal,
    PlanarLaplace,
    Recoverable,
)
from emdp.spaces import Categories, Clusters, Embedding, Grid, Interval, Product, Space, count_items
from emdp.spaces.combined.elsewhere import Elsewhere
from emdp.spaces.combined.grid import cut_axes
from emdp.tables import Table, read

__all__ = ["Case", "suite"]

ALPHA = 4.0
"""Alpha of queries: losses from 0.5 to 4 are then within reach of d_em = 1."""

DELTA = 1e-6
"""Delta of mechanisms that need one."""

MOST_VALUES = 4
"""Functions of a vector."""

MOST_LABELS = 24
"""Items of the finite space that randomizers run on, at most: linear programs and all pairs are then small."""

CELLS = 4
"""Cells of a grid along each axis, where the space has no finite part."""

GROUPED = 8
"""Items of the made clusters."""


FEW = 10
"""Users of shuffled and pooled releases of which much can be seen: among many one user's message is hidden better than
any number of draws could tell."""

TWO_ROUNDS = 300
"""Users for whom it pays to look for a range first, in the shuffle model."""

MANY = 1000
"""Users for whom it pays of two numbers too."""

STRINGS = ("aa", "ab", "ba", "bb")
SEARCHED, FITTED, JOINED = 1000, 1000, 40
"""Strings that made records hold; users of searches, which need so many, of local fits, and of fits that users join."""

SHORT = {"clip": 0.5, "radius": 0.01}
"""Clip and radius of a curator's fits: weights so near to 0 that records which turn a user's clipped gradient round in
the first round turn it round in every one, as is paid for."""


@dataclass(frozen=True, eq=False)
class Case:
    """One thing to audit: a query on a table, or a randomizer."""

    title: str
    table: Table | None = None
    query: Query | None = None
    randomizer: Callable[[], Randomizer] | None = None
    reason: str = ""


def suite(table: Table) -> tuple[Case, ...]:
    """Return everything that is audited on a table's space.

    >>> table = read({"u": [1], "x": [0.5]}, user="u", space=Interval("x", 0, 1), users=100)
    >>> [case.title for case in suite(table)][:3]
    ['mean, central', 'vector mean, Laplace', 'vector mean, K-norm']
    """
    return (
        *_means(table), *_ranges(table), *_histograms(table), *_strings(), *_fits(), *_randomizers(table.space),
    )  # fmt: skip


def _means(table: Table) -> Iterator[Case]:
    values = _functions(table.space)
    if not values:
        yield Case("means", reason="the space has no function that has a mean")
        return
    first, several = values[0], values[:MOST_VALUES]
    yield Case("mean, central", table, mean(first, alpha=ALPHA))
    yield Case("vector mean, Laplace", table, vector_mean(several, alpha=ALPHA, noise="laplace"))
    yield Case("vector mean, K-norm", table, vector_mean(several, alpha=ALPHA, noise="k_norm"))
    yield Case("vector mean, Gaussian", table, vector_mean(several, alpha=ALPHA, delta=DELTA, noise="gaussian"))
    yield Case("mean, user level", table, mean(first, epsilon=1.0))
    yield Case("mean, local", table, mean(first, alpha=ALPHA, model="local"))
    yield Case(
        "vector mean, local, Gaussian",
        table,
        vector_mean(several, alpha=ALPHA, delta=DELTA, noise="gaussian", model="local"),
    )
    yield Case("mean, local user level", table, mean(first, epsilon=1.0, model="local"))
    yield Case("mean, local, with keys", table, mean(first, epsilon=tiers([2.0, 0.5]), model="local"))
    yield Case("vector mean, local, with keys", table, vector_mean(several, epsilon=tiers([4.0, 2.0]), model="local"))
    few = _fewer(table, FEW)
    mixed: dict[str, Any] = {"delta": DELTA, "model": "shuffle"}
    yield Case("mean, one mixed bit", few, mean(first, alpha=ALPHA, messages=1, **mixed))
    yield Case("vector mean, mixed bits", few, vector_mean(several, alpha=ALPHA, messages=2, **mixed))
    yield Case("mean, mixed bits, user level", few, mean(first, epsilon=1.0, messages=1, **mixed))
    yield Case("mean, mixed digits, user level", few, mean(first, epsilon=1.0, messages=3, **mixed))
    if len(several) > 1:
        yield Case("vector mean, few bits, local", few, vector_mean(several, epsilon=1.0, bits=4, model="local"))
        yield Case("vector mean, few bits, shuffle", few, vector_mean(several, epsilon=1.0, bits=4, **mixed))
    own = [one for one in several if analyse(one, table.space).low >= 0 and analyse(one, table.space).high <= 1]
    if own:
        yield Case("shares, local", table, shares(own, epsilon=1.0))
        yield Case("shares, mixed bits", few, shares(own, epsilon=1.0, **mixed))
    yield Case("quantiles", table, quantiles(first, [0.5], alpha=2 * ALPHA))


def _ranges(table: Table) -> Iterator[Case]:
    values = _functions(table.space)
    if not values:
        return
    bounds = analyse(values[0], table.space)
    spread = (bounds.high - bounds.low) / 100

    def asked(model: Model, delta: float = 0.0) -> Query:
        wanted: dict[str, Any] = {"epsilon": 1.0, "delta": delta, "spread": spread, "between": spread, "records": 50}
        return user_mean(values[0], model=model, **wanted)

    yield Case("range, then mean, central", table, asked("central"))
    yield Case("range, then mean, local", table, asked("local"))
    rounds, few = (_fewer(table, users) for users in (TWO_ROUNDS, FEW))
    yield Case("range, then mean, shuffle", rounds, asked("shuffle", DELTA))
    yield Case("range, then mean, shuffle, few users", few, asked("shuffle", DELTA))
    several = values[:MOST_VALUES]
    if len(several) > 1:
        sent: dict[str, Any] = {"epsilon": 1.0, "delta": DELTA, "model": "shuffle"}
        yield Case("user vector, bits of coordinates, shuffle", few, user_mean(several, **sent))
        yield Case("user vector, directions, shuffle", few, user_mean(several, radius=10 * spread, **sent))
        near: dict[str, Any] = {"spread": (spread,) * 2, "between": spread, "records": 50, **sent}
        yield Case("user vector, range, then mean, shuffle", _fewer(table, MANY), user_mean(several[:2], **near))


def _histograms(table: Table) -> Iterator[Case]:
    space = _finite(table.space)
    if space is None:
        yield Case("histograms and item-wise releases", reason="the space has no finite part, and no grid over it")
        return
    users = min(table.n, 1000)
    own, few = (_made_table(space, users=count) for count in (users, FEW))
    shuffled = frequencies(epsilon=1.0, delta=DELTA, model="shuffle")
    yield Case("frequencies, noise, user level", own, frequencies(epsilon=1.0))
    yield Case("frequencies, local messages", own, frequencies(epsilon=1.0, model="local"))
    yield Case("frequencies, with keys", own, frequencies(epsilon=tiers([2.0, 0.5]), method="krr", model="local"))
    yield Case("frequencies, shuffled messages", own, shuffled)
    yield Case("frequencies, shuffled messages, few users", few, shuffled)
    several = frequencies(epsilon=1.0, delta=DELTA, model="shuffle", method="hadamard", messages=4)
    yield Case("frequencies, several shuffled messages", own, several)
    sampled = BoundedReduction(samples=16, r=0.5)
    yield Case("item-wise release, sampled", few, itemwise(Exponential, epsilon=1.0, delta=1e-3, sizes=sampled))
    single, single_few = (_made_table(space, users=count, records=1) for count in (users, FEW))
    mixed = itemwise(Exponential, alpha=ALPHA, delta=DELTA, model="shuffle")
    yield Case("item-wise release, local", single, itemwise(Exponential, alpha=ALPHA, model="local"))
    yield Case("item-wise release, central", single, itemwise(Exponential, alpha=ALPHA, delta=DELTA))
    yield Case("item-wise release, shuffled", single, mixed)
    yield Case("item-wise release, shuffled, few users", single_few, mixed)


def _strings() -> Iterator[Case]:
    """Yield searches for frequent strings, on made ones: which strings there are does not depend on a space."""
    own = _made_table(Categories("string", STRINGS), users=SEARCHED)
    for model in ("central", "local", "shuffle"):
        wanted: dict[str, Any] = {"count": 1, "epsilon": 1.0, "alphabet": "ab", "length": 2, "model": model}
        if model != "local":
            wanted["delta"] = DELTA
        yield Case(f"frequent strings, {model}", own, heavy_hitters("string", **wanted))


def _fits() -> Iterator[Case]:
    """Yield linear fits, on two made columns; a user's whole gradient turns round if its records do."""
    space = Product(Interval("x", -1, 1), Interval("y", -1, 1))
    few, fitted, joined = (_made_table(space, users=users) for users in (FEW, FITTED, JOINED))
    drawn = {"model": "shuffle", "delta": DELTA, "rounds": 1}
    for title, table, more in (
        ("linear fit, Laplace", few, {"rounds": 2, **SHORT}),
        ("linear fit, Gaussian", few, {"rounds": 6, "delta": DELTA, **SHORT}),
        ("linear fit, local", fitted, {"model": "local"}),
        ("linear fit, shuffle", few, drawn),
        ("linear fit, shuffle, sampled", few, {"sampled": 2, **drawn}),
        ("linear fit, shuffle, users who join", joined, {"participation": 0.5, **drawn}),
    ):
        options: dict[str, Any] = {"epsilon": 2.0, "clip": 1.0, **more}
        yield Case(title, table, linear_fit_query("x", "y", **options))


def _randomizers(space: Space) -> Iterator[Case]:
    finite = _finite(space)
    if finite is None:
        yield Case("randomizers of finite spaces", reason="the space has no finite part, and no grid over it")
    else:
        count = count_items(finite) or 0
        grid = _grid(space) or finite
        line = _grid(space) or Grid(Interval("x", 0, 1), 2 * CELLS)
        clusters = next((part for part in space.parts if isinstance(part, Clusters)), _clusters())
        made: tuple[tuple[str, Callable[[], Randomizer]], ...] = (
            ("KRR", lambda: KRR(finite, ALPHA)),
            ("GKRR", lambda: GKRR(clusters, ALPHA)),
            ("Exponential", lambda: Exponential(grid, ALPHA)),
            ("Geometric", lambda: Geometric(line, ALPHA)),
            ("Optimal", lambda: Optimal(grid, ALPHA)),
            ("OneBit", lambda: OneBit(finite, ALPHA, [float(place) for place in range(count)])),
            ("HadamardResponse", lambda: HadamardResponse(finite, ALPHA)),
            ("Recoverable", lambda: Recoverable(finite, ALPHA)),
        )
        yield from (Case(f"item randomizer {name}", randomizer=make) for name, make in made)
    flat = next((part for part in space.parts if part.kind in CHARTS), None)
    if flat is None:
        yield Case("item randomizer PlanarLaplace", reason="the space has no continuous part that it works on")
        return
    extended = flat if space.elsewhere is None else Elsewhere(flat, space.elsewhere)
    yield Case("item randomizer PlanarLaplace", randomizer=lambda: PlanarLaplace(extended, ALPHA))


def _functions(space: Space) -> list[Expression]:
    """Return functions of each part in turn that have a constant."""
    found: list[Expression] = []
    for part in space.parts:
        name = part.columns[0]
        if isinstance(part, Embedding):
            found += [similarity(label, column=name) for label in part.values[:2]]
        elif part.labels is not None and not isinstance(part, Grid):
            found += [category_is(label, column=name) for label in part.labels[:2]]
        elif part.tried_points:
            found += [distance_to(point, column=name) for point in part.tried_points]
        else:
            found += [col(column) for column in part.columns[:MOST_VALUES]]
    return [one for one in found if _has_constant(one, space)]


def _has_constant(expression: Expression, space: Space) -> bool:
    try:
        return analyse(expression, space).spread > 0
    except EmdpError:
        return False


def _finite(space: Space) -> Space | None:
    """Return a small finite part, or a grid over a continuous one."""
    for part in space.parts:
        count = count_items(part)
        if count is not None and 2 <= count <= MOST_LABELS:
            return part
    return _grid(space)


def _grid(space: Space) -> Grid | None:
    for part in space.parts:
        if isinstance(part, Grid) and part.size <= MOST_LABELS:
            return part
        if (axes := cut_axes(part)) in (1, 2):
            return Grid(part, (CELLS, CELLS) if axes == 2 else 2 * CELLS)
    return None


def _clusters() -> Clusters:
    """Return made clusters, for a space that has none."""
    return Clusters("item", {f"item {place}": f"cluster {place % 2}" for place in range(GROUPED)}, within=0.25)


def _fewer(table: Table, users: int) -> Table:
    """Return a table with fewer users, where their number is all that is public of them."""
    if table.users.keys is not None or table.n <= users:
        return table
    return replace(table, users=replace(table.users, count=users))


def _made_table(space: Space, *, users: int, records: int | None = None) -> Table:
    """Return a table of one made record in a space of its own."""
    row: dict[str, Any] = {"user": [0]}
    for part in space.parts:
        labels = None if isinstance(part, Grid) else part.labels
        row |= {name: [0.0] if labels is None else [labels[0]] for name in part.columns}
    frame = pl.DataFrame(row)
    return read(frame, user="user", space=space, users=users, records=records, name="made")
