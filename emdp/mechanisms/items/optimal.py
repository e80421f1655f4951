"""The optimal mechanism of a finite item space, by linear programming.

Theorem (EMD 4; Bordenabe, Chatzikokolakis and Palamidessi 2014). Among all laws ``A`` with ``A[x, y] <= exp(alpha0
d_X(x, x')) A[x', y]`` the least expected distance ``sum_x p_x sum_y A[x, y] d_X(x, y)`` is the value of a linear
program.

*What is released.* The program (:mod:`emdp.mechanisms.items.optimal_program`) is solved in doubles, so its solution
meets the constraints to a tolerance only. It is repaired, output by output: ``V[x, y] = max_z exp(-g d_X(x, z)) A[z,
y]`` meets ``V[x, y] <= exp(g d_X(x, x')) V[x', y]`` by the triangle inequality. What its rows lack to their largest
sum, ``c_x``, and a little ``h`` more, is spread evenly over the outputs; ``c_x + h`` meets the constraint too if ``c_x
- c_x' <= h (exp(g d_X(x, x')) - 1)``, and a sum of functions that meet it does. Then rows are equal in sum, rounded to
  integers,
and ``alpha0`` is computed from those; ``g`` starts at the request and is lowered until that holds. The guarantee rests
on this last check alone; optimality rests on the solver, on the stretch of the constraints (``stretch``: 1 loses
nothing) and on ``h``, about 1e-8.
"""

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count, check_positive
from emdp.base.errors import UsageError
from emdp.mechanisms.items.exponential import tuned_strength
from emdp.mechanisms.items.finite import FiniteRandomizer
from emdp.mechanisms.items.optimal_program import optimal_law, sparse_pairs
from emdp.mechanisms.weights import Floats, Integers, integer_rows
from emdp.spaces import Space

__all__ = ["MOST_OPTIMAL_ITEMS", "Optimal"]

MOST_OPTIMAL_ITEMS = 400
"""Most items of a program: 400 take a few seconds of processor, with fewer outputs where symmetry is small."""

STEEPEST = 30.0
"""Largest ``alpha0 d_X`` of a program: its coefficients then reach 1e13."""

MIXED = 1e-8
"""Least probability that is spread evenly, so that no weight is so small that rounding matters."""


