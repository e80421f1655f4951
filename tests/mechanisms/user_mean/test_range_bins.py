"""Bins: the theory's radii and counts, the lemma on random data, planted faults, edges."""

import math

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.mechanisms.user_mean.range_bins import LARGEST_BINS, RangeBins, concentration_radius


class TestRadius:
    @pytest.mark.parametrize(
        ("bound", "users", "records", "gamma", "radius", "bins"),
        [
            (50, 2000, 100, 0.05, "0.4752", 106),
            (50, 500, 100, 0.05, "0.4451", 113),
            (50, 2000, 10**4, 0.05, "0.0475", 1053),
            (10, 20_000, 100, 0.01, "0.5514", 19),
            (10, 20_000, 10**4, 0.01, "0.0551", 182),
            (10, 20_000, 1, 0.01, "5.5139", 2),
        ],
    )
    def test_theory(self, bound: int, users: int, records: int, gamma: float, radius: str, bins: int) -> None:
        """local-shuffle-userlevel.md 2.1, the table of simulations."""
        found = concentration_radius(1 / math.sqrt(records), users, gamma)
        assert f"{found:.4f}" == radius
        assert RangeBins(-bound, bound, found).count == bins

    @pytest.mark.parametrize(("users", "published"), [(500, 0.44), (2000, 0.24)])
    def test_published_radius_misses_somebody(self, users: int, published: float) -> None:
        largest = np.abs(np.random.default_rng(1).normal(size=(2000, users))).max(axis=1)
        corrected = concentration_radius(1.0, users, 0.05)
        assert np.mean(largest <= corrected) == pytest.approx(0.995, abs=0.006)
        # the same without the 2 under the root
        assert np.mean(largest <= corrected / math.sqrt(2)) == pytest.approx(published, abs=0.05)

    def test_error_is_added(self) -> None:
        assert concentration_radius(1.0, 10, 0.1, error=0.5) == concentration_radius(1.0, 10, 0.1) + 0.5

    @pytest.mark.parametrize("gamma", [0.0, 1.0, -0.1])
    def test_gamma_is_checked(self, gamma: float) -> None:
        with pytest.raises(UsageError, match="gamma"):
            concentration_radius(1.0, 10, gamma)


class TestLemma:
    def test_any_occupied_bin_covers_all(self) -> None:
        generator = np.random.default_rng(2)
        straddling_missed = 0
        for _ in range(500):
            low = generator.uniform(-5, 0)
            bins = RangeBins(low, low + generator.uniform(1, 20), generator.uniform(0.05, 0.4))
            start = generator.uniform(bins.low, bins.high - 2 * bins.radius)
            means = start + 2 * bins.radius * np.append([0.0, 1.0 - 1e-9], generator.uniform(size=5))
            values = np.floor(np.ldexp(np.clip(means, bins.low, bins.high), 40)).astype(np.int64)
            places = np.unique(bins.place(values, 40))
            assert len(places) <= 2
            for place in places.tolist():
                below, above = bins.window(place)
                assert below - 1e-11 <= means.min() <= means.max() <= above + 1e-11
                centre = bins.low + (2 * place + 1) * bins.radius
                # half the width that is needed, as published for the central version
                straddling_missed += bool(np.abs(means - centre).max() > 2.0 * bins.radius)
        assert straddling_missed > 100

    def test_bins_are_half_open(self) -> None:
        bins = RangeBins(0.0, 10.0, 1.0)
        assert bins.count == 5
        assert bins.place(np.array([-7, 0, 1, 2, 3, 4, 9, 10, 99]), 0).tolist() == [0, 0, 0, 1, 1, 2, 4, 4, 4]
        assert bins.place(np.array([2**41 - 1, 2**41]), 40).tolist() == [0, 1]

    def test_windows_are_cut_with_the_bounds(self) -> None:
        bins = RangeBins(0.0, 9.0, 1.0)
        assert [bins.window(place) for place in range(5)] == [(0, 4), (0, 6), (2, 8), (4, 9), (6, 9)]
        assert bins.widest == 6.0
        assert RangeBins(0.0, 5.0, 1.0).widest == 5.0
        for place in (-1, 5):
            with pytest.raises(UsageError, match="place"):
                bins.window(place)

    @pytest.mark.parametrize(("count", "padded"), [(1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (106, 128)])
    def test_padding(self, count: int, padded: int) -> None:
        bins = RangeBins(0.0, float(count), 0.5)
        assert (bins.count, bins.padded) == (count, padded)

    def test_tiny_radii_are_raised(self) -> None:
        bins = RangeBins(0.0, 1.0, 1e-300)
        assert bins.count <= LARGEST_BINS
        far = RangeBins(1e15, 1e15 + 4, 1e-9)
        below, above = far.window(far.count - 1)
        assert far.low <= below < above <= far.high

    @pytest.mark.parametrize(
        "arguments", [(0.0, 0.0, 1.0), (1.0, 0.0, 1.0), (0.0, math.inf, 1.0), (-1e308, 1e308, 1.0), (0.0, 1.0, 0.0)]
    )
    def test_refusals(self, arguments: tuple[float, float, float]) -> None:
        with pytest.raises(UsageError):
            RangeBins(*arguments)
