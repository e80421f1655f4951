"""The cities and methods that `benchmarks/densities.py` compares: grids, tables with their truth, and what is asked."""

import math
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

import emdp
from emdp.base.errors import RefusedError
from emdp.estimators.frequency.geometry import Geometry, smoothing_bias
from emdp.estimators.frequency.models import IndependentErrors
from emdp.estimators.frequency.planning import falling_prior, planned_errors
from emdp.estimators.frequency.spread import share_spread
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism
from emdp.spaces.continuous.geo import EARTH_RADIUS

Floats = npt.NDArray[np.float64]

PITCH = 0.5
"""Side of a cell, in km."""

CORNER = (40.63, -74.05)
"""Latitude and longitude of the centre of the first cell, in degrees."""

DELTA = 1e-9
ROOM = 1000.0
"""Budget of a session in answers: there are many rounds."""

ORACLES = ("hadamard", "krr", "rappor", "unary", "subset", "projective", "response")


@dataclass(frozen=True)
class City:
    """The cells, as a grid and as the nodes of a smoothed histogram.

    Parameters
    ----------
    rows, columns : int
        Cells from south to north and from west to east.
    south, west : float
        Centre of the first cell, in degrees.
    """

    rows: int
    columns: int
    south: float = CORNER[0]
    west: float = CORNER[1]

    @property
    def steps(self) -> tuple[float, float]:
        """Height and width of a cell in degrees."""
        tall = math.degrees(PITCH / EARTH_RADIUS)
        return tall, tall / math.cos(math.radians(self.south))

    @cached_property
    def grid(self) -> emdp.Grid:
        """The cells."""
        (tall, wide), half = self.steps, 0.5
        north, east = self.south + (self.rows - half) * tall, self.west + (self.columns - half) * wide
        box = (self.south - half * tall, self.west - half * wide, north, east)
        return emdp.Grid(self._geo(box), (self.rows, self.columns))

    @cached_property
    def nodes(self) -> emdp.Geo:
        """A box whose smoothed histogram of this pitch has the centres of the cells as its nodes."""
        tall, wide = self.steps
        # A hair less, so that rounding does not add a node.
        north, east = self.south + (self.rows - 1) * tall - 1e-10, self.west + (self.columns - 1) * wide - 1e-10
        return self._geo((self.south, self.west, north, east))

    @property
    def diagonal(self) -> float:
        """Of a cell, in km, at most."""
        return PITCH * math.sqrt(2.0) * 1.001

    def _geo(self, box: tuple[float, float, float, float]) -> emdp.Geo:
        return emdp.Geo("lat", "lon", box=box, unit="km", on_invalid="clamp")


@dataclass(frozen=True)
class Given:
    """A table with its truth.

    Parameters
    ----------
    name : str
        Of the file.
    city : City
        The cells.
    cells, places : emdp.Table
        Read on the grid, and as places.
    truth : numpy.ndarray
        The average of everybody's normalised histogram.
    """

    name: str
    city: City
    cells: emdp.Table
    places: emdp.Table
    truth: Floats

    def distance(self, shares: Floats) -> float:
        """Return d_EM to the truth in km."""
        centres = pl.DataFrame(self.city.grid.decode(self.city.grid.all_items))
        left, right = (
            centres.with_columns(pl.Series("weight", own)).filter(pl.col("weight") > 0) for own in (shares, self.truth)
        )
        return emdp.d_em(left, right, self.city.grid) * self.city.grid.diameter


@dataclass(frozen=True)
class Released:
    """One answer.

    Parameters
    ----------
    estimates : numpy.ndarray
        Raw.
    expected : float or None
        Distance in km that the plan expected.
    deviation : float or None
        Standard deviation of a cell's error, where errors are about independent.
    """

    estimates: Floats
    expected: float | None = None
    deviation: float | None = None


@dataclass(frozen=True)
class Method:
    """One way to a density.

    Parameters
    ----------
    name, model, guarantee : str
        What it is.
    price : str
        What it is asked for.
    answers : callable
        From a table to an iterator of answers.
    """

    name: str
    model: str
    guarantee: str
    price: str
    answers: Callable[[Given, Path], Iterator[Released]]


