"""A statement under USER_PRIVACY to a question about rows with owners."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError
from emdp.questions.names import Names
from emdp.questions.owned.parts import names_every_user
from emdp.questions.owned.question import ANSWER, OwnedItem, OwnedSelect
from emdp.questions.owned.relations import names_user
from emdp.questions.owned.totals import Key
from emdp.questions.select import Order
from emdp.rows.nodes import Column, Node, columns
from emdp.rows.types import Kind
from emdp.sql.clauses.ordering import entry_of, read_limit
from emdp.sql.context import Context, identifier, listed, near, one_by_name, unwrapped
from emdp.sql.owned.aggregates import OwnedAggregate, is_aggregate, read_aggregate
from emdp.sql.owned.around import Around
from emdp.sql.owned.keys import listed_values
from emdp.sql.owned.levels import with_levels
from emdp.sql.owned.needed import and_options
from emdp.sql.owned.options import (
    check_cap,
    check_distinct_cap,
    check_listed,
    check_options,
    check_unlisted,
    is_automatic,
    is_measured,
    ranged,
    record_cap,
    whole_option,
)
from emdp.sql.owned.outputs import Asked, Outputs, aggregate_in
from emdp.sql.owned.remedies import as_whole, per_user, raw_rows
from emdp.sql.owned.scopes import Tables
from emdp.sql.owned.sources import Scope, Sources
from emdp.sql.owned.staged import OwnedQuestion, of_stage, staged, with_inner_values
from emdp.sql.owned.stages import Stages, numbered
from emdp.sql.owned.written_lists import with_written_lists
from emdp.sql.refusals.clauses import check_stage
from emdp.sql.text.families import GROUP_CAP, GROUPS_CAP
from emdp.sql.text.statement import Statement

__all__ = ["translate_owned"]

ENDS = ("", "_low", "_high")
CHOOSING = ("having", "order")
"""Clauses whose aggregates are asked for, beside those of the select list."""


@dataclass(frozen=True, eq=False)
class _Entry:
    """An entry of the select list: an aggregate, what is grouped by, or neither: what is computed of both."""

    node: exp.Expr
    body: exp.Expr
    alias: str
    aggregate: OwnedAggregate | None
    value: Node | None


def translate_owned(statement: Statement, names: Names) -> OwnedQuestion:
    """Return the question of a statement over rows with owners: as a whole, in stages, or of public tables alone.

    Raises
    ------
    SqlError
        For the first part that this route does not answer: underlined, with the reason and what to write instead.
    """
    context = with_written_lists(Context(statement, names))
    statement, tree = context.statement, context.statement.tree
    check_options(context)
    numbered(tree)
    stages = Stages(context, _stage)
    around = Sources(context, stages).around
    if around.is_free(tree, Tables()):
        made = around.free(tree, "answer", Tables())
        if made is None:
            raise InternalError("a statement on public tables reads private ones; please report this.")
        return staged(context, stages, made.stage.question)
    if statement.beyond is not None and not _has_stages(around, tree):
        raise statement.beyond
    question = _asked(context, tree, Tables(), stages)
    # What nobody reads is asked all the same: whether a stage is charged is no matter of its use.
    around.named(tree, Tables())
    check_stage(statement, stages.is_closed)
    return staged(context, stages, question)


def _has_stages(around: Around, tree: exp.Select) -> bool:
    """Say whether a sub-query of a statement is an answer."""
    with_ = tree.args.get("with_")
    inner = [own for own in tree.find_all(exp.Subquery, exp.Exists, exp.CTE) if own.this is not with_]
    return bool(inner)


def _stage(select: exp.Select, tables: Tables, stages: Stages) -> OwnedSelect:
    """Return the question of a sub-query that is an answer."""
    context = stages.context
    own = Context(replace(context.statement, tree=select), context.names)
    question = _asked(own, select, tables, stages, is_stage=True)
    Sources(own, stages).around.named(select, tables)
    check_stage(own.statement, stages.is_closed)
    return question


def _asked(
    context: Context, tree: exp.Select, tables: Tables, stages: Stages, *, is_stage: bool = False
) -> OwnedSelect:
    """Return the question of a SELECT over rows with owners."""
    sources = Sources(context, stages)
    scope = sources.rows(tree, tables)
    if not scope.relation.is_owned:
        raise context.refusal(
            tree.args["from_"].this,
            "the statement reads public tables alone, and an answer is about the private one",
            remedy=f"write FROM {identifier(context.names.table)}",
            code="public-table",
        )
    if context.price.is_by_removal and names_every_user(scope.relation):
        raise context.refusal(
            tree.args["from_"].this,
            "a list of users has a row for users without records, and removing a user's records leaves that row",
            remedy=f"leave neighbours out, or write FROM {identifier(context.names.table)} first",
            code="removal",
        )
    select, scope = with_inner_values(sources, scope, tree, tables)
    select = with_levels(select)
    context = Context(replace(context.statement, tree=select), context.names) if select is not tree else context
    entries = [_entry(context, scope, node) for node in select.expressions]
    parts = (*select.expressions, *map(select.args.get, CHOOSING))
    if select.args.get("group") is None and not any(part is not None and aggregate_in(part) for part in parts):
        raise context.refusal(
            entries[0].node,
            "the select list has no aggregate, and records as they are have no guarantee",
            remedy=raw_rows(context, scope, list(select.expressions)),
            code="no-aggregate",
        )
    grouped = _grouped(context, scope, select.args.get("group"), entries)
    keys = tuple(_key(context, scope, stages, name, node, written) for name, node, written in grouped)
    return _question(
        context, scope, entries, keys, [(name, node) for name, node, _ in grouped], stages, is_stage=is_stage
    )


def _question(
    context: Context,
    scope: Scope,
    entries: Sequence[_Entry],
    keys: tuple[Key, ...],
    grouped: Sequence[tuple[str, Node]],
    stages: Stages,
    *,
    is_stage: bool,
) -> OwnedSelect:
    tree = context.statement.tree
    taken = {key.name.lower() for key in keys} | {entry.alias.lower() for entry in entries if entry.alias}
    outputs = Outputs(context, scope, grouped, taken)
    names = [*_selected(context, outputs, entries)]
    _check_distinct(context, outputs, entries, names, keys)
    having = _having(context, outputs, tree.args.get("having"))
    is_distinct = tree.args.get("distinct") is not None
    order = _order(context, outputs, entries, names)
    are_keys = all(entry.value is not None and entry.value in [node for _, node in grouped] for entry in entries)
    if not outputs.asked and (not are_keys or outputs.computed or is_distinct or all(key.is_listed for key in keys)):
        raise outputs.nothing_asked(entries[0].node)
    if is_stage or stages.made:
        context = of_stage(context, outputs.asked, keys)
    if not scope.relation.is_per_user:
        check_cap(context, scope, outputs.asked)
    check_distinct_cap(context, outputs.asked)
    check_listed(context, outputs.asked, keys)
    items = tuple(_item(context, own) for own in outputs.asked)
    # Rows are told apart by their keys, so that these are shown, but where rows of equal values are one.
    beside = [] if is_distinct or is_stage else [key.name for key in keys if key.name not in names]
    unseen = {key.name for key in keys} - {*names, *beside}
    return OwnedSelect(
        relation=scope.relation,
        items=items,
        price=context.price,
        keys=keys,
        cap=record_cap(context, scope, items),
        measures_cap=is_measured(context, scope, items),
        groups_cap=whole_option(context, GROUPS_CAP),
        measures_groups=is_automatic(context, GROUPS_CAP),
        public={**context.names.public, **stages.tables},
        columns=(*beside, *names),
        order=order,
        limit=read_limit(context, tree.args.get("limit")),
        offset=read_limit(context, tree.args.get("offset")) or 0,
        text=context.text(tree) if is_stage else context.statement.text,
        noise=context.vector_noise,
        distinct_cap=whole_option(context, "max_distinct_per_user"),
        computed=tuple(outputs.computed),
        hidden=frozenset(outputs.hidden | {own.name for own in outputs.asked if own.is_hidden} | unseen),
        having=having,
        is_distinct=is_distinct,
        group_rows=whole_option(context, GROUP_CAP),
        ranged=ranged(context, items, is_stage=is_stage or bool(stages.made)),
    )


def _item(context: Context, own: Asked) -> OwnedItem:
    found, text = own.aggregate, context.statement.text_of(own.body)
    item = OwnedItem(found.kind, own.name, found.node, found.low, found.high, text, found.level, found.condition)
    return replace(item, weight=found.weight, most=found.most, is_ranged=found.is_ranged)


def _entry(context: Context, scope: Scope, node: exp.Expr) -> _Entry:
    body = unwrapped(node.this if isinstance(node, exp.Alias) else node)
    alias = node.alias if isinstance(node, exp.Alias) else ""
    if is_aggregate(body):
        return _Entry(node, body, alias, read_aggregate(context, scope, body), None)
    if aggregate_in(body) is not None:
        return _Entry(node, body, alias, None, None)
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
        # A position, or a name of the select list, says nothing of what it stands for.
        shown = written if entry is None or entry.value is None else entry.body
        own = next((other for other in entries if other.value == node), None)
        name = alias or (own.alias if own is not None else "") or _default_name(context, unwrapped(shown))
        if any(node == other for _, other, _ in found):
            raise context.refusal(written, "this is grouped by twice", remedy="leave it out once", code="group-twice")
        found.append((name, node, shown))
    return found


def _named_entry(context: Context, scope: Scope, written: exp.Expr, entries: Sequence[_Entry]) -> _Entry | None:
    """Return the entry of the select list that a key names by position or alias; a column of the tables comes first."""
    if isinstance(written, exp.Literal) and not written.is_string:
        found = entries[entry_of(context, written, len(entries))]
        if found.value is None:
            raise context.refusal(
                written, "an aggregate is no group", remedy="name a column or expression", code="group-aggregate"
            )
        return found
    if not isinstance(written, exp.Column) or written.table:
        return None
    if any(one_by_name(written.name, own) for _, own in scope.tables):
        return None
    named = [own for own in entries if own.alias.lower() == written.name.lower() and own.value is not None]
    return named[0] if len(named) == 1 else None


def _default_name(context: Context, written: exp.Expr) -> str:
    return written.name if isinstance(written, exp.Column) else context.text(written)


def _key(context: Context, scope: Scope, stages: Stages, name: str, node: Node, written: exp.Expr) -> Key:
    text = context.text(written)
    if node.kind is Kind.DOUBLE:
        raise context.refusal(
            written,
            f"`{text}` is a DOUBLE, whose equal values are a matter of rounding",
            remedy=and_options(context, scope, f"write {as_whole(context, written)}"),
            code="double-key",
        )
    source = stages.source_of(node, scope.relation)
    if source is not None:
        return Key(name, node, (), source=source)
    values = listed_values(node, scope.relation, context.names)
    if values is None and names_user(scope.relation, node):
        raise context.refusal(
            written,
            "each group would be one user, and no guarantee shows one",
            remedy=per_user(context),
            code="group-user",
        )
    if values is None:
        check_unlisted(context, scope, written, node, is_user=names_user(scope.relation, node))
        return Key(name, node, (), is_listed=False)
    if not values:
        raise context.refusal(written, f"no value of `{text}` is left", remedy="widen the condition", code="no-groups")
    return Key(name, node, values)


def _selected(context: Context, outputs: Outputs, entries: Sequence[_Entry]) -> Iterator[str]:
    """Yield the name of each entry's column, and note what it is."""
    names: set[str] = set()
    for entry in entries:
        if entry.aggregate is not None and outputs.found(entry.aggregate) is None:
            name = entry.alias or _default(entry.aggregate.function.lower(), outputs.taken)
            made = outputs.column(entry.body, entry.aggregate, name)
            if not isinstance(made, Column):
                outputs.compute(entry.body, made, name, is_users=True)
        else:
            key = next((own for own, node in outputs.keys if entry.value == node), "")
            name = key if key and key not in names else ""
            made = Column(ANSWER, key, entry.value.kind) if key and entry.value else outputs.read(entry.body)
            if not name:
                name = entry.alias or _default(context.text(entry.body), outputs.taken)
                outputs.compute(entry.body, made, name)
        outputs.taken.add(name.lower())
        outputs.aliases[(entry.alias or name).lower()] = made
        names.add(name)
        yield name


