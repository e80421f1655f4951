"""Least squares by a trusted curator from noisy moments, with intervals of the coefficients that hold for any data.

Setting. Vectors and targets are those of :mod:`emdp.mechanisms.descent.loss`: ``p`` numbers in [-1, 1], the first of
them 1, a target in [-1, 1]. ``H`` is the mean over users of their mean ``x x^T``, ``b`` that of ``x y``; least squares
solves ``H w = b``. ``H`` and ``b`` come from gradients: unclipped, that at ``w`` is ``H w - b``, so ``p + 1`` of them
give both, by whole numbers.

Theorem (privacy). What is released are the ``m = p + p(p+1)/2 - 1`` numbers ``b`` and ``H`` on and above the diagonal,
without ``H_00 = 1``, with noise. Replacing a user moves them by at most ``sqrt(4 (p + p(p-1)/2) + p - 1)/n`` in the
2-norm and ``(2 (p + p(p-1)/2) + p - 1)/n`` in the 1-norm; noise for that, Gaussian or Laplace, is ``(epsilon,
delta)``-DP at user level. *Proof.* A user has ``p`` numbers ``x_i y`` and ``p(p-1)/2`` numbers ``x_i x_j`` in [-1, 1],
and ``p - 1`` squares in [0, 1]; means over records are in the same ranges, if ``H w - b`` and ``b`` are of the same
ones: where a sample stands for a user's records it is drawn once, and not by workers, who may draw it anew. Whole
numbers of ``2^-e`` add less than ``10 m 2^-e`` to either norm, which is counted. ∎

*Elsewhere.* Where records may be elsewhere their vectors are 0, and ``H_00``, the share of records that are somewhere,
is a number like the others: ``m`` is one more, and the bounds stay as they are. *Proof.* A user's numbers are a mean of
those of the records, so two users differ by no more than two records. Two that are somewhere have the same ``H_00``,
and differ as above. One that is somewhere and one that is not differ by 1 at most in each of ``w + p`` numbers, ``w = p
+ p(p-1)/2``; that is at most ``2 w + p - 1``, and at most ``4 w + p - 1``, as ``w >= 1``. ∎ Least squares are those of
the records that are somewhere, a user with the share of own ones as weight.

Theorem (intervals). With noise ``N`` on ``H`` and ``v`` on ``b``, the least squares weights ``w`` have ``(H + N) w - (b
+ v) = N w - v``, whatever the data. *Gaussian noise.* Its covariance is at most ``sigma^2 (1 + 2 |w|^2)`` times the
identity: an entry above the diagonal is in two rows, which adds ``w w^T - diag(w^2)``, at most ``|w|^2``. So ``|(H+N) w
- (b+v)|^2 <= sigma^2 chi^2_p (1 + 2 |w|^2)`` with the probability of the quantile ``chi^2_p``. *Laplace noise.* ``|N w
- v|^2 <= F^2 (1 + |w|^2)``, ``F^2`` the sum of the squares of all entries, each above the diagonal twice. With
probability ``1 - a/2`` each no entry exceeds ``t = s ln(2 m/a)``, and their absolute values add up to the quantile
``g`` of a Gamma law of ``m`` at most, so that ``F^2`` is at most ``t^2 (p^2 + p)`` and ``2 t g``. Both are quadratic in
``w``: where ``A^2 - 2 k I`` (``A = H + N``) is positive definite an ellipsoid, whose shadow on any linear function of
``w`` is known; else the answer has no bounded interval, and says so. All shadows hold together with that probability. ∎
(It is Fieller's set in ``p`` dimensions.) Numbers of the noise's law are widened by a billionth, the lattice's law
differs by less.

The weights that are released solve the noisy equations, with eigenvalues of ``A`` raised to what noise alone makes, and
are drawn in to the ball: post-processing. They may lie outside of an interval that noise makes nearly useless.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from emdp.base.arrays import Floats, Integers
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.central.additive import AdditiveMechanism
from emdp.mechanisms.central.gaussian import GaussianMechanism, least_gaussian_delta
from emdp.mechanisms.central.laplace import LaplaceMechanism
from emdp.mechanisms.crowd import ColumnSums, Crowd
from emdp.mechanisms.descent.central import CuratedDescent
from emdp.mechanisms.descent.rounds import DescentRelease, DescentSetting
from emdp.privacy.rounding import float_up, root_up

__all__ = ["UNCLIPPED", "MomentFit", "MomentRelease", "moment_candidates"]

MOST_WEIGHTS = 64
"""Most weights: every pair of features is a number that is released."""

UNCLIPPED = 2.5
"""Clip over ``sqrt(p)`` that no gradient at a unit vector, or at 0, reaches: these have slopes of 2 at most."""

_MARGIN = 1e-9


@dataclass(frozen=True)
class MomentRelease(DescentRelease):
    """Weights from noisy moments, and what intervals need."""

    curvature: tuple[tuple[float, ...], ...] = ()  # `A`: the noisy `H`, symmetric
    products: tuple[float, ...] = ()  # The noisy `b`

    def intervals(self, functions: Floats, level: float) -> list[tuple[float, float]]:
        """Return ends for linear functions of the least squares weights, which hold together with a probability.

        Parameters
        ----------
        functions : numpy.ndarray, shape (functions, p)
            Coefficients of each.
        level : float
            In (0, 1).
        """
        fit = self.mechanism
        if not isinstance(fit, MomentFit):
            raise UsageError("intervals are those of a fit by moments; ask for method='moments'.")
        constant, growing = fit.reach(level)
        matrix, right = np.array(self.curvature), np.array(self.products)
        values, vectors = np.linalg.eigh(matrix)
        room = values**2 - growing
        if room.min() <= 0:
            return [(-math.inf, math.inf)] * len(functions)
        turned = vectors.T @ right
        # In the basis of eigenvectors: sum room u^2 - 2 values u turned + |turned|^2 - constant <= 0.
        centre = values * turned / room
        size = max(float((room * centre**2).sum() - (turned**2).sum()) + constant, 0.0)
        found = []
        for function in functions @ vectors:
            middle = float(function @ centre)
            half = math.sqrt(size * float((function**2 / room).sum()))
            spare = 1e-9 * (abs(middle) + half)
            found.append((middle - half - spare, middle + half + spare))
        return found


@dataclass(frozen=True, eq=False)
class MomentFit(CuratedDescent):
    """Least squares from noisy moments, one round; see :class:`CuratedDescent`.

    Raises
    ------
    UsageError
        If the setting is not central and of the squared loss, clips gradients, or has more than 64 weights.

    Guarantee
    ---------
    ``(epsilon, delta)`` central user-level, with the slack of the noise's grid. The module's text has the proof.

    >>> setting = DescentSetting(1000, 2, "squared", 4.0, 1.0, 1.0, 1e-6)
    >>> fit = MomentFit(setting, 1, True)
    >>> fit.epsilon, fit.law.dimension, round(fit.law.scale, 4)
    (1.0, 4, 0.0152)
    """

    def __post_init__(self) -> None:
        own = self.setting
        if self.rounds != 1 or own.model != "central" or own.loss != "squared":
            raise UsageError("moments are of the squared loss in the central model, in one round; take a descent.")
        if own.dimension > MOST_WEIGHTS:
            raise UsageError(f"moments are for at most {MOST_WEIGHTS} weights, got {own.dimension}; take a descent.")
        if own.clip < UNCLIPPED * math.sqrt(own.dimension):
            raise UsageError("clip must be left out for moments, which are of gradients that are not clipped.")

    @property
    def name(self) -> str:
        return f"moments of all users, {self.law.name} noise"

    @property
    def theorem(self) -> str:
        return f"{self.law.name} noise on mean products of features and target, which one user moves by a public bound"

    @property
    def size(self) -> int:
        """``m``."""
        p = self.setting.dimension
        return p + p * (p + 1) // 2 - (not self.setting.elsewhere)

    @cached_property
    def law(self) -> AdditiveMechanism:
        own, p = self.setting, self.setting.dimension
        wide, squares = p + p * (p - 1) // 2, p - 1
        cut = 10 * self.size * Fraction(2) ** -own.exponent
        if self.is_gaussian:
            moved = float_up((Fraction(root_up(Fraction(4 * wide + squares))) + cut) / own.users)
            return GaussianMechanism(
                sensitivity=moved, alpha=own.epsilon, delta=own.delta, dimension=self.size, magnitude=2.0
            )
        moved = float_up((2 * wide + squares + cut) / own.users)
        return LaplaceMechanism(sensitivity=moved, alpha=own.epsilon, dimension=self.size, magnitude=2.0)

    @property
    def noise(self) -> float:
        """Standard deviation of the noise of one moment."""
        return self.law.standard_deviation

    @property
    def strength(self) -> str:
        return f"{self.law.name} noise of scale {self.law.scale:.4g} on each of {self.size} moments"

    @property
    def typical_excess(self) -> float:
        own = self.setting
        inverse = math.fsum(count / curved for curved, count in own.curvatures)
        return min(0.5 * self.noise**2 * (1.0 + (own.radius / 2.0) ** 2) * inverse, 10.0 * own.unfitted_excess)

    @property
    def expected_excess(self) -> float:
        """The same: no bound of the expected loss is known for any data."""
        return self.typical_excess

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        """Return the noise, and what it is expected to cost."""
        del unit
        return (
            ("moments", f"{self.size} mean products of all users' features and target; {self.strength}"),
            (
                "excess loss",
                f"about {self.typical_excess:.4g} where features are spread evenly (weights of 0 have "
                f"{self.setting.unfitted_excess:.4g} there); on the rescaled columns",
            ),
        )

    def reach(self, level: float) -> tuple[float, float]:
        """Return ``c`` and ``k`` with ``|A w - products|^2 <= c + k |w|^2`` at a level; the module's text."""
        p, tail = self.setting.dimension, 1.0 - level
        if self.is_gaussian:
            from scipy.stats import chi2

            whole = float(chi2.isf(tail * (1 - _MARGIN), p)) * self.law.scale**2 * (1 + _MARGIN)
            return whole, 2.0 * whole
        from scipy.stats import gamma

        scale, tail = self.law.scale, tail * (1 - _MARGIN)
        largest = scale * math.log(2 * self.size / tail) + self.law.grid
        added = scale * float(gamma.isf(tail / 2, self.size)) + self.size * self.law.grid
        whole = min(largest**2 * (p * p + p), 2 * largest * added) * (1 + _MARGIN)
        return whole, whole

    def _dealt(self) -> Sequence[Integers | None]:
        return (None,)

    def _ask(self, crowd: Crowd) -> Floats:
        """Return exact sums of gradients: private, until :meth:`_descended` adds noise."""
        return np.asarray(crowd.added(ColumnSums(self.setting.dimension)), dtype=object)

    def _descended(self, estimate: Callable[[Floats, Integers | None], Floats]) -> DescentRelease:
        p = self.setting.dimension
        unit = Fraction(2) ** -self.setting.exponent / self.setting.users
        at_zero = [int(one) for one in estimate(np.zeros(p), None)]
        columns = [
            [int(one) - start for one, start in zip(estimate(own, None), at_zero, strict=True)] for own in np.eye(p)
        ]
        places = [(i, j) for i in range(p) for j in range(i, p) if j > 0 or self.setting.elsewhere]
        exact = [-one * unit for one in at_zero] + [columns[j][i] * unit for i, j in places]
        noisy = [float(one) for one in self.law.release(exact)]
        products, matrix = np.array(noisy[:p]), np.zeros((p, p))
        matrix[0, 0] = 1.0
        for (i, j), value in zip(places, noisy[p:], strict=True):
            matrix[i, j] = matrix[j, i] = value
        weights = self._solved(matrix, products)
        return MomentRelease(
            tuple(weights.tolist()), self, tuple(tuple(row) for row in matrix.tolist()), tuple(products.tolist())
        )

    def _solved(self, matrix: Floats, products: Floats) -> Floats:
        """Return the smallest noisy loss in the ball, with no curvature below what noise alone makes."""
        values, vectors = np.linalg.eigh(matrix)
        values = np.maximum(values, self.noise * math.sqrt(self.setting.dimension))
        turned, radius = vectors.T @ products, self.setting.radius
        if float(np.linalg.norm(turned / values)) <= radius:
            return np.asarray(vectors @ (turned / values), dtype=np.float64)
        low, high = 0.0, float(np.linalg.norm(turned)) / radius
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if float(np.linalg.norm(turned / (values + middle))) > radius else (low, middle)
        return np.asarray(vectors @ (turned / (values + high)), dtype=np.float64)


def moment_candidates(setting: DescentSetting) -> tuple[MomentFit, ...]:
    """Return the fits by moments that a setting allows: none but for the squared loss in the central model.

    >>> [fit.name for fit in moment_candidates(DescentSetting(1000, 2, "squared", 4.0, 1.0, 1.0, 1e-6))]
    ['moments of all users, Laplace noise', 'moments of all users, Gaussian noise']
    """
    p = setting.dimension
    if (
        setting.model != "central"
        or setting.loss != "squared"
        or p > MOST_WEIGHTS
        or setting.clip < UNCLIPPED * math.sqrt(p)
    ):
        return ()
    has_delta = setting.delta > least_gaussian_delta(p + p * (p + 1) // 2)
    return tuple(MomentFit(setting, 1, is_gaussian) for is_gaussian in ((False, True) if has_delta else (False,)))