def by_session(
    table: str,
    budget: emdp.Guarantee,
    ask: Callable[[emdp.Session], emdp.Answer],
    expected: Callable[[emdp.Answer, City], tuple[float | None, float | None]],
) -> Callable[[Given, Path], Iterator[Released]]:
    """Return what asks a session on one of the two tables again and again."""

    def answers(given: Given, folder: Path) -> Iterator[Released]:
        ledger = Path(tempfile.mkdtemp(dir=folder)) / "densities.ledger"
        with emdp.Session(getattr(given, table), budget=budget, ledger=ledger) as session:
            while True:
                answer = ask(session)
                if "frequency" not in answer.frame.columns:
                    raise RefusedError("its outputs do not determine the shares stably; there are counts alone")
                yield Released(answer.frame["frequency"].to_numpy(), *expected(answer, given.city))

    return answers


def by_mechanism(
    make: Callable[[int, int], AdditiveMechanism],
) -> Callable[[Given, Path], Iterator[Released]]:
    """Return what adds noise to the averaged histogram without a session, for laws that no session chooses here."""

    def answers(given: Given, folder: Path) -> Iterator[Released]:
        noise = make(given.cells.n, given.truth.size)
        exact = [Fraction(float(share)) for share in given.truth]
        expected = planned(noise.standard_deviation, given.city)
        while True:
            estimates = np.array([float(value) for value in noise.release(exact)])
            yield Released(estimates, expected, noise.standard_deviation)

    return answers


def planned(deviation: float, city: City) -> float:
    """Return the expected distance in km of estimates with independent errors, at the two priors of the planner."""
    model, geometry = IndependentErrors(city.grid.size, deviation**2), Geometry.of(city.grid)
    priors = (None, falling_prior(city.grid.size))
    return float(np.mean([planned_errors(model, geometry, prior=prior).d_em for prior in priors])) * city.grid.diameter


def planned_of_choice(method: str) -> Callable[[emdp.Answer, City], tuple[float | None, float | None]]:
    """Return what reads the expected distance out of an answer's choice, as the analyst does."""

    def read(answer: emdp.Answer, city: City) -> tuple[float | None, float | None]:
        listed = answer.choice.rsplit("the fastest: ", maxsplit=1)[1]
        found = re.search(rf"\b{method} ([\d.e+-]+\d)", listed)
        expected = None if found is None else float(found.group(1)) * city.grid.diameter
        return expected, answer.columns[0].noise_scale

    return read


def planned_smoothed(answer: emdp.Answer, city: City) -> tuple[float | None, float | None]:
    """Return the expected distance in km of a smoothed histogram: its noise's, and what smoothing moves at most."""
    deviation = answer.noise.standard_deviation
    return planned(deviation, city) + smoothing_bias(PITCH, 2, 1.0), deviation


def not_planned(answer: emdp.Answer, city: City) -> tuple[float | None, float | None]:
    """Return nothing: errors of item-wise releases depend on each other, and no plan says how far they go."""
    return None, None


