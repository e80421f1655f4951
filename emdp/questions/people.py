"""Groups that public tables make: of users by their public columns, of records by listed values.

Groups of users are disjoint and public, so each answers from users of its own, with its own public number of them:
changing one user's records changes one group, and the groups together cost what one costs (parallel composition).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from emdp.base.errors import UsageError
from emdp.expressions.cells.aggregation import LabelAxis, UserGroups
from emdp.questions.names import Names
from emdp.questions.select import GroupColumn, People
from emdp.spaces import Space

__all__ = ["MOST_GROUPS", "choose_people", "group_labels"]

MOST_GROUPS = 10_000
"""Groups that an embedding's keys may make: beyond, each has next to no users, and its noise says nothing."""


def choose_people(names: Names, conditions: pl.Series | None, columns: Sequence[str]) -> People | None:
    """Return the public users that count and their groups; None where all count, in one group.

    Parameters
    ----------
    names : Names
        What is public.
    conditions : polars.Series of Boolean, or None
        Which users count, aligned with the rows of ``names.user_frame``; NULL counts as false.
    columns : sequence of str
        Public user columns to group by. Groups are the combinations that some chosen user has, in the order of the
        values, NULL last.

    Raises
    ------
    UsageError
        If only the number of users is public, no user is chosen, or a column cannot be grouped by.

    >>> from emdp.spaces import Interval
    >>> users = pl.DataFrame({"user": ["1", "2", "3"], "plan": ["pro", None, "free"]})
    >>> names = Names("visits", "user", Interval("x", 0, 1), {}, 3, users)
    >>> people = choose_people(names, None, ["plan"])
    >>> people.values, people.groups.sizes, people.text
    ((('free',), ('pro',), (None,)), (1, 1, 1), '3 of 3 public users, in 3 groups by plan')
    """
    if conditions is None and not columns:
        return None
    frame = names.user_frame
    if frame is None:
        raise UsageError(
            f"users of {names.table!r} are public by their number alone, so none can be chosen or grouped; declare "
            "users= as a table with one row a user and the columns to choose by."
        )
    _check_group_columns(frame, columns, names)
    chosen = frame if conditions is None else frame.filter(_checked(conditions, frame))
    if not len(chosen):
        raise UsageError("no public user meets the conditions, so n would be 0; choose at least one user.")
    if not columns and len(chosen) == len(frame):
        return None
    keys, text = chosen.get_column(names.user), f"{len(chosen):,} of {len(frame):,} public users"
    if not columns:
        alone = pl.repeat(0, len(chosen), dtype=pl.Int64, eager=True)
        return People(UserGroups(keys, alone, (len(chosen),)), text=text)
    order, numbers, values = _in_order(chosen.select(columns))
    groups = UserGroups(keys.gather(order), numbers, tuple(np.bincount(numbers.to_numpy()).tolist()))
    text += f", in {len(values):,} groups by {', '.join(columns)}"
    return People(groups, tuple(columns), values, text)


def group_labels(
    names: Names, column: str, mapping: Mapping[Any, Any] | None = None, *, made: str = "groups"
) -> GroupColumn:
    """Return groups of records by the value of a finite part.

    Parameters
    ----------
    names : Names
        What is public.
    mapping : mapping, optional
        For listed values a value of a public table, or None. Without it every listed value is a group, in listed
        order; with it every value of the mapping is, in order, None last. A listed value that the mapping lacks
        belongs to no group.
    made : str
        What the values make of the answer, for messages.

    Raises
    ------
    UsageError
        If the column is no finite part's, or there are too many groups, or none.

    >>> from emdp.spaces import Categories
    >>> names = Names("visits", "user", Categories("kind", ["bar", "zoo", "cafe"]), {}, 3)
    >>> group_labels(names, "kind").values
    ('bar', 'zoo', 'cafe')
    >>> mapped = group_labels(names, "kind", {"bar": "food", "cafe": "food", "zoo": None})
    >>> mapped.values, mapped.axis.cells
    (('food', None), (('bar', 'cafe'), ('zoo',)))
    """
    part = _finite_part(names, column)
    labels = part.labels or ()
    if mapping is None:
        values, cells = labels, tuple((label,) for label in labels)
    else:
        values, cells = _mapped(column, labels, mapping)
    if part.has_label_vectors and len(cells) > MOST_GROUPS:
        raise UsageError(
            f"column {column!r} would make {len(cells):,} {made}, above {MOST_GROUPS:,}; join a public table that "
            "puts its values into fewer groups, or ask for SIMILARITY or DOT."
        )
    return GroupColumn(column, values, LabelAxis(column, cells))


def _checked(conditions: pl.Series, frame: pl.DataFrame) -> pl.Series:
    if conditions.dtype == pl.Null:
        conditions = conditions.cast(pl.Boolean)
    if conditions.dtype != pl.Boolean or len(conditions) != len(frame):
        raise UsageError(
            f"conditions must be {len(frame)} truth values, one a listed user, got {len(conditions)} of type "
            f"{conditions.dtype}; pass such a series."
        )
    return conditions.fill_null(value=False)


def _check_group_columns(frame: pl.DataFrame, columns: Sequence[str], names: Names) -> None:
    if len(set(columns)) < len(columns):
        raise UsageError("a public user column is grouped by twice; name each once.")
    for column in columns:
        if column not in names.user_columns:
            listed = ", ".join(map(repr, names.user_columns)) or "none"
            raise UsageError(f"column {column!r} is no public column of the users, who have: {listed}; name one.")
        if frame.schema[column].is_nested() or frame.schema[column] == pl.Object:
            raise UsageError(
                f"public column {column!r} is {frame.schema[column]}, which makes no groups; use one of single values."
            )


def _in_order(frame: pl.DataFrame) -> tuple[pl.Series, pl.Series, tuple[tuple[Any, ...], ...]]:
    """Return the order of rows that sorts them, the group of each row in that order, and the groups' values."""
    plain = frame.rename({name: f"c{number}" for number, name in enumerate(frame.columns)})
    ordered = plain.with_row_index("row").sort(plain.columns, nulls_last=True)
    row, keys = ordered.get_column("row"), ordered.select(plain.columns)
    numbers = keys.to_struct("group").rle_id().cast(pl.Int64)
    values = tuple(keys.filter(numbers.is_first_distinct()).rows())
    return row, numbers, values


def _finite_part(names: Names, column: str) -> Space:
    for part in names.space.parts:
        if column in part.columns and part.labels is not None:
            return part
    finite = [part.columns[0] for part in names.space.parts if part.labels is not None]
    remedy = f"name one of {', '.join(map(repr, finite))}" if finite else "add a Categories part to the space"
    raise UsageError(f"column {column!r} has no listed values to group records by; {remedy}.")


def _mapped(
    column: str, labels: Sequence[Any], mapping: Mapping[Any, Any]
) -> tuple[tuple[Any, ...], tuple[tuple[Any, ...], ...]]:
    joined = [label for label in labels if label in mapping]
    if not joined:
        raise UsageError(f"no listed value of {column!r} is in the joined table, so there is no group; join another.")
    try:
        values = pl.DataFrame({"value": [mapping[label] for label in joined]})
    except (TypeError, pl.exceptions.PolarsError):
        raise UsageError(f"mapping of {column!r} must have values of one type; convert them.") from None
    order, numbers, found = _in_order(values)
    cells: list[list[Any]] = [[] for _ in found]
    for row, number in zip(order, numbers, strict=True):
        cells[number].append(joined[row])
    return tuple(value for (value,) in found), tuple(map(tuple, cells))
