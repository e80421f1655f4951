"""Sub-queries that stand for one value: which of them surely have one row, whatever the answers they read are.

What has several rows where one value is needed fails, and would fail after the charge where the rows are those of noisy
answers. So it is told from the text and from public tables alone.
"""

from collections.abc import Iterator

from sqlglot import exp

from emdp.sql.context import one_by_name
from emdp.sql.owned.aggregates import is_aggregate
from emdp.sql.owned.functions import AGGREGATES
from emdp.sql.owned.scopes import Reads, Tables
from emdp.sql.owned.stages import bare
from emdp.sql.owned.summaries import is_summary

__all__ = ["is_single_row", "is_summed", "is_value", "own_nodes"]


def is_single_row(reads: Reads, query: exp.Expr, tables: Tables) -> bool:
    """Say whether a query has one row at most, by its text alone: an aggregate without GROUP BY, ``LIMIT 1``, or rows
    of what has one.
    """
    query = bare(query)
    limit = query.args.get("limit")
    written = limit.args.get("expression") if isinstance(limit, exp.Limit) else None
    if isinstance(written, exp.Literal) and written.name in ("0", "1"):
        return True
    if not isinstance(query, exp.Select) or query.args.get("group") is not None:
        return False
    if query.args.get("having") is not None or any(
        is_summed(node) for entry in query.expressions for node in own_nodes(entry)
    ):
        return True
    joins = query.args.get("joins") or ()
    if query.args.get("from_") is None or any(str(join.side).upper() == "FULL" for join in joins):
        return False
    known = tables.with_of(query)
    return all(_is_row(reads, node, known) for node in (query.args["from_"].this, *(join.this for join in joins)))


def _is_row(reads: Reads, source: exp.Expr, known: Tables) -> bool:
    if isinstance(source, exp.Subquery):
        return is_single_row(reads, source.this, known)
    if not isinstance(source, exp.Table):
        return False
    name, public = source.name, reads.context.names.public
    if name.lower() in known:
        return is_single_row(reads, known[name.lower()], known.of(name.lower()))
    found = one_by_name(name, public)
    return len(found) == 1 and len(public[found[0]]) <= 1


def is_summed(node: exp.Expr) -> bool:
    """Say whether a node is a call of an aggregate."""
    is_called = isinstance(node, exp.Anonymous) and node.name.upper() in _AGGREGATES
    return is_called or is_summary(node) or is_aggregate(node)


_AGGREGATES = frozenset(AGGREGATES.split())


def own_nodes(entry: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the nodes of an entry, those of windows and sub-queries left out."""
    is_closed = lambda own: isinstance(own, exp.Window | exp.Subquery | exp.Exists)  # noqa: E731
    return (own for own in entry.walk(bfs=False, prune=is_closed) if not isinstance(own, exp.Window))


def is_value(query: exp.Expr) -> bool:
    """Say whether a query stands for one value of the rows around it."""
    around = query.parent
    if not isinstance(around, exp.Subquery):
        return False
    while isinstance(around, exp.Subquery | exp.Paren):
        query, around = around, around.parent
    return (
        not isinstance(
            around, exp.From | exp.Join | exp.In | exp.Exists | exp.CTE | exp.SetOperation | exp.Any | exp.All
        )
        and around is not None
    )
