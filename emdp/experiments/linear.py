"""``embedding``: linear embedding queries, d_EM-DP against user-level DP, central and local (EMD 2).

Items are words with public vectors, the ground metric is their Euclidean distance over the diameter ``D``, and the
query is ``f(x) = F phi(x)``, ``F`` with spectral norm 1. So ``f`` is ``D``-Lipschitz per unit of ``d_X``, and the mean
over users of the mean over each user's records changes by at most ``(D/n) d_em``, for any numbers of records. At user
level it changes by at most ``R/n``, ``R`` the largest ``|F phi(x) - F phi(x')|`` over pairs of words; ``R <= D``.

The error is the 2-norm of the noise. It depends on neither records nor their number, so there is no panel for ``m``.
In theory it is ``p w`` for K-norm noise in ``p`` coordinates, ``w = l/(alpha n)``, exactly but for the lattice; for the
mean of ``n`` local draws at most ``w sqrt(p (p + 1)/n)``, ``w = l/alpha``; for Gaussian noise at most ``sigma
sqrt(p)``, and ``sigma sqrt(p/n)``. Noise of one law is drawn once for each ``n`` and ``p`` and put to scale: the error
is proportional to the scale. In the local model there is also one bit a user, for a coordinate dealt out at random (EMD
4): its root mean square norm is at most that of ``B/t`` over coordinates, times ``p/sqrt(n)``. This one depends on the
users' means, so it is drawn from messages.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property

import numpy as np

from emdp.base.arrays import Floats, Integers
from emdp.base.classes import dataclass
from emdp.experiments.base import EMD, PROTECTION, ROOM, USER, Experiment, Kind, Row, asked, row_of, verdicts
from emdp.expressions import dot
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, KNormMechanism
from emdp.mechanisms.local.noise import LocalNoise
from emdp.mechanisms.local.one_bit import LocalOneBit, OneBitCoordinate
from emdp.noise.choices import draw_below
from emdp.noise.discrete_gaussian import draw_discrete_gaussian
from emdp.noise.k_norm import draw_k_norm
from emdp.privacy import EmdDP, Guarantee, UserDP
from emdp.questions import mean
from emdp.sessions.session import read
from emdp.spaces import Embedding

__all__ = ["BASE", "NORM", "Query", "draw_query", "errors_of", "run_embedding"]

NORM = "2-norm of the error"
"""The measure."""

WORDS, TOPICS, DIMENSION = 300, 12, 24
"""Words, groups that they lie in, and coordinates of their vectors."""

RECORDS = 5
"""Words of a user."""

FRACTION_BITS = 40
"""Binary digits after the point of a user's mean."""

SPREAD = 0.35
"""Standard deviation of words around their topic, for topics of standard deviation 1."""

UNITS = 2.0**30
"""Scale in which lattice noise is drawn: nearly continuous."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Sizes and prices of one point: ``p`` coordinates of the query, ``n`` users."""

    p: int = 8
    n: int = 1000
    epsilon: float = 1.0
    delta: float = 1e-6
    ratio: float = 50.0

    @property
    def alpha(self) -> float:
        """Loss per unit of ``d_em``."""
        return self.ratio * self.epsilon


BASE = Setting()
"""Setting that is not varied."""

SMALL: Mapping[str, Sequence[Mapping[str, float]]] = {
    "alpha/epsilon": [{"ratio": ratio} for ratio in (1, 2, 4, 10, 30, 100, 300)],
    "n": [{"n": n} for n in (100, 300, 1000, 3000)],
    "p": [{"p": p} for p in (1, 2, 4, 8, 16)],
}
FULL: Mapping[str, Sequence[Mapping[str, float]]] = {
    "alpha/epsilon": [{"ratio": ratio} for ratio in (1, 1.2, 1.5, 2, 3, 4, 6, 10, 20, 30, 60, 100, 200, 300, 1000)],
    "n": [{"n": n} for n in (100, 300, 1000, 3000, 10_000, 30_000)],
    "p": [{"p": p} for p in (1, 2, 4, 8, 16, 24)],
}
RUNS, FULL_RUNS = 60, 400


