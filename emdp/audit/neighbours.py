"""Neighbouring tables of an audit: two bags of one user, as far apart in the statistic as their distance allows.

Tables hold records that the audit makes from the public space (:mod:`emdp.audit.points`), never private ones. All users
but one have the same records in both. That one has ``size`` records at a point ``x``, and in the second table some of
them at a point ``y``: a share ``k/size`` moved by ``d_X(x, y)`` is at ``d_em = k/size d_X(x, y)``, which the exact
transport of :mod:`emdp.transport` confirms on what the engine reads back. The points are searched for: even points of
the domain first, then points near the best ones, ever nearer. Where records may be elsewhere, some of them may be
missing in the second table in place of moved: each ``rho/M`` away where bags are filled up to slots, all of them
``rho`` away where they are not.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from emdp.audit.points import PublicRecords, even_points
from emdp.base.arrays import Floats
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.tables import Table, read
from emdp.transport import d_em

__all__ = ["SIZE", "Change", "Move", "Neighbours", "best_move", "fewer_records", "made_users", "neighbours", "outward"]

Change = Callable[[Floats], Floats]
"""Function of encoded items, shape (n, width): changes of a user's statistic from one to the other, shape (n, n)."""

NEARER = 1e-3
"""Part of a change that is given up to have it at distance 0 in place of 1."""

SIZE = 60
"""Records of the changed user, where no number is declared: shares are multiples of its inverse."""

POINTS = 300
"""Points that a search compares with one another."""

ROUNDS = 6
"""Times that a search looks near the best points, each time within 0.35 of the last reach."""

BEST = 6
"""Pairs of points that are followed."""

OTHERS = 1000
"""Other users who have records, at most, where none need have them; the rest have the neutral item."""

MOST_RECORDS = 2_000_000
"""Records of a table that an audit makes."""

DISTANCE_ERROR = 1e-9
"""Relative, added to distances: above the error of the transport and of the metric's own arithmetic."""


@dataclass(frozen=True, eq=False)
class Move:
    """Change of one user's records."""

    # before, after: One record each.
    before: pl.DataFrame
    after: pl.DataFrame
    # moved, size: How many of the user's records are moved, of how many.
    moved: int
    size: int
    change: float  # How much the user's statistic changes, in the units of the search
    removed: int = 0  # How many of the user's records are missing in place of moved ones


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Two tables that differ in one user's records."""

    first: Table
    second: Table
    distance: float  # Exact `d_em` of the user's two bags, rounded up


def outward(distance: float) -> float:
    """Return a distance rounded up by more than its error, at most 1."""
    return min(distance * (1.0 + DISTANCE_ERROR) + 1e-15, 1.0)


def best_move(
    records: PublicRecords, change: Change, distance: float, *, size: int | None = None, whole: bool = False
) -> Move | None:
    """Return the move of some of a user's records, within ``d_em <= distance``, that changes a statistic most.

    None where no record can be moved that little, or no move within the distance changes anything.

    Parameters
    ----------
    change : callable
        How much a user's statistic changes between items.
    distance : float
        Largest earth-mover distance, in (0, 1].
    whole : bool
        Whether all records are moved, whatever the distance: for guarantees that do not depend on it.

    Raises
    ------
    UsageError
        If the space has fewer than two records.
    """
    size = SIZE if size is None else size
    count = POINTS
    units = even_points(count, records.dimension)
    reach, best, most = 0.3, None, 0.0
    for _ in range(1 + ROUNDS):
        units, frame, items = records.kept(units)
        if len(units) < 2:
            raise UsageError("the space has fewer than two records that an audit could make; audit another table.")
        apart = records.space.distances(items, items)
        moved = np.full(apart.shape, size)
        if not whole:
            moved = np.minimum(np.floor(size * distance / np.where(apart > 0, apart, np.inf) * (1 + 1e-12)), size)
        gain = np.where(apart > 0, change(items) * moved / size, 0.0)
        # Of changes that are about equal the nearer pair, of which less is claimed.
        wanted = gain * (1.0 - NEARER * moved / size * apart)
        places = np.argsort(-wanted, axis=None, kind="stable")[: BEST * 4]
        rows, columns = np.unravel_index(places, gain.shape)
        if wanted[rows[0], columns[0]] > most:
            most = float(wanted[rows[0], columns[0]])
            i, j = int(rows[0]), int(columns[0])
            best = Move(frame[i], frame[j], int(moved[i, j]), size, float(gain[i, j]))
        units = _nearby(units, _first_of_each(rows, columns), reach)
        reach *= 0.35
    return best


