"""GROUP BY: groups of records from public lists of values, groups of users from their public columns."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl
from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import SqlError, UsageError
from emdp.questions.people import choose_people, group_labels
from emdp.questions.select import GroupColumn, People
from emdp.sql.clauses.aggregates import Entry
from emdp.sql.clauses.ordering import entry_of
from emdp.sql.clauses.unlisted import unlisted_text
from emdp.sql.context import Context, one_by_name, unwrapped
from emdp.sql.names.columns import HiddenColumn, ItemColumn, LookupColumn, Resolved, UserColumn, UserKey
from emdp.sql.values.forms import few_values_remedy, grid_form
from emdp.sql.values.scalar import Scalars

__all__ = ["Grouping", "read_grouping"]

TIME_OF_DAY = ("hour", "minute", "time")
"""Components of which a histogram of any other one says something too."""

Key = ItemColumn | LookupColumn | UserColumn


@dataclass(frozen=True, eq=False)
class Grouping:
    """Keys of a statement."""

    groups: tuple[GroupColumn, ...]
    people: People | None  # Groups of users, among those that WHERE leaves
    names: dict[int, str]  # For the place of an entry of the select list that is such a column its name in the answer
    node: exp.Expr | None  # A column of the records that is grouped by, to underline

    @property
    def columns(self) -> tuple[str, ...]:
        """Key columns of the answer, in its natural order."""
        return (*(self.people.columns if self.people else ()), *(group.name for group in self.groups))


def read_grouping(
    scalars: Scalars, group: exp.Group | None, entries: Sequence[Entry], users: pl.Series | None
) -> Grouping:
    """Return the groups of a statement.

    Raises
    ------
    SqlError
        If something is no public group, or an entry of the select list is neither aggregated nor grouped by.
    """
    context = scalars.context
    if group is not None and not group.expressions:
        raise context.refusal(
            group,
            "GROUP BY is followed by no column",
            remedy="name the columns to group by, or leave GROUP BY out",
            code="group-nothing",
        )
    keys: list[tuple[Key, exp.Expr]] = []
    for node in group.expressions if group is not None else ():
        key = _key(scalars, node, entries)
        if not any(_is_same(key, earlier) for earlier, _ in keys):
            _check_part(context, key, node, keys)
            keys.append((key, node))
    names = _names(scalars, keys, entries)
    _check_names(context, names, keys)
    own = [node for key, node in keys if not isinstance(key, UserColumn)]
    groups = tuple(
        _group(context, key, node, names[place])
        for place, (key, node) in enumerate(keys)
        if not isinstance(key, UserColumn)
    )
    shown = {
        position: names[place]
        for position, entry in enumerate(entries)
        for place, (key, _) in enumerate(keys)
        if entry.aggregate is None and _is_same(key, scalars.scope.column(entry.body))
    }
    _check_entries(scalars, entries, shown)
    columns = [(key, names[place]) for place, (key, _) in enumerate(keys) if isinstance(key, UserColumn)]
    people = _people(context, group, columns, users)
    return Grouping(groups, people, shown, own[0] if own else None)


def _key(scalars: Scalars, node: exp.Expr, entries: Sequence[Entry]) -> Key:
    context = scalars.context
    inner, blamed = unwrapped(node), node
    if isinstance(inner, exp.Literal) and not inner.is_string:
        inner = _by_position(context, inner, entries)
    if isinstance(inner, exp.Column) and not inner.table and not _is_column(scalars, inner):
        aliased = [entry for entry in entries if entry.alias.lower() == inner.name.lower()]
        inner = aliased[0].body if len(aliased) == 1 else inner
    if isinstance(inner, exp.Literal):
        raise _no_column(scalars, blamed, inner)
    _check_component(scalars, blamed, inner)
    if isinstance(inner, exp.Anonymous) and scalars.scope.column(inner) is None:
        raise _no_expression(context, blamed)
    meaning = scalars.scope.column(inner)
    if meaning is None:
        raise _no_expression(context, blamed)
    if isinstance(meaning, UserColumn | LookupColumn) or (
        isinstance(meaning, ItemColumn) and meaning.finite is not None
    ):
        return meaning
    raise _no_group(context, blamed, meaning)


def _by_position(context: Context, node: exp.Literal, entries: Sequence[Entry]) -> exp.Expr:
    place = entry_of(context, node, len(entries))
    entry = entries[place]
    if entry.aggregate is not None:
        raise context.refusal(
            node,
            f"entry {place + 1} of the select list is an aggregate, and groups come from public lists",
            remedy="name a categorical column",
            code="position",
        )
    return entry.body


def _is_column(scalars: Scalars, node: exp.Column) -> bool:
    return any(one_by_name(node.name, source.columns) for source in scalars.scope.sources)


def _no_column(scalars: Scalars, node: exp.Expr, literal: exp.Literal) -> SqlError:
    """Return the refusal of a text, which may be a column's name in the wrong quotes."""
    context, column = scalars.context, scalars.scope.meant_by(literal)
    return context.refusal(
        node,
        f"{context.text(node)} is a text, for it stands in single quotes, and no column",
        remedy=f"write {column}" if column else "name a categorical column",
        code="group-text",
    )


