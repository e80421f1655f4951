"""What benchmarks/scale.py measures: emdp's answers, and beside them the plain DuckDB statements of the same sums.

The plain statements are what somebody without emdp would write when asked for speed: a fresh connection, no rule for
rows that are wrong, doubles in place of exact integers, no noise. Each family has one or two spellings; the faster one
is the reference.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import emdp
from emdp.tables import item_counts, mean_of_user_means

MIDTOWN, WALL_STREET, BROOKLYN, QUEENS = (
    (40.7484, -73.9857),
    (40.7075, -74.0113),
    (40.6928, -73.9903),
    (40.7447, -73.9485),
)
PLACES = (MIDTOWN, WALL_STREET, BROOKLYN, QUEENS)
BOX = (40.48, -74.26, 40.92, -73.70)
SIDE = 32
# Cells along each axis of the histogram.
CELL_KM = 4.0
STEP_KM = 0.25
# Pitch of the map and of the distribution function: 64 nodes a quarter, 195 up to the box's far corner.
ALPHA = 1.0


def km(place: tuple[float, float]) -> str:
    """The haversine distance in km, its squares as products, which DuckDB computes faster than powers."""
    lat, lon = place
    return f"""2 * 6371.0088 * asin(sqrt(
        sin(radians(lat - {lat}) / 2) * sin(radians(lat - {lat}) / 2) + cos(radians(lat)) * cos(radians({lat}))
        * sin(radians(lon - {lon}) / 2) * sin(radians(lon - {lon}) / 2)))"""


def two_level(values: list[str]) -> str:
    """The mean over users of the mean over their records."""
    inner = ", ".join(f"avg({value}) AS v{place}" for place, value in enumerate(values))
    outer = ", ".join(f"avg(v{place})" for place in range(len(values)))
    return f"SELECT {outer} FROM (SELECT {inner} FROM visits GROUP BY user_id)"


def weighted(keys: str, sums: list[str], rows: str) -> str:
    """Sums in which a record weighs 1 over its user's number of records: they are counted first, then joined."""
    shown = ", ".join(f"sum({value} * w)" for value in sums)
    return f"""WITH weights AS MATERIALIZED (SELECT user_id, 1.0::DOUBLE / count(*) AS w FROM visits GROUP BY user_id)
        SELECT {keys}, {shown} FROM ({rows}) JOIN weights USING (user_id) GROUP BY {keys}"""


def by_user(keys: str, sums: list[str], rows: str) -> str:
    """The same in one scan: sums of each user and cell, divided by the user's number of records."""
    inner = ", ".join(f"sum({value}) AS s{place}" for place, value in enumerate(sums))
    outer = ", ".join(f"sum(s{place} / n)" for place in range(len(sums)))
    return f"""SELECT {keys}, {outer} FROM (
        SELECT {keys}, {inner}, sum(count(*)) OVER (PARTITION BY user_id) AS n FROM ({rows}) GROUP BY user_id, {keys})
        GROUP BY {keys}"""


NORTH, EAST = f"((lat - 40.48) * (111.195 / {CELL_KM}))", f"((lon + 74.26) * (84.57 / {CELL_KM}))"
MAP = f"""SELECT user_id, floor({NORTH}) AS i, {NORTH} - floor({NORTH}) AS f,
    floor({EAST}) AS j, {EAST} - floor({EAST}) AS g FROM visits"""
CORNERS = ["(1 - f) * (1 - g)", "f * (1 - g)", "(1 - f) * g", "f * g"]
LINE = f"""SELECT user_id, floor(x) AS i, x - floor(x) AS f
    FROM (SELECT user_id, {km(MIDTOWN)} / {STEP_KM} AS x FROM visits)"""
HISTOGRAM = f"""SELECT floor((lat - 40.48) / {(BOX[2] - BOX[0]) / SIDE:.6g}) AS i,
    floor((lon + 74.26) / {(BOX[3] - BOX[1]) / SIDE:.6g}) AS j, count(*) FROM visits GROUP BY i, j"""


