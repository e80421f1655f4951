"""Findings of an audit: claimed losses beside lower bounds of the true ones."""

import math
from dataclasses import asdict
from typing import Any

import polars as pl

from emdp.base.checks import check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.text import Text

__all__ = ["COLUMNS_SHOWN", "Agreement", "AuditRow", "Findings"]

LEAST_P_VALUE = 1e-6
"""Below it the draws in bulk and the answers of sessions are taken for different laws."""

SHOWN = 4
"""Digits of numbers in Markdown."""


@dataclass(frozen=True)
class AuditRow:
    """One claim and what became of it.

    Parameters
    ----------
    query : str
        What was asked.
    mechanism : str
        What released it.
    model : str
        central, local or shuffle.
    users : int
        Public number of users of the audited tables.
    distance : float
        Exact ``d_em`` of the changed user's two bags, rounded up.
    claimed_epsilon, delta : float
        The promise at this distance.
    audited_epsilon : float
        Lower bound of the true epsilon at this delta, at least 0.
    test : str
        The event that gave it.
    trials : int
        Releases on each table; half of them chose the event.
    confidence : float
        With which all bounds of the report hold together.
    """

    query: str
    mechanism: str
    model: str
    users: int
    distance: float
    claimed_epsilon: float
    delta: float
    audited_epsilon: float
    test: str
    trials: int
    confidence: float

    @property
    def ratio(self) -> float:
        """Audited over claimed: above 1 the promise is broken, far below 1 the audit saw little of the loss."""
        if self.claimed_epsilon == 0:
            return math.inf if self.audited_epsilon > 0 else 1.0
        return self.audited_epsilon / self.claimed_epsilon

    @property
    def is_broken(self) -> bool:
        """Whether the bound exceeds the claim."""
        return self.audited_epsilon > self.claimed_epsilon


@dataclass(frozen=True)
class Agreement:
    """Comparison of answers of whole sessions, with a ledger and all checks, with the law of the draws in bulk.

    Parameters
    ----------
    query : str
        What was asked.
    sessions : int
        Answers of a session.
    draws : int
        Draws in bulk that they were compared with.
    p_value : float
        Of the two-sample test of Kolmogorov and Smirnov on one number of each answer; of a measure in blocks the least
        of those on a number of each block, times how many there are.
    """

    query: str
    sessions: int
    draws: int
    p_value: float


@dataclass(frozen=True)
class Findings:
    """The result of an audit; every number in it is from made records, so that it may be published.

    Parameters
    ----------
    rows : tuple of AuditRow
        One for each query, distance and delta.
    confidence : float
        Probability with which no bound exceeds the true epsilon, all rows together.
    skipped : tuple of str
        What could not be audited, each with the reason.
    """

    rows: tuple[AuditRow, ...]
    confidence: float
    agreements: tuple[Agreement, ...] = ()
    title: str = "Audit"
    skipped: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_unit_interval("confidence", self.confidence)

    @property
    def frame(self) -> pl.DataFrame:
        """One row a claim.

        Columns query, mechanism, model, users, distance (``d_em``), claimed_epsilon, delta, audited_epsilon, ratio,
        test, trials, confidence, broken.
        """
        rows = [{**asdict(row), "ratio": row.ratio, "broken": row.is_broken} for row in self.rows]
        order = list(SCHEMA)
        return pl.DataFrame(rows, schema=SCHEMA).select(order)

    @property
    def broken(self) -> tuple[AuditRow, ...]:
        """The rows whose bound exceeds the claim."""
        return tuple(row for row in self.rows if row.is_broken)

    @property
    def disagreements(self) -> tuple[Agreement, ...]:
        """The queries of which sessions answer by another law than was audited."""
        return tuple(one for one in self.agreements if one.p_value < LEAST_P_VALUE)

    @property
    def is_sound(self) -> bool:
        """Whether no promise was seen broken, and what was audited is what sessions do."""
        return not self.broken and not self.disagreements

    @property
    def verdict(self) -> str:
        """The outcome in a sentence."""
        if self.broken:
            worst = max(self.broken, key=lambda row: row.ratio)
            return (
                f"a promise was broken: {len(self.broken)} of {len(self.rows)} bounds exceed what is claimed, by most "
                f"for {worst.mechanism} at d_em = {worst.distance:.4g}, epsilon at least {worst.audited_epsilon:.4g} "
                f"where {worst.claimed_epsilon:.4g} is claimed"
            )
        if self.disagreements:
            return f"sessions answer {self.disagreements[0].query} by another law than was audited"
        return f"no promise was broken: all {len(self.rows)} bounds are at or below what is claimed"

    def markdown(self) -> Text:
        """Return the rows as a Markdown table, numbers with four digits."""
        shown = self.frame.select(*COLUMNS_SHOWN)
        lines = [f"| {' | '.join(shown.columns)} |", f"|{'|'.join(' --- ' for _ in shown.columns)}|"]
        lines += [f"| {' | '.join(map(_shown, row))} |" for row in shown.iter_rows()]
        return Text("\n".join(lines) + "\n")


SCHEMA: dict[str, Any] = {
    "query": pl.String, "mechanism": pl.String, "model": pl.String, "users": pl.Int64, "distance": pl.Float64,
    "claimed_epsilon": pl.Float64, "delta": pl.Float64, "audited_epsilon": pl.Float64, "ratio": pl.Float64,
    "test": pl.String, "trials": pl.Int64, "confidence": pl.Float64, "broken": pl.Boolean,
}  # fmt: skip

COLUMNS_SHOWN = (
    "query", "mechanism", "model", "users", "distance", "claimed_epsilon", "delta", "audited_epsilon", "ratio", "test",
    "trials",
)  # fmt: skip


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.{SHOWN}g}"
    return " ".join(str(value).split()).replace("|", "\\|")
