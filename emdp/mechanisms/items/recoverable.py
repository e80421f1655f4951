"""Recoverable response: outsiders see a private message, and whoever holds the user's key has the item exactly.

**Setting** (tiers-and-recoverability.md 3). A user's item ``x`` becomes a message ``Y`` by a key ``U`` that is drawn
independently of ``x``. For each key, ``x -> Y`` can be inverted.

**Difference set.** Let ``v = 2^r - 1`` and ``D`` be the places of the ones in a period of a maximal-length
shift-register sequence (primitive polynomial of degree ``r``): ``|D| = h = 2^(r-1)``, and every shift by other than 0
meets ``D`` in ``l = 2^(r-2)`` places. (For ``r = 1``: ``v = h = 1``, ``D = {0}``.)

**Theorem.** Let ``B`` blocks of ``v`` items make ``K = B v >= k``; item ``x`` has block ``b = x // v`` and place ``i =
x mod v``. Draw ``U = (c, u)`` with weight ``g = e^eps`` on the ``h`` keys of ``c = 0, u in D``, and 1 on the others,
and send ``Y = ((b + c) mod B, (u - i) mod v)``. Then

1. *privacy*: ``Y`` is ``eps``-LDP, so with ``eps = alpha0 w``, ``w`` the smallest distance of two different items, it
   is ``alpha0``-``d_X``-DP;
2. *recovery*: ``b = Y.block - c mod B`` and ``i = u - Y.place mod v``;
3. *estimates*: with ``T = h g + K - h``, ``q`` the shares of messages and ``C_x`` the ``h`` messages of the block of
   ``x`` with ``(y + i) mod v in D``, the share of ``x`` is ``2 T/(h (g - 1)) q(C_x) - T/(h (g - 1)) q(block of x) -
   1/(h (g - 1))`` in expectation. The sum over items of the squares of what a message adds is the same number for all
   messages (:func:`response_risk`): ``n`` times the expected squared error is that less ``|p|^2``, whatever the shares.

*Proof.* 1. For every ``x`` the map from keys to messages is a bijection, and its image of the heavy keys is ``C_x``: so
``Y`` has weight ``g`` on ``C_x`` and 1 elsewhere, of a sum ``T`` that is the same for all ``x``. 2. Solve for ``b, i``.
3. ``C_x`` and ``C_x'`` have ``h``, ``l`` or 0 messages in common for the same item, two of a block, two of different
blocks. So ``q(C_x)`` has means ``h g/T``, ``(l g + h - l)/T``, ``h/T``, the block ``(h g + v - h)/T`` or ``v/T``; with
``4 l = v + 1 = 2 h`` the combination is 1, 0, 0. Each message lies in ``C_x`` for ``h`` items of its block. ∎

``T`` values of one user need ``T`` independent keys, which cost ``T eps`` and ``T`` times the bits. The entropy of a
key is :attr:`Recoverable.key_bits`; no scheme needs less than :func:`least_key_bits`. ``r`` and ``B`` are those of the
least error. (That plain Hadamard response is recoverable, as published, is false: for some messages too many items
would have to share a key.)

**When not.** Who only wants the shares takes :class:`emdp.randomizers.HadamardResponse` or an oracle of
``session.frequencies``, whose errors are as small and which have no keys to guard. What is recovered is the raw datum:
later answers from it are charged anew. A key that is used for two messages tells outsiders the difference of the two
items: it is used once.
"""

import math
from functools import cached_property, reduce
from operator import xor
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count, check_positive
from emdp.base.errors import RefusedError, UsageError
from emdp.mechanisms.items.finite import FiniteRandomizer
from emdp.mechanisms.weights import TOTAL, Floats, Integers, actual_alpha0
from emdp.privacy.blanket.output_law import OutputLaw
from emdp.spaces import Space

__all__ = ["Recoverable", "difference_set", "least_key_bits", "response_risk"]

TAPS: dict[int, tuple[int, ...]] = {
    2: (1, 0), 3: (1, 0), 4: (1, 0), 5: (2, 0), 6: (1, 0), 7: (1, 0), 8: (4, 3, 2, 0), 9: (4, 0), 10: (3, 0),
    11: (2, 0), 12: (6, 4, 1, 0),
}  # fmt: skip
"""Exponents below the degree of a primitive polynomial of each degree."""