@dataclass(frozen=True, eq=False)
class Query:
    """Vectors of all words, and ``F``."""

    vectors: Floats  # Shape (words, dimension)
    matrix: Floats  # Shape (p, dimension), orthonormal rows

    @cached_property
    def space(self) -> Embedding:
        """The item space."""
        columns = {f"v{axis}": self.vectors[:, axis].tolist() for axis in range(self.vectors.shape[1])}
        return Embedding("word", {"word": [f"w{word}" for word in range(len(self.vectors))], **columns})

    @cached_property
    def lipschitz(self) -> float:
        """Change of ``f`` per unit of ``d_X``: the spectral norm times the diameter."""
        return float(np.linalg.norm(self.matrix, 2)) * self.space.diameter

    @cached_property
    def width(self) -> float:
        """Largest distance of two words' images: the change of one user at user level."""
        images = self.vectors @ self.matrix.T
        return max(float(np.linalg.norm(images - image, axis=1).max()) for image in images)

    def first(self, p: int) -> "Query":
        """Return the query of the first ``p`` coordinates."""
        return Query(self.vectors, self.matrix[:p])


def draw_query(p: int = DIMENSION) -> Query:
    """Return generated words and a query of ``p`` coordinates; inside the test switch from its seed.

    >>> from emdp.testing import seeded
    >>> with seeded(0):
    ...     query = draw_query(4)
    >>> query.matrix.shape, bool(query.width <= query.lipschitz)
    ((4, 24), True)
    """
    topics = _normal(TOPICS * DIMENSION).reshape(TOPICS, DIMENSION)
    own = _normal(WORDS * DIMENSION).reshape(WORDS, DIMENSION)
    vectors = topics[np.arange(WORDS) % TOPICS] + SPREAD * own
    directions = np.linalg.qr(_normal(DIMENSION * p).reshape(DIMENSION, p))[0].T
    return Query(vectors, np.asarray(directions, dtype=np.float64))


def draw_words(n: int) -> Integers:
    """Return the words of ``n`` users, ``RECORDS`` each, shape (n, RECORDS)."""
    return draw_below(np.full(RECORDS * n, WORDS)).reshape(n, RECORDS)


def errors_of(setting: Setting, query: Query, unit: "UnitNoise", *, panel: str, x: float, model: str) -> list[Row]:
    """Return the errors of additive noise at one setting.

    Parameters
    ----------
    unit : UnitNoise
        Norms of noise of scale 1, for the setting's ``n`` and ``p``.
    panel, x
        As in :class:`emdp.experiments.base.Row`.
    model : {"central", "local"}
        Who adds noise.
    """
    users = 1 if model == "local" else setting.n
    rows = []
    for kind, level, change in ((EMD, setting.alpha, query.lipschitz), (USER, setting.epsilon, query.width)):
        shared = {"sensitivity": change / users, "alpha": level, "dimension": setting.p}
        found: list[tuple[str, AdditiveMechanism, float]] = [
            ("K-norm noise", KNormMechanism(**shared), _k_norm_theory(setting, model)),  # type: ignore[arg-type]
            ("Gaussian noise", GaussianMechanism(**shared, delta=setting.delta), _normal_theory(setting, model)),  # type: ignore[arg-type]
        ]
        for name, mechanism, theory in found:
            norms = unit.k_norm[model] if name.startswith("K") else unit.normal[model]
            rows.append(
                row_of(
                    mechanism.scale * norms,
                    panel=panel, x=x, method=f"{name}, {kind}", guarantee=kind, model=model, measure=NORM,
                    parameters={**asdict(setting), "alpha": setting.alpha, "change": change, "scale": mechanism.scale},
                    bound=mechanism.scale * theory,
                    bound_source="EMD 2: expected norm" if _is_exact(name, model) else "EMD 2: root mean square norm",
                )
            )  # fmt: skip
    return rows


