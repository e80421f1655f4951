"""SQL text to expressions: what a statement may say, and a named refusal for all it may not."""

from typing import TYPE_CHECKING

import sqlglot

from emdp.base.lazy import lazy_names
from emdp.base.versions import check_version

# Before the modules that ask for names which other versions lack.
check_version("sqlglot", sqlglot.__version__)

from emdp.sql.translate import Translated, translate  # noqa: E402

if TYPE_CHECKING:
    from emdp.sql.measured import measures_named, reads_measures
    from emdp.sql.named import spelled, tables_named
    from emdp.sql.owned.routing import rows_instead
    from emdp.sql.reader import parse
    from emdp.sql.text.levels import stated_level, with_level
    from emdp.sql.text.parameters import filled_in
    from emdp.sql.text.statement import Statement
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "emdp.sql.text.levels": "stated_level with_level",
            "emdp.sql.measured": "measures_named reads_measures",
            "emdp.sql.named": "spelled tables_named",
            "emdp.sql.text.parameters": "filled_in",
            "emdp.sql.text.statement": "Statement",
            "emdp.sql.owned.routing": "rows_instead",
            "emdp.sql.reader": "parse",
        },
    )

__all__ = [
    "Statement",
    "Translated",
    "filled_in",
    "measures_named",
    "parse",
    "reads_measures",
    "rows_instead",
    "spelled",
    "stated_level",
    "tables_named",
    "translate",
    "with_level",
]
