"""``d_em_pairs``: the same numbers as ``d_em``, in any number of threads, with progress."""

import sys
import threading
from typing import Any

import numpy as np
import polars as pl
import pytest

import emdp.transport.pairs as pairs_module
from emdp.base.errors import InternalError, InvalidItemError, SolverError, UsageError
from emdp.spaces import Categories, Clusters, Geo, Interval, Space
from emdp.transport import d_em, d_em_pairs
from emdp.transport.processes import WorkerProcesses

CITY = Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km")


def city_bags(users: int, seed: int = 0) -> dict[int, dict[str, Any]]:
    """Repeated visits to common places: repetitions within a bag and between bags."""
    rng = np.random.default_rng(seed)
    lat, lon = rng.uniform(40.5, 40.9, 200), rng.uniform(-74.2, -73.8, 200)
    bags = {}
    for user in range(users):
        places = rng.choice(rng.integers(0, 200, 15), rng.integers(1, 80))
        bags[user] = {"lat": lat[places], "lon": lon[places]}
    return bags


@pytest.mark.quarter
@pytest.mark.parametrize("workers", [None, 1, 2, 5])
def test_pairs_equal_single_distances(workers: int | None) -> None:
    bags = city_bags(12)
    pairs = [(i, j) for i in bags for j in bags]
    found = d_em_pairs(bags, pairs, CITY, workers=workers)
    assert found.shape == (144,)
    assert found.dtype == np.float64
    assert found == pytest.approx([d_em(bags[i], bags[j], CITY) for i, j in pairs], abs=1e-12)
    assert (found.reshape(12, 12).diagonal() == 0).all()


@pytest.mark.parametrize(
    "space",
    [
        Interval("x", 0, 10),
        Interval("x", 0, 10, diameter=3),
        Categories("x", list(range(11))),
        Clusters("x", {value: value % 3 for value in range(11)}, 0.3),
    ],
    ids=["line", "truncated", "discrete", "clusters"],
)
def test_pairs_on_every_structure(space: Space) -> None:
    rng = np.random.default_rng(2)
    bags = [pl.DataFrame({"x": rng.integers(0, 11, rng.integers(1, 9))}) for _ in range(9)]
    bags[3] = bags[3].with_columns(weight=pl.Series(rng.random(len(bags[3]))))
    pairs = [(i, j) for i in range(9) for j in range(i)]
    expected = [d_em(bags[i], bags[j], space) for i, j in pairs]
    assert d_em_pairs(bags, pairs, space) == pytest.approx(expected, abs=1e-12)


def test_each_bag_is_encoded_once_and_others_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    own = Geo.encode

    def counted(self: Geo, frame: Any) -> Any:
        seen.append(len(frame))
        return own(self, frame)

    monkeypatch.setattr(Geo, "encode", counted)
    d_em_pairs(city_bags(9), [(0, 1), (1, 2), (2, 0), (0, 0)] * 20, CITY)
    assert len(seen) == 3


def test_progress_is_reported_in_this_thread_to_the_end() -> None:
    bags = city_bags(8)
    pairs = [(i, j) for i in bags for j in bags] * 3
    calls: list[tuple[int, int]] = []
    threads = set()

    def progress(done: int, total: int) -> None:
        calls.append((done, total))
        threads.add(threading.current_thread())

    d_em_pairs(bags, pairs, CITY, progress=progress, workers=2)
    done = [done for done, _ in calls]
    assert done == sorted(set(done))
    # How many finish between two reports is up to the machine.
    assert {total for _, total in calls} == {len(pairs)}
    assert calls[-1] == (len(pairs), len(pairs))
    assert threads == {threading.current_thread()}


def test_an_error_in_progress_stops_the_work() -> None:
    class StopError(Exception):
        pass

    def progress(done: int, total: int) -> None:
        raise StopError

    bags = city_bags(8)
    before = threading.active_count()
    with pytest.raises(StopError):
        d_em_pairs(bags, [(i, j) for i in bags for j in bags] * 20, CITY, progress=progress, workers=2)
    assert threading.active_count() == before


def test_pairs_may_be_an_array() -> None:
    bags = [{"x": [float(i)]} for i in range(4)]
    pairs = np.array([[0, 1], [3, 1]])
    assert d_em_pairs(bags, pairs, Interval("x", 0, 10)) == pytest.approx([0.1, 0.2])  # type: ignore[arg-type]


def test_no_pairs() -> None:
    assert d_em_pairs({}, [], CITY).shape == (0,)


def test_empty_bags() -> None:
    bags = {"none": {"x": []}, "some": {"x": [2.0]}}
    space = Interval("x", 0, 10)
    with pytest.raises(UsageError, match=r"pairs\[1\]\[0\].*empty=\"neutral\""):
        d_em_pairs(bags, [("some", "some"), ("none", "some")], space)
    assert d_em_pairs(bags, [("none", "some")], space, empty="neutral").tolist() == [0.3]