def _default(base: str, taken: set[str]) -> str:
    number = 1
    while (name := base if number == 1 else f"{base}_{number}").lower() in taken:
        number += 1
    return name


def _check_distinct(
    context: Context, outputs: Outputs, entries: Sequence[_Entry], names: Sequence[str], keys: Sequence[Key]
) -> None:
    seen = {key.name.lower() for key in keys}
    for entry, name in zip(entries, names, strict=True):
        if any(name == key.name for key in keys):
            continue
        for end in _ends(outputs, name):
            if f"{name}{end}".lower() in seen:
                raise context.refusal(
                    entry.node,
                    f"the answer would have two columns {name}{end}",
                    remedy="give this one another alias",
                    code="duplicate-name",
                )
        seen |= {f"{name}{end}".lower() for end in _ends(outputs, name)}


def _ends(outputs: Outputs, name: str) -> tuple[str, ...]:
    """Return the endings of a column's names: with the ends of an interval where it has one."""
    own = next((one for one in outputs.computed if one.name == name), None)
    items = {one.name for one in outputs.asked}
    is_noisy = own is not None and own.node.kind.is_number and any(one.name in items for one in columns(own.node))
    return ENDS if name in items or is_noisy or (own is not None and own.is_users) else ("",)


def _having(context: Context, outputs: Outputs, having: exp.Having | None) -> str:
    if having is None:
        return ""
    node = outputs.read(having.this)
    if node.kind is not Kind.BOOLEAN:
        raise context.refusal(having.this, "this is no condition", remedy="compare it with something", code="condition")
    return outputs.compute(having.this, node)


