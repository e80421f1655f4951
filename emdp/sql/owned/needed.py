"""What else a statement over rows with owners lacks in OPTIONS, so that one remedy says all of it."""

from sqlglot import exp

from emdp.base.errors import SqlError
from emdp.questions.owned.relations import names_user
from emdp.rows.nodes import Literal
from emdp.sql.context import Context
from emdp.sql.owned.keys import listed_values
from emdp.sql.owned.scopes import Scope
from emdp.sql.owned.subqueries import group_key
from emdp.sql.text.families import AUTOMATIC, CAP, GROUP_CAP, GROUPS_CAP, RHO

__all__ = ["and_options", "missing_options", "needs_lists"]

TOTALS = ("COUNT", "SUM", "COUNT_IF", "COUNTIF")
MEANS = ("AVG", "VARIANCE", "VAR_POP", "STDDEV", "STDDEV_POP")
NUMBERED = ("QUANTILE", "MEDIAN")


def and_options(context: Context, scope: Scope, remedy: str) -> str:
    """Return a remedy with the options that the statement needs beside it."""
    missing = missing_options(context, scope)
    return f"{remedy}, and add {', '.join(missing)} to OPTIONS" if missing else remedy


def missing_options(context: Context, scope: Scope) -> list[str]:
    """Return the options that a statement still needs, as they are written: caps, and what thresholds need."""
    options, tree = context.statement.options, context.statement.tree
    # People and different values are counted without this cap.
    names = {node.name.upper() for node in _own(tree) if not _is_distinct(node)}
    counted = bool(names & {*TOTALS, *MEANS, *NUMBERED}) and not scope.relation.is_per_user
    is_open = _is_open(scope, tree) and not needs_lists(context, scope)
    missing = []
    if is_open:
        missing += [] if context.price.delta > 0 else ["delta = 1e-9"]
        missing += [] if GROUPS_CAP in options else [f"{GROUPS_CAP} = 5"]
    is_capped = GROUP_CAP in options or (CAP in options and (options[CAP].value != AUTOMATIC))
    is_numbered = is_open or bool(names & set(NUMBERED)) or RHO in options
    if counted and not is_capped and is_numbered:
        missing.append(f"{CAP} = 50")
    elif counted and not is_capped and CAP not in options and not names & set(TOTALS):
        missing.append(f"{CAP} = {AUTOMATIC}")
    return missing


def needs_lists(context: Context, scope: Scope) -> bool:
    """Say whether an aggregate of a statement is answered for groups of a public list alone."""
    return any(
        node.name.upper() in NUMBERED or (_is_distinct(node) and not _is_of_users(scope, node))
        for node in _own(context.statement.tree)
    )


def _own(tree: exp.Expr) -> list[exp.Anonymous]:
    return [node for node in tree.find_all(exp.Anonymous) if node.parent_select is tree]


def _is_distinct(node: exp.Anonymous) -> bool:
    return bool(node.expressions) and isinstance(node.expressions[0], exp.Distinct)


def _is_of_users(scope: Scope, node: exp.Anonymous) -> bool:
    try:
        return names_user(scope.relation, scope.reader.read(node.expressions[0].expressions[0]))
    except SqlError:
        return False


def _is_open(scope: Scope, tree: exp.Expr) -> bool:
    """Say whether a key has no public list."""
    group = tree.args.get("group")
    for written in () if group is None else group.expressions:
        try:
            node = group_key(scope, written, tree.expressions)
        except SqlError:
            continue
        if isinstance(node, Literal) or names_user(scope.relation, node):
            continue
        if listed_values(node, scope.relation, scope.context.names) is None:
            return True
    return False
