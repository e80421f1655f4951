"""Means of vectors by few bits a user: both published figures with sound prices (compressed-estimation.md 5).

The data are the published ones, ``x_j = (2 Bern(.8) - 1)/sqrt(d)``; ``n = 500`` and ``delta = 1e-5`` are assumed, which
the text leaves out. Figure 1: sampled coordinates at ``b = 50, 100, 200`` bits and all of them, for ``d = 500`` (full:
5000 too). Figure 2: ``d = 1000`` at ten bits, beside a place and a sign (eleven bits), local and mixed, and whole
directions, mixed. Neighbours replace a user throughout, as the published text says and its prices do not.
"""

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from emdp.experiments.base import USER, Row, row_of
from emdp.mechanisms.compressed.coordinates import SampledCoordinates
from emdp.mechanisms.compressed.signs import SignRounds
from emdp.mechanisms.vector.direction import VectorDirection
from emdp.mechanisms.vector.planes import VectorPlanes
from emdp.mechanisms.weights import Floats
from emdp.noise.choices import draw_below
from emdp.privacy.shuffle.users import shuffle_epsilon0

__all__ = ["figure_rows", "free_sentences", "mean_rows"]

USERS, DELTA = 500, 1e-5
BITS = (50, 100, 200)
EPSILONS, FULL_EPSILONS = (0.25, 0.5, 1.0, 2.0), (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
DIMENSIONS, FULL_DIMENSIONS = (500,), (500, 5000)
WIDE, FEW = 1000, 10
"""Figure 2: ``d`` and bits."""

FREE = 1.1
"""Compression is called free up to this quotient of the errors."""


def mean_rows(*, full: bool, runs: int, measure: str) -> list[Row]:
    """Return the rows of both figures."""
    epsilons = FULL_EPSILONS if full else EPSILONS
    rows: list[Row] = []
    for dimension in FULL_DIMENSIONS if full else DIMENSIONS:
        rows += coordinate_rows(dimension, epsilons, runs=min(runs, 4), measure=measure)
    return [*rows, *figure_rows(epsilons, runs=runs, measure=measure)]


def coordinate_rows(dimension: int, epsilons: Iterable[float], *, runs: int, measure: str) -> list[Row]:
    """Return the rows of figure 1 for one dimension."""
    vectors = _vectors(dimension)
    found = []
    for bits in (*BITS, dimension):
        for epsilon in epsilons:
            law = SampledCoordinates(dimension, 1 / math.sqrt(dimension), USERS, epsilon, DELTA, bits=bits)
            errors = [_error(law.release(law.tally(law.encode(vectors))), vectors) for _ in range(runs)]
            found.append(_row(errors, f"means, d = {dimension}", epsilon, f"{bits} signs a user", "central", measure,
                              dimension, law.squared_error(vectors), sigma=law.sigma, b=bits))  # fmt: skip
    return found


def figure_rows(epsilons: Iterable[float], *, runs: int, measure: str) -> list[Row]:
    """Return the rows of figure 2: ten bits a user, central, mixed and local."""
    vectors, radius = _vectors(WIDE), 1 / math.sqrt(WIDE)
    found = []
    for epsilon in epsilons:
        central = SampledCoordinates(WIDE, radius, USERS, epsilon, DELTA, bits=FEW)
        mixed = SignRounds(WIDE, radius, USERS, epsilon, DELTA, bits=FEW + 1)
        local = VectorPlanes(WIDE, radius, epsilon, USERS, planes=1, blocks=1)
        strength = shuffle_epsilon0(epsilon, USERS, DELTA)
        whole = VectorDirection(WIDE, 1.0, strength, USERS)
        ways: Sequence[tuple[str, str, Callable[[], Floats], float]] = (
            ("10 signs to a curator", "central", lambda law=central: law.release(law.tally(law.encode(vectors))),  # type: ignore[misc]
             central.squared_error(vectors)),
            ("a place and a sign, mixed (11 bits)", "shuffle",
             lambda law=mixed: law.decode(law.tally(law.encode(vectors))), mixed.law.squared_error_of(vectors)),  # type: ignore[misc]
            ("a place and a sign, local (11 bits)", "local",
             lambda law=local: law.decode(law.tally(law.encode(vectors)), USERS), local.squared_error_of(vectors)),  # type: ignore[misc]
            ("whole directions, mixed", "shuffle",
             lambda law=whole: law.decode(law.tally(law.encode(vectors)), USERS), whole.squared_error()),  # type: ignore[misc]
        )  # fmt: skip
        for method, model, draw, bound in ways:
            errors = [_error(draw(), vectors) for _ in range(runs)]
            found.append(_row(errors, f"means, d = {WIDE}, ten bits", epsilon, method, model, measure, WIDE, bound))
    return found


def free_sentences(rows: Iterable[Row]) -> tuple[str, ...]:
    """Say for each panel of figure 1 up to which epsilon few bits cost nothing to speak of."""
    own = [row for row in rows if row.panel.startswith("means") and "signs a user" in row.method]
    said = []
    for panel in dict.fromkeys(row.panel for row in own):
        bits = dict.fromkeys(row.parameters["b"] for row in own if row.panel == panel)
        exact = {(row.parameters["b"], row.x): row.bound or math.nan for row in own if row.panel == panel}
        whole = max(bits)
        parts = []
        for b in bits:
            free = [x for (one, x), bound in exact.items() if one == b and bound <= FREE * exact[whole, x]]
            if b != whole:
                parts.append(
                    f"{b:g} of {whole:g} up to epsilon {max(free):g}" if free else f"{b:g} of {whole:g} nowhere"
                )
        said.append(f"{panel}: compression is free (error within {FREE - 1:.0%} of all signs): {', '.join(parts)}.")
    return tuple(said)


def _row(
    errors: list[float], panel: str, epsilon: float, method: str, model: str, measure: str, dimension: int,
    bound: float, **numbers: float,
) -> Row:  # fmt: skip
    return row_of(
        errors, panel=panel, x=epsilon, method=method, guarantee=USER, model=model, measure=measure, bound=bound,
        bound_source="mean squared error, exact (directions: a bound)",
        parameters={"d": dimension, "n": USERS, "epsilon": epsilon, "delta": DELTA, **numbers},
    )  # fmt: skip


def _vectors(dimension: int) -> Floats:
    drawn = draw_below(np.full(USERS * dimension, 5)).reshape(USERS, dimension)
    return np.asarray(np.where(drawn < 4, 1.0, -1.0) / math.sqrt(dimension), dtype=np.float64)


def _error(estimate: Floats, vectors: Floats) -> float:
    return float(np.square(estimate - vectors.mean(axis=0)).sum())
