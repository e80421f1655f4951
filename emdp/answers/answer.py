"""What leaves a session: noisy numbers with the promise that holds for them, or a preview of both."""

from dataclasses import dataclass, field
from typing import Any

import polars as pl

from emdp.checks import check_choice, check_unit_interval
from emdp.errors import UsageError
from emdp.mechanisms import AdditiveMechanism
from emdp.privacy import Guarantee

__all__ = ["DEFAULT_LEVEL", "Answer", "ColumnDescription", "Preview", "Receipt"]

DEFAULT_LEVEL = 0.95
"""Coverage of the intervals that stand in ``Answer.frame``."""


@dataclass(frozen=True)
class ColumnDescription:
    """What is public about one column of an answer.

    Parameters
    ----------
    name : str
        The column's name.
    expression : str
        The expression, as text.
    lipschitz : float
        Its constant per unit of ``d_X`` (EMD 2).
    low, high : float
        Its range on the public domain.
    unit : str or None
        Its natural unit, where it has one.
    """

    name: str
    expression: str
    lipschitz: float
    low: float
    high: float
    unit: str | None = None


@dataclass(frozen=True)
class Receipt:
    """The ledger entry that paid for a release: where it stands and its hash."""

    ledger: str
    sequence: int
    hash: str


@dataclass(frozen=True)
class _Description:
    """What an answer and its preview have in common: everything but the data."""

    query: str
    columns: tuple[ColumnDescription, ...]
    mechanism: AdditiveMechanism
    guarantee: Guarantee
    choice: str
    users: int
    assumptions: tuple[str, ...]

    def _explain_lines(self) -> list[str]:
        mechanism = self.mechanism
        lines = [
            f"query        {self.query}",
            f"guarantee    {self.guarantee}",
            f"mechanism    {self.choice}",
            f"theorem      {mechanism.theorem}",
            f"users        {self.users} (public); every user counts once, whatever the number of records",
            f"sensitivity  {mechanism.sensitivity:.6g} per unit of d_em",
            f"noise        scale {mechanism.scale:.6g}, on a grid of {float(mechanism.grid):.3g}",
        ]
        for column in self.columns:
            lines.append(
                f"column       {column.name} = mean of {column.expression}: lipschitz {column.lipschitz:.6g}, "
                f"range [{column.low:.6g}, {column.high:.6g}]"
            )
        lines.extend(f"assumes      {text}" for text in self.assumptions)
        lines.append(f"caveat       {slack_caveat(mechanism)}")
        return lines


@dataclass(frozen=True, repr=False)
class Preview(_Description):
    """What a query would cost and how far off it would be; no private value was touched for it.

    Attributes
    ----------
    frame : polars.DataFrame
        One row a column of the answer: query, expression, lipschitz, low, high, noise_scale, expected_error,
        interval_95 (half-width), alpha, share (of the statement's alpha), affordable (how many such statements
        the budget still covers).
    """

    affordable: int = 0
    alpha: float = 0.0

    @property
    def frame(self) -> pl.DataFrame:
        """The preview as a table; see the class."""
        count = len(self.columns)
        half_width = self.mechanism.interval_half_width(DEFAULT_LEVEL)
        return pl.DataFrame(
            {
                "query": [column.name for column in self.columns],
                "expression": [column.expression for column in self.columns],
                "lipschitz": [column.lipschitz for column in self.columns],
                "low": [column.low for column in self.columns],
                "high": [column.high for column in self.columns],
                "noise_scale": [self.mechanism.scale] * count,
                "expected_error": [self.mechanism.expected_absolute_error] * count,
                "interval_95": [half_width] * count,
                "alpha": [self.alpha] * count,
                # One vector release pays once for all its columns.
                "share": [1.0] * count,
                "affordable": [self.affordable] * count,
            }
        )

    def explain(self) -> str:
        """Return the whole derivation as text, a line a fact."""
        return "\n".join([*self._explain_lines(), f"affordable   {self.affordable} such queries"])

    def __repr__(self) -> str:
        return self.explain()


