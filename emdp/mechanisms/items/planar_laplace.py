"""Planar Laplace noise on places and vectors: an item moved by lattice noise that falls off with the Euclidean norm.

Setting. ``T`` is the space's chart (:mod:`emdp.mechanisms.items.planar_charts`): ``||T(x) - T(y)||_2 <= dist(x, y)``,
the natural, untruncated distance. ``reach = max(diameter, domain_diameter)``; where nothing is cut it is the diameter.
``g`` is a public grid, a power of two, ``t`` a float, ``b(x)`` the lattice point ``T(x)/g``, computed, rounded to
nearest, and ``e`` the chart's error. The randomizer draws ``Z`` in Z^d with ``P(z)`` proportional to
``exp(-||z||_2/t)``, exactly (:mod:`emdp.noise.k_norm`), and puts out a public function of ``b(x) + Z``: the way back
of the chart, which ends in the domain. So the noise has scale ``t g`` in natural units.

Theorem (EMD 4, "Planar Laplace"; grid: EMD 8.5). Let ``s = (g sqrt(d) + 2 e)/reach``, the *slack distance*, and
``alpha0 = reach (1 + s)/(t g)``. On lattice points ``p = b(x)`` let ``D(p, q) = g ||p - q||_2/(reach (1 + s))``.

(a) ``D <= 1``, ``D(b(x), b(y)) <= (d_X(x, y) + s)/(1 + s) <= d_X(x, y) + s``, and the randomizer is ``alpha0``-``D``
private: ``A(x)(S) <= exp(alpha0 D(b(x), b(y))) A(y)(S)`` for all items and sets.

(b) Release of bags. If a theorem or an accountant gives ``(alpha, delta)`` d_EM-DP for the release of bags by any
``alpha0``-private randomizer on a metric of at most 1, then for neighbours at distance ``d`` here ``H_{exp(alpha (d +
s))} <= delta``: the additive slack is ``alpha s`` in epsilon (:meth:`PlanarLaplace.slack_epsilon`), whatever the
number of items, nothing in delta.

(c) ``A(x)(S) >= blanket_mass A(c)(S)`` for every item ``x`` of the domain, ``c`` the chart's centre.

*Proof.* (a) Computing ``T`` moves it by at most ``e`` and rounding by at most ``g sqrt(d)/2``, so ``g ||b(x) - b(y)||
<= dist(x, y) + g sqrt(d) + 2 e = dist(x, y) + s reach``. With ``dist <= reach`` this is ``D <= 1``. Also ``dist/reach
<= d_X = min(dist/diameter, 1)``: by ``reach >= diameter`` where it is not cut, by ``reach >= domain_diameter >= dist``
where it is. Hence the second claim. Around two lattice points the probabilities of one point differ by a factor of at
most ``exp(||p - q||_2/t)``, the normaliser, a sum over the whole lattice, being the same; ``||p - q||_2/t = alpha0
D(p, q)`` by definition; the way back is post-processing. (b) The release is that of the bags ``b(K)`` by the same
noise on the metric ``D``, and moving items along an optimal plan, ``d_EM`` under ``D`` is at most ``d + s``. (c) With
``r`` a bound of ``||T||_2`` on the domain, ``g ||b(x) - 0||_2 <= r + e + g sqrt(d)/2``, so each probability is at
least ``exp(-(r + e + g sqrt(d)/2)/(t g))`` times that around the lattice's origin.

*Elsewhere.* Where the space has one more point at distance ``rho`` of every item, a record puts out a place and a bit
that says whether it is somewhere. Let ``F`` be a bound of ``g ||b(x)||_2`` on the domain. The bit is told as it is with
odds of at most ``exp(e)``, ``e = (reach (1 + s) rho - F)/(t g)``; the place of a record that is elsewhere is that of
the chart's centre, with the same noise. Where the bit says elsewhere the place is not put out.

(d) With ``D(p, elsewhere) = rho`` (a) and (b) hold for this randomizer and that space, (c) with a mass of ``2/(1 +
exp(e))`` times as much. It asks for ``e > 0``, that is ``rho`` above the largest distance from the centre; so 1/2 is
too little, and at 1 the bit has about half of ``alpha0``. *Proof.* Between items the bits have one law. Between ``x``
and the point places lose at most ``||b(x) - 0||_2/t <= F/(t g)`` and bits ``e``, together ``alpha0 rho``; both are
drawn apart. ``D`` stays a metric of at most 1 by the lemma of :mod:`emdp.spaces.combined.elsewhere`, and ``D(b(x),
elsewhere)`` is ``d_X`` of them. For (c) a bit of either kind has at least the chance ``1/(1 + exp(e))``, and a fair
one 1/2. Not to put out a place is post-processing. ∎

``t`` is chosen so that ``alpha0`` is at most what was asked for. Where a declared diameter is below the domain's, far
pairs would exceed ``alpha0`` with noise of scale ``diameter/alpha0`` (EMD 4): the noise is then calibrated to the
domain's diameter, which is sound and larger; a smaller domain brings it back.
"""

