"""Octaves of totals and the cap that is chosen from them: noise with power, known cuts, errors against the best."""

import math
from fractions import Fraction

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.mechanisms.contribution.cap import _surprise, choose_cap, cut_at
from emdp.mechanisms.contribution.octaves import OCTAVES, OctaveHistogram, octave_of
from emdp.privacy.events.table import event_from_json
from emdp.privacy.guarantees.kinds import Neighbours, UserDP
from emdp.resources import load_dataset_module
from emdp.testing import seeded

CHECKINS = [191, 291, 1020, 3268, 8605, 17168, 23713, 21778, 13699, 5962, 1861, 330, 37, 6] + [0] * 7
"""Users of the check-ins by octave of their records (user-level-sql.md 6.7); 10,000,000 records."""


def octaves(totals: np.ndarray) -> list[int]:
    return [int(count) for count in np.bincount([octave_of(int(total)) for total in totals], minlength=OCTAVES)]


def population(name: str, users: int, sample: int = 1) -> np.ndarray:
    """Return totals without randomness: quantiles of a law, evenly spaced."""
    from scipy.stats import norm

    places = (np.arange(users) + 0.5) / users
    if name == "lognormal":
        return np.maximum(1, np.rint(np.exp(2.0 + norm.ppf(places)))).astype(np.int64)
    if name == "equal":
        return np.full(users, 100)
    if name == "generated":
        # What `emdp generate checkins --users 100000 --records 10000000` gives its users, by the same weights.
        checkins, city, people = map(load_dataset_module, ("checkins", "city", "people"))
        activity = people.build_people(0, city.build_city(0, checkins.DEFAULT_VENUES), 100_000).activity
        drawn = np.random.default_rng(0).multinomial(10_000_000, activity / activity.sum())
        own = drawn[drawn > 0]
        return own if users == own.size else np.random.default_rng(sample).choice(own, users)
    # The octaves of the check-ins, each filled evenly in the logarithm, up to the largest total that they have.
    whole = np.cumsum(CHECKINS)
    ranks = places * whole[-1]
    place = np.searchsorted(whole, ranks)
    inside = (ranks - (whole - CHECKINS)[place]) / np.array(CHECKINS)[place]
    return np.minimum(np.maximum(1, np.ceil(2.0 ** (place - 1 + inside))), 5429).astype(np.int64)


def relative_errors(name: str, users: int, neighbours: Neighbours, runs: int, sample: int = 1) -> tuple[float, float]:
    """Return the root mean square error of COUNT(*) at epsilon 1 in all, and that of the best cap with all of it."""
    totals = population(name, users, sample)
    counts, histogram = octaves(totals), OctaveHistogram(0.1, neighbours)
    whole = float(totals.sum())
    squares = []
    with seeded(1):
        for _ in range(runs):
            cap = float(choose_cap(histogram.release(counts), histogram.scale, 1.0 / 0.9).cap)
            bias = whole - float(np.minimum(totals, cap).sum())
            squares.append(bias**2 + 2.0 * (cap / 0.9) ** 2)
    best = min(
        math.hypot(whole - float(np.minimum(totals, cap).sum()), math.sqrt(2.0) * cap)
        for cap in 2.0 ** np.arange(0, 16, 0.25)
    )
    return math.sqrt(float(np.mean(squares))) / whole, best / whole


@pytest.mark.quarter
@pytest.mark.parametrize("neighbours", ["remove", "replace"])
@pytest.mark.parametrize(
    ("name", "users", "most"),
    [("checkins", 97_929, 1.6e-3), ("lognormal", 100_000, 9e-4), ("equal", 100_000, 1e-4), ("checkins", 2_000, 0.025)],
)
def test_errors_of_the_automatic_cap(name: str, users: int, most: float, neighbours: Neighbours) -> None:
    reached, best = relative_errors(name, users, neighbours, 20)
    assert best < reached < most


PRINTED = [
    ("generated", 97_928, {"remove": 0.071, "replace": 0.075}),
    ("lognormal", 100_000, {"remove": 0.067, "replace": 0.072}),
    ("equal", 100_000, {"remove": 0.008, "replace": 0.008}),
]
"""Relative errors of user-level-sql.md 1.4, in percent."""


