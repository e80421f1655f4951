"""``compressed``: frequencies over 1024 items, and means of vectors, by few bits a user (compressed-estimation.md).

Subsampled recursive Hadamard response: ``d = 2^(b-1) B`` items, item ``v`` in chunk ``v // B`` at offset ``v % B``. A
user sends, for each row ``j < B`` kept with probability ``1/B``, the chunk and the sign ``H_B[j, offset]``: ``b`` bits
on average. The server adds noise of variance ``sigma^2`` to every cell ``y[chunk, j]``, the signs times ``B/n``, and
decodes each chunk by ``H_B/B``. The squared 2-norm of the error is ``(B - 1)/n + d sigma^2/B`` in expectation, exactly.
``B = 1`` is plain Gaussian noise on the histogram.

Accounting. What is offered, :class:`emdp.mechanisms.compressed.hadamard.SampledHadamard`, **replaces a user**.
Published are two prices for **add/remove neighbours with a public n**, drawn here beside it. A row is a Gaussian
mechanism of sensitivity ``B/n`` on a Poisson sample at rate ``1/B``; ``B`` rows are composed in Renyi divergence of
integer orders (Mironov, Talwar and Zhang 2019) and converted by Canonne, Kamath and Steinke 2020:
:func:`renyi_epsilon`. :func:`closed_sigma` is the closed form, for comparison.
"""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np

from emdp.base.arrays import Floats, Integers
from emdp.base.checks import check_count, check_positive, check_unit_interval
from emdp.base.errors import UsageError
from emdp.experiments.base import EMD, ROOM, USER, Experiment, Kind, Row, asked, row_of, verdicts
from emdp.experiments.compressed_means import free_sentences, mean_rows
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, LaplaceMechanism
from emdp.mechanisms.compressed.hadamard import SampledHadamard
from emdp.mechanisms.items.hadamard_response import walsh_hadamard
from emdp.noise.binomial import draw_binomials
from emdp.noise.discrete_gaussian import draw_discrete_gaussian
from emdp.noise.discrete_laplace import draw_discrete_laplace_bulk
from emdp.privacy import UserDP
from emdp.sessions.session import read
from emdp.spaces import Categories

__all__ = ["ITEMS", "SQUARED", "closed_sigma", "draw_estimate", "renyi_epsilon", "renyi_multiplier", "run_compressed"]

ITEMS = 1024
"""``d``."""

SQUARED = "squared l2 error"
"""The measure."""

ORDERS = 256
"""Largest Renyi order."""

UNITS = 2.0**30
"""Scale in which Gaussian noise is drawn."""

SETTINGS: Sequence[tuple[int, float, float]] = ((100_000, 1.0, 1e-6), (10_000, 0.5, 1e-6))
"""``n``, epsilon and delta of the two panels."""

BITS, FULL_BITS = (1, 2, 4, 6, 8, 10, 11), tuple(range(1, 12))
"""Bits a user, on average: ``B = 2^(11 - b)``."""

RUNS, FULL_RUNS = 20, 5


def renyi_epsilon(multiplier: float, rows: int, delta: float) -> float:
    """Return epsilon of ``rows`` Gaussian mechanisms, each on a Poisson sample at rate ``1/rows``; add/remove.

    Parameters
    ----------
    multiplier : float
        ``z``: sigma over the sensitivity of a row.
    rows : int
        ``B``.
    delta : float
        In (0, 1).

    >>> round(renyi_epsilon(4.531, 1, 1e-6), 3), round(renyi_epsilon(2.317, 8, 1e-6), 3)
    (1.0, 1.0)
    """
    from scipy.special import logsumexp

    z, count = check_positive("multiplier", multiplier), check_count("rows", rows)
    goal = check_unit_interval("delta", delta)
    orders, hits = np.arange(2.0, ORDERS + 1.0), np.arange(ORDERS + 1.0)
    if count == 1:
        spent = orders / (2.0 * z * z)
    else:
        spent = count * logsumexp(_log_hits(count) + hits * (hits - 1.0) / (2.0 * z * z), axis=1) / (orders - 1.0)
    rest = np.log((orders - 1.0) / orders) - (math.log(goal) + np.log(orders)) / (orders - 1.0)
    return float((spent + rest).min())


@cache
def _log_hits(rows: int) -> Floats:
    """Return logarithms of the chances that so many of 2 to ``ORDERS`` draws hit, each with ``1/rows``."""
    from scipy.stats import binom

    return np.asarray(binom.logpmf(np.arange(ORDERS + 1), np.arange(2, ORDERS + 1)[:, None], 1.0 / rows))


def renyi_multiplier(epsilon: float, rows: int, delta: float) -> float:
    """Return the least noise multiplier ``z`` that :func:`renyi_epsilon` allows, from above to 1e-6.

    >>> round(renyi_multiplier(1.0, 128, 1e-6), 3)
    1.161
    """
    goal = check_positive("epsilon", epsilon)
    low, high = 0.0, 1.0
    while renyi_epsilon(high, rows, delta) > goal:
        low, high = high, 2.0 * high
        if high > 1e6:
            raise UsageError(f"epsilon must be larger than what any noise reaches, got {epsilon}; pass a larger one.")
    while high - low > 1e-6 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if renyi_epsilon(middle, rows, delta) <= goal else (middle, high)
    return high


