"""Mean of users' vectors by signs of sampled coordinates, with noise of a curator: few bits a user on average.

**Setting** (CSGM of Chen, Song, Ozgur and Kairouz, algorithms 1 and 2). ``n`` users hold a vector each. It is mapped to
a point of the cube ``[-1, 1]^D``; of the ``D`` coordinates ``d'`` are kept, a public choice that looks at no data. A
user sends each kept coordinate with chance ``q = b/d'``, as one fair sign of its mean, ``b`` bits on average: where the
curator and the user share a seed, the coins need no bits. **The coins stay between the user and the curator**, and are
fresh for each question. The curator adds signs up exactly, adds discrete Gaussian noise, divides by ``n q``, fills what
was not kept with 0, and multiplies by ``D/d'``.

**Theorem.** The release is ``(epsilon, delta)``-DP at user level, replacing a user, in the central model. *Proof.* The
choice of coordinates is independent of data. Given it, a kept coordinate is Gaussian noise of multiplier ``z`` on a
Poisson sample of signs of size 1, in ``2^30`` units; coins and noise of different coordinates are independent. A user's
signs are drawn from the vector beforehand: whatever they are, the theorem of :mod:`emdp.privacy.sampled_gaussian` holds
with ``d'`` rounds, and a mixture over signs is no worse. The lattice adds
:func:`emdp.privacy.sampled_gaussian.lattice_slack`, which is taken off delta and epsilon before ``z`` is chosen. ∎ The
published proof counts a user who is added or removed, half of a replacement (compressed-estimation.md 6.2).

**Error.** The estimate is unbiased for the mean of the clipped vectors. For points ``y`` in the cube, scaled by ``c``,
its mean squared error is exactly ``(D/d' - 1) |mean|^2 + (D/d') sum over users and coordinates of (c^2/q - x^2)/n^2 +
D^2 sigma^2/d'``, ``sigma = z c/(n q)``: the first part is the choice, the second sampling and signs, the last privacy.

Where all vectors are with the curator already ``q = 1`` without signs is better, at the same privacy: compression saves
bandwidth and nothing else.
"""

import math
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count, check_positive, check_unit_interval
from emdp.base.errors import UsageError
from emdp.mechanisms.items.hadamard_response import walsh_hadamard
from emdp.mechanisms.strength import check_epsilon
from emdp.mechanisms.vector.randomizer import check_norm, clip_to_ball
from emdp.mechanisms.vector.rotated import draw_rotation_signs, rotated_radius
from emdp.mechanisms.weights import TOTAL, Floats, Integers
from emdp.noise.choices import draw_bernoulli, draw_permutation
from emdp.noise.coins import draw_coins
from emdp.noise.discrete_gaussian import draw_discrete_gaussian
from emdp.privacy import GuaranteeEvent, UserDP
from emdp.privacy.calibration import gaussian_sigma
from emdp.privacy.sampled_gaussian import lattice_slack, sampled_gaussian_multiplier

__all__ = ["UNITS", "SampledCoordinates", "noise_multiplier"]

UNITS = 2**30
"""Units of a sign in exact sums."""

LARGEST_DIMENSION = 2**17
_BITS = 62
_BETA = 0.01
"""Chance, over public signs, that any entry of any user is clipped after the rotation of a 2-ball."""


def noise_multiplier(epsilon: float, delta: float, rate: float, rounds: int, coordinates: int) -> float:
    """Return the multiplier whose rounds cost epsilon at delta on the lattice: with the slack taken off both.

    ``coordinates`` is how many numbers all rounds release together.

    >>> round(noise_multiplier(1.0, 1e-5, 1.0, 1, 1), 3)
    7.462
    """
    slack, beyond = lattice_slack(UNITS, 0.05, coordinates)
    if beyond >= delta / 2 or slack >= epsilon / 2:
        raise UsageError(f"delta must be larger for so many coordinates, got {delta:g}; pass a larger one.")
    return sampled_gaussian_multiplier(epsilon - slack, rate, rounds, (delta - beyond) * (1 - slack))