def _check_component(scalars: Scalars, node: exp.Expr, inner: exp.Expr) -> None:
    """Refuse a component of a timestamp that the space does not have, and how it would make groups if it had."""
    context, space = scalars.context, scalars.context.names.space
    found = scalars.scope.component(inner)
    if found is None or not isinstance(found[1], HiddenColumn | ItemColumn):
        return
    name = f"{found[0]}({found[1].name})"
    if one_by_name(name, space.columns):
        return
    loose = [part for part in space.parts if part.labels is None and part.columns[0].endswith(f"({found[1].name})")]
    has_histogram = loose and found[0] in TIME_OF_DAY
    histogram = f"write FREQUENCY({grid_form(loose[0])}) for a histogram, or " if has_histogram else ""
    raise context.refusal(
        node,
        f"the item space lists no values of {name}, so no public list says which groups there are",
        remedy=f'{histogram}have the owner declare a part Categories("{name}", [..]) of the space',
        code="group-component",
    )


def _no_expression(context: Context, node: exp.Expr) -> SqlError:
    return context.refusal(
        node,
        "groups come from public lists of values, and this is an expression",
        remedy="group by a categorical column, or join a public table that puts its values into groups",
        code="group-expression",
    )


def _no_group(context: Context, node: exp.Expr, meaning: Resolved) -> SqlError:
    text, unlisted = context.text(node), unlisted_text(context, node, meaning)
    if unlisted is not None:
        return unlisted
    if isinstance(meaning, UserKey):
        problem, remedy, code = (
            "one group a user would publish each user's records",
            "group by a public column of the users",
            "group-by-user",
        )
    elif isinstance(meaning, HiddenColumn):
        problem, remedy, code = (
            f"{text} is not part of the item space, so no public list says which groups there are",
            "group by a categorical part of the space, or have the owner declare this one",
            "column-outside-space",
        )
    else:
        form = grid_form(meaning.part) if isinstance(meaning, ItemColumn) else "1.0"
        problem, remedy, code = (
            f"{text} is continuous, and has no public list of values to group by",
            f"write FREQUENCY({form}), or group by a categorical column",
            "group-continuous",
        )
    return context.refusal(node, problem, remedy=remedy, code=code)


def _check_part(context: Context, key: Key, node: exp.Expr, keys: Sequence[tuple[Key, exp.Expr]]) -> None:
    for earlier, first in keys:
        if isinstance(key, UserColumn) or isinstance(earlier, UserColumn) or key.finite is not earlier.finite:
            continue
        raise context.refusal(
            node,
            f"{context.text(first)} and {context.text(node)} both depend on one part of an item, so that most "
            "combinations of their values cannot occur",
            remedy=f"group by {context.text(first)} or {context.text(node)} alone",
            code="group-twice",
        )