def closed_sigma(epsilon: float, rows: int, delta: float, users: int) -> float:
    """Return sigma by strong composition, amplification and the classical Gaussian formula.

    >>> round(closed_sigma(1.0, 1, 1e-6, 100_000) * 1e4, 3), round(closed_sigma(1.0, 8, 1e-6, 100_000) * 1e3, 3)
    (3.113, 1.056)
    """
    log = math.log(2.0 / delta)
    root = math.sqrt(2.0 * rows * log)
    each = min(1.0, (math.sqrt(root * root + 8.0 * epsilon * rows) - root) / (4.0 * rows))
    sampled = min(1.0, math.log1p(rows * math.expm1(each)))
    return rows / users * math.sqrt(2.0 * math.log(2.5 / delta)) / sampled


def draw_estimate(counts: Integers, rows: int, sigma: float) -> Floats:
    """Draw the estimated shares from the records of all items.

    Parameters
    ----------
    counts : numpy.ndarray of int64
        Users of each item, shape (d,), ``d`` a multiple of ``rows``.
    rows : int
        ``B``, a power of two.
    sigma : float
        Standard deviation of the noise on a cell.

    >>> from emdp.testing import seeded
    >>> with seeded(0):
    ...     draw_estimate(np.array([3, 1]), 1, 0.0).tolist()
    [0.75, 0.25]
    """
    return _decoded(_draw_cells(counts, rows), sigma)


