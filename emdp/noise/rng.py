"""Random bits: from the operating system's generators, or from the test switch's.

Every sampler of the package takes its bits here. Most use :func:`random_words`: where many are asked for, OpenSSL's
generator, a stream cipher (AES-256 in counter mode, NIST SP 800-90A) keyed by the operating system, keyed anew after a
fork, and one for each thread. It gives a word in 1.2 ns, the operating system's own generator, which gives few, in 20.
More bits of a variable that 64 do not decide are :func:`random_bytes`, from the operating system itself.
:mod:`emdp.testing` alone replaces both, by entering :func:`seeded_source`: the same code runs on a seeded stream, and
whatever is drawn inside is reproducible and therefore not private.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
import numpy.typing as npt

__all__ = ["is_seeded", "random_below", "random_bytes", "random_words", "seeded_source"]

_FEW_WORDS = 2**9
# Asked of the operating system, in 10 microseconds: a process that asks for no more never loads OpenSSL's generator.

_WORDS_AT_ONCE = 2**17
# Asked of OpenSSL in one call: 1 MiB, far below its limit of 2^31 - 1 bytes.

# Not a name here but a text: numpy loads its generators, which the test switch alone uses, where one is named.
_seeded: "ContextVar[np.random.Generator | None]" = ContextVar("emdp_seeded_source", default=None)


def random_bytes(count: int) -> bytes:
    """Return ``count`` random bytes: from the operating system, or reproducible ones inside the test switch.

    >>> len(random_bytes(16))
    16
    """
    generator = _seeded.get()
    return os.urandom(count) if generator is None else generator.bytes(count)


def random_below(limit: int) -> int:
    """Return a uniform integer from 0 to ``limit - 1``, of any length, by rejection.

    >>> random_below(1), random_below(10**40) < 10**40
    (0, True)
    """
    size = (limit.bit_length() + 7) // 8 + 1
    top = 2 ** (8 * size) // limit * limit
    while True:
        drawn = int.from_bytes(random_bytes(size))
        if drawn < top:
            return drawn % limit


def random_words(count: int) -> npt.NDArray[np.uint64]:
    """Return ``count`` independent uniform 64-bit words; reproducible inside the test switch.

    Parameters
    ----------
    count : int
        How many, at least 0.

    Returns
    -------
    ndarray of uint64, shape (count,)
        A new array, which the caller may overwrite.

    >>> random_words(3).dtype, random_words(0).size
    (dtype('uint64'), 0)
    """
    generator = _seeded.get()
    if generator is not None:
        words: npt.NDArray[np.uint64] = generator.bit_generator.random_raw(count)
        return words
    if count <= _FEW_WORDS:
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64).copy()
    # Lazy: ssl takes 15 ms to import.
    from ssl import RAND_bytes

    words = np.empty(count, dtype=np.uint64)
    for start in range(0, count, _WORDS_AT_ONCE):
        part = words[start : start + _WORDS_AT_ONCE]
        part[:] = np.frombuffer(RAND_bytes(8 * part.size), dtype=np.uint64)
    return words


def is_seeded() -> bool:
    """Say whether the test switch is on, so that nothing drawn now is private.

    >>> is_seeded()
    False
    """
    return _seeded.get() is not None


@contextmanager
def seeded_source(seed: int) -> Iterator[None]:
    """Replace all random bits by a seeded stream: for :mod:`emdp.testing` only.

    Parameters
    ----------
    seed : int
        Seed of the stream, at least 0.
    """
    token = _seeded.set(np.random.Generator(np.random.PCG64(seed)))
    try:
        yield
    finally:
        _seeded.reset(token)