class SampledCoordinates:
    """Signs of sampled coordinates of users' vectors, and the mean that a curator makes of them.

    Parameters
    ----------
    dimension : int
        ``d``, from 1 to 2^17.
    radius : float
        Of the ball that vectors are clipped to.
    users : int
        ``n``, public.
    epsilon, delta : float
        Of the release, at user level; delta above 0.
    bits : float
        ``b``: signs that a user sends on average, above 0; at most the coordinates kept.
    norm : {inf, 2}
        Of the ball; a 2-ball is rotated first, by public signs.
    kept : int, optional
        ``d'``: how many coordinates are asked for at all, drawn here and public; all of them by default.

    Attributes
    ----------
    rate : float
        ``q``, as it is drawn.
    multiplier : float
        ``z``.
    places : numpy.ndarray of int64
        The kept coordinates, public.

    Raises
    ------
    UsageError
        If a parameter is out of its range.

    Guarantee
    ---------
    ``(epsilon, delta)`` at user level, central, replacing a user's vector by any other; the module's text has the
    proof. It holds for one :meth:`release`, and while nobody but the user and the curator sees which coordinates were
    sent.

    >>> law = SampledCoordinates(8, 1.0, 1000, 1.0, 1e-5, bits=4)
    >>> messages = law.encode(np.full((1000, 8), 0.5))
    >>> law.bits, law.release(law.tally(messages)).shape
    (4.0, (8,))
    """

    name: ClassVar[str] = "signs of sampled coordinates"
    theorem: ClassVar[str] = (
        "Gaussian noise on a secret Poisson sample, replacing a user, coordinate by coordinate "
        "(emdp.privacy.sampled_gaussian)"
    )

    def __init__(
        self,
        dimension: int,
        radius: float,
        users: int,
        epsilon: float,
        delta: float,
        *,
        bits: float,
        norm: float = math.inf,
        kept: int | None = None,
    ) -> None:
        self.dimension, self.users = check_count("dimension", dimension), check_count("users", users)
        if self.dimension > LARGEST_DIMENSION:
            raise UsageError(f"dimension must be at most {LARGEST_DIMENSION}, got {dimension}; merge coordinates.")
        self.radius, self.norm = check_positive("radius", radius), check_norm(norm)
        if self.norm not in (2.0, math.inf):
            raise UsageError(f"norm must be 2 or math.inf, got {norm!r}; take a ball that holds the other one.")
        self.epsilon, self.delta = check_epsilon(epsilon), check_unit_interval("delta", delta)
        self.rotation = draw_rotation_signs(self.width) if self.norm == 2.0 else None
        self.scale = self.radius if self.norm != 2.0 else rotated_radius(self.width, self.radius, self.users, _BETA)
        wanted = self.width if kept is None else check_count("kept", kept)
        if wanted > self.width:
            raise UsageError(f"kept must be at most the {self.width} coordinates that there are, got {kept}.")
        self.places = np.sort(draw_permutation(self.width)[:wanted])
        asked = check_positive("bits", bits)
        if asked > wanted:
            raise UsageError(f"bits must be at most the {wanted} coordinates that are asked for, got {bits}.")
        self._numerator = round(Fraction(asked) / wanted * TOTAL)
        self.rate = self._numerator / TOTAL
        self.multiplier = noise_multiplier(self.epsilon, self.delta, self.rate, wanted, wanted)

    @property
    def width(self) -> int:
        """``D``: coordinates of the cube."""
        return 1 << (self.dimension - 1).bit_length() if self.norm == 2.0 else self.dimension

    @property
    def bits(self) -> float:
        """Signs that a user sends on average, where the coins come from a seed shared with the curator."""
        return self.rate * self.places.size

    @property
    def bits_with_places(self) -> float:
        """Bits on average, at best, where the curator is told the coordinates too."""
        rest = 1 - self.rate
        spread = 0.0 if rest == 0 else -self.rate * math.log2(self.rate) - rest * math.log2(rest)
        return self.bits + self.places.size * spread

    @property
    def sigma(self) -> float:
        """Deviation of the noise on each kept coordinate's mean."""
        return self.multiplier * self.scale / (self.users * self.rate)

    def encode(self, vectors: npt.ArrayLike) -> Integers:
        """Return the messages of some users, on their side: a sign for what is sent, 0 for what is not.

        Parameters
        ----------
        vectors : array-like of float, shape (users of the block, dimension)
            Clipped to the ball here; entries that are not finite count as 0.

        Returns
        -------
        numpy.ndarray of int64, shape (users of the block, kept)
            For the curator alone.
        """
        given = np.asarray(vectors, dtype=np.float64)
        if given.ndim != 2 or given.shape[1] != self.dimension:
            raise UsageError(f"vectors must be rows of {self.dimension} numbers; pass one row a user.")
        cube = self._to_cube(clip_to_ball(given, self.radius, self.norm))[:, self.places]
        half = TOTAL // 2
        chances = half + np.clip(np.rint(cube * float(half)), -half, half).astype(np.int64)
        signs = 2 * draw_bernoulli(chances.ravel(), _BITS).astype(np.int64) - 1
        return np.asarray((signs * draw_coins(self._numerator, signs.size)).reshape(cube.shape), dtype=np.int64)

    def tally(self, messages: npt.NDArray[Any]) -> Integers:
        """Return the exact sums of messages, shape (kept,): the curator's, private; those of blocks add up."""
        given = np.asarray(messages)
        if given.dtype.kind != "i" or given.ndim != 2 or given.shape[1] != self.places.size:
            raise UsageError(f"messages must be integer rows of {self.places.size} signs; pass what encode returned.")
        # Not by np.abs, which leaves the smallest integer of a type negative.
        if bool(((given > 1) | (given < -1)).any()):
            raise UsageError("messages hold what no user sends; pass what encode returned.")
        return np.asarray(given.sum(axis=0), dtype=np.int64)

    def release(self, tally: npt.NDArray[Any]) -> Floats:
        """Return the mean of all users' clipped vectors, with noise, shape (dimension,): this spends.

        Parameters
        ----------
        tally : numpy.ndarray of int64
            The sum of the tallies of all users.
        """
        given = np.asarray(tally)
        is_sound = given.dtype.kind == "i" and given.shape == self.places.shape
        if not is_sound or bool(((given > self.users) | (given < -self.users)).any()):
            raise UsageError("tally must be the sums of at most as many messages as users; pass a sum of tallies.")
        noise = draw_discrete_gaussian(self.multiplier * UNITS, given.size)
        noisy = np.array([(int(one) * UNITS + own) / UNITS for one, own in zip(given, noise, strict=True)])
        point = np.zeros(self.width)
        point[self.places] = noisy / (self.users * self.rate) * (self.width / self.places.size)
        return self._from_cube(point)

    def squared_error(self, vectors: npt.ArrayLike | None = None) -> float:
        """Return the mean squared 2-norm of the error: for given vectors exactly, else the largest but for clipping.

        With vectors it is as private as they are.
        """
        wide, own = self.width, self.places.size
        noise = wide**2 * self.sigma**2 / own
        if vectors is None:
            mean = min(self.radius if self.norm == 2.0 else math.inf, self.scale * math.sqrt(wide))
            return (wide / own - 1) * mean**2 + wide**2 / own * self.scale**2 / self.rate / self.users + noise
        points = self.scale * self._to_cube(clip_to_ball(np.asarray(vectors, dtype=np.float64), self.radius, self.norm))
        mean_square = float((points.mean(axis=0) ** 2).sum())
        signs = wide * self.scale**2 / self.rate / self.users - float((points**2).sum()) / self.users**2
        return (wide / own - 1) * mean_square + wide / own * signs + noise

    def uncompressed_error(self) -> float:
        """Return the mean squared error of Gaussian noise on whole vectors at the same price: the best way."""
        longest = self.radius if self.norm == 2.0 else self.radius * math.sqrt(self.dimension)
        return self.dimension * gaussian_sigma(self.epsilon, self.delta, 2 * longest / self.users) ** 2

    def event(self) -> GuaranteeEvent:
        """Return what a ledger keeps of one release."""
        return GuaranteeEvent(UserDP(self.epsilon, self.delta), f"{self.name}, {self.bits:g} bits a user")

    def explain(self) -> str:
        """Return the mechanism in one line, with the error beside that of sending everything."""
        mine, best = math.sqrt(self.squared_error()), math.sqrt(self.uncompressed_error())
        return (
            f"{self.name}: {self.bits:g} bits a user on average ({self.bits_with_places:.4g} with the places), "
            f"epsilon = {self.epsilon:g}, delta = {self.delta:g} at user level, root mean squared error at most "
            f"{mine:.4g}; noise on whole vectors has {best:.4g}, and is better wherever they are with the curator "
            f"already; {self.theorem}"
        )

    def _to_cube(self, vectors: Floats) -> Floats:
        if self.rotation is None:
            return np.clip(vectors / self.radius, -1.0, 1.0)
        padded = np.zeros((len(vectors), self.width))
        padded[:, : self.dimension] = vectors
        turned = walsh_hadamard(padded * self.rotation) / (math.sqrt(self.width) * self.scale)
        return np.asarray(np.clip(turned, -1.0, 1.0), dtype=np.float64)

    def _from_cube(self, point: Floats) -> Floats:
        if self.rotation is None:
            return self.scale * point
        turned = walsh_hadamard(point[None, :])[0] * self.rotation
        return np.asarray(turned[: self.dimension] * (self.scale / math.sqrt(self.width)), dtype=np.float64)
