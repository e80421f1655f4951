"""``QUANTILE(e, 0.25, 0.5, 0.75)`` in a select list: a column for each level, which are one release.

``AS q`` names them ``q_25``, ``q_50`` and ``q_75``; without it they are ``quantile_25`` and so on.
"""

from sqlglot import exp

from emdp.sql.context import unwrapped

__all__ = ["with_levels"]


def with_levels(select: exp.Select) -> exp.Select:
    """Return a SELECT with an entry for each level of a quantile that has several; itself where none has."""
    if not any(_levels(entry) for entry in select.expressions):
        return select
    made = select.copy()
    entries: list[exp.Expr] = []
    for entry in made.expressions:
        levels = _levels(entry)
        entries += [_of_level(entry, level) for level in levels] if levels else [entry]
    made.set("expressions", entries)
    return made


def _call(entry: exp.Expr) -> exp.Expr:
    body = unwrapped(entry.this if isinstance(entry, exp.Alias) else entry)
    return unwrapped(body.this) if isinstance(body, exp.Filter) else body


def _levels(entry: exp.Expr) -> list[exp.Expr]:
    """Return the levels of a quantile that has several, as they are written; none of any other entry."""
    call = _call(entry)
    if not isinstance(call, exp.Anonymous) or call.name.upper() != "QUANTILE" or len(call.expressions) < 3:
        return []
    levels = call.expressions[1:]
    is_written = all(isinstance(level, exp.Literal) and not level.is_string for level in levels)
    return levels if is_written else []


def _of_level(entry: exp.Expr, level: exp.Expr) -> exp.Expr:
    alias = entry.alias if isinstance(entry, exp.Alias) else "quantile"
    made = entry.copy()
    call = _call(made)
    call.set("expressions", [call.expressions[0], level.copy()])
    body = made.this if isinstance(made, exp.Alias) else made
    percent = f"{100 * float(level.name):.10g}".replace(".", "_")
    named = exp.alias_(body, f"{alias}_{percent}", quoted=True)
    named.meta.update(entry.meta)
    return named