@pytest.mark.parametrize(
    ("bags", "pairs", "word"),
    [
        ({"a": {"x": [1]}}, [("a", "b")], r"pairs\[0\] names a bag"),
        ([{"x": [1]}], [(0, 0), (0, 1)], r"pairs\[1\] names a bag"),
        ([{"x": [1]}], [(0, -1)], r"pairs\[0\] names a bag"),
        ([{"x": [1]}], [("0", 0)], r"pairs\[0\] names a bag"),
        ({"ab": {"x": [1]}}, ["ab"], r"pairs\[0\] must be a pair"),
        ([{"x": [1]}], [(0, 0, 0)], r"pairs\[0\] must be a pair"),
        ([{"x": [1]}], [0], r"pairs\[0\] must be a pair"),
        (7, [(0, 0)], "bags must be"),
        ([{"x": [1]}], 7, "pairs must be"),
        ([{"x": [1], "weight": [-1]}], [(0, 0)], r"weights of the bag of pairs\[0\]\[0\]"),
    ],
)
def test_refusals(bags: Any, pairs: Any, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        d_em_pairs(bags, pairs, Interval("x", 0, 10))


def test_refusals_of_items_workers_and_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidItemError):
        d_em_pairs([{"x": [11]}], [(0, 0)], Interval("x", 0, 10))
    with pytest.raises(UsageError, match="workers"):
        d_em_pairs([{"x": [1]}], [(0, 0)], Interval("x", 0, 10), workers=0)
    monkeypatch.setattr(Geo, "distances", lambda self, left, right: np.full((len(left), len(right)), np.nan))
    bags = city_bags(3)
    with pytest.raises(SolverError):
        d_em_pairs(bags, [(0, 1), (1, 2)], CITY, workers=2)


# Processes, which long work goes to: here all work counts as long.


@pytest.fixture
def processes_only(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Send all work to processes; the list holds the positions that they were asked for."""
    asked: list[Any] = []
    own = WorkerProcesses.distances

    def counted(self: WorkerProcesses, index: Any) -> Any:
        asked.append(index)
        return own(self, index)

    monkeypatch.setattr(pairs_module, "PROCESS_SECONDS", 0.0)
    monkeypatch.setattr(WorkerProcesses, "distances", counted)
    return asked


@pytest.mark.slow
def test_processes_return_the_same_numbers(processes_only: list[Any]) -> None:
    bags = city_bags(10)
    pairs = [(i, j) for i in bags for j in bags]
    calls = []
    found = d_em_pairs(bags, pairs, CITY, workers=2, progress=lambda done, total: calls.append((done, total)))
    assert sum(map(len, processes_only)) == 100
    assert calls[-1] == (100, 100)
    assert found.tolist() == d_em_pairs(bags, pairs, CITY, workers=1).tolist()
    assert sum(map(len, processes_only)) == 100


@pytest.mark.slow
def test_a_space_that_no_process_can_import_is_served_by_threads(
    processes_only: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class OfAScript(Interval):
        pass

    bags = [{"x": [1.0]}, {"x": [3.0]}]
    expected = pytest.approx([0.2] * 4)
    # A class inside a function cannot be pickled, one of the caller's script cannot be imported.
    assert d_em_pairs(bags, [(0, 1)] * 4, OfAScript("x", 0, 10), workers=2) == expected
    monkeypatch.setattr(sys.modules["__main__"], "OfAScript", OfAScript, raising=False)
    OfAScript.__module__, OfAScript.__qualname__ = "__main__", "OfAScript"
    assert d_em_pairs(bags, [(0, 1)] * 4, OfAScript("x", 0, 10), workers=2) == expected
    monkeypatch.setattr(sys, "executable", None)
    assert d_em_pairs(bags, [(0, 1)] * 4, Interval("x", 0, 10), workers=2) == expected
    assert processes_only == []


@pytest.mark.slow
def test_an_error_in_a_process_is_raised_here(processes_only: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    bags = city_bags(4)
    pairs = [(i, j) for i in bags for j in bags]
    far = Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km")
    # A space whose distances are too large, which only the processes get to see.
    object.__setattr__(far, "diameter", float("nan"))
    with pytest.raises(SolverError, match=r"\[0, 1\]"):
        d_em_pairs(bags, pairs, far, workers=2)
    assert processes_only


@pytest.mark.slow
def test_a_process_that_ends_early_is_noticed(processes_only: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(self: WorkerProcesses, index: Any) -> Any:
        for process in self._started:
            process.kill()
            process.wait()
        return own(self, index)

    own = WorkerProcesses.distances
    monkeypatch.setattr(WorkerProcesses, "distances", killed)
    bags = city_bags(3)
    with pytest.raises(InternalError, match="ended before"):
        d_em_pairs(bags, [(0, 1), (1, 2)], CITY, workers=2)


def test_short_work_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: WorkerProcesses) -> bool:
        raise AssertionError

    monkeypatch.setattr(WorkerProcesses, "start", refused)
    d_em_pairs(city_bags(3), [(0, 1), (1, 2)] * 50, CITY, workers=2)
    with pytest.raises(AssertionError):
        d_em_pairs(city_bags(3), [(0, 1), (1, 2)] * 30_000, CITY, workers=2)
