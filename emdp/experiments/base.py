"""Parts of every experiment: rows of measured errors beside a bound, and an honest comparison of them.

A row holds the error of one method at one setting, its mean over independent runs and its 5 % and 95 % quantiles, and
what theory says of that mean. Everything is drawn under the test switch from a public seed: these are simulations on
generated data, and nothing in them is private.

Two guarantees are compared at *equal protection for one stated change* (EMD 1). With ``alpha = ratio * epsilon``, a
change of a person's records by at most ``1/ratio`` in ``d_em`` is covered with ``epsilon`` by both. Any other change is
covered with ``epsilon`` by user-level DP alone; d_EM-DP covers a change by ``d`` with ``alpha d``, which is ``ratio``
times more for a whole bag. So a smaller error of d_EM-DP is paid for, and :func:`verdicts` says where it is not even
smaller.
"""

import json
import math
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from emdp.answers import Answer
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.privacy import Guarantee
from emdp.sessions.session import Session
from emdp.tables import Table

__all__ = [
    "EMD",
    "PROTECTION",
    "ROOM",
    "USER",
    "Experiment",
    "Row",
    "are_alike",
    "asked",
    "ratio_text",
    "row_of",
    "verdicts",
]

Kind = Literal["d_EM-DP", "user-level DP"]
EMD: Kind = "d_EM-DP"
USER: Kind = "user-level DP"
"""The two guarantees that are compared."""

LOW, HIGH = 0.05, 0.95
"""Quantiles over runs."""

ROOM = 1.0 + 1e-9
"""Factor on a budget for one question: the promise may be a rounding above what is asked."""

CLOSE, SIGMAS = 1.05, 3.0
"""Two means are called alike up to this quotient, or this many standard errors of their difference."""

PROTECTION = (
    "Protection is equal for one stated change: d_EM-DP covers a change of at most 1/ratio in d_em with the same "
    "epsilon, and a change of a whole bag only with alpha = ratio * epsilon; user-level DP covers every change."
)
"""Stands under each comparison."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One method at one setting.

    Parameters
    ----------
    panel : str
        What is varied, and the model where several are shown.
    x : float
        The value of what is varied.
    method : str
        Name of the method, in words.
    guarantee : {"d_EM-DP", "user-level DP"}
        What it promises.
    model : {"central", "shuffle", "local"}
        Who sees what.
    measure : str
        Which error.
    parameters : mapping of str to float
        All numbers that the draw depends on.
    error_mean, error_low, error_high : float
        Mean and quantiles of the error over runs.
    standard_error : float
        Of the mean; 0 for a single run.
    runs : int
        How many there were.
    bound : float or None
        What theory says of ``error_mean``.
    bound_source : str
        Where it is from, and whether it is a bound or the value.
    drawn : {"mechanism", "session"}
        By a mechanism alone, or by a session on a table.
    """

    panel: str
    x: float
    method: str
    guarantee: Kind
    model: str
    measure: str
    parameters: Mapping[str, float]
    error_mean: float
    error_low: float
    error_high: float
    standard_error: float
    runs: int
    bound: float | None = None
    bound_source: str = ""
    drawn: str = "mechanism"


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """The outcome of an experiment.

    Parameters
    ----------
    name : str
        As on the command line.
    title : str
        One line.
    rows : tuple of Row
        All measurements.
    across : mapping of str to str
        For each panel that is drawn what its horizontal axis shows.
    measures : tuple of str
        The measures that are drawn and compared.
    sentences : tuple of str
        Findings and caveats, for the printed text and the caption.
    seed : int
        The public seed.
    """

    name: str
    title: str
    rows: tuple[Row, ...]
    across: Mapping[str, str]
    measures: tuple[str, ...]
    sentences: tuple[str, ...]
    seed: int = 0
    is_full: bool = False
    frame: pl.DataFrame = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.rows:
            raise UsageError("rows must not be empty; pass at least one measurement.")
        object.__setattr__(self, "frame", _frame(self.name, self.seed, self.rows))


def row_of(errors: npt.ArrayLike, **fields: Any) -> Row:
    """Return a row from the errors of independent runs.

    >>> row = row_of([1.0, 3.0], panel="n", x=1.0, method="a", guarantee=EMD, model="central", measure="l1",
    ...              parameters={})
    >>> row.error_mean, round(row.error_low, 3), row.runs
    (2.0, 1.1, 2)
    """
    found = np.asarray(errors, dtype=np.float64)
    low, high = np.quantile(found, (LOW, HIGH)).tolist()
    deviation = float(found.std(ddof=1)) if found.size > 1 else 0.0
    return Row(
        error_mean=float(found.mean()), error_low=low, error_high=high,
        standard_error=deviation / math.sqrt(found.size), runs=found.size, **fields,
    )  # fmt: skip