def methods(change: emdp.Change, city: City, samples: int, *, is_patient: bool) -> list[Method]:
    """Return all methods, priced for the change."""
    epsilon, grid = change.epsilon, city.grid
    covered = replace(change, distance=change.distance + city.diagonal)
    alpha, alpha_geo = emdp.protect(covered, space=grid), emdp.protect(change, space=city.nodes)
    by_alpha, by_epsilon = f"alpha = {alpha:.4g}", f"epsilon = {epsilon:g}"
    central = {"alpha": emdp.EmdDP(alpha * ROOM, 1e-3), "epsilon": emdp.UserDP(epsilon * ROOM, 1e-3)}
    found = [
        Method(
            "smoothed", "central", "d_EM-DP", f"alpha = {alpha_geo:.4g} (places)",
            by_session("places", emdp.EmdDP(alpha_geo * ROOM), lambda s: s.frequencies(PITCH, alpha=alpha_geo),
                       planned_smoothed),
        ),
        Method(
            "smoothed", "central", "user-level", by_epsilon,
            by_session("places", central["epsilon"], lambda s: s.frequencies(PITCH, epsilon=epsilon),
                       planned_smoothed),
        ),
        Method(
            "histogram, Laplace", "central", "d_EM-DP", by_alpha,
            by_session("cells", central["alpha"], lambda s: s.frequencies(alpha=alpha, method="histogram"),
                       planned_of_choice("histogram")),
        ),
        Method(
            "histogram, Laplace", "central", "user-level", by_epsilon,
            by_session("cells", central["epsilon"], lambda s: s.frequencies(epsilon=epsilon, method="histogram"),
                       planned_of_choice("histogram")),
        ),
        Method(
            "histogram, Gaussian", "central", "user-level", f"{by_epsilon}, delta = {DELTA:g}",
            by_mechanism(lambda users, cells: GaussianMechanism(
                sensitivity=math.nextafter(math.sqrt(2.0) / users, 1.0), alpha=epsilon, dimension=cells, delta=DELTA)),
        ),
        Method(
            "histogram, Gaussian", "central", "d_EM-DP", f"{by_alpha}, delta = {DELTA:g}",
            by_mechanism(lambda users, cells: GaussianMechanism(
                sensitivity=math.sqrt(2.0) * share_spread(grid) / users * (1 + 1e-12), alpha=alpha, dimension=cells,
                delta=DELTA)),
        ),
    ]  # fmt: skip
    return [
        *found,
        *item_wise(covered, city, samples, is_patient=is_patient),
        *oracles(alpha, epsilon, by_alpha, by_epsilon),
    ]


def item_wise(change: emdp.Change, city: City, samples: int, *, is_patient: bool) -> list[Method]:
    """Return item-wise releases of sampled records, at the change's distance; of all users' records any of three."""
    epsilon = change.epsilon
    moved = change.fraction * min(change.distance / city.grid.diameter, 1.0)
    sizes = emdp.BoundedReduction(samples=samples, r=moved)
    price = f"epsilon = {epsilon:g}, delta = {DELTA:g} at r = {moved:.4g}, {samples} sampled"
    shared = {"epsilon": epsilon, "delta": DELTA, "sizes": sizes}
    found = []
    for kind in (emdp.randomizers.Exponential, emdp.randomizers.Geometric, emdp.randomizers.KRR):
        budget = emdp.DiscreteEmdDP(epsilon * ROOM, 1e-3, r=moved)
        ask = by_session("cells", budget, lambda s, kind=kind: s.itemwise(kind, **shared), not_planned)  # type: ignore[misc]
        found.append(Method(f"item-wise, {kind.__name__}", "shuffle", "discrete d_EM-DP", price, ask))
    if not is_patient:
        return found
    local = by_session(
        "cells", emdp.DiscreteEmdDP(epsilon * ROOM, 1e-3, r=moved, model="local"),
        lambda s: s.frequencies(method="itemwise", model="local", **shared), not_planned,
    )  # fmt: skip
    return [*found, Method("item-wise, Exponential", "local", "discrete d_EM-DP", price, local)]


def oracles(alpha: float, epsilon: float, by_alpha: str, by_epsilon: str) -> list[Method]:
    """Return the frequency oracles, one message a user: local at alpha and at epsilon, and shuffled."""
    models: Sequence[tuple[str, str, str, emdp.Guarantee, dict[str, Any]]] = (
        ("local", "d_EM-DP", by_alpha, emdp.EmdDP(alpha * ROOM, model="local"), {"alpha": alpha}),
        ("local", "user-level", by_epsilon, emdp.UserDP(epsilon * ROOM, model="local"), {"epsilon": epsilon}),
        (
            "shuffle", "user-level", f"{by_epsilon}, delta = {DELTA:g}",
            emdp.UserDP(epsilon * ROOM, 1e-3, model="shuffle"), {"epsilon": epsilon, "delta": DELTA},
        ),
    )  # fmt: skip
    found = []
    for name in ORACLES:
        for model, guarantee, price, budget, options in models:
            asked = {**options, "method": name, "model": model}
            ask = by_session("cells", budget, lambda s, asked=asked: s.frequencies(**asked), planned_of_choice(name))  # type: ignore[misc]
            found.append(Method(name, model, guarantee, price, ask))
    return found
