"""Distances of many pairs of bags: each bag encoded and merged once, the pairs shared among threads.

The distance matrices, the assignment and the network simplex release the interpreter's lock, so that
threads use all cores; processes would have to copy the bags and import everything again.
"""

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from emdp.checks import check_count
from emdp.errors import UsageError
from emdp.spaces.base import Floats, Space
from emdp.transport.bags import Empty, Measure, bag_from_frame
from emdp.transport.routes import distance, prepare

__all__ = ["d_em_pairs"]

MAX_CHUNK = 256
# Pairs handed to a thread at a time, and so the longest wait for a report of progress.

CHUNKS_PER_WORKER = 16
# Fewer would leave one thread with the last large chunk.

Key = Hashable


def d_em_pairs(
    bags: Mapping[Any, object] | Sequence[object],
    pairs: Sequence[tuple[Any, Any]],
    space: Space,
    *,
    empty: Empty = "error",
    progress: Callable[[int, int], object] | None = None,
    workers: int | None = None,
) -> Floats:
    """Return the exact earth-mover distances of many pairs of bags.

    Parameters
    ----------
    bags : mapping or sequence of frames
        Frames of items as for :func:`d_em`, under any keys, or by position. Those in no pair are not looked
        at.
    pairs : sequence of (key, key)
        Pairs of keys (positions, for a sequence) of ``bags``.
    space : Space
        The item space.
    empty : {"error", "neutral"}
        As for :func:`d_em`.
    progress : callable, optional
        Called in this thread with (pairs done, pairs in all) each time some are done, at the end with both
        equal.
    workers : int, optional
        Number of threads; default: one for each core.

    Returns
    -------
    numpy.ndarray
        Shape (len(pairs),), values as :func:`d_em` returns them.

    Raises
    ------
    UsageError
        If a pair names no bag, or as :func:`d_em`.
    InvalidItemError, SolverError
        As :func:`d_em`; nothing is returned then.

    >>> from emdp.spaces import Interval
    >>> bags = {"ann": {"hour": [0, 12]}, "bob": {"hour": [6]}, "cyd": {"hour": [24]}}
    >>> d_em_pairs(bags, [("ann", "bob"), ("bob", "cyd")], Interval("hour", 0, 24)).tolist()
    [0.25, 0.75]
    """
    count = _core_count() if workers is None else check_count("workers", workers)
    if not isinstance(bags, Mapping | Sequence) or isinstance(bags, str):
        raise UsageError(f"bags must be a mapping or a sequence, not {type(bags).__name__}; pass a dict or a list.")
    if not isinstance(pairs, Iterable):
        raise UsageError(f"pairs must be a sequence of (key, key), not {type(pairs).__name__}; pass a list.")
    pairs = [_checked_pair(bags, position, pair) for position, pair in enumerate(pairs)]
    if not pairs:
        return np.empty(0)
    prepared = _prepared(bags, pairs, space, empty)
    results = np.empty(len(pairs))

    def run(part: range) -> int:
        for position in part:
            left, right = pairs[position]
            results[position] = distance(prepared[left], prepared[right], space)
        return len(part)

    _share(run, len(pairs), min(count, len(pairs)), progress)
    return results


def _core_count() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _checked_pair(bags: Any, position: int, pair: Any) -> tuple[Key, Key]:
    if not isinstance(pair, Sequence | np.ndarray) or isinstance(pair, str) or len(pair) != 2:
        raise UsageError(f"pairs[{position}] must be a pair of keys of bags; pass (key, key).")
    for key in pair:
        if isinstance(bags, Mapping):
            known = key in bags
        else:
            known = isinstance(key, int | np.integer) and 0 <= int(key) < len(bags)
        if not known:
            raise UsageError(f"pairs[{position}] names a bag that bags does not have; pass keys of bags.")
    return pair[0], pair[1]


def _prepared(bags: Any, pairs: Sequence[tuple[Key, Key]], space: Space, empty: Empty) -> dict[Key, Measure]:
    first_use: dict[Key, str] = {}
    for position, pair in enumerate(pairs):
        for side, key in enumerate(pair):
            first_use.setdefault(key, f"the bag of pairs[{position}][{side}]")
    encoded = [bag_from_frame(name, bags[key], space, empty) for key, name in first_use.items()]
    return dict(zip(first_use, prepare(encoded, space), strict=True))


def _share(
    run: Callable[[range], int], total: int, workers: int, progress: Callable[[int, int], object] | None
) -> None:
    """Run all of ``range(total)`` in chunks; the first error stops what has not begun and is raised."""
    size = max(1, min(MAX_CHUNK, total // (workers * CHUNKS_PER_WORKER)))
    chunks = [range(start, min(start + size, total)) for start in range(0, total, size)]
    done = 0
    with ThreadPoolExecutor(workers) as pool:
        waiting: set[Future[int]] = {pool.submit(run, chunk) for chunk in chunks}
        try:
            while waiting:
                finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                done += sum(future.result() for future in finished)
                if progress is not None:
                    progress(done, total)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
