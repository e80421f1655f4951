"""The space of a table: column types from which it and its users can be read, and what is elsewhere."""

from collections.abc import Mapping

from emdp.base.errors import UsageError
from emdp.base.frames import Component, find_component
from emdp.spaces import Elsewhere, Space, Words
from emdp.tables.base import type_name
from emdp.tables.statements.components import check_component

__all__ = ["check_space_types", "extended_space"]

WHOLE_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
REAL_TYPES = ("FLOAT", "DOUBLE", "DECIMAL")
TEXT_TYPES = ("VARCHAR", "ENUM")
USER_TYPES = (*WHOLE_TYPES, *TEXT_TYPES, "UUID")


def check_space_types(schema: Mapping[str, str], user: str, space: Space, *, is_text: bool) -> None:
    """Check that the types of a table's columns fit its users and its space."""
    if not _is_type(schema[user], USER_TYPES):
        kind = type_name(schema[user])
        raise UsageError(f"user column {user!r} is {kind}; it must be of a whole-number or text type.")
    for part in space.parts:
        for column in part.columns:
            component = find_component(column, schema)
            if component is not None:
                _check_component(component, column, part, None if is_text else schema[component.column])
                continue
            kinds = _allowed_types(part)
            if not is_text and not _is_type(schema[column], kinds):
                raise UsageError(
                    f"column {column!r} is {type_name(schema[column])}, but a space of kind {part.kind!r} needs "
                    f"{'numbers' if kinds is not TEXT_TYPES else 'text'}; convert the column or choose another space."
                )


def extended_space(space: Space, elsewhere: object, slots: object = None) -> Space:
    """Return the space of a table, with the point elsewhere where one is declared.

    Parameters
    ----------
    elsewhere : float, "neutral" or None
        The distance of the point from every item; otherwise a neutral item stands for users without records.
    slots : int, optional
        Records up to which every bag is filled with that point, whose distance is then 1 where none is given.

    Raises
    ------
    UsageError
        If one of them is neither, or a part has ``on_invalid="elsewhere"`` and there is no such point.

    >>> from emdp.spaces import Interval
    >>> extended_space(Interval("x", 0, 1), 1).elsewhere
    1.0
    """
    if slots is not None:
        if elsewhere == "neutral":
            raise UsageError("slots are filled with the point elsewhere, which 'neutral' leaves out; pass elsewhere=1.")
        if isinstance(slots, bool) or not isinstance(slots, int):
            raise UsageError(f"slots must be a whole number of records, not {slots!r}; pass one such as 20.")
        elsewhere = 1 if elsewhere is None else elsewhere
    if elsewhere is not None and elsewhere != "neutral":
        if isinstance(elsewhere, bool) or not isinstance(elsewhere, int | float):
            raise UsageError(f"elsewhere must be a number such as 1, or 'neutral', not {elsewhere!r}; pass 1.")
        return Elsewhere(space, elsewhere, slots)
    for part in space.parts if space.elsewhere is None else ():
        if part.on_invalid == "elsewhere":
            raise UsageError(
                f"on_invalid='elsewhere' of {', '.join(map(repr, part.columns))} needs elsewhere=1, the distance of "
                "what is nowhere; pass it, or choose another rule."
            )
    return space


def _check_component(component: Component, column: str, part: Space, kind: str | None) -> None:
    # A text is read as a timestamp.
    check_component(component, kind or "TIMESTAMP")
    if part.labels is None:
        return
    label = part.labels[0]
    if not component.is_whole:
        raise UsageError(f"column {column!r} has fractions, so no values of it can be listed; use an Interval.")
    if isinstance(part, Words) or isinstance(label, bool) or not isinstance(label, int):
        raise UsageError(f"column {column!r} is a whole number; list whole numbers as the values of its space.")


def _allowed_types(part: Space) -> tuple[str, ...]:
    if part.labels is None:
        return (*WHOLE_TYPES, *REAL_TYPES)
    if isinstance(part, Words) or all(isinstance(label, str) for label in part.labels):
        return TEXT_TYPES
    return (*WHOLE_TYPES, *TEXT_TYPES, "BOOLEAN")


def _is_type(actual: str, allowed: tuple[str, ...]) -> bool:
    return type_name(actual) in allowed
