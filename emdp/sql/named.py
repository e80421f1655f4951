"""Tables that a text names, and its words, before anything is known of the tables."""

from functools import lru_cache

from sqlglot import exp

from emdp.sql.measured import reads_measures
from emdp.sql.reader import parse, parse_plain
from emdp.sql.text.dialect import tokenise

__all__ = ["spelled", "tables_named"]


def spelled(text: str) -> str:
    """Return a text's words and signs with one space between them: without comments, whatever its layout.

    >>> spelled("SELECT  1 -- one")
    'SELECT 1'
    """
    return " ".join(text[token.start : token.end + 1] for token in tokenise(text))


@lru_cache(maxsize=64)
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
    for statement in (parse_plain(text),) if reads_measures(text) else parse(text):
        own = {cte.alias for cte in statement.tree.find_all(exp.CTE)}
        tables = [table for table in statement.tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
        found.update((table.name, None) for table in tables if table.name not in own)
    return tuple(found)
