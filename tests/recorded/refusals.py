"""What calls of Python are refused with, in full: malformed arguments, jumps, broken rules of data, spent budgets."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import emdp
import emdp.learn
from emdp import privacy, randomizers

from .asking import session_on
from .cases import Case

UNIT = emdp.Interval("x", 0, 1)
ROWS = {"user": [1, 1, 2], "x": [0.1, 0.4, 0.9], "note": ["a", "b", "c"]}
KINDS = emdp.Categories("k", ["a", "b"])
X = emdp.col("x")


def read(rows: Any = None, **more: Any) -> emdp.Table:
    return emdp.read(ROWS if rows is None else rows, **{"user": "user", "users": 3, "space": UNIT, "name": "t", **more})


MALFORMED: dict[str, Callable[[], object]] = {
    "interval reversed": lambda: emdp.Interval("x", 1, 0),
    "interval infinite": lambda: emdp.Interval("x", 0, float("inf")),
    "cycle period": lambda: emdp.Cycle("h", -1),
    "geo box": lambda: emdp.Geo("lat", "lon", (41, -74, 40, -73)),
    "geo unit": lambda: emdp.Geo("lat", "lon", (40, -74, 41, -73), unit="yd"),
    "vector both": lambda: emdp.Vector(["a"], box=[(0, 1)], radius=1),
    "vector none": lambda: emdp.Vector(["a"]),
    "categories empty": lambda: emdp.Categories("k", []),
    "categories twice": lambda: emdp.Categories("k", ["a", "a"]),
    "categories neutral": lambda: emdp.Categories("k", ["a"], neutral="b"),
    "clusters within": lambda: emdp.Clusters("k", {"a": 1, "b": 2}, 1.5),
    "distances asymmetric": lambda: emdp.Distances("k", ["a", "b"], [[0, 1], [2, 0]]),
    "distances triangle": lambda: emdp.Distances("k", ["a", "b", "c"], [[0, 1, 9], [1, 0, 1], [9, 1, 0]]),
    "grid shape": lambda: emdp.Grid(UNIT, 0),
    "product twice": lambda: emdp.Product(UNIT, UNIT),
    "product weight": lambda: emdp.Product(UNIT.weighted(0), KINDS),
    "diameter": lambda: emdp.Interval("x", 0, 10, diameter=-3),
    "vectors missing": lambda: emdp.Embedding("w", "nowhere.parquet"),
    "alpha negative": lambda: emdp.EmdDP(-1),
    "delta one": lambda: emdp.EmdDP(1, 1.0),
    "sizes": lambda: emdp.EmdDP(1, sizes="equal"),  # type: ignore[arg-type]
    "model": lambda: emdp.UserDP(1, model="cloud"),  # type: ignore[arg-type]
    "r": lambda: emdp.DiscreteEmdDP(1, 0, r=2),
    "change": lambda: emdp.Change(fraction=2, distance=1, epsilon=1),
    "protect nothing": lambda: emdp.protect(space=UNIT),
    "mean both prices": lambda: emdp.mean(X, alpha=1, epsilon=1),
    "mean no price": lambda: emdp.mean(X),
    "mean zero": lambda: emdp.mean(X, alpha=0),
    "mean local by": lambda: emdp.mean(X, alpha=1, model="local", by="k"),
    "vector names": lambda: emdp.vector_mean([X, X], alpha=1, names=["a"]),
    "vector empty": lambda: emdp.vector_mean([], alpha=1),
    "vector noise": lambda: emdp.vector_mean([X], alpha=1, noise="uniform"),  # type: ignore[arg-type]
    "quantile levels": lambda: emdp.quantiles(X, [0.5, 1.5], alpha=1),
    "cells": lambda: emdp.frequencies(-1.0, alpha=1),
    "method": lambda: emdp.frequencies(alpha=1, method="magic"),  # type: ignore[arg-type]
    "user mean alpha": lambda: emdp.user_mean("x", alpha=1),
    "user mean price": lambda: emdp.user_mean("x"),
    "user mean spread": lambda: emdp.user_mean("x", epsilon=1, spread=-1),
    "heavy hitters both": lambda: emdp.heavy_hitters("note", count=1, threshold=0.1, epsilon=1),
    "heavy hitters none": lambda: emdp.heavy_hitters("note", epsilon=1),
    "fit alpha": lambda: emdp.learn.linear_fit_query("x", "x", alpha=1),
    "itemwise thing": lambda: emdp.itemwise("KRR", alpha=1),
    "reduction": lambda: emdp.BoundedReduction(samples=0),
    "ramp": lambda: emdp.ramp(X, 1, 1),
    "clamp": lambda: emdp.clamp(X, 2, 1),
    "truth of an expression": lambda: bool(X > 1) and None,
    "krr space": lambda: randomizers.KRR(UNIT, 1.0),
    "krr alpha0": lambda: randomizers.KRR(KINDS, 0.0),
    "geometric space": lambda: randomizers.Geometric(UNIT, 1.0),
    "planar space": lambda: randomizers.PlanarLaplace(KINDS, 1.0),
    "one bit values": lambda: randomizers.OneBit(KINDS, 1.0, [0, 1, 2]),
    "sigma": lambda: privacy.gaussian_sigma(1.0, 0.0),
    "shuffle": lambda: privacy.shuffle_alpha(1.0, 10, 5, 1e-9),
    "event unknown": lambda: privacy.event_from_json({"event": "Other"}),
    "guarantee unknown": lambda: privacy.guarantee_from_json({"kind": "Other"}),
    "bag empty": lambda: emdp.d_em({"x": []}, {"x": [1.0]}, UNIT),
    "bag invalid": lambda: emdp.d_em({"x": [2.0]}, {"x": [1.0]}, UNIT),
    "bag column": lambda: emdp.d_em({"y": [1.0]}, {"x": [1.0]}, UNIT),
    "bag weight": lambda: emdp.d_em({"x": [0.1], "weight": [-1]}, {"x": [1.0]}, UNIT),
    "read user": lambda: read(user="person"),
    "read column": lambda: read(space=emdp.Interval("y", 0, 1)),
    "read users": lambda: read(users=0),
    "read users twice": lambda: read(users=[1, 1]),
    "read type": lambda: read(space=emdp.Interval("note", 0, 1)),
    "read file": lambda: read("/nowhere.parquet"),
    "read thing": lambda: read(3),
    "seed": lambda: emdp.testing.seeded(-1).__enter__(),
    "session table": lambda: emdp.Session("t", budget=emdp.EmdDP(1), ledger="x"),  # type: ignore[arg-type]
    "session budgets": lambda: emdp.Session(read(), budget=[emdp.EmdDP(1), emdp.EmdDP(2)], ledger="x"),
    "catalog": lambda: emdp.load_catalog("nowhere.toml"),
}
"""Calls that read no record."""

ASKED: dict[str, Callable[[emdp.Session], object]] = {
    "jump": lambda own: own.preview(emdp.mean(X > 0.5, alpha=1)),
    "pole": lambda own: own.preview(emdp.mean(1 / X, alpha=1)),
    "root": lambda own: own.mean(emdp.sqrt(X), alpha=1),
    "logarithm": lambda own: own.mean(emdp.log(X), alpha=1),
    "unknown column": lambda own: own.mean(emdp.col("y"), alpha=1),
    "distance to a text": lambda own: own.mean(emdp.distance_to("a"), alpha=1),
    "no categories": lambda own: own.mean(X, alpha=1, where=emdp.category_is("a")),
    "too much": lambda own: own.mean(X, alpha=11),
    "too much delta": lambda own: own.vector_mean([X], alpha=1, delta=1e-3, noise="gaussian"),
    "too much at user level": lambda own: own.sql(
        "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 9, max_records_per_user = 2) COUNT(*) FROM t"
    ),
    "two statements": lambda own: own.sql("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) FROM t; " * 2),
    "no text": lambda own: own.sql(3),  # type: ignore[arg-type]
    "a text as query": lambda own: own.answer("SELECT 1"),  # type: ignore[arg-type]
    "frequencies of a continuum": lambda own: own.frequencies(alpha=1),
    "too fine": lambda own: own.frequencies(1e-9, alpha=1),
    "item-wise sizes": lambda own: own.itemwise(randomizers.PlanarLaplace, alpha=1, delta=1e-9),
    "strings of a number": lambda own: own.heavy_hitters("x", count=1, epsilon=1),
    "strings of few": lambda own: own.heavy_hitters("note", count=1, epsilon=1, delta=1e-7),
    "shuffled mean": lambda own: own.user_mean("x", epsilon=1, model="shuffle"),
    "other budget": lambda own: own.spent(emdp.DiscreteEmdDP),
    "level": lambda own: own.mean(X, alpha=1).interval(1.5),
    "top of a mean": lambda own: own.mean(X, alpha=1).top(3),
    "region of a mean": lambda own: own.mean(X, alpha=1).region(0.9),
    "picture": lambda own: own.mean(X, alpha=1).plot("map"),
}
"""Requests to a session with a small budget."""

BROKEN: dict[str, dict[str, Any]] = {
    "a record outside": {"rows": {"user": [1], "x": [3.0], "note": ["a"]}},
    "a record without a number": {"rows": {"user": [1], "x": [None], "note": ["a"]}},
    "nobody's record": {"rows": {"user": [None], "x": [0.5], "note": ["a"]}},
    "too many users": {"users": 1},
    "a user who is not listed": {"users": [1]},
    "other numbers of records": {"records": 2},
}
"""Tables that break what their owner declared."""


def cases() -> Iterator[Case]:
    for name, call in MALFORMED.items():
        yield Case(name, partial(_refused, call))
    for name, ask in ASKED.items():
        yield Case(f"asked: {name}", partial(_asked, ask))
    for name, declared in BROKEN.items():
        yield Case(f"rule: {name}", partial(_broken, declared))
    yield Case("another budget", _another_budget)
    yield Case("another side of the switch", _another_side)


def _refused(call: Callable[[], object], folder: Path) -> dict[str, Any]:
    return {"answered": repr(call())}


def _asked(ask: Callable[[emdp.Session], object], folder: Path) -> dict[str, Any]:
    with session_on(read(), folder, budget=[emdp.EmdDP(10, 1e-6), emdp.UserDP(2)]) as session:
        return {"answered": repr(ask(session))}


def _broken(declared: dict[str, Any], folder: Path) -> dict[str, Any]:
    with session_on(read(**declared), folder) as session:
        return {"answered": repr(session.mean(X, alpha=1))}


def _another_budget(folder: Path) -> dict[str, Any]:
    session_on(read(), folder, budget=emdp.EmdDP(1)).close()
    return {"answered": repr(session_on(read(), folder, budget=emdp.EmdDP(2)))}


def _another_side(folder: Path) -> dict[str, Any]:
    """A ledger that was made under the test switch is refused outside it, wherever the switch stands now."""
    session_on(read(), folder).close()
    said: list[str] = []

    def outside() -> None:
        try:
            session_on(read(), folder)
        except emdp.EmdpError as error:
            said.append(str(error))

    thread = threading.Thread(target=outside)
    thread.start()
    thread.join()
    return {"said": said}
