"""SQL text to expressions: what a statement may say, and a named refusal for all it may not."""

from emdp.sql.levels import stated_level, with_level
from emdp.sql.named import spelled, tables_named
from emdp.sql.statement import Statement
from emdp.sql.text import parse
from emdp.sql.translate import Translated, translate

__all__ = ["Statement", "Translated", "parse", "spelled", "stated_level", "tables_named", "translate", "with_level"]
