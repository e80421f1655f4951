"""Shuffled messages of a place and a sign: their dominating pair, all users sending or a secret sample of them.

**Setting.** A message is ``(j, s)``. The place ``j`` has a law that does not depend on data; given it the sign is 1
with probability ``1/2 + t v_j(x)/2``, ``t = tanh(epsilon0/2)``, ``|v_j(x)| <= 1`` for whatever ``x`` a user holds.
One user sends one message and all users' randomizers are alike; the multiset is released, ``n`` is public. One-bit
Hadamard messages, a sampled coordinate or direction, a bit of a sampled place, a bit plane of one block, and a bounded
number's one bit (a single place) are such messages. Several messages of a user in one tuple are none: shuffle each by
itself and compose.

**Theorem** (shuffle-known-randomizers.md 2 and 4). Let every two values of a user have ``|v_j - v'_j| <= w`` for all
``j``, ``w`` in (0, 2]. For ``epsilon >= 0`` and either order the divergence ``H_{exp(epsilon)}`` of two releases that
differ in that user is at most that of

    ``A + Bern((1 + t (w-1))/2)`` against ``A + Bern((1 - t)/2)``,  ``C ~ Bin(n-1, 1-t)`` seen,  ``A ~ Bin(C, 1/2)``.

*Proof.* ``m(j, s) = pi_j (1-t)/2`` is below every law of a message and has mass ``1 - t``: a privacy blanket (Balle,
Bell, Gascon, Nissim 2019), under which ``s`` is a fair coin whatever ``j`` is. So with ``M ~ Bin(n, 1-t)`` the
divergence is at most ``(1/n) E (sum_{i<=M} l_i)_+``, ``l = (1 - E + s t (v_j - E v'_j))/(1-t)``, ``E = e^epsilon``.
Given ``j`` this has two equally likely values about ``(1-E)/(1-t)``, ``t |v_j - E v'_j|/(1-t)`` off. For ``|v - v'| <=
w`` and ``E >= 1`` that is at most ``t (E - 1 + w)/(1-t)``, which ``(v, v') = (w-1, -1)`` attains: less spread about one
mean is less in convex order, whatever the law of ``j``. For that case the bound is the divergence of the pair above,
given ``C``: its ``C + 1`` coins of mean ``y`` have the ratios ``1 + t (w-1) y`` and ``1 - t y`` to fair ones. ∎

``w = 2`` is any change at all, and the pair is the clone pair of :mod:`emdp.privacy.shuffle.clone_pair` with ``tilt =
epsilon0`` and the clone probability ``1 - t = 2/(e^epsilon0 + 1)``. It is its own mirror image.

**Sampled rounds.** If a secret uniform sample of ``k`` of ``n`` users sends, the release is that of ``k`` messages, the
last one's laws being mixtures of another user's, ``1 - k/n``, and the two of the user in question, ``k/n``
(:mod:`emdp.privacy.shuffle.renyi`). Mixtures of place-sign laws are place-sign laws: the theorem holds with ``n := k``
and ``w = 2k/n``.

**Several rounds.** For ``w < 2`` the pair's other order has smaller divergences, and an adversary may meet either: a
product of pairs of one order is no bound (``n = 4``, ``k = 1``, ``epsilon0 = 2``, two rounds, ``epsilon = .7``: .07187
for .10929; tested). :func:`place_sign_law` is mirrored: with ``delta(epsilon)`` of the theorem, its divergence is
``delta(epsilon)`` for ``epsilon >= 0`` and ``1 - e^epsilon + e^epsilon delta(-epsilon)`` below. The first is the
theorem for either order, the second follows from it by ``H_E(P, Q) = 1 - E + E H_{1/E}(Q, P)``. So it bounds at every
level, for either order: its Renyi divergences and products bound those of rounds (:meth:`RatioLaw.mirrored
<emdp.privacy.shuffle.renyi_law.RatioLaw.mirrored>`). Such a pair exists: the masses above the ratio 1 and their images
below it are at most ``sum_{y > 0} Bin (2 - (2-w) t y) <= 1``; on the rest the ratio is 1.
"""

import math

from emdp.base.checks import check_count, check_finite, check_range, check_unit_interval
from emdp.privacy.shuffle.binary import pair_epsilon
from emdp.privacy.shuffle.clone_pair import CloneMixture
from emdp.privacy.shuffle.grid import LARGEST_ALPHA0, LARGEST_ITEMS
from emdp.privacy.shuffle.renyi_law import RatioLaw, ratio_law