import math
from dataclasses import field
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_positive
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.items.planar_charts import Chart, chart_of
from emdp.mechanisms.items.randomizer import Randomizer
from emdp.mechanisms.strength import inside_numerator
from emdp.mechanisms.weights import TOTAL
from emdp.noise.choices import draw_bernoulli
from emdp.noise.k_norm import Lattice, draw_planar
from emdp.privacy.blanket.output_law import OutputLaw
from emdp.spaces import Space
from emdp.spaces.base import Floats
from emdp.spaces.rounding import fraction_up, norm_up, product_up

__all__ = ["PlanarLaplace"]

LEAST_STRENGTH, LARGEST_STRENGTH = 2.0**-20, 2.0**30
"""Range of ``alpha0``: in it lattice points of the domain are exact as float64 and sums with noise fit in 64 bits."""

LEAST_BIT = 2.0**-10
"""Share of ``alpha0`` for the bit below which it would tell nothing."""

LEAST_MASS = 1e-300
"""A smaller mass is given as 0."""

_REACH_BITS, _SCALE_BITS, _MOST_BITS = 40, 20, 42
# The grid is 2^-40 of the reach or 2^-20 of the scale, the finer, but at most 2^42 to 2^43 steps make the scale.

_TOLD_BITS = TOTAL.bit_length() - 1
# Of the chances of a bit.

_BLOCK = 2**16
# Items drawn at once.