def _order(context: Context, outputs: Outputs, entries: Sequence[_Entry], names: Sequence[str]) -> tuple[Order, ...]:
    order = context.statement.tree.args.get("order")
    if order is None:
        return ()
    return tuple(
        Order(
            _answer_column(context, outputs, unwrapped(key.this), entries, names),
            bool(key.args.get("desc")),
            not key.args.get("nulls_first"),
        )
        for key in order.expressions
    )


def _answer_column(
    context: Context,
    outputs: Outputs,
    node: exp.Expr,
    entries: Sequence[_Entry],
    names: Sequence[str],
) -> str:
    if isinstance(node, exp.Literal) and not node.is_string:
        return names[entry_of(context, node, len(names))]
    with_ends = (f"{name}{end}" for name in names for end in _ends(outputs, name))
    shown = list(dict.fromkeys([*(key for key, _ in outputs.keys), *with_ends]))
    found = one_by_name(node.name, shown) if isinstance(node, exp.Column) and not node.table else ()
    if len(found) == 1:
        return found[0]
    for entry, name in zip(entries, names, strict=True):
        if entry.body == node:
            return name
    key = None if aggregate_in(node) is not None else outputs.key_of(node)
    if key is not None:
        return key.name
    is_distinct = context.statement.tree.args.get("distinct") is not None
    if not isinstance(node, exp.Column) and not is_distinct:
        return outputs.compute(node, outputs.read(node))
    alike = near(context.text(node), shown)
    raise context.refusal(
        node,
        f"`{context.text(node)}` is no column of the answer, and order beyond the answer's would be read off records",
        remedy=f"write {' or '.join(map(identifier, alike))}"
        if alike
        else f"order by one of {listed(map(identifier, shown))}",
        code="order-column",
    )