@pytest.mark.full
@pytest.mark.parametrize("neighbours", ["remove", "replace"])
@pytest.mark.parametrize(("name", "users", "printed"), PRINTED)
def test_the_table_of_errors_at_full_size(
    name: str, users: int, printed: dict[str, float], neighbours: Neighbours
) -> None:
    reached, best = relative_errors(name, users, neighbours, 400)
    assert best < reached < 1.15 * printed[neighbours] / 100


@pytest.mark.full
@pytest.mark.parametrize("neighbours", ["remove", "replace"])
def test_errors_for_two_thousand_users(neighbours: Neighbours) -> None:
    # The note has 1.8 % and 1.7 % beside 1.3 % of the best cap, for one sample; samples differ by more than that.
    both = np.array([relative_errors("generated", 2_000, neighbours, 60, sample) for sample in range(12)])
    reached, best = np.sqrt((both**2).mean(axis=0))
    assert 0.009 < best < 0.017
    assert 1 < reached / best < 2.2


def test_known_cuts() -> None:
    # cut of a given cap from the octaves alone, against what it is (62.1 % to 0.34 %).
    for cap, known in ((50, 62.1), (100, 42.5), (500, 7.15), (1000, 1.92), (2000, 0.34)):
        estimate = 100 * cut_at(CHECKINS, 10.0, cap) / 1e7
        assert abs(estimate - known) < 0.35
    found = choose_cap(CHECKINS, 10.0, 1.0)
    assert found.cap == 4096
    assert found.seen == 12


@pytest.mark.parametrize("neighbours", ["remove", "replace"])
def test_a_tail_that_ends_has_no_cap_far_above_it(neighbours: Neighbours) -> None:
    # Users have 1 to 30 records, as many of each number: 32 is enough, and bins above 32 show that nobody has more.
    counts = np.bincount([octave_of(1 + user % 30) for user in range(3000)], minlength=OCTAVES).tolist()
    histogram = OctaveHistogram(0.1, neighbours)
    with seeded(4):
        found = [choose_cap(histogram.release(counts), histogram.scale, 1 / 0.9) for _ in range(200)]
    assert sorted(float(one.cap) for one in found)[190] <= 91
    # What it says to be left out, three scales of noise above, is little of 46,500.
    assert all(one.cut < 0.05 * 46_500 for one in found)
    # A tail that is there is not cut: an unseen bin of 60 users shows about as many.
    tail = [*counts[:5], 2000, 700, 180, 60, *[0] * 12]
    with seeded(5):
        caps = [float(choose_cap(histogram.release(tail), histogram.scale, 1 / 0.9).cap) for _ in range(100)]
    assert sorted(caps)[10] >= 128


def test_several_cells_take_a_lower_cap() -> None:
    one, many = (choose_cap(CHECKINS, 10.0, 1.1, cells).cap for cells in (1, 1000))
    assert many < one / 2


def test_a_far_bin_is_dropped_and_no_bin_is_no_trouble() -> None:
    far = [0, 0, 500, 800, 300] + [0] * 10 + [150] + [0] * 5
    assert choose_cap(far, 10.0, 1.0).cap <= 8 * 16
    # Where all users are in one octave, noise in a lower one is not what they are measured by.
    assert choose_cap([0, 0, 0, 0, 210, 0, 0, 100_000] + [0] * 13, 20.0, 1.0).cap >= 100
    for nothing in ([0] * OCTAVES, [-3] * OCTAVES, [40] + [0] * 20):
        found = choose_cap(nothing, 10.0, 1.0)
        assert found.seen == 0
        assert found.cap >= 1
    top = choose_cap([0] * 20 + [10**6], 10.0, 1e-6)
    assert 2**19 < top.cap <= 2**23


def test_few_users_over_several_octaves_are_looked_for_above_the_fullest() -> None:
    # None of the bins is above 99, and two above the fullest show more than two scales of noise.
    noisy = [3, -8, 5, 0, 50, 45, 38, -12] + [0] * 13
    found = choose_cap(noisy, 10.0, 1 / 0.9)
    assert found.seen == 0
    assert 40 <= found.cap <= 2**7
    alone = choose_cap([3, -8, 5, 0, 50, 15, -9, -12] + [19] * 13, 10.0, 1 / 0.9)
    assert alone.seen == 0
    assert alone.cap <= 2**5