@dataclass(frozen=True, init=False)
class PlanarLaplace(Randomizer):
    """Planar Laplace noise, in the plane or in R^d, clamped to the domain.

    Parameters
    ----------
    space : Interval, Vector or Geo
        The item space; vectors of up to 24 columns. With the point elsewhere an output may be that point, too.
    alpha0 : float
        Bound of the log-ratio of two items' outputs per unit of ``d_X``, in [2^-20, 2^30]; what is reached is
        :attr:`alpha0`, at most this.

    Attributes
    ----------
    grid : float
        Step of the public lattice, in natural units; a power of two.
    units : float
        Scale of the noise in grid steps.
    slack_distance : float
        The ``s`` of the module's text, in units of ``d_X``, rounded up: a release of bags with the accountant's
        ``alpha`` has the additive slack ``alpha * slack_distance`` in epsilon.
    truthful : float
        Chance that an output is a place for a record that is somewhere, and none for one that is elsewhere; 1 without
        the point elsewhere.

    Raises
    ------
    UsageError
        If the space has no chart (a product, a finite space, a cycle), the point elsewhere is too near, or ``alpha0``
        is out of its range.

    Guarantee
    ---------
    ``alpha0``-``d_X`` privacy of one item, up to the slack; theorem and proof in the module's text. Its hypotheses: the
    chart is a contraction (proved there, per space), items lie in the domain (:meth:`draw` moves others into it), the
    noise is exact.

    References
    ----------
    Andres, Bordenabe, Chatzikokolakis, Palamidessi, "Geo-indistinguishability" (CCS 2013); EMD 4, EMD 8.5.

    >>> from emdp.spaces import Geo
    >>> space = Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), on_invalid="clamp")
    >>> randomizer = PlanarLaplace(space, 20.0)
    >>> randomizer.alpha0 <= 20, round(randomizer.scale, 3), randomizer.slack_distance < 1e-11
    (True, 3.399, True)
    >>> randomizer.draw(space.encode({"lat": [40.7, 40.8], "lon": [-74.0, -73.9]})).shape
    (2, 2)
    """

    name: ClassVar[str] = "planar Laplace"
    theorem: ClassVar[str] = "planar Laplace noise on a lattice, exact, then clamped (EMD 4; grid: EMD 8.5)"
    w_min: ClassVar[float] = 0.0
    """0: items of a continuum lie as close as one likes."""
    law: ClassVar[OutputLaw | None] = None
    """None: there are too many outputs for a matrix; see :meth:`log_density`."""
    space: Space
    requested: float
    grid: float
    units: float
    slack_distance: float
    _chart: Chart = field(repr=False, compare=False)
    _told: int = field(repr=False, compare=False)
    # Numerator over 2^62 of the chance that the bit is told as it is.

    def __init__(self, space: Space, alpha0: float) -> None:
        chart = chart_of(space.items_space if isinstance(space, Space) else space)
        requested = check_positive("alpha0", alpha0)
        if not LEAST_STRENGTH <= requested <= LARGEST_STRENGTH:
            raise UsageError(
                f"alpha0 must be between 2^-20 and 2^30 for planar Laplace noise, got {requested}; choose one in that "
                "range, which is wider than any use."
            )
        reach = _reach(space)
        grid = _grid(reach, requested)
        moved = Fraction(grid) * Fraction(norm_up([1.0] * chart.dimension)) + 2 * Fraction(chart.error)
        slack_distance = fraction_up(moved / Fraction(reach))
        fields: dict[str, object] = {
            "space": space,
            "requested": requested,
            "grid": grid,
            "units": fraction_up(_stretched(reach, slack_distance) / (Fraction(requested) * Fraction(grid))),
            "slack_distance": slack_distance,
            "_chart": chart,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_told", self._told_by(space.elsewhere))

    @property
    def alpha0(self) -> float:
        """The bound of the log-ratio per unit of ``d_X``, rounded up."""
        return fraction_up(_stretched(_reach(self.space), self.slack_distance) / Fraction(self.scale))

    @property
    def scale(self) -> float:
        """Scale of the noise in natural units, exact: its density falls by ``e`` over this distance."""
        return self.units * self.grid

    @property
    def dimension(self) -> int:
        """Number of coordinates of the noise: 2 in the plane, 3 where places are moved in space."""
        return self._chart.dimension

    @property
    def expected_error(self) -> float:
        """Mean distance in natural units by which an item is moved, before it is clamped, which shortens it.

        The mean length of the noise, ``d`` times the scale: 2/eps in the plane (EMD 2, K-norm). Of noise in space a
        share of ``pi/4`` moves a place along the surface, while it is small beside the Earth; in the other chart of
        places east-west moves are longer by up to a third.
        """
        return self._chart.moved * self.dimension * self.scale

    @property
    def blanket_mass(self) -> float:
        """The mass of the privacy blanket around the centre, claim (c) of the module's text, rounded down.

        About ``exp(-alpha0/2)`` where the domain is a ball, a box or an interval of that diameter (technical-notes.md
        1.5), instead of ``exp(-alpha0)``.
        """
        mass = math.exp(-fraction_up(self._farthest / Fraction(self.scale))) * self._bit_mass
        # exp is within a few units in the last place of a normal number, far less than 2^-40
        return mass * (1.0 - 2.0**-40) if mass > LEAST_MASS else 0.0

    @property
    def _bit_mass(self) -> float:
        return 1.0 if self._told == TOTAL else 2.0 * (TOTAL - self._told) / TOTAL

    @property
    def truthful(self) -> float:
        """Chance that the bit is told as it is; 1 where there is none."""
        return self._told / TOTAL

    @property
    def _farthest(self) -> Fraction:
        """Bound of the distance of the domain's lattice points from the chart's centre."""
        ones = Fraction(norm_up([1.0] * self.dimension))
        return Fraction(self._chart.radius) + Fraction(self._chart.error) + Fraction(self.grid) * ones / 2

    def _told_by(self, rho: float | None) -> int:
        """Return the numerator of the bit's chance, by claim (d)."""
        if rho is None:
            return TOTAL
        left = _stretched(_reach(self.space), self.slack_distance) * Fraction(rho) - self._farthest
        if left < Fraction(LEAST_BIT) * Fraction(_reach(self.space)):
            raise UsageError(
                f"space has its point elsewhere at distance {rho}, and planar noise from the middle of the domain "
                "leaves nothing of that to hide whether a record is somewhere; declare elsewhere=1, or use emdp.Grid."
            )
        return inside_numerator(left / Fraction(self.scale), 1, 1)

    def at(self, alpha0: float) -> Self:
        return type(self)(self.space, alpha0)

    def slack_epsilon(self, alpha: float) -> float:
        """Return what a release of bags that an accountant finds ``alpha`` adds to epsilon, claim (b), rounded up.

        >>> from emdp.spaces import Interval
        >>> 0 < PlanarLaplace(Interval("x", 0, 1), 2.0).slack_epsilon(25.0) < 1e-10
        True
        """
        return product_up(check_positive("alpha", alpha), self.slack_distance)

    def draw(self, items: Floats) -> Floats:
        """Return one independent output an item.

        Parameters
        ----------
        items : numpy.ndarray
            Encoded items, shape (n, width). One outside the domain is moved to its edge first, one that is not
            finite to the neutral item, so that the guarantee does not rest on the caller. NaN is elsewhere, where the
            space has that point.

        Returns
        -------
        numpy.ndarray
            Encoded outputs in the domain, shape (n, width), in the order of the items: shuffle them before release
            where the shuffle model is claimed.

        Raises
        ------
        UsageError
            If ``items`` has another width than the space.
        """
        outputs = np.empty(self._checked(items).shape, dtype=np.float64)
        for start in range(0, len(items), _BLOCK):
            block = items[start : start + _BLOCK]
            points = self.lattice_points(block)
            points += draw_planar(self.units, self.dimension, len(points))
            own = self.outputs(points)
            if self.space.elsewhere is not None:
                own[self.space.is_elsewhere(block) == self._bits(len(block))] = np.nan
            outputs[start : start + _BLOCK] = own
        return outputs

    def _bits(self, count: int) -> npt.NDArray[np.bool_]:
        """Draw whether each bit is told as it is."""
        return draw_bernoulli(np.full(count, self._told, dtype=np.int64), _TOLD_BITS)

    def lattice_points(self, items: Floats) -> Lattice:
        """Return the lattice points to which items are rounded, shape (n, dimension): private, as the items are."""
        items = self._checked(items)
        gone = self.space.is_elsewhere(items)
        missing = np.logical_not(np.isfinite(items).all(axis=1, keepdims=True))
        if missing.any():
            items = np.where(missing, self.space.items_space.neutral_item, items)
        points = np.rint(self._chart.to_plane(self._chart.clamp(items)) / self.grid).astype(np.int64)
        points[gone] = 0
        return points

    def outputs(self, points: Lattice) -> Floats:
        """Return the outputs that lattice points stand for, shape (n, width): the way back, into the domain."""
        return self._chart.from_plane(np.asarray(points * self.grid, dtype=np.float64))

    def log_density(self, items: Floats, points: Lattice) -> Floats:
        """Return ``log P(b(x) + Z = p)`` up to one constant for all items and lattice points, shape (n, points).

        >>> from emdp.spaces import Interval
        >>> randomizer = PlanarLaplace(Interval("x", 0, 1), 2.0)
        >>> ends = randomizer.lattice_points(np.array([[0.0], [1.0]]))
        >>> randomizer.log_density(np.array([[0.0]]), ends).round(6).tolist()
        [[-0.0, -2.0]]
        """
        apart = (points[None, :, :] - self.lattice_points(items)[:, None, :]).astype(np.float64)
        return np.asarray(np.sqrt(np.square(apart).sum(axis=2)) / -self.units, dtype=np.float64)

    def explain(self) -> str:
        unit = "" if self.space.unit is None else f" {self.space.unit}"
        line = (
            f"{super().explain()}: moves an item by {self.expected_error:.4g}{unit} on average before it is clamped to "
            f"the domain; grid {self.grid:.3g}{unit}, slack {self.slack_distance:.2g} of d_X"
        )
        if self.space.elsewhere is not None:
            line += f"; says wrongly with probability {1 - self.truthful:.3g} whether a record is somewhere"
        if self.space.is_truncated:
            line += (
                f"; calibrated to the domain's diameter {self.space.domain_diameter:.6g}{unit}, since distances are "
                f"cut at {self.space.diameter:.6g}{unit}: a smaller domain needs less noise"
            )
        return line

    def parameters(self) -> dict[str, Any]:
        return {
            **super().parameters(),
            **({} if self.space.elsewhere is None else {"truthful": self.truthful}),
            "dimension": self.dimension,
            "scale": self.scale,
            "grid": self.grid,
            "slack_distance": self.slack_distance,
        }

    def _checked(self, items: Floats) -> Floats:
        if items.ndim != 2 or items.shape[1] != self.space.width:
            raise UsageError(
                f"items must have the shape (n, {self.space.width}) of this space, got {items.shape}; pass what its "
                "encode returns."
            )
        return items


def _reach(space: Space) -> float:
    return max(space.diameter, space.items_space.domain_diameter)


def _stretched(reach: float, slack_distance: float) -> Fraction:
    return Fraction(reach) * (1 + Fraction(slack_distance))


def _grid(reach: float, alpha0: float) -> float:
    scale = reach / alpha0
    fine = min(math.ldexp(reach, -_REACH_BITS), math.ldexp(scale, -_SCALE_BITS))
    step = max(fine, math.ldexp(scale, -_MOST_BITS))
    return math.ldexp(1.0, math.frexp(step)[1] - 1)
