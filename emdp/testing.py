"""The test switch: reproducible noise for tests and demonstrations, never for a release (design.md)."""

from collections.abc import Iterator
from contextlib import contextmanager

from emdp.base.checks import check_count
from emdp.noise.rng import seeded_source

__all__ = ["seeded"]


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Make every draw inside the block reproducible, and therefore **not private**.

    Inside the block noise comes from a seeded stream instead of the operating system: equal seeds and equal
    calls give equal answers. Answers made here are marked as not private and carry their exact value, and
    only a ledger made inside such a block can be used. Blocks nest, the inner one starts its own stream, and
    the switch concerns the current thread or task only.

    Parameters
    ----------
    seed : int
        At least 0.

    Raises
    ------
    UsageError
        If the seed is no whole number of at least 0.

    >>> from emdp.noise.discrete_laplace import draw_discrete_laplace
    >>> with seeded(7):
    ...     first = draw_discrete_laplace(2.0**40, 3)
    >>> with seeded(7):
    ...     first == draw_discrete_laplace(2.0**40, 3)
    True
    """
    with seeded_source(check_count("seed", seed, minimum=0)):
        yield
