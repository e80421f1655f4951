"""Frequencies of items by sampled Hadamard rows, with noise of a curator: few bits a user on average.

**Setting** (SRHR of Chen, Song, Ozgur and Kairouz, algorithm 3). ``d = 2^(b-1) B`` items, a power of two; item ``v`` is
in chunk ``v // B`` at offset ``v % B``. A user sends, for each row ``j < B`` with chance ``1/B``, the chunk and the
sign ``H_B[j, offset]``: ``b`` bits on average, where the coins come from a seed that is shared with the curator. **The
coins stay secret.** The curator adds signs of each chunk and row up exactly, adds discrete Gaussian noise to every
cell, empty ones too, multiplies by ``B/n``, and decodes each chunk by ``H_B/B``.

**Theorem.** The release is ``(epsilon, delta)``-DP at user level, replacing a user, in the central model. *Proof.* For
one row a user is a vector of length 1 over the chunks, sent with chance ``1/B`` by a coin of its own: the theorem of
:mod:`emdp.privacy.sampled_gaussian`, which holds for vectors at any angle, in ``B`` rounds. Two users of different
chunks are ``sqrt 2`` apart and of one chunk up to 2, which the theorem covers; for ``B = 1`` nobody is more than ``sqrt
2`` from another, and the noise is Gaussian for that move. The lattice's slack is taken off as in
:mod:`emdp.mechanisms.compressed.coordinates`. ∎ The published proof adds or removes a user; by replacement the note had
the fallback of twice the sensitivity (compressed-replace-one.md 1), which takes up to twice the noise where ``B > 1``.

**Error.** Unbiased; the mean squared 2-norm of the error is exactly ``(B-1)/n + d sigma^2/B``, ``sigma = z B/n``. ``B =
1`` sends the item itself, and is best where bandwidth is free.
"""

import math
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count, check_unit_interval
from emdp.base.errors import UsageError
from emdp.mechanisms.compressed.coordinates import UNITS, noise_multiplier
from emdp.mechanisms.items.hadamard_response import walsh_hadamard
from emdp.mechanisms.strength import check_epsilon
from emdp.mechanisms.weights import TOTAL, Floats, Integers
from emdp.noise.coins import draw_coins
from emdp.noise.discrete_gaussian import draw_discrete_gaussian
from emdp.privacy import GuaranteeEvent, UserDP

__all__ = ["SampledHadamard"]

MOST_ITEMS = 2**17