__all__ = ["place_sign_delta", "place_sign_epsilon", "place_sign_law", "place_sign_pure"]

_SMALLEST = 1e-9
"""Weakest messages, and smallest gap, that are looked at."""


def place_sign_pure(epsilon0: float, gap: float = 2.0) -> float:
    """Return the pure epsilon of messages whose ``v`` differ by ``gap`` at most, rounded up: ``ln(1 + w t/(1-t))``.

    >>> place_sign_pure(1.0), round(place_sign_pure(1.0, 0.2), 4)
    (1.0, 0.1586)
    """
    strength, width = _check(epsilon0, gap)
    return strength if width == 2.0 else min(math.log1p(width / 2 * math.expm1(strength)) * (1 + 1e-14), strength)


def place_sign_delta(epsilon: float, epsilon0: float, n: int, gap: float = 2.0) -> float:
    """Return the divergence of ``n`` shuffled place-sign messages, rounded up.

    Parameters
    ----------
    epsilon : float
        At least 0.
    epsilon0 : float
        Pure LDP of a message whose ``v`` may be anything, in [1e-9, 12].
    n : int
        Messages, at least 1.
    gap : float
        ``w``, in [1e-9, 2]: how far a user's ``v`` may move.

    >>> round(place_sign_delta(0.043206, 1.0, 10**4), 8)
    1e-06
    """
    level = check_range("epsilon", epsilon, 0.0, 1e6)
    pure = place_sign_pure(epsilon0, gap)
    others, clone, lean = _clones(epsilon0, n)
    if level >= pure:
        return 0.0
    mixture = CloneMixture(others, clone, lean)
    if level == 0:
        return min(1.0, lean * gap / 2 * math.exp(mixture.log_excess(math.inf)) * (1 + 1e-12))
    ratio = -math.expm1(level - pure) * math.exp(pure) / ((math.exp(epsilon0) + 1) * math.expm1(level))
    return min(1.0, math.exp(mixture.log_excess(ratio * (1 + 1e-14))) * math.expm1(level) * (1 + 1e-12))


def place_sign_epsilon(epsilon0: float, n: int, delta: float, gap: float = 2.0) -> float:
    """Return the epsilon at ``delta`` of ``n`` shuffled place-sign messages, rounded up.

    Parameters
    ----------
    epsilon0, n, gap
        As in :func:`place_sign_delta`.
    delta : float
        In (0, 1).

    References
    ----------
    shuffle-known-randomizers.md 2 (known answers below).

    >>> [round(place_sign_epsilon(e0, n, 1e-6), 6) for n, e0 in ((1000, 1.0), (10**4, 4.0), (10**6, 2.0))]
    [0.148671, 0.410812, 0.009517]
    """
    chance, pure = check_unit_interval("delta", delta), place_sign_pure(epsilon0, gap)
    others, clone, lean = _clones(epsilon0, n)
    return pair_epsilon(pure, others, clone, lean, chance, None if gap == 2.0 else 1 / (math.exp(epsilon0) + 1))


def place_sign_law(epsilon0: float, n: int, gap: float = 2.0, blocks: int = 100) -> RatioLaw:
    """Return the law of the pair for several rounds, mirrored.

    >>> from emdp.privacy.shuffle.renyi_product import product_epsilon
    >>> law = place_sign_law(1.0, 1000)
    >>> round(law.renyi(2.0), 6), round(product_epsilon([(law, 2)], 1e-6), 3)
    (0.001589, 0.215)
    """
    strength, width = _check(epsilon0, gap)
    others, clone, _ = _clones(strength, n)
    whole = ratio_law(others, strength, clone, blocks=blocks)
    # given C the ratio less 1 is in proportion to w: `lean w y/(1 - lean y)`
    return whole if width == 2.0 else whole.mirrored(width / 2)


def _clones(epsilon0: float, n: int) -> tuple[int, float, float]:
    """Return how many others there are, their clone probability, rounded down, and 1 minus it."""
    others = min(check_count("n", n), LARGEST_ITEMS) - 1
    return others, 2 / (math.exp(epsilon0) + 1) * (1 - 1e-15), math.tanh(epsilon0 / 2)


def _check(epsilon0: object, gap: object) -> tuple[float, float]:
    strength = check_range("epsilon0", check_finite("epsilon0", epsilon0), _SMALLEST, LARGEST_ALPHA0)
    return strength, check_range("gap", check_finite("gap", gap), _SMALLEST, 2.0)