def bit_errors(setting: Setting, query: Query, words: Integers, *, panel: str, x: float, runs: int) -> list[Row]:
    """Return the errors of one bit a user; parameters as of :func:`errors_of`, and each user's words."""
    images = query.vectors @ query.matrix.T
    means = images[words].mean(axis=1)
    truth, exponents = means.mean(axis=0), (FRACTION_BITS,) * setting.p
    whole = np.rint(np.ldexp(means, FRACTION_BITS)).astype(np.int64)
    rows = []
    for kind in (EMD, USER):
        ends = [(float(column.min()), float(column.max())) for column in images.T]
        rates = [
            setting.alpha / query.lipschitz if kind == EMD else math.expm1(setting.epsilon) / (high - low)
            for low, high in ends
        ]
        coordinates = tuple(OneBitCoordinate(*end, rate) for end, rate in zip(ends, rates, strict=True))
        local = LocalOneBit(coordinates, setting.n, is_dealt=setting.p > 1)
        errors = []
        for _ in range(runs):
            ones, asked = local.tally(local.encode(whole, exponents, local.deal()))
            errors.append(float(np.linalg.norm([float(value) for value in local.decode(ones, asked)] - truth)))
        rows.append(
            row_of(
                errors, panel=panel, x=x, method=f"one bit a user, {kind}", guarantee=kind, model="local", measure=NORM,
                parameters={**asdict(setting), "alpha": setting.alpha, "scale": local.noise_scale},
                bound=math.sqrt(setting.p * local.variance), bound_source="EMD 4: root mean square norm, at most",
            )
        )  # fmt: skip
    return rows


@dataclass(frozen=True, eq=False)
class UnitNoise:
    """Norms of independent draws of noise of scale 1, by model: of one draw, and of the mean of ``n``."""

    k_norm: Mapping[str, Floats]
    normal: Mapping[str, Floats]


def draw_unit_noise(n: int, p: int, runs: int) -> UnitNoise:
    """Return norms over ``runs`` draws."""
    central = np.array(draw_k_norm(UNITS, p, runs), dtype=np.float64) / UNITS
    local = [np.array(draw_k_norm(UNITS, p, n), dtype=np.float64).mean(axis=0) / UNITS for _ in range(runs)]
    bells = _normal(runs * p).reshape(runs, p)
    # A sum of n equal normal variables is one normal variable.
    means = _normal(runs * p).reshape(runs, p) / math.sqrt(n)
    return UnitNoise(
        {"central": np.linalg.norm(central, axis=1), "local": np.linalg.norm(np.array(local), axis=1)},
        {"central": np.linalg.norm(bells, axis=1), "local": np.linalg.norm(means, axis=1)},
    )


