"""All users' numbers in one place: streamed for one question, kept for several; and sums that add up over parts."""

import pickle
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from emdp.base.errors import InternalError
from emdp.mechanisms.crowd import ColumnSums, GatheredUsers
from emdp.mechanisms.scalar.hybrid import HybridScalar
from emdp.mechanisms.scalar.one_bit import OneBitScalar
from emdp.mechanisms.user_mean import crowd_questions
from emdp.mechanisms.user_mean.clipped_mean import ClippedMean
from emdp.mechanisms.user_mean.crowd_questions import Bins, Messages, find_ranges
from emdp.mechanisms.user_mean.range_bins import RangeBins
from emdp.mechanisms.user_mean.range_stage import HadamardRange, HistogramRange, MedianRange
from emdp.testing import seeded

Integers = npt.NDArray[np.int64]

BINS = RangeBins(0.0, 64.0, 0.5)
SURE = 1e-9
"""A right law fails with this probability; 20,000 messages refuse strengths of 0.7 and 1.3 times the right one."""


def values(users: int, columns: int = 2) -> Integers:
    return np.random.default_rng(3).integers(0, 64, (users, columns))


def test_one_question_alone_keeps_nothing() -> None:
    asked = []

    def blocks() -> Iterator[Integers]:
        for block in np.array_split(values(100), 5):
            asked.append(len(block))
            yield block

    crowd = GatheredUsers(blocks(), 100)
    assert crowd.added(ColumnSums(2), is_last=True).tolist() == values(100).sum(axis=0).tolist()
    assert crowd._values is None
    assert sum(asked) == 100
    kept = GatheredUsers(blocks(), 100)
    first = kept.added(ColumnSums(2))
    assert first.tolist() == kept.added(ColumnSums(2), is_last=True).tolist()
    assert sum(asked) == 200
    assert "hidden" in repr(kept)


def test_groups_and_changes() -> None:
    crowd, rows = GatheredUsers(iter([values(50)]), 50), values(50)
    groups = [np.array([3, 1]), np.array([40])]
    assert crowd.added(ColumnSums(2), groups).tolist() == rows[[3, 1, 40]].sum(axis=0).tolist()
    assert crowd.mapped(lambda block: 2 * block[:, :1]).added(ColumnSums(1)).tolist() == [2 * rows[:, 0].sum()]


def test_sums_are_exact_beyond_64_bits() -> None:
    rows = np.full((5, 1), 2**62)
    for is_last in (False, True):
        found = GatheredUsers(iter([rows, -rows[:1], rows]), 11).added(ColumnSums(1), is_last=is_last)
        assert found.tolist() == [9 * 2**62]
        assert all(type(one) is int for one in found.tolist())


@pytest.mark.parametrize("kind", [MedianRange, HistogramRange, HadamardRange])
def test_sums_of_parts_find_what_all_users_do(kind: type[MedianRange]) -> None:
    """Counts of two halves add up to those of all; messages of two halves are as many, and find the same bin."""
    stage, rows = kind(BINS, 4000, 2.0), np.full(4000, 7)
    halves = [stage.sums(half, 0) for half in np.split(rows, [900])]
    assert sum(halves).shape == (stage.size,)
    assert sum(halves).sum() == 4000
    if kind is not HadamardRange:
        assert (halves[0] + halves[1] == stage.sums(rows, 0)).all()
    assert stage.found(halves[0] + halves[1]).place == stage.find(rows, 0).place == 7
    with pytest.raises(InternalError, match="another number of users"):
        stage.found(halves[0])


def test_ranges_are_the_same_however_many_are_asked_together(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, found = np.tile(np.array([[5, 40, 9]]), (3000, 1)), []
    for most in (1, 2 * BINS.count, 2**22):
        monkeypatch.setattr(crowd_questions, "SUMS_AT_ONCE", most)
        stages = [MedianRange(BINS, 3000, 1.0)] * 3
        with seeded(1):
            ranges = find_ranges(GatheredUsers(iter([rows]), 3000), stages, columns=(2, 0, 1), exponents=(0,) * 3)
        found.append([one.place for one in ranges])
    assert found == [[9, 5, 40]] * 3
    assert find_ranges(GatheredUsers(iter([rows]), 3000), [], columns=(), exponents=()) == []


def test_questions_are_sent_to_workers() -> None:
    asked = Messages((OneBitScalar(0.0, 1.0, 1.0), HybridScalar(0.0, 1.0, 2.0)), (0, 1), (0, 0))
    sent = pickle.loads(pickle.dumps(asked))
    assert sent.size == 2
    assert sent.laws[1].epsilon == asked.laws[1].epsilon
    bins = pickle.loads(pickle.dumps(Bins((HadamardRange(BINS, 10, 1.0),), (0,), (0,))))
    assert bins.sums(values(10), None).sum() == 10


@pytest.mark.parametrize("law", [OneBitScalar, HybridScalar])
def test_messages_in_parts_follow_the_law(law: type[OneBitScalar]) -> None:
    """20,000 messages, of 20 users a release who are asked in two parts: errors have the law's variance, no other."""
    users, releases, right = 20, 1000, law(0.0, 1.0, 1.0)
    asked, rows = Messages((right,), (0,), (10,)), np.full((users, 1), 2**10)
    errors = []
    for _ in range(releases):
        total = asked.sums(rows[:7], None) + asked.sums(rows, [np.arange(7, users)])
        errors.append(float(right.estimate(int(total[0]), users)) - 1.0)
    for strength, is_right in ((1.0, True), (0.7, False), (1.3, False)):
        size = float(np.square(errors).sum()) * users / law(0.0, 1.0, strength).variance(1.0)
        chance = 2 * min(stats.chi2.cdf(size, releases), stats.chi2.sf(size, releases))
        assert bool(chance > SURE) is is_right, strength


def test_a_clipped_mean_refuses_another_number_of_users() -> None:
    with pytest.raises(InternalError, match="another number of users"):
        ClippedMean(0.0, 1.0, 4, 1.0).ask(GatheredUsers(iter([values(3, 1)]), 3), 0)