class Recoverable(FiniteRandomizer):
    """Recoverable response on any finite item space; outputs are numbers from 0 to ``B v - 1``.

    Like ``KRR`` it spends its strength on the nearest items, so it suits 0/1 distances.

    Parameters
    ----------
    space : Space
        A finite item space, no two items at distance 0.
    alpha0 : float
        The strength asked for, positive: on 0/1 distances the epsilon.

    Attributes
    ----------
    degree, blocks : int
        ``r`` and ``B``.

    Raises
    ------
    UsageError
        If an argument is malformed, the space is not finite, or two items are at distance 0.

    Guarantee
    ---------
    A message without its key is ``alpha0``-``d_X``-DP, by the theorem of this file, from the integer weights. A message
    with its key is the item.

    >>> from emdp.spaces import Categories
    >>> randomizer = Recoverable(Categories("kind", ["cafe", "bar", "park"]), 1.0)
    >>> messages, keys = randomizer.encode(np.array([0, 1, 2, 2]))
    >>> randomizer.recover(messages, keys).tolist()
    [0, 1, 2, 2]
    >>> round(randomizer.key_bits, 3), round(least_key_bits(3, 1.0), 3)
    (1.407, 1.407)
    """

    name: ClassVar[str] = "recoverable response"
    theorem: ClassVar[str] = (
        "a key over a cyclic difference set at eps = alpha0 w_min is alpha0-d_X-DP (tiers-and-recoverability.md 3)"
    )

    def __init__(self, space: Space, alpha0: float) -> None:
        super().__init__(space, alpha0)
        self.items.check_distinct(type(self).__name__)
        self.degree, self.blocks = _shape(self.items.count, min(self.requested * self.w_min, 50.0))

    @property
    def places(self) -> int:
        """``v``: items of a block."""
        return 1 if self.degree == 1 else 2**self.degree - 1

    @cached_property
    def law(self) -> OutputLaw:
        """The exact output law of all ``K`` items, those that only fill the last block included.

        A guarantee for more items is one for some of them. All distances are lowered to the smallest one, where the law
        meets its constraint. Any two items of a block look like any other two of one, any two of different blocks too:
        how many messages are in both sets, in one of them or in none, and the least weight of each, are the same.
        """
        v, total = self.places, self.places * self.blocks
        pairs = [[0, 1]] if v > 1 else []
        pairs += [[0, v]] if self.blocks > 1 else []
        distances = self.w_min * (1.0 - np.eye(total))
        return OutputLaw(self._full(*self._levels), distances, np.array(pairs, dtype=np.int64))

    @cached_property
    def right_inverse(self) -> Floats:
        return self._from_shares(np.eye(self.places * self.blocks))

    @property
    def key_bits(self) -> float:
        """Entropy of a key, in bits."""
        chances = np.unique(self.weights[0] / float(TOTAL), return_counts=True)
        return float(-(chances[1] * chances[0] * np.log2(chances[0])).sum())

    def encode(self, items: npt.NDArray[Any]) -> tuple[Integers, Integers]:
        """Return a message and a key for each item: the message is for everybody, the key for who may know the item.

        Parameters
        ----------
        items : numpy.ndarray of integers
            Item codes (:func:`emdp.spaces.item_codes`), shape (n,).

        Returns
        -------
        messages, keys : numpy.ndarray of int64
            Shape (n,), both from 0 to ``B v - 1``. A key is used for this one message.
        """
        given = np.asarray(items)
        if given.ndim != 1 or given.dtype.kind not in "iu" or ((given < 0) | (given >= self.items.count)).any():
            raise UsageError(f"items must be a list of whole numbers below {self.items.count}; pass item codes.")
        # The key of item 0 is its message: so keys are drawn as messages of it are.
        keys = self.draw(np.zeros(given.shape, dtype=np.int64))
        block, place = np.divmod(given.astype(np.int64), self.places)
        shift, value = np.divmod(keys, self.places)
        return ((block + shift) % self.blocks) * self.places + (value - place) % self.places, keys

    def recover(self, messages: npt.NDArray[Any], keys: npt.NDArray[Any]) -> Integers:
        """Return the items of messages with their keys.

        Raises
        ------
        UsageError
            If a message or key is none, or the two do not belong together as far as that shows.

        >>> from emdp.spaces import Categories
        >>> Recoverable(Categories("kind", ["a", "b"]), 1.0).recover(np.array([1]), np.array([1])).tolist()
        [0]
        """
        made, used = np.asarray(messages), np.asarray(keys)
        total = self.places * self.blocks
        for name, given in (("messages", made), ("keys", used)):
            if given.ndim != 1 or given.dtype.kind not in "iu" or ((given < 0) | (given >= total)).any():
                raise UsageError(
                    f"{name} must be a list of whole numbers from 0 to {total - 1}; pass what encode made."
                )
        if made.shape != used.shape:
            raise UsageError(f"keys must be as many as the {made.size} messages, got {used.size}; pass one for each.")
        shift, value = np.divmod(used.astype(np.int64), self.places)
        sent, at = np.divmod(made.astype(np.int64), self.places)
        found = ((sent - shift) % self.blocks) * self.places + (value - at) % self.places
        if (found >= self.items.count).any():
            raise UsageError("keys do not belong to these messages, which would be of no item; pass those of encode.")
        return np.asarray(found, dtype=np.int64)

    def explain(self) -> str:
        """Return the randomizer in one line: the bits of a key beside the least there can be, errors beside others."""
        # Loaded where it is needed.
        from emdp.mechanisms.items.hadamard_response import HadamardResponse

        items, epsilon = self.items.count, min(self.alpha0 * self.w_min, 50.0)
        least, mine = least_key_bits(items, epsilon), response_risk(self.degree, self.blocks, epsilon, items)
        other = HadamardResponse(self.space, self.requested)
        plain = float(other.matrix[0] @ np.square(other.right_inverse).sum(axis=1))
        return (
            f"{super().explain()}, a key of {self.key_bits:.4g} bits, where none has less than {least:.4g}; all shares "
            f"of n users err by {math.sqrt(mine):.4g}/sqrt(n) in the 2-norm, by Hadamard response, without keys to "
            f"guard, {math.sqrt(plain):.4g}/sqrt(n)"
        )

    def outputs_frame(self) -> dict[str, list[Any]]:
        """Return the outputs' numbers."""
        return {"output": list(range(self.places * self.blocks))}

    def estimate_variance(self) -> Floats:
        """Return the largest variance of each item's estimate from one randomised item, alike for all items."""
        heavy, light = (weight / float(TOTAL) for weight in self._levels)
        h, v = _half(self.degree), self.places
        common = h // 2
        inside, rest, outside = self._entries
        cases = [(h * heavy, (v - h) * light, 1.0)]
        if v > 1:
            cases.append(
                (common * heavy + (h - common) * light, (h - common) * heavy + (v - 2 * h + common) * light, 0)
            )
        if self.blocks > 1:
            cases.append((h * light, (v - h) * light, 0.0))
        found = [own * inside**2 + near * rest**2 + (1.0 - own - near) * outside**2 - mean for own, near, mean in cases]
        return np.full(self.items.count, max(found))

    @property
    def _levels(self) -> tuple[int, int]:
        """The two weights of the fitted law: of a heavy and of a light output."""
        row = self.weights[0]
        return int(row.max()), int(row.min())

    @property
    def _entries(self) -> tuple[float, float, float]:
        """What a message adds to the estimate of an item: in its set, in its block alone, elsewhere."""
        heavy, light = self._levels
        unit = 1.0 / (_half(self.degree) * (heavy / light - 1.0))
        scale = TOTAL / light * unit
        return scale - unit, -scale - unit, -unit

    def _from_shares(self, shares: Floats) -> Floats:
        inside, rest, outside = self._entries
        by_block = shares.reshape(*shares.shape[:-1], self.blocks, self.places)
        marks = np.fft.rfft(difference_set(self.degree).astype(np.float64))
        # q(C_x) for all places at once: a circular correlation with the difference set.
        sets = np.fft.irfft(marks * np.conj(np.fft.rfft(by_block)), n=self.places)
        blocks = by_block.sum(axis=-1, keepdims=True)
        whole = shares.sum(axis=-1)[..., None, None]
        found = (inside - rest) * sets + (rest - outside) * blocks + outside * whole
        return np.asarray(found.reshape(*shares.shape)[..., : self.items.count], dtype=np.float64)

    def _reached_by(self, weights: Integers) -> float:
        # Two items' sets differ both ways, so that every pair attains the quotient of the two weights.
        high, low = int(weights[0].max()), int(weights[0].min())
        pair = np.array([[high, low], [low, high]], dtype=np.int64)
        return actual_alpha0(pair, np.array([[0.0, self.w_min], [self.w_min, 0.0]]))

    def _weights_at(self, strength: float) -> Integers:
        h, total = _half(self.degree), self.places * self.blocks
        ideal = float(TOTAL) / (h * np.exp(min(strength * self.w_min, 700.0)) + total - h)
        # A multiple of h, so that h outputs share the rest evenly; up, which brings the two nearer to each other.
        low = max(math.ceil(ideal / h), 1) * h
        high = (TOTAL - (total - h) * low) // h
        if high <= low:
            raise RefusedError(f"alpha0 = {self.requested:.3g} is too small for 62-bit weights; ask for more.")
        return self._full(high, low)[: self.items.count]

    def _full(self, high: int, low: int) -> Integers:
        """Return the weights of all ``K`` items."""
        v, marks = self.places, difference_set(self.degree)
        shifted = marks[(np.arange(v)[:, None] + np.arange(v)[None, :]) % v]
        weights = np.full((v * self.blocks, v * self.blocks), low, dtype=np.int64)
        for start in range(0, len(weights), v):
            own = weights[start : start + v, start : start + v]
            own[shifted] = high
        return weights