class SampledHadamard:
    """Signs of sampled Hadamard rows about one item of each user, and the shares that a curator makes of them.

    Parameters
    ----------
    items : int
        From 2 to 2^17; padded to a power of two.
    users : int
        ``n``, public.
    epsilon, delta : float
        Of the release, at user level; delta above 0.
    bits : int
        ``b``: bits of a user on average, from 1 to ``log2(d) + 1``.

    Attributes
    ----------
    rows : int
        ``B``.
    multiplier : float
        ``z``.

    Raises
    ------
    UsageError
        If a parameter is out of its range.

    Guarantee
    ---------
    ``(epsilon, delta)`` at user level, central, replacing a user's item by any other, for one :meth:`release`; the
    module's text has the proof.

    >>> law = SampledHadamard(8, 1000, 1.0, 1e-5, bits=2)
    >>> law.rows, law.release(law.tally(law.encode(np.zeros(1000, dtype=np.int64)))).shape
    (4, (8,))
    """

    name: ClassVar[str] = "sampled Hadamard rows"
    theorem: ClassVar[str] = (
        "Gaussian noise on a secret Poisson sample, replacing a user, row by row (emdp.privacy.sampled_gaussian)"
    )

    def __init__(self, items: int, users: int, epsilon: float, delta: float, *, bits: int) -> None:
        self.items, self.users = check_count("items", items, minimum=2), check_count("users", users)
        if self.items > MOST_ITEMS:
            raise UsageError(f"items must be at most {MOST_ITEMS}, got {items}; merge items.")
        self.epsilon, self.delta = check_epsilon(epsilon), check_unit_interval("delta", delta)
        self.bits, most = check_count("bits", bits), (self.items - 1).bit_length() + 1
        if self.bits > most:
            raise UsageError(f"bits must be at most {most} for {items} items, got {bits}; pass fewer.")
        self.rows = 1 << (most - self.bits)
        cells = self.rows * self.chunks
        self.multiplier = noise_multiplier(self.epsilon, self.delta, 1.0 / self.rows, self.rows, cells)
        if self.rows == 1:
            self.multiplier = math.nextafter(self.multiplier / math.sqrt(2.0), math.inf)

    @property
    def chunks(self) -> int:
        """``2^(b-1)``."""
        return 1 << (self.bits - 1)

    @property
    def sigma(self) -> float:
        """Deviation of the noise on a cell, in shares."""
        return self.multiplier * self.rows / self.users

    def encode(self, codes: npt.ArrayLike) -> Integers:
        """Return the messages of some users, on their side, one row a user: 0 for a row that is not sent.

        Parameters
        ----------
        codes : array-like of int, shape (users of the block,)
            Each user's item, from 0.

        Returns
        -------
        numpy.ndarray of int64, shape (users of the block, rows)
            The chunk plus 1, times the sign; for the curator alone.
        """
        given = np.asarray(codes)
        if given.dtype.kind not in "iu" or given.ndim != 1 or bool(((given < 0) | (given >= self.items)).any()):
            raise UsageError(f"codes must be items from 0 to {self.items - 1}, one a user; pass such integers.")
        own = given.astype(np.int64)
        parity = np.bitwise_count((own % self.rows)[:, None] & np.arange(self.rows)) & 1
        sent = draw_coins(TOTAL // self.rows, own.size * self.rows).reshape(own.size, self.rows)
        return np.asarray((own // self.rows + 1)[:, None] * (1 - 2 * parity.astype(np.int64)) * sent, dtype=np.int64)

    def tally(self, messages: npt.NDArray[Any]) -> Integers:
        """Return the exact sums of signs, shape (chunks, rows): the curator's, private; those of blocks add up."""
        given = np.asarray(messages)
        if given.dtype.kind != "i" or given.ndim != 2 or given.shape[1] != self.rows:
            raise UsageError(f"messages must be integer rows of {self.rows}; pass what encode returned.")
        if bool(((given > self.chunks) | (given < -self.chunks)).any()):
            raise UsageError("messages hold chunks that there are not; pass what encode returned.")
        given = given.astype(np.int64)
        total = np.zeros((self.chunks + 1, self.rows), dtype=np.int64)
        np.add.at(total, (np.abs(given), np.arange(self.rows)), np.sign(given))
        return total[1:]

    def release(self, tally: npt.NDArray[Any]) -> Floats:
        """Return the share of users of each item, with noise, shape (items,): this spends."""
        given = np.asarray(tally)
        is_sound = given.dtype.kind == "i" and given.shape == (self.chunks, self.rows)
        if not is_sound or bool(((given > self.users) | (given < -self.users)).any()):
            raise UsageError(f"tally must be integers of shape {(self.chunks, self.rows)}; pass a sum of tallies.")
        noise = draw_discrete_gaussian(self.multiplier * UNITS, given.size)
        noisy = [(int(one) * UNITS + own) / UNITS for one, own in zip(given.ravel(), noise, strict=True)]
        cells = np.array(noisy).reshape(given.shape) * (self.rows / self.users)
        return np.asarray((walsh_hadamard(cells) / self.rows).ravel()[: self.items], dtype=np.float64)

    def squared_error(self) -> float:
        """Return the mean squared 2-norm of the error over all ``d`` items, exactly."""
        return (self.rows - 1) / self.users + self.chunks * self.sigma**2

    def uncompressed_error(self) -> float:
        """Return the mean squared error of the same with all bits, ``B = 1``: the best a curator does this way."""
        cells = self.rows * self.chunks
        multiplier = noise_multiplier(self.epsilon, self.delta, 1.0, 1, cells) / math.sqrt(2.0)
        return cells * (multiplier / self.users) ** 2

    def event(self) -> GuaranteeEvent:
        """Return what a ledger keeps of one release."""
        return GuaranteeEvent(UserDP(self.epsilon, self.delta), f"{self.name}, {self.bits} bits a user")

    def explain(self) -> str:
        """Return the mechanism in one line, with the error beside that of sending the item."""
        mine, best = math.sqrt(self.squared_error()), math.sqrt(self.uncompressed_error())
        return (
            f"{self.name}: {self.bits} bits a user on average, epsilon = {self.epsilon:g}, delta = {self.delta:g} at "
            f"user level, root mean squared error {mine:.4g}; noise on the histogram has {best:.4g}, and is better "
            f"wherever the items are with the curator already; {self.theorem}"
        )
