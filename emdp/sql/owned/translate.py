"""A statement under USER_PRIVACY to a question about rows with owners."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from emdp.base.errors import SqlError
from emdp.questions.means import VECTOR_NOISE, VectorNoise
from emdp.questions.names import Names
from emdp.questions.owned.question import OwnedItem, OwnedSelect
from emdp.questions.owned.relations import names_every_user
from emdp.questions.owned.totals import Key
from emdp.questions.select import Order
from emdp.rows.nodes import Node
from emdp.rows.types import Kind
from emdp.sql.clauses.ordering import entry_of, read_limit
from emdp.sql.context import Context, identifier, listed, near, one_by_name, unwrapped
from emdp.sql.owned.aggregates import OwnedAggregate, is_aggregate, read_aggregate
from emdp.sql.owned.keys import listed_values
from emdp.sql.owned.sources import Scope, read_from
from emdp.sql.text.families import AUTOMATIC, CAP, EXPECTED_SHARE, FAMILIES, FAR_POINT, MEASURE_CAP, RHO
from emdp.sql.text.statement import Statement

__all__ = ["translate_owned"]

UNCAPPED = ("users", "distinct")
"""Kinds that no cap of records is for."""

ENDS = ("", "_low", "_high")

TOTALS = ("rows", "count", "sum")
"""Kinds of aggregates that need some cap, which is automatic where none is given."""


@dataclass(frozen=True, eq=False)
class _Entry:
    """An entry of the select list: an aggregate, or what is grouped by."""

    node: exp.Expr
    body: exp.Expr
    alias: str
    aggregate: OwnedAggregate | None
    value: Node | None


def translate_owned(statement: Statement, names: Names) -> OwnedSelect:
    """Return the question of a statement over rows with owners.

    Raises
    ------
    SqlError
        For the first part that this route does not answer: underlined, with the reason and what to write instead.
    """
    context, tree = Context(statement, names), statement.tree
    _check_options(context)
    scope = read_from(context, tree)
    if not scope.relation.is_owned:
        raise context.refusal(
            tree.args["from_"].this,
            "the statement reads public tables alone, and an answer is about the private one",
            remedy=f"write FROM {identifier(names.table)}",
            code="public-table",
        )
    if context.price.is_by_removal and names_every_user(scope.relation):
        raise context.refusal(
            tree.args["from_"].this,
            "a list of users has a row for users without records, and removing a user's records leaves that row",
            remedy=f"leave neighbours out, or write FROM {identifier(names.table)} first",
            code="removal",
        )
    entries = [_entry(context, scope, node) for node in tree.expressions]
    if all(entry.aggregate is None for entry in entries):
        raise context.refusal(
            entries[0].node,
            "the select list has no aggregate, and records as they are have no guarantee",
            remedy="add one, such as COUNT(*)",
            code="no-aggregate",
        )
    if not scope.relation.is_per_user:
        _check_cap(context, entries)
    grouped = _grouped(context, scope, tree.args.get("group"), entries)
    keys = tuple(_key(context, scope, name, node, written) for name, node, written in grouped)
    _check_listed(context, entries, keys)
    return _question(context, scope, entries, keys, [node for _, node, _ in grouped])


def _question(
    context: Context, scope: Scope, entries: Sequence[_Entry], keys: tuple[Key, ...], nodes: Sequence[Node]
) -> OwnedSelect:
    names = _names(context, entries, keys, nodes)
    items = tuple(
        OwnedItem(
            entry.aggregate.kind,
            name,
            entry.aggregate.node,
            entry.aggregate.low,
            entry.aggregate.high,
            context.statement.text_of(entry.body),
            entry.aggregate.level,
            entry.aggregate.condition,
        )
        for entry, name in zip(entries, names, strict=True)
        if entry.aggregate is not None
    )
    shown = [key.name for key in keys] + [f"{item.name}{end}" for item in items for end in ENDS]
    tree = context.statement.tree
    options = context.statement.options
    cap = _cap(context, scope, items)
    return OwnedSelect(
        relation=scope.relation,
        items=items,
        price=context.price,
        keys=keys,
        cap=cap,
        measures_cap=not scope.relation.is_per_user
        and ((cap is None and any(item.kind not in UNCAPPED for item in items)) or _measures(context)),
        groups_cap=_whole(context, "max_groups_per_user") if "max_groups_per_user" in options else None,
        public=context.names.public,
        columns=(*(key.name for key in keys if key.name not in names), *names),
        order=_order(context, scope, entries, names, shown),
        limit=read_limit(context, tree.args.get("limit")),
        offset=read_limit(context, tree.args.get("offset")) or 0,
        text=context.statement.text,
        noise=_noise(context),
        distinct_cap=_whole(context, "max_distinct_per_user"),
    )


def _cap(context: Context, scope: Scope, items: Sequence[OwnedItem]) -> int | None:
    """Return the cap: 1 where each user has one row at most, which bounds nothing away."""
    if scope.relation.is_per_user:
        return 1 if any(item.kind not in UNCAPPED for item in items) else None
    option = context.statement.options.get(CAP)
    return None if option is None or option.value == AUTOMATIC else int(option.value)


def _check_options(context: Context) -> None:
    statement = context.statement
    for name, option in statement.options.items():
        if name in FAMILIES or name in (EXPECTED_SHARE, FAR_POINT):
            raise SqlError(
                f"the option {name} is for other aggregates",
                remedy="leave it out",
                code="option-family",
                sql=statement.sql,
                start=option.start,
                end=option.end,
            )


def _check_cap(context: Context, entries: Sequence[_Entry]) -> None:
    """Refuse sums over records that nothing bounds, and a cap that bounds nothing."""
    aggregates = [entry for entry in entries if entry.aggregate is not None]
    capped = [entry for entry in aggregates if entry.aggregate is not None and entry.aggregate.kind not in UNCAPPED]
    options = context.statement.options
    totals = [entry for entry in capped if entry.aggregate is not None and entry.aggregate.kind in TOTALS]
    if capped and not totals and CAP not in options:
        # Of means alone it must be said, since other means without a cap weigh every user equally.
        name = capped[0].aggregate.function if capped[0].aggregate is not None else ""
        raise context.refusal(
            capped[0].body,
            f"{name} of records chosen so weighs a user by how many records they have, and nothing bounds that",
            remedy="add max_records_per_user = auto to OPTIONS, or the number that fits, such as 50",
            code="cap-missing",
        )
    is_measured = bool(capped) and (options[CAP].value == AUTOMATIC if CAP in options else True)
    if RHO in options and (is_measured or _measures(context)):
        raise context.refusal(
            None,
            "rho is of Gaussian noise alone, and an automatic or measured cap has other noise first",
            remedy="add max_records_per_user = 50, or the number that fits, or write epsilon in place of rho",
            code="rho-cap",
        )
    if not capped and (CAP in options or _measures(context)):
        raise context.refusal(
            None,
            "max_records_per_user has no use here, for no record is counted",
            remedy="leave max_records_per_user out",
            code="cap-unused",
        )
    kinds = {entry.aggregate.kind for entry in aggregates if entry.aggregate is not None}
    if "max_distinct_per_user" in options and "distinct" not in kinds:
        raise context.refusal(
            None,
            "max_distinct_per_user has no use here, for no different values are counted",
            remedy="leave max_distinct_per_user out",
            code="cap-unused",
        )


def _entry(context: Context, scope: Scope, node: exp.Expr) -> _Entry:
    body = unwrapped(node.this if isinstance(node, exp.Alias) else node)
    alias = node.alias if isinstance(node, exp.Alias) else ""
    if is_aggregate(body):
        return _Entry(node, body, alias, read_aggregate(context, scope, body), None)
    inner = next((part for part in body.walk() if is_aggregate(part)), None)
    if inner is not None:
        raise context.refusal(
            body,
            "arithmetic of aggregates is done on the answer",
            remedy=f"ask for {context.text(inner)} by itself, and compute the rest from the answer",
            code="aggregate-arithmetic",
        )
    return _Entry(node, body, alias, None, scope.reader.read(body))


def _grouped(
    context: Context, scope: Scope, group: exp.Group | None, entries: Sequence[_Entry]
) -> list[tuple[str, Node, exp.Expr]]:
    """Return name, node and text of each key, in the order of GROUP BY."""
    found: list[tuple[str, Node, exp.Expr]] = []
    for written in () if group is None else group.expressions:
        entry = _named_entry(context, scope, unwrapped(written), entries)
        node = entry.value if entry is not None and entry.value is not None else scope.reader.read(written)
        alias = entry.alias if entry is not None else ""
        own = next((other for other in entries if other.value == node), None)
        name = alias or (own.alias if own is not None else "") or _default_name(context, unwrapped(written))
        if any(node == other for _, other, _ in found):
            raise context.refusal(written, "this is grouped by twice", remedy="leave it out once", code="group-twice")
        found.append((name, node, written))
    for entry in entries:
        if entry.value is not None and all(entry.value != node for _, node, _ in found):
            raise context.refusal(
                entry.node,
                f"`{context.text(entry.body)}` has a value for each record, and an answer has one for each group",
                remedy=f"add GROUP BY {context.text(entry.body)}, or put it into an aggregate",
                code="not-grouped",
            )
    return found


def _named_entry(context: Context, scope: Scope, written: exp.Expr, entries: Sequence[_Entry]) -> _Entry | None:
    """Return the entry of the select list that a key names by position or alias; a column of the tables comes first."""
    if isinstance(written, exp.Literal) and not written.is_string:
        found = entries[entry_of(context, written, len(entries))]
        if found.aggregate is not None:
            raise context.refusal(
                written, "an aggregate is no group", remedy="name a column or expression", code="group-aggregate"
            )
        return found
    if not isinstance(written, exp.Column) or written.table:
        return None
    if any(one_by_name(written.name, own) for _, own in scope.tables):
        return None
    named = [entry for entry in entries if entry.alias.lower() == written.name.lower() and entry.aggregate is None]
    return named[0] if len(named) == 1 else None


def _default_name(context: Context, written: exp.Expr) -> str:
    return written.name if isinstance(written, exp.Column) else context.text(written)


def _key(context: Context, scope: Scope, name: str, node: Node, written: exp.Expr) -> Key:
    text = context.text(written)
    if node.kind is Kind.DOUBLE:
        raise context.refusal(
            written,
            f"`{text}` is a DOUBLE, whose equal values are a matter of rounding",
            remedy=f"write CAST(FLOOR({text}) AS BIGINT)",
            code="double-key",
        )
    values = listed_values(node, scope.relation, context.names)
    if values is None:
        _check_unlisted(context, text, written)
        return Key(name, node, (), is_listed=False)
    if not values:
        raise context.refusal(written, f"no value of `{text}` is left", remedy="widen the condition", code="no-groups")
    return Key(name, node, values)


def _check_listed(context: Context, entries: Sequence[_Entry], keys: tuple[Key, ...]) -> None:
    """Refuse what is answered by listed keys alone."""
    if all(key.is_listed for key in keys):
        return
    for entry in entries:
        own = entry.aggregate
        if own is not None and (own.kind in ("quantile", "distinct") or own.condition is not None):
            raise context.refusal(
                entry.body,
                f"this is answered by groups of a public list alone, and `{keys[0].name}` has none",
                remedy="list the groups in WHERE, or leave this column out",
                code="listed-groups-alone",
            )


def _check_unlisted(context: Context, text: str, written: exp.Expr) -> None:
    """Refuse a key without a public list where the options do not allow for thresholds."""
    options = context.statement.options
    missing = [] if context.price.delta > 0 else ["delta = 1e-9"]
    missing += [] if "max_groups_per_user" in options else ["max_groups_per_user = 5"]
    if missing:
        raise context.refusal(
            written,
            f"which values `{text}` has is known from the records alone, so that either a public list says it, or only "
            "groups of many users are shown",
            remedy=f"add {' and '.join(missing)} to OPTIONS for groups of many users; or add WHERE {text} IN (..) with "
            "the values, a range of days or whole numbers, or join a public table that lists them",
            code="unlisted-groups",
        )


def _names(context: Context, entries: Sequence[_Entry], keys: Sequence[Key], nodes: Sequence[Node]) -> list[str]:
    by_node = {str(node): key.name for node, key in zip(nodes, keys, strict=True)}
    taken = {key.name.lower() for key in keys} | {entry.alias.lower() for entry in entries if entry.alias}
    names: list[str] = []
    for entry in entries:
        if entry.aggregate is None:
            names.append(by_node[str(entry.value)])
            continue
        base = entry.aggregate.function.lower()
        name = entry.alias or next(
            own
            for number in range(1, len(entries) + len(taken) + 2)
            if (own := base if number == 1 else f"{base}_{number}") not in taken
        )
        taken.add(name.lower())
        names.append(name)
    _check_distinct(context, entries, names, keys)
    return names


def _check_distinct(context: Context, entries: Sequence[_Entry], names: Sequence[str], keys: Sequence[Key]) -> None:
    seen = {key.name.lower() for key in keys}
    for entry, name in zip(entries, names, strict=True):
        if entry.aggregate is None:
            continue
        for end in ENDS:
            if f"{name}{end}".lower() in seen:
                raise context.refusal(
                    entry.node,
                    f"the answer would have two columns {name}{end}",
                    remedy="give this one another alias",
                    code="duplicate-name",
                )
        seen |= {f"{name}{end}".lower() for end in ENDS}


def _order(
    context: Context, scope: Scope, entries: Sequence[_Entry], names: Sequence[str], columns: Sequence[str]
) -> tuple[Order, ...]:
    order = context.statement.tree.args.get("order")
    if order is None:
        return ()
    return tuple(
        Order(
            _answer_column(context, scope, unwrapped(key.this), entries, names, columns),
            bool(key.args.get("desc")),
            not key.args.get("nulls_first"),
        )
        for key in order.expressions
    )


def _answer_column(
    context: Context,
    scope: Scope,
    node: exp.Expr,
    entries: Sequence[_Entry],
    names: Sequence[str],
    columns: Sequence[str],
) -> str:
    if isinstance(node, exp.Literal) and not node.is_string:
        return names[entry_of(context, node, len(names))]
    found = one_by_name(node.name, columns) if isinstance(node, exp.Column) and not node.table else ()
    if len(found) == 1:
        return found[0]
    for entry, name in zip(entries, names, strict=True):
        if entry.body == node:
            return name
        if entry.value is not None and not is_aggregate(node) and scope.reader.read(node) == entry.value:
            return name
    alike = near(context.text(node), columns)
    raise context.refusal(
        node,
        f"`{context.text(node)}` is no column of the answer, and order beyond the answer's would be read off records",
        remedy=f"write {' or '.join(map(identifier, alike))}"
        if alike
        else f"order by one of {listed(map(identifier, columns))}",
        code="order-column",
    )


def _noise(context: Context) -> VectorNoise:
    option = context.statement.options.get("noise")
    return next((law for law in VECTOR_NOISE if option is not None and law == option.value), "auto")


def _measures(context: Context) -> bool:
    option = context.statement.options.get(MEASURE_CAP)
    return option is not None and option.value == "true"


def _whole(context: Context, name: str) -> int | None:
    option = context.statement.options.get(name)
    return None if option is None else int(option.value)
