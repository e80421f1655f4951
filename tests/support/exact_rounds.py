"""The law of a release of several rounds, each chosen by what the ones before gave, and noise cut far out.

Not a test file: it adds to ``exact_releases``. Noise of all rounds but the last is tried value by value, up to
``reach`` steps to either side, with the mass of what lies beyond on the last value: the law is then wrong by ``lost``
in total variation, which is counted against the claim. Noise of the last round is not drawn: its scale is kept, and its
law written out from the formula around what the code would have added it to.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import exact_releases as exact
import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import ndtr

from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, LaplaceMechanism
from emdp.noise import discrete_gaussian, discrete_laplace, flips, k_norm

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

WEAKER = 0.7
"""Part of the noise that a planted fault draws: epsilon of every draw is divided by it."""


class RoundsReplay(exact.Replay):
    """All runs of a release, with noise that is tried or kept back.

    Parameters
    ----------
    reach : int
        Steps to either side at which noise that is tried ends.
    tried : int
        How many calls for noise of a run are tried; those after them give 0, and their scales are in ``kept``.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, reach: int = 0, tried: int = 0) -> None:
        super().__init__(monkeypatch)
        self.reach, self.tried = reach, tried
        self.calls, self.lost = 0, 0.0
        self.kept: list[float] = []
        exact.replace_everywhere(monkeypatch, discrete_laplace, "draw_discrete_laplace", self._laplace)
        exact.replace_everywhere(monkeypatch, discrete_laplace, "draw_discrete_laplace_bulk", self._laplace)
        exact.replace_everywhere(monkeypatch, discrete_gaussian, "draw_discrete_gaussian", self._gaussian)
        exact.replace_everywhere(monkeypatch, flips, "draw_permute_and_flip", self._permute_and_flip)
        exact.replace_everywhere(monkeypatch, k_norm, "draw_planar", self._planar)

    def law(self, run: Callable[[], Any]) -> exact.Law:
        """Return the law of what ``run`` returns and of the scales that were kept back."""
        self.lost = 0.0

        def once() -> Any:
            self.calls, self.kept = 0, []
            outcome = run()
            return outcome, tuple(self.kept)

        return super().law(once)

    def _laplace(self, scale: float, size: int) -> Integers:
        return self._noise(scale, size, laplace_law(scale, self.reach))

    def _gaussian(self, scale: float, size: int) -> Integers:
        return self._noise(scale, size, gaussian_law(scale, self.reach))

    def _noise(self, scale: float, size: int, law: Floats) -> Integers:
        self.calls += 1
        if self.calls > self.tried:
            self.kept.append(scale)
            return np.zeros(size, dtype=np.int64)
        chances = law.tolist()
        # The mass that was moved is counted once a draw, for the longest run.
        self.lost = max(self.lost, self.calls * size * (chances[0] + chances[-1]))
        return np.array([self.choose(chances) - self.reach for _ in range(size)], dtype=np.int64)

    def _permute_and_flip(self, costs: npt.ArrayLike, rate: Any) -> int:
        excess = np.asarray(costs) - np.min(costs)
        for index in self.draw_permutation(len(excess)).tolist():
            taken = math.exp(-float(rate) * int(excess[index]))
            if self.choose([1 - taken, taken]) == 1:
                return int(index)
        raise AssertionError("nothing was taken")

    def _planar(self, scale: float, dimension: int, size: int) -> Integers:
        side = np.arange(-self.reach, self.reach + 1)
        lattice = np.array(list(itertools.product(side.tolist(), repeat=dimension)), dtype=np.int64)
        chances = planar_law(scale, dimension, self.reach).tolist()
        return lattice[[self.choose(chances) for _ in range(size)]]


def laplace_law(scale: float, reach: int) -> Floats:
    """Return the discrete Laplace law from ``-reach`` to ``reach``, what lies beyond on its ends."""
    ratio = math.exp(-1 / scale)
    law = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-reach, reach + 1.0))
    law[0] = law[-1] = ratio**reach / (1 + ratio)
    return law / law.sum()


def gaussian_law(scale: float, reach: int) -> Floats:
    """Return the discrete Gaussian law from ``-reach`` to ``reach``; what lies beyond is lost in rounding."""
    law = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2 * scale**2))
    return np.asarray(law / law.sum())