def fewer_records(records: PublicRecords, given: Change, distance: float, *, size: int) -> Move | None:
    """Return the removal of some of a user's records, within ``d_em <= distance``, that changes a statistic most.

    Without slots all of them go, or none. None where nobody can be elsewhere, or not one record is that near.

    Parameters
    ----------
    given : callable
        For pairs of items how much a user with such records alone gives to the statistic, of the one that gives more.
    distance : float
        Largest earth-mover distance, in (0, 1].
    size : int
        The user's number of records, at most the slots.
    """
    slots, rho = records.space.slots, records.space.elsewhere
    if rho is None:
        return None
    if slots is None:
        slots, count = size, size if distance >= rho else 0
    else:
        count = min(int(distance * slots / rho * (1 + 1e-12)), size)
    if not count:
        return None
    best = best_move(records, given, 1.0, size=size, whole=True)
    if best is None:
        return None
    alone = [float(given(records.space.encode(one))[0, 0]) for one in (best.before, best.after)]
    most = best.before if alone[0] >= alone[1] else best.after
    return Move(most, most, 0, size, max(alone) * count / slots, removed=count)


def neighbours(
    table: Table, move: Move, users: int | None, *, emptied: bool = False, key: str | None = None, shared: bool = False
) -> Neighbours:
    """Return two tables of made records, with the space, the columns and the users of a table.

    Parameters
    ----------
    table : Table
        Declares what its users and columns are; no record of it is read.
    users : int or None
        Another number of users, for tables without a list of them; None: the table's own.
    emptied : bool
        Whether the user has no records at all in the second table, in place of moved ones.
    key : str, optional
        Which user changes; the first by default.
    shared : bool
        Whether every other one of the other users has the record that the user's are moved to, so that there are others
        to hide among on both tables; otherwise all have the one that they are moved from.
    """
    listed = table.users.frame if table.users.frame is not None else table.users.keys
    count = made_users(table) if listed is not None or users is None else users
    keys = _keys(table, count)
    changed = keys[0] if key is None else key
    first = move.before[[0] * move.size]
    second = pl.concat([move.before[[0] * (move.size - move.moved)], move.after[[0] * move.moved]])
    second = second.clear() if emptied else second[: move.size - move.removed]
    others = [one for one in keys if one != changed]
    if table.records is None:
        others = others[:OTHERS]
    each = 1 if table.records is None else table.records
    if len(others) * each > MOST_RECORDS:
        raise UsageError(f"a table of {len(others)} users with {each} records each is too large; audit a smaller one.")
    alternating = [place // each % 2 if shared else 0 for place in range(len(others) * each)]
    everybody = pl.concat([move.before, move.after])[alternating] if alternating else move.before.clear()
    made = []
    for own in (first, second):
        whose = [changed] * len(own) + [one for one in others for _ in range(each)]
        rows = pl.concat([own, everybody])
        frame = rows.with_columns(_user_series(table, whose))
        public = listed if listed is not None else None if table.users.count is None else count
        made.append(
            read(
                frame, user=table.user, space=table.space, users=public, name=table.name, records=table.records,
            )
        )  # fmt: skip
    neutral = PublicRecords(table).neutral()
    distance = d_em(first, second if len(second) else neutral, table.space)
    bags = (_bag(made[0], changed), _bag(made[1], changed) if len(second) else neutral)
    read_back = d_em(bags[0], bags[1], table.space)
    return Neighbours(made[0], made[1], outward(max(distance, read_back)))


def made_users(table: Table) -> int:
    """Return the number of users that an audit makes records of; the table's own, where it has a public one."""
    return OTHERS + 1 if table.users.count is None else table.users.count


def _bag(table: Table, key: str) -> pl.DataFrame:
    return table.bag(int(key) if key.isdigit() and table.users.keys is None and _is_whole(table) else key)


def _is_whole(table: Table) -> bool:
    return "INT" in table.schema[table.user].upper()


def _keys(table: Table, count: int) -> list[str]:
    if table.users.keys is not None:
        return [str(key) for key in table.users.keys.to_list()]
    return [str(number) for number in range(count)]


def _user_series(table: Table, whose: Sequence[str]) -> pl.Series:
    series = pl.Series(table.user, whose, dtype=pl.String)
    return series.cast(pl.Int64) if _is_whole(table) else series


def _first_of_each(rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Return the points of the first pairs, each once, those of better pairs first."""
    places = np.stack([rows, columns], axis=1).ravel()
    _, first = np.unique(places, return_index=True)
    return places[np.sort(first)[: 2 * BEST]]


def _nearby(units: Floats, places: npt.NDArray[np.intp], reach: float) -> Floats:
    """Return the points themselves and even points of cubes around them."""
    centres = units[places]
    around = even_points(max(POINTS // len(centres), 2), units.shape[1]) - 0.5
    spread = centres[:, None, :] + 2 * reach * around[None, :, :]
    return np.asarray(np.clip(np.concatenate([centres, spread.reshape(-1, units.shape[1])]), 0.0, 1.0))
