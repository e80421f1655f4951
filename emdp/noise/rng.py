"""Where random bits come from: opendp's generator, the operating system's, or the test switch's.

Outside the test switch the integers of noise are drawn by opendp (:mod:`emdp.noise.integers`), whose bytes come
from OpenSSL's private generator, seeded by the operating system; they do not pass through this file. The bits that
accept or refuse a K-norm proposal (:mod:`emdp.noise.k_norm`) are :func:`random_bytes`, from the operating system.
:mod:`emdp.testing` alone replaces both, by entering :func:`seeded_source`; whatever is drawn inside is reproducible
and therefore not private.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

__all__ = ["is_seeded", "random_bytes", "seeded_generator", "seeded_source"]

_seeded: ContextVar[np.random.Generator | None] = ContextVar("emdp_seeded_source", default=None)


def random_bytes(count: int) -> bytes:
    """Return ``count`` random bytes: from the operating system, or reproducible ones inside the test switch.

    >>> len(random_bytes(16))
    16
    """
    generator = _seeded.get()
    return os.urandom(count) if generator is None else generator.bytes(count)


def is_seeded() -> bool:
    """Say whether the test switch is on, so that nothing drawn now is private.

    >>> is_seeded()
    False
    """
    return _seeded.get() is not None


def seeded_generator() -> np.random.Generator | None:
    """Return the test switch's generator, or None outside it, where draws must be private."""
    return _seeded.get()


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
