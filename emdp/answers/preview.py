"""Cost of statements and expected error of their answers, from public numbers alone."""

import polars as pl

from emdp.answers.description import Description, on_one_line
from emdp.base.classes import dataclass
from emdp.base.text import Text
from emdp.privacy.account.filter import UNLIMITED
from emdp.questions.columns import PlannedColumn

__all__ = ["Preview", "PreviewedStatement"]


@dataclass(frozen=True, repr=False)
class PreviewedStatement(Description):
    """One statement of a preview.

    Parameters
    ----------
    affordable : int or None
        How many such statements the budget still covers; None where no budget was looked at.
    """

    affordable: int | None = None


@dataclass(frozen=True, repr=False)
class Preview:
    """Cost and expected error of one or several statements; no private value was touched.

    Parameters
    ----------
    statements : tuple of PreviewedStatement
        In order.

    Attributes
    ----------
    frame : polars.DataFrame
        One row a column of the answers: query, expression (as it was written), lipschitz, low, high, noise_scale,
        expected_error, interval_95 (half-width), alpha (of the statement), share (of the statement's alpha), affordable
        (how many such statements the budget still covers, each by itself; 2^63 - 1 of those that cost nothing).
        Of a statement in stages the columns of each stage stand as ``stage.column``.
        Statements follow one another; ``statements`` has them apart.
    """

    statements: tuple[PreviewedStatement, ...]

    @property
    def frame(self) -> pl.DataFrame:
        """The preview as a table; see the class."""
        rows = [
            {
                "query": f"{label}.{column.name}" if label else column.name,
                "expression": on_one_line(" ".join(column.written.split()) or column.expression),
                "lipschitz": column.lipschitz,
                "low": column.low,
                "high": column.high,
                "noise_scale": column.noise_scale,
                "expected_error": column.expected_error,
                "interval_95": column.interval_95,
                "alpha": statement.guarantee.level,
                "share": column.share * share,
                "affordable": statement.affordable,
            }
            for statement in self.statements
            for label, share, columns in _columns(statement)
            for column in columns
        ]
        return pl.DataFrame(rows, schema=SCHEMA)

    @property
    def comparison(self) -> pl.DataFrame:
        """The methods that were compared, where several were: statement (from 1), then as :attr:`Answer.comparison`."""
        tables = [
            pl.DataFrame({"statement": pl.Series([number] * len(own), dtype=pl.Int64)}).hstack(own)
            for number, own in enumerate((one.comparison for one in self.statements), start=1)
        ]
        return pl.concat(tables)

    def explain(self) -> Text:
        """Return the whole derivation as text, a line a fact."""
        blocks = []
        for statement in self.statements:
            lines = statement.explain_lines()
            if statement.affordable is not None:
                is_free = statement.affordable >= UNLIMITED
                lines.append(f"affordable   {'any number of' if is_free else statement.affordable} such queries")
            blocks.append("\n".join(lines))
        return Text("\n\n".join(blocks))

    def __repr__(self) -> str:
        return str(self.explain())

    def _repr_html_(self) -> str:
        # Loaded where it is needed.
        from emdp.base.html import frame_html

        note = "interval_95 is half the width of the 95 % interval; no record was read, and nothing was spent"
        return frame_html(self.frame, caption=note)


def _columns(statement: PreviewedStatement) -> list[tuple[str, float, tuple[PlannedColumn, ...]]]:
    """Return the columns of each stage with what the statement calls it and its share, or those of the answer."""
    if not statement.parts:
        return [("", 1.0, statement.columns)]
    return [(part.label, part.share, part.columns) for part in statement.parts]


SCHEMA = {
    "query": pl.String,
    "expression": pl.String,
    "lipschitz": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "noise_scale": pl.Float64,
    "expected_error": pl.Float64,
    "interval_95": pl.Float64,
    "alpha": pl.Float64,
    "share": pl.Float64,
    "affordable": pl.Int64,
}
"""Columns of a preview's frame."""