def run_embedding(*, full: bool = False, seed: int = 0, runs: int | None = None) -> Experiment:
    """Return the comparison of linear embedding queries; call it inside the test switch.

    Parameters
    ----------
    full, seed, runs
        As of :func:`emdp.experiments.frequency.run_local`.
    """
    draws = (FULL_RUNS if full else RUNS) if runs is None else runs
    rows: list[Row] = []
    whole = draw_query()
    sizes = {int(change.get("p", BASE.p)) for changes in (FULL if full else SMALL).values() for change in changes}
    queries = {p: whole.first(p) for p in sizes | {1}}
    for name, changes in (FULL if full else SMALL).items():
        units: dict[tuple[int, int], UnitNoise] = {}
        words: dict[int, Integers] = {}
        for change in changes:
            setting = replace(BASE, **change)  # type: ignore[arg-type]
            size = setting.n, setting.p
            if size not in units:
                units[size] = draw_unit_noise(*size, draws)
                words[setting.n] = draw_words(setting.n)
            x = float({"alpha/epsilon": setting.ratio, "n": setting.n, "p": setting.p}[name])
            for model in ("central", "local"):
                rows += errors_of(setting, queries[setting.p], units[size], panel=f"{name}, {model}", x=x, model=model)
            rows += bit_errors(setting, queries[setting.p], words[setting.n], panel=f"{name}, local", x=x, runs=draws)
    fixed = f"p = {BASE.p}, n = {BASE.n}, epsilon = {BASE.epsilon:g}, alpha/epsilon = {BASE.ratio:g}"
    across = {panel: f"{panel.partition(',')[0]}; else {fixed}" for panel in dict.fromkeys(row.panel for row in rows)}
    base = queries[BASE.p]
    return Experiment(
        name="embedding",
        title="Linear embedding queries: d_EM-DP against user-level DP",
        rows=(*rows, *session_rows(replace(BASE, p=1), queries[1])),
        across=across,
        measures=(NORM,),
        sentences=(
            *verdicts(rows, NORM),
            f"At alpha = epsilon user-level DP is never worse: its change is {base.width:.3g}, the range of the query, "
            f"and that of d_EM-DP {base.lipschitz:.3g}, the diameter; their quotient "
            f"{base.lipschitz / base.width:.2f} is the alpha/epsilon at which K-norm noise errs alike (p = {BASE.p}).",
            f"The panels over n and p are at alpha/epsilon = {BASE.ratio:g}; the first ones say "
            "where user-level DP wins.",
            "The error does not depend on the number of records: both guarantees hold for bags of any sizes.",
            PROTECTION,
        ),
        seed=seed,
        is_full=full,
    )


def session_rows(setting: Setting, query: Query) -> list[Row]:
    """Return one draw of the mean of one coordinate (``p = 1``) by each guarantee and model, through a session."""
    words = draw_words(setting.n).ravel().tolist()
    rows = {"user": np.repeat(np.arange(setting.n), RECORDS).tolist(), "word": [f"w{word}" for word in words]}
    table = read(rows, user="user", users=setting.n, space=query.space)
    expression = dot(query.matrix[0].tolist())
    questions: list[tuple[Kind, str, Guarantee, dict[str, float]]] = [
        (EMD, "central", EmdDP(setting.alpha * ROOM), {"alpha": setting.alpha}),
        (EMD, "local", EmdDP(setting.alpha * ROOM, model="local"), {"alpha": setting.alpha}),
        (USER, "central", UserDP(setting.epsilon * ROOM), {"epsilon": setting.epsilon}),
        (USER, "local", UserDP(setting.epsilon * ROOM, model="local"), {"epsilon": setting.epsilon}),
    ]
    found = []
    for kind, model, budget, price in questions:
        wanted = mean(expression, name="value", model=model, **price)  # type: ignore[arg-type]
        answer = asked(table, budget, lambda session, wanted=wanted: session.answer(wanted))  # type: ignore[misc]
        error = abs(answer.frame["value"][0] - answer.exact["value"])
        noise = getattr(answer.noise, "mechanism", answer.noise)
        scale = float(noise.noise_scale if isinstance(noise, LocalNoise | LocalOneBit) else noise.scale)
        found.append(
            row_of(
                [error], panel=f"p, {model}", x=1.0, method=f"{_called(noise)}, {kind}", guarantee=kind, model=model,
                measure=NORM, parameters={**asdict(setting), "alpha": setting.alpha, "scale": scale}, drawn="session",
            )
        )  # fmt: skip
    return found


def _called(noise: object) -> str:
    return "one bit a user" if isinstance(noise, LocalOneBit) else "K-norm noise"


def _k_norm_theory(setting: Setting, model: str) -> float:
    return float(setting.p) if model == "central" else math.sqrt(setting.p * (setting.p + 1) / setting.n)


def _normal_theory(setting: Setting, model: str) -> float:
    return math.sqrt(setting.p if model == "central" else setting.p / setting.n)


def _is_exact(name: str, model: str) -> bool:
    return name.startswith("K") and model == "central"


def _normal(size: int) -> Floats:
    return np.array(draw_discrete_gaussian(UNITS, size), dtype=np.float64) / UNITS
