"""Choice of the one-shot randomizer of bounded vectors with the smallest worst-case error: ``R_p`` for any ball.

Every randomizer serves every ball, by the norm inclusions of :mod:`emdp.mechanisms.vector.randomizer`: ``R_1`` with the
radius ``r d^(1 - 1/p)``, both ``R_2`` with ``r d^max(0, 1/2 - 1/p)``, ``R_inf`` with ``r``. Their mean squared errors,
at worst over the ball, are known exactly or bounded before anything is spent, and public; so the choice costs no
budget. With one report each, up to ``c^2 r^2/n`` they are ``d^(3 - 2/p)`` for ``R_1``, ``(pi/2) d^max(1, 2 - 2/p)`` for
directions, ``d^2`` for ``R_inf``: ``R_1`` is best in the 1-ball and for ``p`` little above 1, ``R_inf`` in the cube and
for ``p`` above ``2 ln d/ln(pi/2)``, directions in between. The published ``R_p`` draws one of two with a coin, which is
never better than the better one.
"""

from emdp.mechanisms.vector.direction import VectorDirection
from emdp.mechanisms.vector.one_bit import VectorOneBit
from emdp.mechanisms.vector.planes import VectorPlanes
from emdp.mechanisms.vector.randomizer import VectorRandomizer, check_norm
from emdp.mechanisms.vector.rotated import VectorRotated

__all__ = ["best_vector", "compare_vectors"]


def best_vector(norm: float, dimension: int, radius: float, epsilon: float, users: int) -> VectorRandomizer:
    """Return the randomizer of the ball with the smallest worst-case mean squared error.

    Parameters
    ----------
    norm : float
        ``p`` of the ball, from 1 to infinity.
    dimension, radius, epsilon, users
        As for :class:`VectorRandomizer`.

    >>> [best_vector(norm, 64, 1.0, 1.0, 4000).name for norm in (1, 2, float("inf"))]
    ['one-bit Hadamard reports', 'sides of random directions', 'bit planes of sampled coordinates']
    """
    return compare_vectors(norm, dimension, radius, epsilon, users)[0]


def compare_vectors(
    norm: float, dimension: int, radius: float, epsilon: float, users: int
) -> tuple[VectorRandomizer, ...]:
    """Return all randomizers of the ball, that of the smallest worst-case error first; ``explain`` shows each.

    >>> for found in compare_vectors(2, 64, 1.0, 1.0, 4000):
    ...     print(f"{found.name}: {found.squared_error():.3g}")
    sides of random directions: 0.117
    rotation and bit planes: 2.66
    bit planes of sampled coordinates: 4.8
    one-bit Hadamard reports: 4.8
    """
    ball = (dimension, radius, epsilon, users)
    norm = check_norm(norm)
    found: list[VectorRandomizer] = [
        VectorPlanes(*ball, norm=norm),
        VectorOneBit(*ball, norm=norm),
        VectorDirection(*ball, norm=norm),
        VectorRotated(*ball, norm=norm),
    ]
    # Of equal ones the simplest is first.
    return tuple(sorted(found, key=lambda each: each.squared_error()))