class Optimal(FiniteRandomizer):
    """The law of least expected distance under the constraint, by a linear program.

    Solving takes a second or two of processor for 100 items, and two to six for 400. It happens when the weights are
    first needed.

    Parameters
    ----------
    space : Space
        A finite item space of at most 400 items, no two at distance 0.
    alpha0 : float
        The strength asked for, positive, at most 30.
    prior : sequence of float, optional
        A *public* guess of the items' shares, which the expected distance is weighed by; default equal shares. The
        guarantee does not depend on it.
    most_constraints : int
        Constraints that the program may have before pairs of items are left out for a ``stretch`` above 1, and then
        outputs for a net of them: more are nearer to the optimum and slower. On a 20 x 20 grid at ``alpha0 = 4`` the
        default has 52 outputs and gives 0.2393 in two seconds of processor (``Exponential``: 0.3227).
    seconds : float
        Time limit of the solver, which may overrun it a little.

    Raises
    ------
    UsageError
        If an argument is malformed, the space is not finite, too large, or has items at distance 0.
    SolverError
        If the program is not solved in time.

    Guarantee
    ---------
    ``alpha0``-``d_X``-DP, by the check of the integer weights; see the text of this file.

    >>> from emdp.spaces import Distances
    >>> space = Distances("stop", ["A", "B", "C"], [[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> randomizer = Optimal(space, 2.0)
    >>> round(randomizer.expected_distance, 4), round(randomizer.alpha0, 4)
    (0.2123, 2.0)
    """

    name: ClassVar[str] = "optimal mechanism"
    theorem: ClassVar[str] = "linear program for the least expected distance, its weights checked (EMD 4)"

    def __init__(
        self,
        space: Space,
        alpha0: float,
        prior: npt.ArrayLike | None = None,
        *,
        most_constraints: int = 40_000,
        seconds: float = 300.0,
    ) -> None:
        super().__init__(space, alpha0)
        if self.items.count > MOST_OPTIMAL_ITEMS:
            raise UsageError(
                f"Optimal takes at most {MOST_OPTIMAL_ITEMS} items, and the space has {self.items.count}; use a "
                "coarser grid, or Exponential."
            )
        self.items.check_distinct("Optimal")
        self.most_constraints = check_count("most_constraints", most_constraints)
        self.seconds = check_positive("seconds", seconds)
        self.prior = _check_prior(prior, self.items.count)
        _check_strength(self.requested)

    @property
    def stretch(self) -> float:
        """Factor by which the program's constraints are tightened for pairs that it leaves out; 1 for none."""
        return self._solution[1]

    @property
    def expected_distance(self) -> float:
        """``sum_x p_x sum_y A[x, y] d_X(x, y)``, in units of ``d_X``."""
        return float(self.prior @ (self.matrix * self.items.matrix).sum(axis=1))

    def at(self, alpha0: float) -> "Optimal":
        other = super().at(alpha0)
        _check_strength(other.requested)
        # Neither depends on the strength, and the pairs take a second.
        other.__dict__.update(_kept=self._kept, _sparse=self._sparse)
        return other

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "prior": self.prior.tolist()}

    @cached_property
    def _kept(self) -> tuple[Integers, ...]:
        """The isometries that keep the prior, a group."""
        return tuple(moved for moved in self.items.isometries if np.array_equal(self.prior[moved], self.prior))

    @cached_property
    def _sparse(self) -> tuple[Integers, float, int]:
        """The pairs of items whose constraints the program has, their stretch, and how many outputs it may have."""
        return sparse_pairs(self.items.matrix, len(self._kept), self.most_constraints)

    @cached_property
    def _solution(self) -> tuple[Floats, float]:
        """The program's law, or the exponential mechanism's where a stretched program is worse, and the stretch."""
        matrix = self.items.matrix
        law, stretch = optimal_law(
            matrix,
            self.prior,
            self.requested,
            self._kept,
            most_constraints=self.most_constraints,
            seconds=self.seconds,
            sparse=self._sparse,
        )
        plain = np.exp(-tuned_strength(matrix, self.requested) * matrix)
        plain /= plain.sum(axis=1, keepdims=True)
        worse = self.prior @ ((law - plain) * matrix).sum(axis=1) > 0
        return (plain if worse else law), stretch

    def _weights_at(self, strength: float) -> Integers:
        matrix, law = self.items.matrix, self._solution[0]
        steep = np.exp(-strength * matrix)
        repaired = np.zeros_like(law)
        for item in range(len(law)):
            np.maximum(repaired, np.multiply.outer(steep[:, item], law[item]), out=repaired)
        # sorted, so that items that a symmetry carries to each other have equal sums
        sums = np.sort(repaired, axis=1).sum(axis=1)
        lacking = sums.max() - sums
        gaps = np.subtract.outer(lacking, lacking)
        slack = np.divide(gaps, np.expm1(strength * matrix), out=np.zeros_like(gaps), where=matrix > 0).max()
        spread = (lacking + max(2 * float(slack), MIXED)) / len(law)
        return integer_rows(repaired + spread[:, None])


def _check_prior(prior: npt.ArrayLike | None, count: int) -> Floats:
    if prior is None:
        return np.full(count, 1.0 / count)
    try:
        given = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.shape != (count,) or not (np.isfinite(given) & (given >= 0)).all() or not given.sum() > 0:
        raise UsageError(f"prior must be {count} finite numbers of at least 0, not all 0; pass one for each item.")
    return np.asarray(given / given.sum(), dtype=np.float64)


def _check_strength(alpha0: float) -> None:
    if alpha0 > STEEPEST:
        raise UsageError(f"alpha0 must be at most {STEEPEST} for Optimal, got {alpha0}; use Exponential.")