def _draw_cells(counts: Integers, rows: int) -> Floats:
    """Draw the cells before noise, shape (chunks, rows): all that the server adds up."""
    users, items = int(counts.sum()), counts.size
    repeated = np.repeat(counts, rows)
    # Users of one item keep a row alike, so only their number counts.
    kept = draw_binomials(repeated, np.ones(repeated.size, dtype=np.int64), np.full(repeated.size, rows))
    signs = 1 - 2 * (np.bitwise_count(np.arange(rows)[:, None] & np.arange(rows)) & 1).astype(np.int64)
    # kept[chunk, offset, row]: the sum over offsets of the signs is a cell.
    sums = np.einsum("cor,or->cr", kept.reshape(items // rows, rows, rows), signs)
    return np.asarray(sums * (rows / users), dtype=np.float64)


def _decoded(cells: Floats, sigma: float) -> Floats:
    """Return the estimated shares of cells with fresh noise."""
    rows = cells.shape[1]
    noisy = cells + sigma * _normal(cells.size).reshape(cells.shape)
    return np.concatenate([walsh_hadamard(chunk) / rows for chunk in noisy])


def run_compressed(*, full: bool = False, seed: int = 0, runs: int | None = None) -> Experiment:
    """Return error against bits a user; call it inside the test switch.

    Parameters
    ----------
    full, seed, runs
        As of :func:`emdp.experiments.frequency.run_local`.
    """
    draws = (FULL_RUNS if full else RUNS) if runs is None else runs
    rows = [
        row
        for n, epsilon, delta in SETTINGS
        for row in setting_rows(n, epsilon, delta, bits=FULL_BITS if full else BITS, runs=draws)
    ]
    means = mean_rows(full=full, runs=draws, measure=SQUARED)
    across = dict.fromkeys((row.panel for row in rows), "bits a user")
    return Experiment(
        name="compressed",
        title=f"Frequencies over {ITEMS} items, and means, by few bits a user: squared error",
        rows=(*rows, *session_rows(*SETTINGS[1]), *means),
        across={**across, **dict.fromkeys((row.panel for row in means), "epsilon")},
        measures=(SQUARED,),
        sentences=(
            *verdicts(rows, SQUARED),
            "11 bits, no sampling, are best wherever bandwidth is free: (B - 1)/n is what compression costs.",
            *free_sentences(means),
            "Compression saves bandwidth and nothing else: data that are with a curator already are answered better by "
            "noise on all of them, as session.vector_mean and session.frequencies do.",
            "Published prices of Hadamard rows are for add/remove neighbours with a public n. All else here replaces a "
            "user, the promise of all the rest of emdp: up to twice the noise. Laplace noise on the histogram, without "
            "a delta, is drawn where it has the smaller variance.",
            "Distances are 0 or 1 here, and the same noise on the histogram gives both guarantees at alpha = epsilon: "
            "d_EM-DP has no smaller error than user-level DP.",
        ),
        seed=seed,
        is_full=full,
    )


def setting_rows(n: int, epsilon: float, delta: float, *, bits: Sequence[int], runs: int) -> list[Row]:
    """Return the rows of one setting: both accountants for every number of bits, and noise on the histogram."""
    counts = _counts(n)
    truth = counts / n
    panel = f"n = {n:,}, epsilon = {epsilon:g}"
    found: list[Row] = []
    for bit in bits:
        size = ITEMS >> (bit - 1)
        multiplier = renyi_multiplier(epsilon, size, delta)
        sound = SampledHadamard(ITEMS, n, epsilon, delta, bits=bit)
        priced = (
            ("replacing a user", sound.sigma),
            ("published, Renyi", multiplier * size / n),
            ("published, closed form", closed_sigma(epsilon, size, delta, n)),
        )
        errors: list[list[float]] = [[] for _ in priced]
        # The same users send for every price; noise is its own.
        for _ in range(runs):
            cells = _draw_cells(counts, size)
            for own, (_, sigma) in zip(errors, priced, strict=True):
                own.append(_squared(_decoded(cells, sigma), truth))
        for own, (name, sigma) in zip(errors, priced, strict=True):
            shared = {"d": ITEMS, "n": n, "b": bit, "B": size, "epsilon": epsilon, "delta": delta, "sigma": sigma}
            found.append(
                row_of(
                    own, panel=panel, x=float(bit), method=f"Hadamard rows, {name}", guarantee=USER,
                    model="central", measure=SQUARED, parameters={**shared, "z": sigma * n / size},
                    bound=(size - 1) / n + ITEMS * sigma * sigma / size, bound_source="(B - 1)/n + d sigma^2/B, exact",
                )
            )  # fmt: skip
    return [*found, *_histogram_rows(n, epsilon, delta, panel=panel, runs=runs)]


def session_rows(n: int, epsilon: float, delta: float) -> list[Row]:
    """Return one draw of noise on the averaged histogram through a session: user-level, replacement."""
    counts = _counts(n)
    names = [f"i{item}" for item in range(ITEMS)]
    codes = np.repeat(np.arange(ITEMS), counts).tolist()
    rows = {"user": list(range(n)), "item": [names[code] for code in codes]}
    table = read(rows, user="user", users=n, space=Categories("item", names), records=1)
    answer = asked(
        table,
        UserDP(epsilon * ROOM, delta * ROOM),
        lambda session: session.frequencies(method="histogram", epsilon=epsilon, delta=delta),
    )
    raw = np.asarray(answer.frame["frequency"].to_list(), dtype=np.float64)
    error = _squared(raw, np.asarray(answer.exact["frequency"], dtype=np.float64))
    noise = answer.noise.mechanism
    parameters = {"d": ITEMS, "n": n, "b": 11, "epsilon": epsilon, "delta": delta, "sigma": noise.standard_deviation}
    return [
        row_of(
            [error], panel=f"n = {n:,}, epsilon = {epsilon:g}", x=11.0, method=f"{noise.name} noise, {USER}",
            guarantee=USER, model="central", measure=SQUARED, parameters=parameters, drawn="session",
        )
    ]  # fmt: skip


def _histogram_rows(n: int, epsilon: float, delta: float, *, panel: str, runs: int) -> list[Row]:
    """Return the rows of noise on the averaged histogram, 0/1 distances: the same mechanism for both guarantees."""
    root = math.nextafter(math.sqrt(2.0), math.inf)
    noises: tuple[tuple[str, AdditiveMechanism], ...] = (
        ("Laplace", LaplaceMechanism(sensitivity=2.0 / n, alpha=epsilon, dimension=ITEMS)),
        ("Gaussian", GaussianMechanism(sensitivity=root / n, alpha=epsilon, delta=delta, dimension=ITEMS)),
    )
    law, mechanism = min(noises, key=lambda noise: noise[1].standard_deviation)
    shared = {"d": ITEMS, "n": n, "b": 11, "epsilon": epsilon, "delta": delta}
    found = []
    kinds: tuple[Kind, ...] = (USER, EMD)
    for kind in kinds:
        errors = []
        for _ in range(runs):
            if law == "Laplace":
                noise = mechanism.grid * draw_discrete_laplace_bulk(mechanism.noise_units, ITEMS)
            else:
                noise = mechanism.scale * _normal(ITEMS)
            errors.append(float(np.square(noise).sum()))
        found.append(
            row_of(
                errors, panel=panel, x=11.0, method=f"{law} noise, {kind}", guarantee=kind, model="central",
                measure=SQUARED, bound=ITEMS * mechanism.standard_deviation**2, bound_source="d sigma^2, exact",
                parameters={**shared, "sigma": mechanism.standard_deviation},
            )
        )  # fmt: skip
    return found


def _counts(n: int) -> Integers:
    """Return users of each item: shares proportional to 1/(rank + 10)."""
    shares = 1.0 / (np.arange(ITEMS) + 10.0)
    ends = np.rint(n * np.cumsum(shares / shares.sum())).astype(np.int64)
    return np.asarray(np.diff(ends, prepend=0), dtype=np.int64)


def _squared(estimate: Floats, truth: Floats) -> float:
    return float(np.square(estimate - truth).sum())


def _normal(size: int) -> Floats:
    return np.array(draw_discrete_gaussian(UNITS, size), dtype=np.float64) / UNITS