@dataclass(frozen=True, repr=False)
class Answer(_Description):
    """A released answer; it cannot be built without the ledger entry that paid for it.

    Attributes
    ----------
    frame : polars.DataFrame
        One row; for each column of the query its value, ``<name>_low`` and ``<name>_high`` (95 %).
    guarantee : Guarantee
        What holds for this release.
    noise : AdditiveMechanism
        The law of the noise: its ``scale``, ``grid``, ``standard_deviation``.
    spent : Guarantee
        What the release was charged.
    exact : dict of str to float
        The values before noise, under the test switch alone.
    """

    values: tuple[float, ...] = ()
    receipt: Receipt | None = None
    _exact: tuple[float, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.receipt is None:
            raise UsageError("receipt must be the ledger entry that paid for the answer; ask through a session.")

    @property
    def frame(self) -> pl.DataFrame:
        """The answer as a table; see the class."""
        half_width = self.mechanism.interval_half_width(DEFAULT_LEVEL)
        data: dict[str, list[float]] = {}
        for column, value in zip(self.columns, self.values, strict=True):
            data[column.name] = [value]
            data[f"{column.name}_low"] = [value - half_width]
            data[f"{column.name}_high"] = [value + half_width]
        return pl.DataFrame(data)

    @property
    def noise(self) -> AdditiveMechanism:
        """The mechanism whose noise was added."""
        return self.mechanism

    @property
    def spent(self) -> Guarantee:
        """The guarantee that was charged to the ledger for this answer."""
        return self.guarantee

    @property
    def is_private(self) -> bool:
        """Whether the guarantee holds: False for answers made under the test switch."""
        return self._exact is None

    @property
    def exact(self) -> dict[str, float]:
        """The values before noise, which exist under the test switch alone.

        Raises
        ------
        UsageError
            For a private answer.
        """
        if self._exact is None:
            raise UsageError("exact exists only for answers made inside emdp.testing.seeded; ask again inside it.")
        return {column.name: value for column, value in zip(self.columns, self._exact, strict=True)}

    @property
    def caveats(self) -> tuple[str, ...]:
        """What a reader must know besides the guarantee."""
        switch = () if self.is_private else ("made under the test switch: NOT PRIVATE",)
        return (*switch, slack_caveat(self.mechanism))

    def interval(self, level: float = DEFAULT_LEVEL, *, coverage: str = "each") -> pl.DataFrame:
        """Return intervals that contain the exact values with probability ``level``, from the noise's exact law.

        Parameters
        ----------
        level : float
            Coverage in (0, 1).
        coverage : {"each", "all"}
            Whether every column's interval has that coverage alone, or all of them together.

        Returns
        -------
        polars.DataFrame
            Columns query, value, low, high; one row a column of the answer.

        Raises
        ------
        UsageError
            If an argument is out of range.
        """
        level = check_unit_interval("level", level)
        check_choice("coverage", coverage, ("each", "all"))
        mechanism = self.mechanism
        half_width = (
            mechanism.interval_half_width(level) if coverage == "each" else mechanism.simultaneous_half_width(level)
        )
        return pl.DataFrame(
            {
                "query": [column.name for column in self.columns],
                "value": list(self.values),
                "low": [value - half_width for value in self.values],
                "high": [value + half_width for value in self.values],
            }
        )

    def explain(self) -> str:
        """Return the whole derivation as text, a line a fact, with the ledger entry that paid."""
        lines = self._explain_lines()
        if not self.is_private:
            lines.insert(0, "NOT PRIVATE  made under the test switch, with reproducible noise")
        if self.receipt is not None:
            lines.append(f"paid by      entry {self.receipt.sequence} of {self.receipt.ledger}, {self.receipt.hash}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        head = "" if self.is_private else "NOT PRIVATE (test switch)\n"
        return f"{head}{self.frame}\n{self.guarantee}"

    def _repr_html_(self) -> Any:
        head = "" if self.is_private else "<p>NOT PRIVATE (test switch)</p>"
        return f"{head}{self.frame._repr_html_()}<p>{self.guarantee}</p>"


def slack_caveat(mechanism: AdditiveMechanism) -> str:
    """Say what rounding and floating-point sums cost (EMD 8.5), as one clause."""
    return (
        f"rounding to the grid and floating-point evaluation add at most {mechanism.slack_epsilon:.2g} to epsilon "
        f"and {mechanism.slack_delta:.2g} to delta at any distance"
    )