def _is_same(key: Key, other: Resolved | None) -> bool:
    if isinstance(key, ItemColumn):
        return key == other
    if isinstance(key, LookupColumn):
        return isinstance(other, LookupColumn) and key.load is other.load
    return isinstance(other, UserColumn) and key.values is other.values


def _names(scalars: Scalars, keys: Sequence[tuple[Key, exp.Expr]], entries: Sequence[Entry]) -> list[str]:
    names: list[str] = []
    for key, _ in keys:
        own = [
            entry for entry in entries if entry.aggregate is None and _is_same(key, scalars.scope.column(entry.body))
        ]
        aliases = [entry.alias for entry in own if entry.alias]
        if len(own) > 1:
            raise scalars.context.refusal(
                own[1].node, "this column is in the select list twice", remedy="name it once", code="duplicate-name"
            )
        written = own[0].body.name if own and isinstance(own[0].body, exp.Column) else key.name
        shown = key.name if written.lower() == key.name.lower() else written
        names.append(aliases[0] if aliases else shown)
    return names


def _check_names(context: Context, names: Sequence[str], keys: Sequence[tuple[Key, exp.Expr]]) -> None:
    taken: set[str] = set()
    for name, (_, node) in zip(names, keys, strict=True):
        is_user = name.lower() == context.names.user.lower()
        if is_user or name.lower() in taken:
            raise context.refusal(
                node,
                f"{name} is the name of the user column, which no column of an answer may have"
                if is_user
                else f"the answer would be grouped by two columns {name}",
                remedy=f"give it an alias, as in SELECT {context.text(node)} AS other, ..",
                code="duplicate-name",
            )
        taken.add(name.lower())


def _group(context: Context, key: Key, node: exp.Expr, name: str) -> GroupColumn:
    if isinstance(key, LookupColumn) and (key.dtype.is_nested() or key.dtype == pl.Object):
        raise context.refusal(
            node,
            f"{key.name} holds lists, not single values",
            remedy="group by a column of single values",
            code="groups",
        )
    try:
        if isinstance(key, LookupColumn):
            return replace(group_labels(context.names, key.part.column, key.load()), name=name)
        return replace(group_labels(context.names, key.name), name=name)
    except UsageError as error:
        raise context.refusal(
            node,
            error.problem,
            remedy="group by a column of single values" if isinstance(key, UserColumn) else few_values_remedy(key.part),
            code="groups",
        ) from None


def _check_entries(scalars: Scalars, entries: Sequence[Entry], shown: dict[int, str]) -> None:
    for position, entry in enumerate(entries):
        if entry.aggregate is None and position not in shown:
            meaning, text = scalars.scope.column(entry.body), scalars.context.text(entry.body)
            is_key = isinstance(meaning, UserColumn | LookupColumn) or (
                isinstance(meaning, ItemColumn) and meaning.finite is not None
            )
            remedy = f"add GROUP BY {text}" if is_key else f"write AVG({text})"
            if isinstance(meaning, UserKey | HiddenColumn):
                remedy = "leave it out"
            elif not is_key:
                scalars.number(entry.body)
            raise scalars.context.refusal(
                entry.node,
                f"{text} stands in the select list without an aggregate, and would give out records",
                remedy=remedy,
                code="column-without-group",
            )


def _people(
    context: Context, group: exp.Group | None, columns: Sequence[tuple[UserColumn, str]], users: pl.Series | None
) -> People | None:
    frame = context.names.user_frame
    if frame is None or (users is None and not columns):
        return None
    keys = frame.get_column(context.names.user)
    own = pl.DataFrame([keys, *(key.values.alias(name) for key, name in columns)])
    try:
        return choose_people(replace(context.names, user_frame=own), users, [name for _, name in columns])
    except UsageError as error:
        raise context.refusal(
            group, error.problem, remedy="group by a column of single values", code="groups"
        ) from None