def planar_law(scale: float, dimension: int, reach: int) -> Floats:
    """Return ``exp(-|z|/scale)`` on the lattice, coordinates cut to ``reach``: exact where outputs are cut too."""
    far = reach + math.ceil(40 * scale)
    side = np.arange(-far, far + 1.0)
    mesh = np.meshgrid(*[side] * dimension, indexing="ij")
    law = np.exp(-np.sqrt(sum(axis**2 for axis in mesh)) / scale)
    places = np.clip(side, -reach, reach).astype(np.int64) + reach
    groups = [np.flatnonzero(places == step) for step in range(2 * reach + 1)]
    for axis in range(dimension):
        law = np.stack([law.take(group, axis).sum(axis) for group in groups], axis)
    return np.asarray(law.ravel() / law.sum())


def recorded(monkeypatch: pytest.MonkeyPatch, kind: type, name: str, into: list[Any], *, is_mixed: bool = True) -> None:
    """Keep the messages that a method returns: sorted, as whoever sees mixed ones does, or by their users."""
    original = getattr(kind, name)

    def spied(own: Any, *arguments: Any) -> Any:
        messages = original(own, *arguments)
        rows = [tuple(np.ravel(row).tolist()) for row in messages]
        into.append(tuple(sorted(rows) if is_mixed else rows))
        return messages

    monkeypatch.setattr(kind, name, spied)


def keep_scales(monkeypatch: pytest.MonkeyPatch, replay: RoundsReplay) -> list[tuple[float, ...]]:
    """Keep the scales of noise on a public grid in the statistic's own unit; return what it would have been added to.

    The list grows by one entry a release.
    """
    centres: list[tuple[float, ...]] = []
    original = AdditiveMechanism.release

    def silent(own: Any, releases: int = 1) -> Any:
        replay.kept.append(own.scale)
        return (0,) * (releases * own.dimension)

    def released(own: Any, values: Any) -> Any:
        found = original(own, values)
        centres.append(tuple(map(float, found)))
        return found

    for kind in (GaussianMechanism, LaplaceMechanism):
        monkeypatch.setattr(kind, "_draw", silent)
    monkeypatch.setattr(AdditiveMechanism, "release", released)
    return centres


def spread_out(law: Mapping[Any, float]) -> exact.Law:
    """Return a law of ``((what else, whole number), (scale,))`` with discrete Laplace noise on the number."""
    found: exact.Law = {}
    for ((rest, centre), (scale,)), chance in law.items():
        ratio = math.exp(-1 / scale)
        # What lies beyond has a probability below 1e-15.
        far = math.ceil(36 * scale)
        for step in range(-far, far + 1):
            key = (rest, centre + step)
            found[key] = found.get(key, 0.0) + chance * (1 - ratio) / (1 + ratio) * ratio ** abs(step)
    return found


def changed(tables: Iterable[Sequence[Any]]) -> list[tuple[Any, Any]]:
    """Return all ordered pairs of tables that differ in one user; the order of users means nothing."""

    def differ(one: Sequence[Any], two: Sequence[Any]) -> int:
        rest = list(two)
        for own in one:
            if own in rest:
                rest.remove(own)
        return len(rest)

    return [pair for pair in itertools.permutations(tables, 2) if differ(*pair) == 1]


def worst_stick(laws: Mapping[Any, exact.Law], epsilon: float, pairs: Iterable[tuple[Any, Any]]) -> float:
    """Return the largest divergence ``H_exp(epsilon)`` of these pairs of tables."""
    names = list(laws)
    rows = dict(zip(names, exact.aligned([laws[name] for name in names]), strict=True))
    return max(float(np.maximum(rows[a] - math.exp(epsilon) * rows[b], 0.0).sum()) for a, b in pairs)


def normal_stick(one: npt.ArrayLike, two: npt.ArrayLike, moved: npt.ArrayLike, epsilon: float) -> float:
    """Return the sum of the largest ``one P(E) - exp(epsilon) two Q(E)``, ``P`` and ``Q`` unit normals so far apart."""
    p, q, far = (np.asarray(own, dtype=np.float64) for own in np.broadcast_arrays(one, two, moved))
    is_same = (p == 0) | (q == 0) | (far == 0)
    p, q, far = (np.where(is_same, 1.0, own) for own in (p, q, far))
    level = epsilon - np.log(p / q)
    apart = p * ndtr(far / 2 - level / far) - math.exp(epsilon) * q * ndtr(-far / 2 - level / far)
    same = np.maximum(np.asarray(one) - math.exp(epsilon) * np.asarray(two), 0.0)
    return float(np.where(is_same, same, apart).sum())