def asked(table: Table, budget: Guarantee, question: Callable[[Session], Answer]) -> Answer:
    """Return the answer to one question through a session of its own, with a ledger that is thrown away."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Session(table, budget=budget, ledger=os.path.join(folder, "experiment.ledger")) as session,
    ):
        return question(session)


def verdicts(rows: Iterable[Row], *measures: str) -> tuple[str, ...]:
    """Say, for each panel and model, where the best method of each guarantee has the smaller error, and by how much.

    Parameters
    ----------
    rows : iterable of Row
        Of any panels; those drawn by a session are left out, as they stand for one run.
    *measures : str
        The errors that count, one a panel.

    Returns
    -------
    tuple of str
        One sentence for each panel and model in which both guarantees were measured.
    """
    panels: dict[str, dict[float, dict[str, Row]]] = {}
    for row in rows:
        if row.measure in measures and row.drawn == "mechanism":
            place = row.panel if row.model in row.panel else f"{row.panel}, {row.model} model"
            best = panels.setdefault(place, {}).setdefault(row.x, {})
            if row.guarantee not in best or row.error_mean < best[row.guarantee].error_mean:
                best[row.guarantee] = row
    found = (_verdict(panel, points) for panel, points in panels.items())
    return tuple(sentence for sentence in found if sentence)


def are_alike(first: Row, second: Row) -> bool:
    """Say whether two means cannot be told apart: within 5 %, or within 3 standard errors of their difference."""
    larger, smaller = max(first.error_mean, second.error_mean), min(first.error_mean, second.error_mean)
    spread = math.hypot(first.standard_error, second.standard_error)
    return larger <= CLOSE * smaller or larger - smaller <= SIGMAS * spread


def ratio_text(value: float) -> str:
    """Return a factor as readers write it.

    >>> ratio_text(1.234), ratio_text(123.4)
    ('1.2', '123')
    """
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


def _verdict(panel: str, points: Mapping[float, Mapping[str, Row]]) -> str:
    both = {x: (best[USER], best[EMD]) for x, best in sorted(points.items()) if USER in best and EMD in best}
    if not both:
        return ""
    same = [x for x, (user, emd) in both.items() if are_alike(user, emd)]
    quotients = {x: user.error_mean / emd.error_mean for x, (user, emd) in both.items() if x not in same}
    user = {x: 1.0 / quotient for x, quotient in quotients.items() if quotient < 1.0}
    emd = {x: quotient for x, quotient in quotients.items() if quotient > 1.0}
    parts = [f"user-level DP has the smaller error {_where(user)}", f"d_EM-DP {_where(emd)}"]
    if same:
        parts.append(f"not told apart (5 %, or 3 standard errors) at {_listed(same)}")
    return f"{panel}: {'; '.join(parts)}."


def _where(quotients: Mapping[float, float]) -> str:
    return f"at {_listed(quotients)} (up to {ratio_text(max(quotients.values()))}x)" if quotients else "nowhere"


def _listed(places: Iterable[float]) -> str:
    return ", ".join(f"{place:g}" for place in places)


def _frame(name: str, seed: int, rows: Sequence[Row]) -> pl.DataFrame:
    keys = sorted({key for row in rows for key in row.parameters})
    columns: dict[str, list[Any]] = {
        "experiment": [name] * len(rows),
        "panel": [row.panel for row in rows],
        "x": [float(row.x) for row in rows],
        "method": [row.method for row in rows],
        "guarantee": [row.guarantee for row in rows],
        "model": [row.model for row in rows],
        "measure": [row.measure for row in rows],
    }
    columns |= {key: [_number(row.parameters.get(key)) for row in rows] for key in keys}
    columns |= {
        "parameters": [json.dumps(dict(row.parameters), sort_keys=True) for row in rows],
        "error_mean": [row.error_mean for row in rows],
        "error_low": [row.error_low for row in rows],
        "error_high": [row.error_high for row in rows],
        "standard_error": [row.standard_error for row in rows],
        "runs": [row.runs for row in rows],
        "bound": [row.bound for row in rows],
        "bound_source": [row.bound_source for row in rows],
        "drawn": [row.drawn for row in rows],
        "seed": [seed] * len(rows),
        "is_private": [False] * len(rows),
    }
    return pl.DataFrame(columns, strict=False)


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)
