"""Distances of many pairs of bags: each bag encoded and merged once, the pairs shared among cores.

The distance matrices, the assignment and the network simplex release the interpreter's lock, so that threads use
all cores where bags are large. Of a pair of small bags half the time is spent holding it: two threads gained 8 %
on users with 30 distinct places, two processes 100 %. So long work goes to processes, which take a second or two
to start.
"""

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from emdp.base.checks import check_count
from emdp.base.errors import UsageError
from emdp.spaces.base import Floats, Space
from emdp.transport.bags import Empty, Ints, Measure, bag_from_frame
from emdp.transport.processes import WorkerProcesses
from emdp.transport.routes import distance, prepare

__all__ = ["d_em_pairs"]

MAX_CHUNK = 256
# Pairs handed to a worker at a time, which bounds the wait for a report of progress.

CHUNKS_PER_WORKER = 16
# Fewer would leave one worker with the last large chunk.

PROCESS_SECONDS = 8.0
# Work expected to take longer on one core goes to processes, which take 1 to 2 s to start.

SECONDS_PER_PAIR, SECONDS_PER_ENTRY = 1.5e-4, 6e-8
# Time of a pair: a constant, and the network simplex for each entry of the cost matrix (30 to 3000 items a side).

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
        Number of threads, or of processes for work of more than about 8 seconds; default: one for each core.

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
    checked = _checked_pairs(bags, pairs)
    if not checked:
        return np.empty(0)
    measures, index = _prepared(bags, checked, space, empty)
    results = np.empty(len(checked))
    count = min(count, len(checked))

    def run_here(part: slice) -> int:
        chosen = index[part].tolist()
        results[part] = [distance(measures[left], measures[right], space) for left, right in chosen]
        return len(chosen)

    with WorkerProcesses(count, space, measures) as processes:

        def run_there(part: slice) -> int:
            results[part] = processes.distances(index[part])
            return len(index[part])

        long = count > 1 and _expected_seconds(measures, index, space) > PROCESS_SECONDS
        apart = long and processes.start()
        _share(run_there if apart else run_here, len(checked), count, progress)
    return results


def _core_count() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _checked_pairs(bags: Any, pairs: Any) -> list[tuple[Key, Key]]:
    if not isinstance(bags, Mapping | Sequence) or isinstance(bags, str):
        raise UsageError(f"bags must be a mapping or a sequence, not {type(bags).__name__}; pass a dict of frames.")
    if not isinstance(pairs, Iterable):
        raise UsageError(f"pairs must be a sequence of (key, key), not {type(pairs).__name__}; pass a list.")
    return [_checked_pair(bags, position, pair) for position, pair in enumerate(pairs)]


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


def _prepared(bags: Any, pairs: Sequence[tuple[Key, Key]], space: Space, empty: Empty) -> tuple[list[Measure], Ints]:
    """Return the bags that occur, prepared, and the pairs as positions among them, shape (pairs, 2)."""
    places: dict[Key, int] = {}
    encoded = []
    for position, pair in enumerate(pairs):
        for side, key in enumerate(pair):
            if key not in places:
                places[key] = len(places)
                name = f"the bag of pairs[{position}][{side}]"
                encoded.append(bag_from_frame(name, bags[key], space, empty))
    index = np.array([[places[left], places[right]] for left, right in pairs], dtype=np.int64)
    return prepare(encoded, space), index


def _expected_seconds(measures: Sequence[Measure], index: Ints, space: Space) -> float:
    """Return about how long the pairs take on one core."""
    sizes = np.array([measure.masses.size for measure in measures], dtype=np.float64)
    left, right = sizes[index[:, 0]], sizes[index[:, 1]]
    entries = left * right if space.structure == "general" else left + right
    return float((SECONDS_PER_PAIR + SECONDS_PER_ENTRY * entries).sum())


def _share(
    run: Callable[[slice], int], total: int, workers: int, progress: Callable[[int, int], object] | None
) -> None:
    """Run all of ``range(total)`` in chunks; the first error stops what has not begun and is raised."""
    size = max(1, min(MAX_CHUNK, total // (workers * CHUNKS_PER_WORKER)))
    done = 0
    with ThreadPoolExecutor(workers) as pool:
        waiting = {pool.submit(run, slice(start, start + size)) for start in range(0, total, size)}
        try:
            while waiting:
                finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                done += sum(future.result() for future in finished)
                if progress is not None:
                    progress(done, total)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