def ramp(value: str, zero: float, one: float) -> str:
    return f"least(greatest(({value} - {zero}) / {one - zero}, 0), 1)"


TEN_PLAIN = [km(place) for place in PLACES] + [ramp(km(p), a, b) for p in PLACES[:3] for a, b in ((2, 1), (6, 5))]
PLAIN = {
    "plain mean": two_level([km(MIDTOWN)]),
    "plain ten means": two_level(TEN_PLAIN),
    "plain histogram": HISTOGRAM,
    "plain map": weighted("i, j", CORNERS, MAP),
    "plain map, by user": by_user("i, j", CORNERS, MAP),
    "plain distribution": weighted("i", ["(1 - f)", "f"], LINE),
    "plain distribution, by user": by_user("i", ["(1 - f)", "f"], LINE),
}


@dataclass(frozen=True)
class Case:
    """One of emdp's answers.

    Attributes
    ----------
    references : tuple of str
        Plain statements, of which the fastest counts.
    target : float
        What the ratio should be at most.
    question : callable
        The query.
    is_items : bool
        Whether the table is read as the cells of a grid.
    """

    references: tuple[str, ...]
    target: float
    question: Callable[[], Any]
    is_items: bool = False


def _point(place: tuple[float, float]) -> str:
    return f"DISTANCE(POINT({place[0]}, {place[1]}))"


def _ten() -> str:
    own = [_point(place) for place in PLACES]
    own += [f"RAMP({_point(p)}, {a}, {b})" for p in PLACES[:3] for a, b in ((2, 1), (6, 5))]
    select = ", ".join(f"AVG({value}) AS v{place}" for place, value in enumerate(own))
    return f"SELECT WITH EMD_PRIVACY OPTIONS (alpha = {ALPHA}) {select} FROM visits"


OWN = {
    "mean": Case(("plain mean",), 1.10, lambda: emdp.mean(emdp.distance_to(MIDTOWN), alpha=ALPHA)),
    "ten means": Case(("plain ten means",), 1.10, _ten),
    "item-wise": Case(
        ("plain histogram",), 1.3, lambda: emdp.itemwise(emdp.randomizers.Exponential, alpha=25.0, delta=1e-12), True
    ),
    "frequencies": Case(("plain map", "plain map, by user"), 1.3, lambda: emdp.frequencies(CELL_KM, alpha=ALPHA)),
    "quantiles": Case(
        ("plain distribution", "plain distribution, by user"),
        1.3,
        lambda: emdp.quantiles(emdp.distance_to(MIDTOWN), [0.1, 0.5, 0.9], alpha=ALPHA, step=STEP_KM),
    ),
}


ENGINE: dict[str, Callable[[emdp.Table], Any]] = {
    "engine: mean": lambda table: mean_of_user_means(table, [emdp.distance_to(MIDTOWN)]),
    "engine: histogram": item_counts,
}
# What the engine computes for a mean and for item-wise release, without a session: nothing is validated before.


def space() -> emdp.Geo:
    """Return the space of the places."""
    return emdp.Geo("lat", "lon", box=BOX, unit="km", on_invalid="clamp")


def table(source: str, users: int, records: int, *, is_items: bool) -> emdp.Table:
    """Return the table as a case reads it."""
    return emdp.read(
        source,
        user="user_id",
        space=emdp.Grid(space(), (SIDE, SIDE)) if is_items else space(),
        users=users,
        records=records if is_items else None,
        name="visits",
    )


def session(source: str, users: int, records: int, ledger: Path, *, is_items: bool) -> emdp.Session:
    """Open a session on the ledger that remembers which rules were validated."""
    own = table(source, users, records, is_items=is_items)
    sizes = "bounded" if is_items else "unbounded"
    return emdp.Session(own, budget=emdp.EmdDP(alpha=1e6, delta=1e-3, sizes=sizes), ledger=ledger)