def difference_set(degree: int) -> npt.NDArray[np.bool_]:
    """Return which of the ``2^degree - 1`` places are in the difference set; for degree 1 the one place there is.

    >>> difference_set(3).astype(int).tolist()
    [0, 0, 1, 0, 1, 1, 1]
    """
    if degree == 1:
        return np.ones(1, dtype=np.bool_)
    bits = [0] * (degree - 1) + [1]
    for place in range(2**degree - 1 - degree):
        bits.append(reduce(xor, (bits[place + tap] for tap in TAPS[degree])))
    return np.array(bits, dtype=np.bool_)


def response_risk(degree: int, blocks: int, epsilon: float, items: int | None = None) -> float:
    """Return the expected sum over items of the squares of what one message adds to their estimates.

    ``n`` times the expected squared error of these estimates is this less the sum of the squared shares. Of all ``K``
    items, the default, it is the same whatever the shares; of the first ``items`` it is that of an item of the first
    block, about that of all.

    >>> round(response_risk(3, 1, 0.5) - 1, 3), round(response_risk(4, 4, 3.0) - 1 / 60, 3)
    (92.896, 29.073)
    >>> round(response_risk(4, 1, 1.0, 10), 3), round(response_risk(1, 10, 1.0, 10), 3)
    (43.533, 41.958)
    """
    h, v = _half(degree), 1 if degree == 1 else 2**degree - 1
    total, grown, common = v * blocks, math.expm1(epsilon), h // 2
    light = 1.0 / (h * grown + total)
    heavy, unit = light * math.exp(epsilon), 1.0 / (h * grown)
    scale = unit / light
    known = total if items is None else items
    same = min(v, known)
    found = 0.0
    for count, inside in ((1, h), (same - 1, common), (known - same, 0)):
        own = inside * heavy + (h - inside) * light
        block = v * light + (h if count and inside else 0) * (heavy - light)
        found += count * (own * (scale - unit) ** 2 + (block - own) * (scale + unit) ** 2 + (1.0 - block) * unit**2)
    return found


