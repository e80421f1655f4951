"""Entries of ledgers, whole but for times and hashes, and what sessions say of what was spent."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import emdp
import emdp.learn
from emdp import randomizers

from . import tables
from .asking import entries_of, session_on
from .cases import Case

KM = emdp.distance_to((40.7484, -73.9857))
BOTH = (emdp.EmdDP(50, 1e-5), emdp.UserDP(8, 1e-5))
BATCH = """
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(DISTANCE(POINT(40.7, -74.0))) AS km FROM visits;
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 2, delta = 1e-7, noise = gaussian) AVG(lat) AS lat FROM visits;
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 5) COUNT(*) AS n FROM visits
"""

Ask = Callable[[emdp.Session], object]

ASKED: dict[str, tuple[str, dict[str, Any], tuple[Ask, ...]]] = {
    "means": ("checkins", {}, (lambda own: own.mean(KM, alpha=1), lambda own: own.mean(KM, epsilon=1))),
    "gaussian share": (
        "checkins",
        {"gaussian_share": 0.25},
        tuple([lambda own: own.vector_mean([KM], alpha=0.5, delta=1e-7, noise="gaussian")] * 3),
    ),
    "batch": ("checkins", {}, (lambda own: own.sql_batch(BATCH),)),
    "period": ("checkins", {"period": "2025-W47"}, (lambda own: own.mean(KM, alpha=1),)),
    "groups": ("ratings", {}, (lambda own: own.mean(emdp.col("stars"), alpha=1, by="plan"),)),
    "local": ("cities", {}, (lambda own: own.frequencies(epsilon=2, model="local", method="krr"),)),
    "shuffle": ("cities", {}, (lambda own: own.frequencies(epsilon=1, delta=1e-6, model="shuffle", method="krr"),)),
    "range": ("wages", {}, (lambda own: own.user_mean("euros", epsilon=1, spread=300, between=150),)),
    "strings": ("codes", {}, (lambda own: own.heavy_hitters("code", count=1, epsilon=2, delta=1e-6),)),
    "fit": (
        "checkins", {}, (lambda own: emdp.learn.fit_linear(own, "lat", "lon", epsilon=2, delta=1e-6, rounds=2),),
    ),
    "randomized": (
        "letters",
        {"budget": emdp.EmdDP(50, 1e-3, sizes="bounded")},
        (lambda own: own.itemwise(randomizers.KRR, alpha=5, delta=1e-6),),
    ),
}  # fmt: skip
"""A table, options of a session, and what it is asked, one after the other."""


def cases() -> Iterator[Case]:
    for name, (table, options, asks) in ASKED.items():
        yield Case(name, partial(_entered, table, options, asks))
    yield Case("crash", _crashed)


def _entered(table: str, options: dict[str, Any], asks: tuple[Ask, ...], folder: Path) -> dict[str, Any]:
    with session_on(getattr(tables, table)(), folder, **{"budget": BOTH, **options}) as session:
        for ask in asks:
            ask(session)
        told = {
            "spent": [repr(session.spent(type(budget))) for budget in session.promises],
            "remaining": [repr(left) for left in session.remaining_all()],
            "history": session.history().drop("time", "hash"),
        }
    return {f"entry {entry['sequence']}": entry for entry in entries_of(folder / "asked.ledger")} | told


def _crashed(folder: Path) -> dict[str, Any]:
    """Data that change between the charge and the answer: what was charged stays charged."""
    path = folder / "rows.csv"
    path.write_text("user,x\n1,0.5\n2,0.25\n")
    table = emdp.read(path, user="user", users=2, space=emdp.Interval("x", 0, 1), name="t", version="1")
    with session_on(table, folder) as session:
        session.mean(emdp.col("x"), alpha=1)
        path.unlink()
        try:
            session.mean(emdp.col("x"), alpha=1)
            said = ""
        except emdp.EmdpError as error:
            said = str(error)
        return {"says": said, "spent": repr(session.spent())}
