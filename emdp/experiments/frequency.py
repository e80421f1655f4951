"""``freq-local`` and ``freq-central``: frequencies on clusters against alpha/epsilon, k, m and n (EMD 6).

One number is varied, the others stay at :data:`BASE`. One point of each experiment is also drawn through a session on a
table of the same records: all of it, from reading to decoding, must give the error that the mechanism alone gives.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from emdp.experiments.base import (
    EMD,
    PROTECTION,
    ROOM,
    USER,
    Experiment,
    Kind,
    Row,
    are_alike,
    asked,
    ratio_text,
    row_of,
    verdicts,
)
from emdp.experiments.clustered import PROJECTED, RAW, People, Setting, draw_people, measure
from emdp.privacy import EmdDP, Guarantee, UserDP
from emdp.questions import frequencies
from emdp.sessions.session import read
from emdp.transport import d_em
from emdp.transport.kr_norm import cluster_norm
from emdp.transport.simplex import project_to_simplex

__all__ = ["BASE", "CENTRAL", "LOCAL", "run_central", "run_local", "session_rows"]

BASE = Setting()
"""Setting that is not varied."""

CENTRAL = ("item-wise", "item-wise, alpha = epsilon", "histogram", "user histogram", "user shuffled")
LOCAL = ("local item-wise", "message", "user message", "user records")
"""Methods of the two experiments, as keys of ``METHODS``."""

SMALL: Mapping[str, Sequence[Mapping[str, float]]] = {
    "alpha/epsilon": [{"ratio": ratio} for ratio in (1, 2, 4, 10, 30, 100, 300)],
    "k": [{"clusters": clusters} for clusters in (2, 5, 10, 25)],
    "m": [{"m": m} for m in (10, 100, 300)],
    "n": [{"n": n} for n in (1000, 10_000, 50_000, 200_000)],
}
FULL: Mapping[str, Sequence[Mapping[str, float]]] = {
    "alpha/epsilon": [{"ratio": ratio} for ratio in (1, 2, 3, 4, 6, 10, 20, 30, 60, 100, 200, 300, 1000)],
    "k": [{"clusters": clusters} for clusters in (2, 5, 10, 25, 60, 200)],
    "m": [{"m": m} for m in (3, 10, 30, 100, 300, 1000)],
    "n": [{"n": n} for n in (500, 2000, 5000, 20_000, 100_000, 200_000)],
}
"""Settings that are varied, in the small and the full size."""

RUNS, FULL_RUNS = 20, 200
"""Independent draws at each point."""

DIFFERENT_LAW = (
    f"The panels over k, m and n are at alpha/epsilon = {BASE.ratio:g}; the first one says where user-level DP wins. "
    "Item-wise release is a bounded guarantee: every user has the public number m of records. The other methods hold "
    "for any sizes."
)


def run_local(*, full: bool = False, seed: int = 0, runs: int | None = None) -> Experiment:
    """Return the comparison in the local model; call it inside the test switch.

    Parameters
    ----------
    full : bool
        Whether to take the full sizes.
    runs : int, optional
        Draws at each point.
    """
    rows = _rows(LOCAL, full=full, runs=runs)
    return Experiment(
        name="freq-local",
        title="Frequencies in the local model: d_EM-DP against user-level DP",
        rows=(*rows, *session_rows(BASE, "local")),
        across=_across(rows),
        measures=(PROJECTED,),
        sentences=(
            *verdicts(rows, PROJECTED),
            *_alone(rows, "GKRR on every record", "local"),
            DIFFERENT_LAW,
            PROTECTION,
        ),
        seed=seed,
        is_full=full,
    )


def run_central(*, full: bool = False, seed: int = 0, runs: int | None = None) -> Experiment:
    """Return the comparison in the central and the shuffle model; parameters as of :func:`run_local`."""
    rows = _rows(CENTRAL, full=full, runs=runs)
    return Experiment(
        name="freq-central",
        title="Frequencies in the central and shuffle models: d_EM-DP against user-level DP",
        rows=(*rows, *session_rows(BASE, "central")),
        across=_across(rows),
        measures=(PROJECTED,),
        sentences=(
            *verdicts(rows, PROJECTED),
            *_alone(rows, "GKRR on all records, shuffled", "central"),
            "Item-wise release trusts only a shuffler, Laplace noise a curator. At alpha = epsilon item-wise release "
            "is user-level DP, for pairs of bags of equal size.",
            DIFFERENT_LAW,
            PROTECTION,
        ),
        seed=seed,
        is_full=full,
    )


def session_rows(
    setting: Setting, model: Literal["central", "local"], people: People | None = None, *, panel: str = "alpha/epsilon"
) -> list[Row]:
    """Return one draw of either guarantee through a session on a table of generated records.

    Parameters
    ----------
    model : {"central", "local"}
        Which methods: item-wise and histogram, or one message a user at either price.
    people : People, optional
        The records; generated if left out.
    panel : str
        As in :class:`emdp.experiments.base.Row`; ``x`` is alpha/epsilon.
    """
    found = draw_people(setting) if people is None else people
    rows = {
        "user": np.repeat(np.arange(setting.n), setting.m).tolist(),
        "item": [f"i{item}" for item in found.records.ravel().tolist()],
    }
    table = read(rows, user="user", users=setting.n, space=setting.space, records=setting.m)
    alpha, delta = setting.alpha, setting.delta
    questions: list[tuple[str, Kind, Guarantee, dict[str, Any]]]
    if model == "central":
        bounded = EmdDP(alpha * ROOM, delta, sizes="bounded")
        questions = [
            ("GKRR on all records, shuffled", EMD, bounded, {"method": "itemwise", "alpha": alpha, "delta": delta}),
            (
                "Laplace on the histogram, 2/(epsilon n)", USER, UserDP(setting.epsilon * ROOM),
                {"method": "histogram", "epsilon": setting.epsilon},
            ),
        ]  # fmt: skip
    else:
        questions = [
            ("one message a user, ln(1 + alpha within)", EMD, EmdDP(alpha * ROOM, model="local"), {"alpha": alpha}),
            (
                "one message a user, epsilon", USER, UserDP(setting.epsilon * ROOM, model="local"),
                {"epsilon": setting.epsilon},
            ),
        ]  # fmt: skip
    out: list[Row] = []
    for name, kind, budget, options in questions:
        query = frequencies(model=model, **options)
        answer = asked(table, budget, lambda session, query=query: session.answer(query))  # type: ignore[misc]
        out += _session_measures(setting, name, kind, model, answer, panel)
    return out


def _session_measures(setting: Setting, name: str, kind: Kind, model: str, answer: Any, panel: str) -> list[Row]:
    frame, exact = answer.frame, answer.exact["frequency"]
    truth = np.asarray(exact, dtype=np.float64)
    estimate = np.asarray(frame["frequency"].to_list(), dtype=np.float64)
    places = [int(item[1:]) for item in frame["item"].to_list()]
    codes = setting.codes[places]
    error = estimate - truth
    raw = cluster_norm(error - error.mean(), codes, setting.within)
    projected = exact_distance(setting, places, project_to_simplex(estimate), truth)
    drawn_in = "shuffle" if "shuffled" in name else model
    shared = {
        "panel": panel, "x": setting.ratio, "method": name, "guarantee": kind, "model": drawn_in,
        "parameters": setting.parameters(), "drawn": "session",
    }  # fmt: skip
    return [row_of([raw], measure=RAW, **shared), row_of([projected], measure=PROJECTED, **shared)]


def exact_distance(
    setting: Setting, items: Sequence[int], shares: npt.NDArray[np.float64], truth: npt.NDArray[np.float64]
) -> float:
    """Return ``d_em`` of two distributions over items by :func:`emdp.d_em`, the route that everybody can repeat."""
    names = [f"i{item}" for item in items]
    weighted = [
        {"item": [name for name, share in zip(names, one, strict=True) if share > 0], "weight": one[one > 0].tolist()}
        for one in (shares, truth)
    ]
    return d_em(weighted[0], weighted[1], setting.space)


def _rows(methods: Sequence[str], *, full: bool, runs: int | None) -> list[Row]:
    draws = (FULL_RUNS if full else RUNS) if runs is None else runs
    rows: list[Row] = []
    for panel, changes in (FULL if full else SMALL).items():
        people = None
        for change in changes:
            setting = replace(BASE, **change)  # type: ignore[arg-type]
            if people is None or panel != "alpha/epsilon":
                people = draw_people(setting)
            x = {"alpha/epsilon": setting.ratio, "k": setting.k, "m": setting.m, "n": setting.n}[panel]
            for method in methods:
                rows += measure(method, setting, people, panel=panel, x=float(x), runs=draws)
    return rows


def _across(rows: Sequence[Row]) -> dict[str, str]:
    fixed = (
        f"s = {BASE.clusters} clusters of {BASE.width}, m = {BASE.m}, n = {BASE.n}, epsilon = {BASE.epsilon:g}, "
        f"alpha/epsilon = {BASE.ratio:g}"
    )
    return {panel: f"{panel}; else {fixed}" for panel in dict.fromkeys(row.panel for row in rows)}


def _alone(rows: Sequence[Row], method: str, model: str) -> tuple[str, ...]:
    """Say where the paper's own method, item-wise release, loses to the best user-level method of the stated models."""
    lost: dict[str, dict[float, float]] = {}
    for panel, x in dict.fromkeys((row.panel, row.x) for row in rows):
        here = [row for row in rows if (row.panel, row.x, row.measure) == (panel, x, PROJECTED)]
        own = next(row for row in here if row.method == method)
        best = min((row for row in here if row.guarantee == USER), key=lambda row: row.error_mean)
        if own.error_mean > best.error_mean and not are_alike(own, best):
            lost.setdefault(panel, {})[x] = own.error_mean / best.error_mean
    if not lost:
        return (f"Item-wise release ({method}) has no larger error than the best user-level method here.",)
    places = "; ".join(
        f"{panel} = {', '.join(f'{x:g}' for x in found)} (up to {ratio_text(max(found.values()))}x)"
        for panel, found in lost.items()
    )
    return (
        f"The paper's own method, item-wise release ({method}), has a larger error than the best user-level method, "
        f"{model}, at {places}.",
    )
