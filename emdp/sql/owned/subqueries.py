"""Sub-queries: rows with one owner each, made of the rows of one user by columns, groups, windows and unions."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.questions.owned.relations import Derived, Filtered, Grouped, United, Windowed, owner_key
from emdp.questions.owned.summaries import Summary, Window
from emdp.rows.building import as_kind, common_kind
from emdp.rows.nodes import Column, Node, columns, replaced
from emdp.rows.types import Kind
from emdp.sql.clauses.ordering import entry_of
from emdp.sql.context import Context, identifier, one_by_name, unwrapped
from emdp.sql.owned.remedies import owner_name
from emdp.sql.owned.scopes import Reads, Scope, Tables, stand_in
from emdp.sql.owned.summaries import is_summary, read_summary, read_window

__all__ = ["group_key", "read_subquery"]


def read_subquery(reads: Reads, query: exp.Expr, alias: str, tables: Tables) -> Scope:
    """Return the rows of a sub-query."""
    if isinstance(query, exp.Union):
        return _united(reads, query, alias, tables)
    if not isinstance(query, exp.Select):
        raise reads.context.refusal(
            query, "a sub-query is one SELECT, or a UNION", remedy="write it as one SELECT", code="set-operation"
        )
    for clause in ("order", "limit", "offset"):
        if query.args.get(clause) is not None:
            raise reads.context.refusal(
                query.args[clause],
                "which rows come first is a matter of all users",
                remedy="use it outside, in the statement itself, or number the rows of each user with ROW_NUMBER()",
                code="subquery-mixes-users",
            )
    scope = reads.rows(query, tables)
    has_groups = query.args.get("group") is not None or query.args.get("having") is not None
    if has_groups or any(is_summary(node) for entry in query.expressions for node in _own(entry)):
        made = _grouped(reads, scope, query, alias)
    else:
        made = _plain(reads, scope, query, alias)
    return _distinct(reads, made, query, alias) if query.args.get("distinct") else made


def _own(node: exp.Expr) -> list[exp.Expr]:
    """Return the nodes of an expression, sub-queries and what windows are of left out."""
    is_closed = lambda own: isinstance(own, exp.Window | exp.Subquery | exp.Exists)  # noqa: E731
    return [own for own in node.walk(bfs=False, prune=is_closed) if not isinstance(own, exp.Window)]


def _scope(context: Context, relation: Derived | United | Grouped, alias: str, held: Mapping[str, Node]) -> Scope:
    made = {name: Column(relation.alias, name, node.kind) for name, node in held.items()}
    return Scope(context, relation, ((alias, made),), {})


def _plain(reads: Reads, scope: Scope, query: exp.Select, alias: str) -> Scope:
    windows: dict[str, Window] = {}
    name = reads.name(f"{alias}_windows")

    def column(node: exp.Expr) -> Column | None:
        if not isinstance(node, exp.Window):
            return None
        own = f"window_{len(windows)}"
        windows[own] = read_window(scope, node)
        return Column(name, own, windows[own].kind)

    entries = [_with_columns(entry, column) for entry in query.expressions]
    qualify = query.args.get("qualify")
    condition = None if qualify is None else _with_columns(qualify.this, column)
    relation = Windowed(scope.relation, name, tuple(windows.items())) if windows else scope.relation
    if condition is not None:
        aliases = {entry.alias.lower(): entry.this for entry in entries if isinstance(entry, exp.Alias)}
        relation = Filtered(relation, scope.reader.condition(_unaliased(scope, condition, aliases)))
    held = _named(scope, entries, scope.reader.read)
    made = Derived(relation, reads.name(alias), tuple(held.items()))
    return _scope(reads.context, made, alias, held)


def _unaliased(scope: Scope, node: exp.Expr, aliases: Mapping[str, exp.Expr]) -> exp.Expr:
    """Return a condition with names of the select list replaced by what they name; columns of tables come first."""

    def own(part: exp.Expr) -> exp.Expr:
        if not isinstance(part, exp.Column) or part.table or part.name.lower() not in aliases:
            return part
        if any(one_by_name(part.name, held) for _, held in scope.tables):
            return part
        return exp.Paren(this=aliases[part.name.lower()].copy())

    return node.copy().transform(own, copy=False)


def _with_columns(node: exp.Expr, column: Callable[[exp.Expr], Column | None]) -> exp.Expr:
    """Return a copy of an expression in which parts that have become columns are such."""

    def own(part: exp.Expr) -> exp.Expr:
        made = column(part)
        return part if made is None else stand_in(part, made)

    return node.copy().transform(own, copy=False)


def _named(scope: Scope, entries: list[exp.Expr], read: Callable[[exp.Expr], Node]) -> dict[str, Node]:
    held: dict[str, Node] = {}
    for entry in entries:
        for name, node in _outputs(scope, entry, read):
            if one_by_name(name, held):
                raise scope.context.refusal(
                    entry, f"the sub-query has two columns {name}", remedy="give one an alias", code="duplicate-name"
                )
            held[name] = node
    return held


def _outputs(scope: Scope, entry: exp.Expr, read: Callable[[exp.Expr], Node]) -> list[tuple[str, Node]]:
    is_table = isinstance(entry, exp.Column) and isinstance(entry.this, exp.Star)
    if is_table or isinstance(entry, exp.Star):
        wanted = entry.table.lower() if isinstance(entry, exp.Column) else ""
        return [
            (name, own)
            for table, held in scope.tables
            if not wanted or table.lower() == wanted
            for name, own in held.items()
        ]
    body = entry.this if isinstance(entry, exp.Alias) else entry
    if not entry.alias and (not isinstance(body, exp.Column) or body.meta.get("emdp_column") is not None):
        raise scope.context.refusal(
            entry,
            "a column of a sub-query needs a name",
            remedy=f"write {scope.context.text(entry)} AS name",
            code="subquery-name",
        )
    return [(entry.alias or body.name, read(body))]


@dataclass(frozen=True, eq=False)
class _Groups:
    """Keys and aggregates of a grouped sub-query, as they are found."""

    scope: Scope
    name: str
    keys: dict[str, Node]
    summaries: dict[str, Summary]

    def column(self, node: exp.Expr) -> Column | None:
        if not is_summary(node):
            return None
        own = f"value_{len(self.summaries)}"
        self.summaries[own] = read_summary(self.scope, node)
        return Column(self.name, own, self.summaries[own].kind)

    def read(self, node: exp.Expr) -> Node:
        """Return an expression over keys and aggregates."""
        found = self.scope.reader.read(node)
        others = {own: Column(self.name, name, own.kind) for name, own in self.keys.items()}
        made = replaced(found, others)
        left = [column for column in columns(made) if column.table != self.name]
        if left:
            raise self.scope.context.refusal(
                node,
                f"{left[0].name} has a value for each record, and the sub-query has a row for each group",
                remedy=f"add {identifier(left[0].name)} to GROUP BY, or put it into an aggregate",
                code="not-grouped",
            )
        return made


def _grouped(reads: Reads, scope: Scope, query: exp.Select, alias: str) -> Scope:
    context = reads.context
    window = next((node for node in query.find_all(exp.Window) if node.parent_select is query), None)
    if window is not None or query.args.get("qualify") is not None:
        raise context.refusal(
            window or query.args["qualify"],
            "a window over groups stands in a sub-query of its own",
            remedy="put the GROUP BY into a sub-query in FROM, and the window around it",
            code="window-groups",
        )
    group = query.args.get("group")
    written = () if group is None else group.expressions
    nodes = [group_key(scope, own, query.expressions) for own in written]
    if scope.relation.is_owned and all(owner_key(scope.relation, node) is None for node in nodes):
        raise context.refusal(
            group or query.expressions[0],
            "a sub-query that sums up records of several users is an answer of its own",
            remedy=f"add {owner_name(context, scope.relation)} to its GROUP BY, or ask for it in another statement",
            code="subquery-mixes-users",
        )
    if not nodes:
        raise context.refusal(
            query.expressions[0], "an aggregate of a sub-query needs groups", remedy="add GROUP BY", code="not-grouped"
        )
    groups = _Groups(scope, reads.name(f"{alias}_groups"), {}, {})
    groups.keys.update((f"key_{place}", node) for place, node in enumerate(dict.fromkeys(nodes)))
    entries = [_with_columns(entry, groups.column) for entry in query.expressions]
    star = next((entry for entry in entries if entry.find(exp.Star)), None)
    if star is not None:
        raise context.refusal(
            star, "a star has columns that are not grouped by", remedy="name the columns", code="not-grouped"
        )
    having = query.args.get("having")
    aliases = {entry.alias.lower(): entry.this for entry in entries if isinstance(entry, exp.Alias)}
    condition = None
    if having is not None:
        condition = groups.read(_unaliased(scope, _with_columns(having.this, groups.column), aliases))
        if condition.kind is not Kind.BOOLEAN:
            raise context.refusal(
                having.this, "this is no condition", remedy="compare it with something", code="condition"
            )
    held = _named(scope, entries, groups.read)
    made: Grouped | Filtered = Grouped(
        scope.relation, groups.name, tuple(groups.keys.items()), tuple(groups.summaries.items())
    )
    if condition is not None:
        made = Filtered(made, condition)
    return _scope(context, Derived(made, reads.name(alias), tuple(held.items())), alias, held)


def group_key(scope: Scope, written: exp.Expr, entries: list[exp.Expr]) -> Node:
    """Return what a sub-query is grouped by: an expression, or an entry of its list by position or name."""
    own = unwrapped(written)
    if isinstance(own, exp.Literal) and not own.is_string:
        own = entries[entry_of(scope.context, own, len(entries))]
        own = own.this if isinstance(own, exp.Alias) else own
    elif isinstance(own, exp.Column):
        aliases = {entry.alias.lower(): entry.this for entry in entries if isinstance(entry, exp.Alias)}
        own = _unaliased(scope, own, aliases)
    if any(is_summary(node) for node in own.walk()):
        raise scope.context.refusal(
            written, "an aggregate is no group", remedy="name a column or expression", code="group-aggregate"
        )
    return scope.reader.read(own)


def _distinct(reads: Reads, scope: Scope, query: exp.Expr, alias: str) -> Scope:
    """Return the distinct rows of a sub-query that has the user's column."""
    ((_, held),) = scope.tables
    if scope.relation.is_owned and all(owner_key(scope.relation, column) is None for column in held.values()):
        raise reads.context.refusal(
            query,
            "DISTINCT without the user's column makes one row of records of many users",
            remedy=f"add {owner_name(reads.context, scope.relation)} to its columns",
            code="subquery-mixes-users",
        )
    made = Grouped(scope.relation, reads.name(alias), tuple(held.items()))
    return _scope(reads.context, made, alias, held)


