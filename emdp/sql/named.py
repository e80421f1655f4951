"""Which tables a text names, before anything is known of them."""

from sqlglot import exp

from emdp.sql.text import parse

__all__ = ["tables_named"]


def tables_named(text: str) -> tuple[str, ...]:
    """Return the names after FROM and JOIN in all statements of a text, as written, each once.

    Raises
    ------
    SqlError
        If the text is no statement of the language.

    >>> tables_named("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) FROM visits")
    ('visits',)
    """
    found: dict[str, None] = {}
    for statement in parse(text):
        own = {cte.alias for cte in statement.tree.find_all(exp.CTE)}
        found.update((table.name, None) for table in statement.tree.find_all(exp.Table) if table.name not in own)
    return tuple(found)
