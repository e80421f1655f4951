"""Queries of Python: every method of a session, in every model, by every method and randomizer."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import emdp
import emdp.learn
from emdp import randomizers

from . import tables
from .asking import answer_fields, asked, session_on, shared_session
from .cases import Case

MIDTOWN = (40.7484, -73.9857)
KM = emdp.distance_to(MIDTOWN)
BUDGETS = (emdp.EmdDP(1e4, 0.1), emdp.UserDP(1e4, 0.1))
BOUNDED = (emdp.EmdDP(1e4, 0.1, sizes="bounded"), emdp.DiscreteEmdDP(1e4, 0.1, r=0.02), emdp.UserDP(1e4, 0.1))
LETTERS = list(tables.LETTERS)

MEANS: dict[str, Any] = {
    "mean": emdp.mean(KM, alpha=4, name="km"),
    "mean gaussian": emdp.mean(KM, alpha=0.2, delta=1e-6),
    "mean epsilon": emdp.mean(KM, epsilon=1),
    "mean where": emdp.mean(KM, alpha=20, where=emdp.category_is("Office")),
    "mean by": emdp.mean(KM, alpha=40, by="category"),
    "mean local": emdp.mean(KM, alpha=4, model="local"),
    "mean local user": emdp.mean(KM, epsilon=4, model="local"),
    "mean hour": emdp.mean(emdp.distance_to(8.5, column="hour"), alpha=3),
    "mean case": emdp.mean(emdp.case({"Bar": 2, "Park": 1}, otherwise=0.5), alpha=3),
    "mean functions": emdp.mean(emdp.exp(-KM / 10) + emdp.tanh(KM) * emdp.sqrt(KM + 1), alpha=9),
    "mean waves": emdp.mean(emdp.sin(KM) * emdp.cos(KM / 3) + emdp.log(KM + 2), alpha=9),
    "mean extremes": emdp.mean(emdp.minimum(emdp.maximum(KM, 2), 9) ** 2, alpha=9),
    "mean power": emdp.mean(emdp.power(emdp.clamp(KM, 1, 5), -0.5), alpha=9),
    "vector": emdp.vector_mean([emdp.ramp(KM, n + 1, n) for n in (1, 5, 10)], alpha=6, names=["a", "b", "c"]),
    "vector laplace": emdp.vector_mean([KM, abs(emdp.col("lat") - 40.7)], alpha=6, noise="laplace"),
    "vector k_norm": emdp.vector_mean([KM, abs(emdp.col("lat") - 40.7)], alpha=6, noise="k_norm"),
    "vector gaussian": emdp.vector_mean([KM, emdp.col("lon")], alpha=6, delta=1e-6, noise="gaussian"),
    "vector by": emdp.vector_mean([KM, emdp.col("lat")], alpha=60, by="category"),
    "vector local": emdp.vector_mean([KM, emdp.col("lat")], alpha=6, model="local"),
    "quantiles": emdp.quantiles(KM, [0.25, 0.5, 0.9], alpha=20, name="km"),
    "quantiles step": emdp.quantiles(KM, 0.5, alpha=20, delta=1e-6, step=2.0, where=emdp.category_is("Office")),
    "quantiles epsilon": emdp.quantiles(KM, [0.1], epsilon=5),
    "cells": emdp.frequencies(8.0, column="lat", alpha=20),
    "cells hours": emdp.frequencies(3.0, column="hour", alpha=20),
    "categories": emdp.frequencies("category", alpha=20),
    "categories epsilon": emdp.frequencies("category", epsilon=2, delta=1e-6),
}
"""Queries on check-ins."""

FREQUENCIES: dict[str, dict[str, Any]] = {
    "auto": {"alpha": 20},
    "auto user": {"epsilon": 2},
    "auto user delta": {"epsilon": 2, "delta": 1e-6},
    "histogram": {"alpha": 20, "method": "histogram"},
    "histogram gaussian": {"alpha": 5, "delta": 1e-6, "method": "histogram"},
    "histogram simplex": {"alpha": 20, "adjust": "simplex"},
    "histogram d_em": {"alpha": 20, "adjust": "d_em"},
    "local auto": {"epsilon": 3, "model": "local"},
    "local alpha": {"alpha": 20, "model": "local"},
    **{
        f"local {method}": {"epsilon": 3, "model": "local", "method": method}
        for method in ("hadamard", "krr", "rappor", "unary", "subset", "projective", "response")
    },
    **{
        f"shuffle {method}": {"epsilon": 2, "delta": 1e-4, "model": "shuffle", "method": method}
        for method in ("auto", "krr", "hadamard")
    },
}
"""Options of frequencies in sixteen cells."""

LOOKED_AT = ("auto", "local krr", "shuffle hadamard")
"""Frequencies whose regions, top items and derivations are kept."""

USER_MEANS: dict[str, dict[str, Any]] = {
    "central": {"spread": 300, "between": 150, "records": 8},
    "direct": {"method": "direct"},
    "range": {"spread": 300, "between": 150, "method": "range", "failure": 0.05},
    "bounds": {"bounds": (1000, 4000)},
    "local": {"spread": 300, "between": 150, "model": "local"},
    "shuffle": {"spread": 300, "between": 150, "model": "shuffle", "delta": 1e-4},
}

RANDOMIZERS: dict[str, tuple[emdp.Space, Callable[[emdp.Space], Any], str, list[Any]]] = {
    "KRR": (emdp.Categories("k", LETTERS), lambda space: randomizers.KRR(space, 3.0), "k", LETTERS),
    "GKRR": (
        emdp.Clusters("k", {"a": 1, "b": 1, "c": 2, "d": 2, "e": 2}, 0.25),
        lambda space: randomizers.GKRR(space, 3.0),
        "k",
        LETTERS,
    ),
    "Exponential": (emdp.Grid(emdp.Interval("x", 0, 6), 6), lambda own: randomizers.Exponential(own, 4.0), "x", [0, 5]),
    "Geometric": (emdp.Grid(emdp.Interval("x", 0, 6), 6), lambda own: randomizers.Geometric(own, 4.0), "x", [1, 2, 6]),
    "Optimal": (emdp.Grid(emdp.Interval("x", 0, 4), 4), lambda own: randomizers.Optimal(own, 4.0), "x", [1, 2, 3]),
    "HadamardResponse": (
        emdp.Categories("k", LETTERS), lambda space: randomizers.HadamardResponse(space, 3.0), "k", LETTERS,
    ),
    "OneBit": (
        emdp.Categories("k", LETTERS), lambda space: randomizers.OneBit(space, 2.0, [0, 1, 0, 1, 1]), "k", LETTERS,
    ),
    "PlanarLaplace": (
        emdp.Vector(["x", "y"], box=[(0, 3), (0, 4)]), lambda space: randomizers.PlanarLaplace(space, 9.0), "x", [0, 2],
    ),
}  # fmt: skip


def cases() -> Iterator[Case]:
    for place, (name, query) in enumerate(MEANS.items()):
        yield Case(name, partial(_answered, "checkins", query, is_explained=place % 6 == 0))
    for name in FREQUENCIES:
        yield Case(f"frequencies {name}", partial(_frequencies, name))
    for name, options in USER_MEANS.items():
        query = emdp.user_mean("euros", **{"epsilon": 2.0, **options})
        yield Case(f"user_mean {name}", partial(_answered, "wages", query, is_explained=name in tables.MODELS))
    vector = emdp.user_mean(["euros", "age"], epsilon=4, spread=[300, 20], between=[150, 20], name=["a", "b"])
    yield Case("user_mean vector", partial(_answered, "wages", vector))
    yield from _words()
    yield from _itemwise()
    for model, delta in (("central", 1e-6), ("local", 0.0), ("shuffle", 1e-4)):
        yield Case(f"fit {model}", partial(_fit, {"model": model, "delta": delta}))
    yield Case("fit logistic", partial(_fit, {"loss": "logistic", "delta": 1e-6}))
    yield Case("intervals", _intervals)
    yield Case("tables", _tables)


@cache
def _session(name: str) -> emdp.Session:
    """Return the session that queries on a table share."""
    table = getattr(tables, name)()
    return shared_session(table, f"sessions_{name}", budget=BOUNDED if name == "letters" else BUDGETS)


def _answered(name: str, query: Any, folder: Path, *, is_explained: bool = False) -> dict[str, Any]:
    return asked(_session(name), query, is_explained=is_explained)


def _frequencies(name: str, folder: Path) -> dict[str, Any]:
    options, session = FREQUENCIES[name], _session("cities")
    fields = asked(session, emdp.frequencies(**options), is_explained=name in LOOKED_AT)
    if name not in LOOKED_AT:
        return fields
    answer = session.frequencies(**options)
    regions = {norm: answer.region(0.9, norm) for norm in ("l1", "l2", "linf", "d_em")}
    return fields | {"region": regions, "top": answer.top(3).frame}


def _words() -> Iterator[Case]:
    similar = emdp.similarity(tables.frames()["vectors"]["word"][0])
    yield Case("words", partial(_answered, "messages", emdp.mean(similar, alpha=9)))
    yield Case("words all", partial(_answered, "messages", emdp.frequencies(alpha=9)))
    for model, delta in (("central", 1e-6), ("shuffle", 1e-4), ("local", 0.0)):
        query = emdp.heavy_hitters("code", count=2, epsilon=8, delta=delta, model=model, length=2, alphabet="abcd")
        yield Case(f"heavy hitters {model}", partial(_answered, "codes", query, is_explained=model == "local"))
    found = emdp.heavy_hitters("text", words=True, threshold=0.9, epsilon=30, delta=1e-3)
    yield Case("heavy hitters threshold", partial(_answered, "messages", found))


def _itemwise() -> Iterator[Case]:
    for name, (space, make, column, values) in RANDOMIZERS.items():
        for model in ("central", "local") if name in ("KRR", "Exponential") else ("shuffle",):
            yield Case(f"itemwise {name} {model}", partial(_randomized, space, make, column, values, model))
    sizes = emdp.BoundedReduction(samples=20, r=0.02)
    for name in ("KRR", "HadamardResponse"):
        query = emdp.itemwise(getattr(randomizers, name), epsilon=2.0, delta=1e-3, sizes=sizes)
        yield Case(f"itemwise reduced {name}", partial(_answered, "letters", query, is_explained=name == "KRR"))
    made = emdp.itemwise(randomizers.KRR, alpha=6.0, delta=1e-4)
    yield Case("itemwise as strong as allowed", partial(_answered, "letters", made, is_explained=True))


def _randomized(
    space: emdp.Space, make: Callable[[emdp.Space], Any], column: str, values: list[Any], model: Any, folder: Path
) -> dict[str, Any]:
    rows = {"x": [float(k % 3) for k in range(1000)], "y": [float(k % 4) for k in range(1000)]}
    if len(space.columns) > 1:
        users = [k // 5 for k in range(1000)]
        table = emdp.read({"user": users, **rows}, user="user", users=200, space=space, name="items", records=5)
    else:
        table = tables.items(space, column, values)
    query = emdp.itemwise(make(space), delta=1e-4, model=model)
    with session_on(table, folder, budget=BOUNDED) as session:
        return asked(session, query, is_explained=False)


def _fit(options: dict[str, Any], folder: Path) -> dict[str, Any]:
    own: dict[str, Any] = {"epsilon": 5.0, "rounds": 4, **options}
    midtown, office, session = KM / 10, emdp.category_is("Office"), _session("checkins")
    shown = session.preview(emdp.learn.linear_fit_query([midtown], office, **own))
    fit = emdp.learn.fit_linear(session, [midtown], office, **own)
    rows = {"lat": [40.7, 40.8], "lon": [-74.0, -73.9]}
    return {
        "preview": shown.frame.drop("affordable").rows(),
        **answer_fields(fit.answer, is_explained="loss" in options),
        "predicted": fit.predict(rows),
        "guarantee": repr(fit.guarantee),
    }


def _intervals(folder: Path) -> dict[str, Any]:
    answer = _session("checkins").vector_mean([KM, emdp.col("lat")], alpha=9)
    kinds = [(level, own) for level in (0.5, 0.99) for own in ("each", "all")]
    levels = {f"{level} {own}": answer.interval(level, coverage=own) for level, own in kinds}
    return {**levels, "picture": answer.plot().text}


def _tables(folder: Path) -> dict[str, Any]:
    """Digests of generated tables, what the owner may see, and a table's public names."""
    table = tables.checkins()
    table.validate()
    return {
        **{name: frame.rows() for name, frame in tables.frames().items()},
        "bag": table.bag(1),
        "n": table.n,
    }
