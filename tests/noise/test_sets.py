"""Counts of random sets that are never made: joint laws in full, also where remainders decide, and large tallies."""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
import scipy.stats

from emdp.base.errors import UsageError
from emdp.noise import sets
from emdp.noise.sets import MAX_PLACES, draw_set_counts
from emdp.testing import seeded

CASES = {
    "two owners": (4, [(0, 1), (3, 2)], {}),
    "one of two": (5, [(1, 2)], {2: 1}),
    "odd places": (7, [(3, 3)], {}),
    "no owner": (6, [], {3: 1, 5: 1}),
    "all or none": (3, [(2, 0), (0, 2), (1, 1)], {}),
}
"""Places, rows with an owner and a size, rows without an owner by size."""

DRAWS = 500


def exact_law(places: int, rows: list[tuple[int, int]], unowned: dict[int, int]) -> dict[tuple[int, ...], float]:
    """Return the law of the counts, by all sets of all rows."""
    choices = [list(combinations([place for place in range(places) if place != own], size)) for own, size in rows]
    choices += [list(combinations(range(places), size)) for size, count in unowned.items() for _ in range(count)]
    found = Counter(
        tuple(sum(place in chosen for chosen in whole) for place in range(places)) for whole in product(*choices)
    )
    return {counts: times / found.total() for counts, times in found.items()}


def fit(seen: Counter[tuple[int, ...]], law: dict[tuple[int, ...], float]) -> float:
    assert set(seen) <= set(law)
    observed = [seen[counts] for counts in law]
    return float(scipy.stats.chisquare(observed, [seen.total() * chance for chance in law.values()]).pvalue)


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("kept", "few"), [(62, sets._FEW), (62, 0), (2, 0), (0, sets._FEW)], ids=["62", "trees", "2", "0"]
)
@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_counts_have_the_joint_law_of_all_sets(
    case: tuple[int, list[tuple[int, int]], dict[int, int]], kept: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 0 bits of the floors the remainders draw nearly all; unless few are cut one by one, they are by trees."""
    monkeypatch.setattr(sets, "_KEPT", kept)
    monkeypatch.setattr(sets, "_FEW", few)
    monkeypatch.setattr(sets, "_SHARED", 0 if few == 0 else sets._SHARED)
    places, rows, unowned = case
    owners, sizes = [own for own, _ in rows], [size for _, size in rows]
    with seeded(kept):
        seen = Counter(tuple(draw_set_counts(places, owners, sizes, unowned).tolist()) for _ in range(DRAWS))
    law = exact_law(places, rows, unowned)
    assert fit(seen, law) > 1e-9


@pytest.mark.parametrize("shared", [0, 100])
def test_rows_of_one_owner_and_size_are_cut_together_by_the_same_law(
    shared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sets, "_SHARED", shared)
    monkeypatch.setattr(sets, "_FEW", 0)
    owners, sizes, counts = [1, 4, 4, 0, 4], [3, 1, 2, 2, 1], [2, 1, 1, 0, 1]
    rows = [(own, size) for own, size, count in zip(owners, sizes, counts, strict=True) for _ in range(count)]
    with seeded(shared):
        seen = Counter(tuple(draw_set_counts(5, owners, sizes, counts=counts).tolist()) for _ in range(DRAWS))
    assert fit(seen, exact_law(5, rows, {})) > 1e-9


def test_weights_and_remainders_are_the_hypergeometric_law() -> None:
    for places, chosen, part in [(9, 4, 5), (40, 11, 20), (500, 130, 250), (6, 6, 3), (8, 0, 4)]:
        first, weights = sets._law(places, chosen, part, 62)
        exact = scipy.stats.hypergeom(places, part, chosen).pmf(first + np.arange(len(weights)))
        assert np.array(weights) / 2**62 == pytest.approx(exact, rel=1e-9, abs=1e-18)
        assert 0 <= 2**62 - sum(weights) <= part + 1


@pytest.mark.parametrize(("places", "size"), [(64, 20), pytest.param(333, 90, marks=pytest.mark.slow)])
def test_many_sets_have_the_moments_of_uniform_ones(places: int, size: int) -> None:
    rows = 20_000
    own = np.arange(rows) % 3
    with seeded(places):
        drawn = np.array([draw_set_counts(places, own, np.full(rows, size), {size: rows}) for _ in range(30)])
    assert (drawn.sum(axis=1) == 2 * rows * size).all()
    owned = np.bincount(own, minlength=places)
    inside, all_ = size / (places - 1), size / places
    mean = (rows - owned) * inside + rows * all_
    variance = (rows - owned) * inside * (1 - inside) + rows * all_ * (1 - all_)
    scores = (drawn - mean) / np.sqrt(variance)
    # The counts of one draw sum up to a constant, so that one of the degrees of freedom is none.
    statistic, freedom = float((scores**2).sum()), 30 * (places - 1)
    law = scipy.stats.chi2(freedom)
    assert law.cdf(statistic) > 1e-9
    assert law.sf(statistic) > 1e-9
    assert law.sf(1.3 * statistic) < 1e-9
    assert law.cdf(0.7 * statistic) < 1e-9


@pytest.mark.parametrize(
    ("places", "owners", "sizes", "unowned"),
    [(MAX_PLACES + 1, [0], [1], None), (3, [3], [1], None), (3, [0], [3], None), (3, [0, 1], [1], None)],
)
def test_what_is_no_row_is_refused(places: int, owners: list[int], sizes: list[int], unowned: None) -> None:
    with pytest.raises(UsageError):
        draw_set_counts(places, owners, sizes, unowned)


@pytest.mark.parametrize("counts", [[1], [1, -1], [1, 2**41]])
def test_counts_of_rows_that_are_none_are_refused(counts: list[int]) -> None:
    with pytest.raises(UsageError):
        draw_set_counts(3, [0, 1], [1, 1], counts=counts)


@pytest.mark.parametrize("unowned", [{4: 1}, {-1: 1}, {1: -1}])
def test_unowned_sets_have_at_most_all_places(unowned: dict[int, int]) -> None:
    with pytest.raises(UsageError):
        draw_set_counts(3, [], [], unowned)
