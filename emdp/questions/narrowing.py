"""``by`` and ``where`` of a query in Python: names, checked, but not yet looked up anywhere."""

from collections.abc import Iterable, Mapping
from typing import Any

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.expressions.nodes.base import Expression
from emdp.expressions.nodes.parts import freeze_point

__all__ = ["Where", "check_by", "check_where"]

UserCondition = tuple[str, tuple[Any, ...]]


@dataclass(frozen=True)
class Where:
    """Choice of records and of users."""

    factor: Expression | None = None  # Weight of a record in [0, 1], such as `emdp.category_is("cafe")` or a ramp
    users: tuple[UserCondition, ...] = ()


def check_where(where: object) -> Where | None:
    """Return what a caller passed as ``where``, checked.

    Parameters
    ----------
    where : Expression, mapping, sequence of these, Where or None
        An expression with values in [0, 1] weighs records; a mapping such as ``{"plan": "pro"}`` or ``{"plan":
        ["pro", "team"]}`` chooses users by public columns. All of a sequence must hold.

    Raises
    ------
    UsageError
        If it is none of these.

    >>> from emdp.expressions import category_is
    >>> check_where([category_is("cafe"), {"plan": "pro"}])
    Where(factor=category_is('cafe'), users=(('plan', ('pro',)),))
    """
    if where is None or isinstance(where, Where):
        return where
    listed = where if isinstance(where, list | tuple) else (where,)
    factor: Expression | None = None
    users: list[UserCondition] = []
    for condition in listed:
        if isinstance(condition, Expression):
            factor = condition if factor is None else factor * condition
        elif isinstance(condition, Mapping):
            users += [_user_condition(column, values) for column, values in condition.items()]
        else:
            raise UsageError(
                f"where must be an expression with values in [0, 1], or a mapping of public user columns to values, "
                f"not {type(condition).__name__}; pass such as emdp.category_is('cafe') or {{'plan': 'pro'}}."
            )
    return Where(factor, tuple(users)) if factor is not None or users else None


def check_by(by: object) -> tuple[str, ...]:
    """Return columns to group by as a tuple of distinct names.

    >>> check_by("category"), check_by(["category", "plan"])
    (('category',), ('category', 'plan'))
    """
    names = (by,) if isinstance(by, str) else tuple(by) if isinstance(by, Iterable) else (by,)
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise UsageError("by must be a column's name or several, each once; pass a text or a list of texts.")
    return names


def _user_condition(column: object, values: object) -> UserCondition:
    if not isinstance(column, str) or not column:
        raise UsageError("where must name public user columns by texts; pass such as {'plan': 'pro'}.")
    listed = values if isinstance(values, list | tuple | set | frozenset) else (values,)
    frozen = tuple(freeze_point("where", value) for value in listed)
    if not frozen:
        raise UsageError(f"where lists no value for {column!r}, so no user would be chosen; pass at least one.")
    return column, frozen
