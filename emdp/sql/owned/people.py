"""COUNT(DISTINCT user) under EMD_PRIVACY: the statement under USER_PRIVACY that counts these people, to be pasted."""

from sqlglot import exp

from emdp.base.errors import SqlError
from emdp.questions.names import Names
from emdp.sql.context import Context, one_by_name
from emdp.sql.owned.translate import translate_owned
from emdp.sql.reader import parse
from emdp.sql.text.families import GROUPS_CAP
from emdp.sql.text.statement import Statement

__all__ = ["counting_people"]

OPTIONS = ("", f", {GROUPS_CAP} = 3", f", delta = 1e-9, {GROUPS_CAP} = 3")


def counting_people(statement: Statement, names: Names) -> str | None:
    """Return a statement with the first count of users of another, its groups and conditions, if it is accepted."""
    context, tree = Context(statement, names), statement.tree
    counts = [found for node in tree.expressions if (found := _count(node, names)) is not None]
    if not counts:
        return None
    keys = _keys(context, tree)
    parts = [tree.args["from_"].this, *(tree.args.get("joins") or ()), tree.args.get("where")]
    spans = [statement.span(part) for part in parts if part is not None]
    source = " ".join(statement.sql[spans[0][0] : max(end for _, end in spans)].split())
    listed = ", ".join([*keys, f"{context.text(counts[0])} AS people"])
    rest = f"{listed} FROM {source}" + (f" GROUP BY {', '.join(keys)}" if keys else "")
    for options in OPTIONS:
        text = f"SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0{options}) {rest}"
        try:
            translate_owned(parse(text)[0], names)
        except SqlError:
            continue
        return text
    return None


def _count(node: exp.Expr, names: Names) -> exp.Expr | None:
    """Return the part of a select entry that counts users, None of others."""
    for call in node.find_all(exp.Anonymous):
        distinct = call.expressions[0] if len(call.expressions) == 1 else None
        if call.name.upper() != "COUNT" or not isinstance(distinct, exp.Distinct) or len(distinct.expressions) != 1:
            continue
        column = distinct.expressions[0]
        if isinstance(column, exp.Column) and one_by_name(column.name, [names.user]):
            return call.parent if isinstance(call.parent, exp.Filter) else call
    return None


def _keys(context: Context, tree: exp.Select) -> list[str]:
    """Return the texts of the groups, each without the name or number that the select list gives it."""
    group = tree.args.get("group")
    named = {node.alias.lower(): node.this for node in tree.expressions if isinstance(node, exp.Alias)}
    keys = []
    for node in () if group is None else group.expressions:
        own = node
        if isinstance(node, exp.Literal) and node.name.isdigit() and 0 < int(node.name) <= len(tree.expressions):
            own = tree.expressions[int(node.name) - 1]
        elif isinstance(node, exp.Column) and not node.table:
            own = named.get(node.name.lower(), node)
        keys.append(context.text(own.this if isinstance(own, exp.Alias) else own))
    return keys
