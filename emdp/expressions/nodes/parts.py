"""Part of a space that a leaf names: by its columns, or as the only part that fits."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.spaces.base import Floats, Space
from emdp.spaces.values import LONGEST_INT

__all__ = [
    "ColumnNames",
    "Located",
    "check_columns",
    "freeze_point",
    "part_items",
    "part_of_columns",
    "resolve_part",
]

ColumnNames = str | Sequence[str] | None
"""Name of a leaf's part: a column of it, several, or None for the only part that fits."""

Found = TypeVar("Found")


@dataclass(frozen=True)
class Located(Generic[Found]):
    """A leaf's part of a space."""

    index: int  # Position of the part among `space.parts`
    part: Space
    found: Found  # What the leaf asked of the part: encoded points, a vector, labels


def resolve_part(
    space: Space, column: tuple[str, ...] | None, fit: Callable[[Space], Found], leaf: object
) -> Located[Found]:
    """Return the part that a leaf speaks of, with what ``fit`` made of it.

    Parameters
    ----------
    column : tuple of str or None
        Columns that name the part; None for the only part that fits.
    fit : callable
        Maps a part to what the leaf needs of it, or raises ``UsageError`` where the leaf means nothing there.
    leaf : object
        The leaf, whose text stands in messages: made for these alone, since it may be long.

    Raises
    ------
    UsageError
        If a column is unknown, no part fits (with each part's reason), or several fit.
    """
    if column is not None:
        index = part_of_columns(space, column)
        return Located(index, space.parts[index], fit(space.parts[index]))
    if len(space.parts) == 1:
        return Located(0, space.parts[0], fit(space.parts[0]))
    fitting: list[Located[Found]] = []
    reasons: list[str] = []
    for index, part in enumerate(space.parts):
        try:
            fitting.append(Located(index, part, fit(part)))
        except UsageError as error:
            reasons.append(f"{_listed(part.columns)}: {error.sentence}")
    if not fitting:
        raise UsageError(
            f"`{leaf}` fits no part of the space ({'; '.join(reasons)})", remedy="name its part by column="
        )
    if len(fitting) > 1:
        choices = " or ".join(f"column={located.part.columns[0]!r}" for located in fitting)
        raise UsageError(f"`{leaf}` fits several parts of the space; say which by {choices}.")
    return fitting[0]


def part_of_columns(space: Space, columns: tuple[str, ...]) -> int:
    """Return the index of the part that has all of ``columns``.

    >>> from emdp.spaces import Interval
    >>> part_of_columns(Interval("price", 0, 50), ("price",))
    0
    """
    for name in columns:
        if name not in space.columns:
            raise UsageError(f"column {name!r} is no column of the space, only {_listed(space.columns)}; name one.")
    for index, part in enumerate(space.parts):
        if all(name in part.columns for name in columns):
            return index
    raise UsageError(f"columns {_listed(columns)} belong to different parts of the space; name those of one part.")


def part_items(space: Space, index: int, items: Floats) -> Floats:
    """Return the columns of encoded items that belong to one part (parts lie side by side)."""
    start = sum(part.width for part in space.parts[:index])
    return items[:, start : start + space.parts[index].width]


def check_columns(column: ColumnNames) -> tuple[str, ...] | None:
    """Return the columns that name a part as a tuple, or None.

    >>> check_columns("lat"), check_columns(["lat", "lon"]), check_columns(None)
    (('lat',), ('lat', 'lon'), None)
    """
    if column is None:
        return None
    names = (column,) if isinstance(column, str) else tuple(column)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise UsageError(f"column must be a column's name or several, got {column!r}; pass a text.")
    return names


def freeze_point(name: str, point: object) -> Any:
    """Return a public point as a hashable value: a number, a text, a date, or nested tuples of them.

    Raises
    ------
    UsageError
        If a number in it is not finite or fits no double, or it cannot be compared.

    >>> freeze_point("point", [1, 2.5])
    (1, 2.5)
    """
    if isinstance(point, np.ndarray):
        point = point.tolist()
    elif isinstance(point, np.generic):
        point = point.item()
    if isinstance(point, Iterable) and not isinstance(point, str | bytes):
        return tuple(freeze_point(name, entry) for entry in point)
    if point is None or (isinstance(point, float) and not math.isfinite(point)):
        raise UsageError(f"{name} must hold finite numbers or labels, got {point}; pass a point of the space.")
    if isinstance(point, int) and point.bit_length() > LONGEST_INT:
        raise UsageError(
            f"{name} must hold numbers that fit a double, got an integer that does not; pass a smaller one."
        )
    try:
        hash(point)
    except TypeError as error:
        raise UsageError(f"{name} must be a number, a tuple or a label, not {type(point).__name__}.") from error
    return point


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