def least_key_bits(items: int, epsilon: float) -> float:
    """Return the entropy that a key must have for so many items, in bits (S0, theorem 7.5.1).

    A key law over ``k`` values with quotients of at most ``e^epsilon`` has the least entropy at two levels: ``s`` atoms
    ``e^epsilon/t`` and ``k - s`` atoms ``1/t``, ``t = s e^epsilon + k - s``, for the best ``s``. A uniform key, which
    hides the item altogether, takes ``log2 k``.

    >>> [round(least_key_bits(10, epsilon), 3) for epsilon in (1.0, 3.0, 5.0)]
    [3.145, 1.873, 0.497]
    """
    k, strength = check_count("items", items, minimum=2), check_positive("epsilon", epsilon)
    grown = math.exp(-strength)

    def bits(atoms: int) -> float:
        # Divided by e^epsilon, so that nothing overflows.
        total = atoms + (k - atoms) * grown
        return math.log2(total) + (k - atoms) * grown / total * strength / math.log(2.0)

    best = k * (grown * grown + grown * (strength - 1.0)) / (1.0 - grown) ** 2
    near = {min(max(int(best) + step, 1), k - 1) for step in (0, 1)}
    return min(map(bits, near))


def _half(degree: int) -> int:
    return int(2 ** (degree - 1))


def _shape(items: int, epsilon: float) -> tuple[int, int]:
    """Return degree and number of blocks with the least error of the items there are; the first of those alike."""
    shapes = [(degree, -(-items // (1 if degree == 1 else 2**degree - 1))) for degree in (1, *TAPS)]
    known = [shape for shape in shapes if shape[1] > 1 or shape[0] == 1 or 2 ** (shape[0] - 1) <= items]
    return min(known, key=lambda shape: response_risk(shape[0], shape[1], epsilon, items))
