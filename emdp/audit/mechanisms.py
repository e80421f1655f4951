"""The audit of everything: each mechanism on queries made for a table's space, and each randomizer of single items."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from emdp.audit.claims import LOSSES
from emdp.audit.neighbours import outward
from emdp.audit.points import PublicRecords, even_points
from emdp.audit.report import AuditReport, AuditRow, combined
from emdp.audit.run import DEFAULT_TRIALS, END_TO_END, Progress, audit
from emdp.audit.suite import Case, suite
from emdp.audit.tester import KNOWN, LEAST_TRIALS, Scores, find_losses
from emdp.base.checks import check_count, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import EmdpError, UsageError
from emdp.mechanisms.items.finite import FiniteRandomizer
from emdp.mechanisms.items.planar_laplace import PlanarLaplace
from emdp.mechanisms.items.randomizer import Randomizer
from emdp.sessions.session import Session
from emdp.spaces import Categories, Geo, Product
from emdp.tables import Table, read

__all__ = ["audit_mechanisms", "audit_randomizer", "generated_table"]

MOST_ITEMS = 200
"""Items among whose pairs the worst are looked for."""

MOST_OUTPUTS = 256
"""Outputs up to which their own histogram is tested, besides the likelihood ratio."""

GENERATED_USERS = 1000

BEYOND = 2.0**60
"""Number that stands for the point elsewhere among outputs."""


@dataclass(frozen=True, eq=False)
class _Tried:
    distance: float
    claimed: float
    scores: Scores


def audit_mechanisms(
    source: Session | Table | None = None,
    *,
    distances: Sequence[float] | None = None,
    trials: int = DEFAULT_TRIALS,
    confidence: float = 0.95,
    end_to_end: int = END_TO_END,
    progress: Progress | None = None,
) -> AuditReport:
    """Audit every mechanism and every randomizer on a table's space; see :func:`emdp.audit.audit`.

    The queries are made for the space: means and vectors of its functions under Laplace, K-norm and Gaussian noise, at
    user level and in the local model, quantiles, range-then-mean in all models, histograms by noise and by messages,
    item-wise releases with sampled records and in the shuffle model. Frequent strings and linear fits run on made
    columns, in all models. Randomizers of finite spaces run on a finite part of the space, or on a grid over it. What
    is mixed or pooled is audited with few users too: among many, a message is hidden better than can be counted. What
    the space has no place for is listed in ``skipped`` with the reason.

    Parameters
    ----------
    source : Session or Table, optional
        Whose space; by default a generated one of places and kinds.
    distances, trials, confidence, end_to_end, progress
        As for :func:`emdp.audit.audit`; all bounds together hold with at least this confidence.

    Returns
    -------
    AuditReport

    Raises
    ------
    UsageError
        If an argument is malformed.
    """
    table = generated_table() if source is None else source.table if isinstance(source, Session) else source
    if not isinstance(table, Table):
        raise UsageError(f"source must be a Session or a Table, not {type(table).__name__}; pass one, or nothing.")
    check_unit_interval("confidence", confidence)
    cases = suite(table)
    own = 1.0 - (1.0 - confidence) / len(cases)
    reports: list[AuditReport] = []
    skipped: list[str] = []
    for done, case in enumerate(cases):
        if progress is not None:
            progress(done, len(cases), case.title)
        try:
            reports.append(_audited(case, distances, trials, own, end_to_end))
        except EmdpError as error:
            skipped.append(f"{case.title}: {error}")
    return combined(tuple(reports), title=f"Audit of all mechanisms on {table.name}", skipped=tuple(skipped))


def audit_randomizer(
    randomizer: Randomizer,
    *,
    distances: Sequence[float] | None = None,
    trials: int = DEFAULT_TRIALS,
    confidence: float = 0.95,
    label: str = "one item",
) -> AuditReport:
    """Audit a randomizer of single items: ``alpha0 d_X`` is claimed for two items, which are two bags of one record.

    Parameters
    ----------
    randomizer : Randomizer
        The randomizer; its own ``draw`` makes the outputs.
    distances : sequence of float, optional
        Of items, in ``d_X``; between a distance and 0 the pair of items with the largest ratio is taken.
    trials : int
        Draws for each of the two items.
    confidence : float
        Of all bounds together.
    label : str
        What rows say was asked.

    Raises
    ------
    UsageError
        If an argument is malformed, or the randomizer is of no known kind.

    >>> from emdp.mechanisms.items.krr import KRR
    >>> report = audit_randomizer(KRR(Categories("c", ["a", "b", "c"]), 1.0), trials=20_000)
    >>> row, = report.rows
    >>> row.distance, 0.8 < row.audited_epsilon <= row.claimed_epsilon <= 1.0
    (1.0, True)
    """
    check_unit_interval("confidence", confidence)
    if check_count("trials", trials) < LEAST_TRIALS:
        raise UsageError(f"trials must be at least {LEAST_TRIALS}, got {trials}; pass more.")
    wanted = tuple(distances) if distances else tuple(min(loss / randomizer.alpha0, 1.0) for loss in LOSSES)
    if isinstance(randomizer, FiniteRandomizer):
        tried = list(_finite(randomizer, wanted, trials))
    elif isinstance(randomizer, PlanarLaplace):
        tried = list(_planar(randomizer, wanted, trials))
    else:
        raise UsageError(f"an audit does not know {type(randomizer).__name__}; pass one of emdp.randomizers.")
    if not tried:
        raise UsageError("no two items are as near as distances; pass larger ones, or leave them out.")
    failure = (1.0 - confidence) / len(tried)
    rows = []
    for one in tried:
        (finding,) = find_losses(one.scores, [0.0], failure)
        rows.append(
            AuditRow(
                label, randomizer.name, "local", 1, one.distance, one.claimed, 0.0, finding.epsilon, finding.test,
                one.scores.trials, confidence,
            )
        )  # fmt: skip
    return AuditReport(tuple(rows), confidence, title=f"Audit of {randomizer.name}")


def generated_table() -> Table:
    """Return a table of one made record, with a space of places and kinds.

    >>> generated_table().n
    1000
    """
    places = Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km", on_invalid="clamp")
    kinds = Categories("kind", ["bar", "home", "office", "park", "station"], on_invalid="neutral")
    rows = {"user_id": [0], "lat": [40.7], "lon": [-74.0], "kind": ["park"]}
    return read(rows, user="user_id", space=Product(places, kinds), users=GENERATED_USERS, name="generated")


def _audited(
    case: Case, distances: Sequence[float] | None, trials: int, confidence: float, end_to_end: int
) -> AuditReport:
    if case.randomizer is not None:
        made: Callable[[], Any] = case.randomizer
        return audit_randomizer(made(), distances=distances, trials=trials, confidence=confidence, label=case.title)
    if case.table is None or case.query is None:
        raise UsageError(case.reason)
    found = audit(
        case.table, case.query, distances=distances, trials=trials, confidence=confidence, end_to_end=end_to_end
    )
    return replace(
        found,
        rows=tuple(replace(row, query=case.title) for row in found.rows),
        agreements=tuple(replace(one, query=case.title) for one in found.agreements),
    )


def _finite(randomizer: FiniteRandomizer, distances: Sequence[float], trials: int) -> Iterator[_Tried]:
    codes = np.unique(np.linspace(0, randomizer.items.count - 1, MOST_ITEMS).astype(np.int64))
    logarithms = np.log(randomizer.weights.astype(np.float64))
    apart = randomizer.items.matrix[np.ix_(codes, codes)]
    gain = np.array([np.abs(logarithms[codes] - logarithms[code]).max(axis=1) for code in codes])
    seen = set()
    for distance in distances:
        near = np.where((apart > 0) & (apart <= distance * (1 + 1e-12)), gain, -1.0)
        i, j = np.unravel_index(np.argmax(near), near.shape)
        if near[i, j] < 0 or (i, j) in seen:
            continue
        seen.add((i, j))
        ratio = logarithms[codes[i]] - logarithms[codes[j]]
        drawn = [randomizer.draw(np.full(trials, codes[place], dtype=np.int64)) for place in (i, j)]
        columns = [np.stack([np.round(ratio[one], 9), one.astype(np.float64)], axis=1) for one in drawn]
        names = (KNOWN, "output")
        if len(ratio) > MOST_OUTPUTS:
            columns, names = [one[:, :1] for one in columns], names[:1]  # type: ignore[assignment]
        exact = outward(float(apart[i, j]))
        yield _Tried(exact, randomizer.alpha0 * exact, Scores(columns[0], columns[1], names))


def _planar(randomizer: PlanarLaplace, distances: Sequence[float], trials: int) -> Iterator[_Tried]:
    space = randomizer.space
    rows = {name: [0.0] for name in space.columns}
    records = PublicRecords(read({"user": [1], **rows}, user="user", space=space.items_space, users=1))
    _, _, items = records.kept(even_points(MOST_ITEMS, records.dimension))
    if space.elsewhere is not None:
        items = np.vstack([items, space.neutral_item])
    apart = space.distances(items, items)
    for distance in distances:
        # The pair whose distance comes nearest to what is wanted, from below.
        i, j = np.unravel_index(np.argmax(np.where(apart <= distance, apart, -1.0)), apart.shape)
        if space.elsewhere is not None and distance >= space.elsewhere:
            # What is told of a record that is somewhere, and of one that is not.
            i, j = np.intp(0), np.intp(len(items) - 1)
        if apart[i, j] <= 0:
            continue
        drawn = [randomizer.draw(np.repeat(items[place][None, :], trials, axis=0)) for place in (i, j)]
        scores = []
        for outputs in drawn:
            away = space.natural_distances(outputs, items[[i, j]])
            # An output that is elsewhere is a number beyond all others.
            told = np.where(np.isnan(outputs), BEYOND, outputs)
            scores.append(np.column_stack([np.round(away[:, 1] - away[:, 0], 9), told]))
        exact = outward(float(apart[i, j]))
        claimed = randomizer.alpha0 * (exact + randomizer.slack_distance)
        names = ("difference of distances", *space.columns)
        yield _Tried(exact, claimed, Scores(scores[0], scores[1], names))