@pytest.mark.quarter
@pytest.mark.parametrize("neighbours", ["remove", "replace"])
def test_a_selection_of_nobody_has_a_cap_of_one_record(neighbours: Neighbours) -> None:
    """The fullest bin of noise is any of the 21: half of all caps would be above 500."""
    histogram = OctaveHistogram(0.1, neighbours)
    with seeded(6):
        caps = sorted(
            float(choose_cap(histogram.release([0] * OCTAVES), histogram.scale, 1 / 0.9).cap) for _ in range(400)
        )
    assert caps[200] == 1
    assert caps[360] <= 32
    assert caps[380] <= 256
    # Where a record is 256 units, the cap is near one record.
    with seeded(6):
        found = [choose_cap(histogram.release([0] * OCTAVES), histogram.scale, 1 / 0.9, 1, 8) for _ in range(400)]
    assert sorted(float(one.cap) for one in found)[360] <= 16 * 256
    assert all(one.seen == 0 for one in found[:100])


def test_few_users_that_stand_out_together_are_seen() -> None:
    """80 users of 100 records are eight scales of noise; 200 of lognormal totals are that in four bins alone."""
    histogram = OctaveHistogram(0.1, "remove")
    for name, users, least, most in (("equal", 80, 100, 256), ("lognormal", 200, 8, 128)):
        counts = octaves(population(name, users))
        with seeded(7):
            caps = sorted(
                float(choose_cap(histogram.release(counts), histogram.scale, 1 / 0.9).cap) for _ in range(200)
            )
        assert least <= caps[40]
        assert caps[160] <= most


@pytest.mark.parametrize(("width", "total"), [(1, 2.0), (2, 4.0), (4, 7.0)])
def test_a_surprise_bounds_the_chance_that_noise_has_it(width: int, total: float) -> None:
    sums = np.random.default_rng(8).laplace(size=(200_000, width)).sum(axis=1)
    share = float((sums >= total).mean())
    bound = math.exp(-_surprise(total, width))
    assert share <= bound * (1.02 if width == 1 else 1.0)
    assert share >= bound * (0.98 if width == 1 else 0.1)


def test_octaves_are_exact() -> None:
    for power in range(1, 20):
        assert octave_of(2**power) == power
        assert octave_of(2**power + 1) == min(power + 1, 20)
        assert octave_of(Fraction(2**power) + Fraction(1, 10**30)) == min(power + 1, 20)
    with pytest.raises(UsageError, match="total"):
        octave_of(0)


@pytest.mark.parametrize("neighbours", ["remove", "replace"])
def test_the_noise_of_the_histogram_has_power(neighbours: Neighbours) -> None:
    histogram = OctaveHistogram(0.1, neighbours)
    with seeded(2):
        noise = np.array([histogram.release([5] * OCTAVES) for _ in range(200)]) - 5
    mean = float(np.abs(noise).mean()) / (10.0 if neighbours == "remove" else 20.0)
    assert abs(mean - 1) < 0.1
    assert abs(mean / 0.7 - 1) > 0.2
    assert abs(mean / 1.3 - 1) > 0.1
    # One user more in one bin, or one that moves between two: exactly what the scale covers.
    moved = 1 if neighbours == "remove" else 2
    assert Fraction(moved) / Fraction(histogram.scale) <= Fraction(1, 10)


def test_events_and_refusals() -> None:
    event = OctaveHistogram(0.1, "replace").event()
    assert event_from_json(event.to_json()) == event
    assert event.guarantee == UserDP(0.1)
    for call in (
        lambda: OctaveHistogram(0.0, "remove"),
        lambda: OctaveHistogram(1e4, "remove"),
        lambda: OctaveHistogram(0.1, "remove").event(),
        lambda: OctaveHistogram(0.1, "remove").release([1]),
        lambda: OctaveHistogram(0.1, "remove").release([-1] * OCTAVES),
        lambda: choose_cap([1], 10.0, 1.0),
        lambda: choose_cap(CHECKINS, 0.0, 1.0),
        lambda: choose_cap(CHECKINS, 10.0, 1.0, 0),
    ):
        with pytest.raises(UsageError):
            call()