def _united(reads: Reads, query: exp.Union, alias: str, tables: Tables) -> Scope:
    context = reads.context
    sides = [_side(reads, side, alias, tables) for side in (query.this, query.expression)]
    if sides[0].relation.is_owned != sides[1].relation.is_owned:
        raise context.refusal(
            query,
            "a UNION of records with public rows has rows that nobody owns",
            remedy="join the public table, or leave it out",
            code="union-public",
        )
    held = [dict(next(iter(side.tables))[1]) for side in sides]
    if len(held[0]) != len(held[1]):
        raise context.refusal(
            query, "the two sides have not as many columns", remedy="select the same columns", code="union-columns"
        )
    named: list[tuple[str, Node]] = []
    others: list[tuple[str, Node]] = []
    for (name, left), (other, right) in zip(held[0].items(), held[1].items(), strict=True):
        try:
            kind = common_kind([left, right])
        except UsageError:
            raise context.refusal(
                query,
                f"{name} is {left.kind.value} on one side and {right.kind.value} on the other",
                remedy="cast one of them",
                code="kinds",
            ) from None
        named.append((name, as_kind(left, kind) or left))
        others.append((other, as_kind(right, kind) or right))
    made = United(sides[0].relation, sides[1].relation, reads.name(alias), tuple(named), tuple(others))
    found = _scope(context, made, alias, dict(named))
    return _distinct(reads, found, query, alias) if query.args.get("distinct") else found


def _side(reads: Reads, query: exp.Expr, alias: str, tables: Tables) -> Scope:
    while isinstance(query, exp.Subquery | exp.Paren):
        query = query.this
    return replace(read_subquery(reads, query, alias, tables))
