"""SQL text to expressions: what a statement may say, and a named refusal for all it may not."""

from typing import TYPE_CHECKING

from emdp.lazy import lazy_names
from emdp.sql.translate import Translated, translate

if TYPE_CHECKING:
    from emdp.sql.levels import stated_level, with_level
    from emdp.sql.named import spelled, tables_named
    from emdp.sql.statement import Statement
    from emdp.sql.text import parse
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "emdp.sql.levels": "stated_level with_level",
            "emdp.sql.named": "spelled tables_named",
            "emdp.sql.statement": "Statement",
            "emdp.sql.text": "parse",
        },
    )

__all__ = ["Statement", "Translated", "parse", "spelled", "stated_level", "tables_named", "translate", "with_level"]
