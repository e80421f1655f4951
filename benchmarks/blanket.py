"""What the accountant of a known randomizer costs and gives: one inversion for each law, beside composition.

Run `python benchmarks/blanket.py` from the project's root (about a minute on two cores). Each inversion starts with a
fresh law, so that nothing is kept from the one before; the time includes the checks of the law.
"""

import itertools
import math
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from emdp.privacy.blanket.accountant import blanket_alpha
from emdp.privacy.blanket.output_law import OutputLaw

TOTAL = 2**62
CASES = [(1, 10**4, 1e-6), (1000, 10**8, 1e-12), (10, 1000, 1e-6), (100, 10**5, 1e-30), (1000, 1000, 1e-6)]
TARGETS = {"exponential, 32 x 32 grid, alpha0 = 4": 5.0}
"""Seconds that one inversion should stay below; 1 where nothing else is said."""


def weights_of(matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    matrix = matrix / matrix.sum(axis=1, keepdims=True)
    weights = np.floor(matrix * (TOTAL * (1 - 1e-15))).astype(np.int64)
    for row in weights:
        row[np.argmax(row)] += TOTAL - sum(row.tolist())
    return weights


def krr(k: int, alpha0: float) -> OutputLaw:
    other = int(TOTAL * (1 - 1e-15) / (math.exp(alpha0) + k - 1))
    same = TOTAL - other * (k - 1)
    weights = np.array([[same, other, other], [other, same, other]])
    return OutputLaw(weights, 1 - np.eye(2), np.array([[0, 1]]), np.full(3, other), np.array([1, 1, k - 2]))


def gkrr(clusters: int, size: int, within: float, alpha0: float) -> OutputLaw:
    cluster = np.arange(clusters * size) // size
    distances = np.where(cluster[:, None] == cluster, within, 1.0)
    np.fill_diagonal(distances, 0.0)
    return OutputLaw(weights_of(np.exp(-alpha0 * distances)), distances, np.array([[0, 1], [0, size]]))


def exponential(side: int, alpha0: float) -> OutputLaw:
    points = np.array(list(itertools.product(range(side), repeat=2)))
    distances = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=-1))
    distances /= distances.max()
    corner = [i for i, (x, y) in enumerate(points) if 2 * x <= side - 1 and y <= x]
    pairs = np.array([(i, j) for i in corner for j in range(side * side) if i != j])
    return OutputLaw(weights_of(np.exp(-alpha0 * distances / 2)), distances * (1 - 1e-15), pairs)


def line(k: int, alpha0: float) -> OutputLaw:
    distances = np.abs(np.arange(k)[:, None] - np.arange(k)) / (k - 1)
    matrix = np.exp(-alpha0 * distances)
    matrix[:, [0, -1]] /= 1 - math.exp(-alpha0 / (k - 1))
    return OutputLaw(weights_of(matrix), distances * (1 - 1e-15))


def hadamard(bits: int, alpha0: float) -> OutputLaw:
    codes = np.arange(1 << bits)
    signs = np.bitwise_count(codes[1:, None] & codes) % 2 == 0
    count = len(signs)
    return OutputLaw(weights_of(np.where(signs, math.exp(alpha0), 1.0)), 1 - np.eye(count), np.array([[0, 1]]))


LAWS: dict[str, tuple[float, Callable[[], OutputLaw]]] = {
    "k-RR, k = 10,000, alpha0 = 5": (5, lambda: krr(10_000, 5)),
    "k-RR, k = 100, alpha0 = 4": (4, lambda: krr(100, 4)),
    "GKRR, 10 x 10, rho = 0.3, alpha0 = 4": (4, lambda: gkrr(10, 10, 0.3, 4)),
    "geometric, 33 points, alpha0 = 3": (3, lambda: line(33, 3)),
    "geometric, 257 points, alpha0 = 3": (3, lambda: line(257, 3)),
    "Hadamard response, 127 items, alpha0 = 2": (2, lambda: hadamard(7, 2)),
    "exponential, 16 x 16 grid, alpha0 = 4": (4, lambda: exponential(16, 4)),
    "exponential, 32 x 32 grid, alpha0 = 4": (4, lambda: exponential(32, 4)),
}


def main() -> None:
    print("| law | m | N | delta | alpha | m alpha0 | seconds | target |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, (alpha0, make) in LAWS.items():
        for m, N, delta in CASES:
            law = make()
            start = time.perf_counter()
            alpha = blanket_alpha(law, m, N, delta)
            seconds = time.perf_counter() - start
            row = f"| {name} | {m} | {N:.0e} | {delta:.0e} | {alpha:.5g} | {m * alpha0:g} | {seconds:.2f} |"
            print(row, TARGETS.get(name, 1.0), "|", flush=True)


if __name__ == "__main__":
    main()
