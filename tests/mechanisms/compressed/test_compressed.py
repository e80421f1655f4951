"""Few bits a user: enumeration of small releases, exact errors with power, the printed encoder, what is refused."""

import itertools
import math

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.mechanisms.compressed import coordinates
from emdp.privacy import shuffle_epsilon
from emdp.randomizers import SampledCoordinates, SampledHadamard, SignRounds
from emdp.testing import seeded

UNITS = 2**13


@pytest.fixture
def _coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    # So that every outcome of a release can be gone through.
    monkeypatch.setattr(coordinates, "UNITS", UNITS)


def divergence(multiplier: float, rate: float, epsilon: float) -> float:
    """Return the largest divergence of two users' one coordinate, over all outcomes of signs, coins and noise."""
    reach = int((2 + 9 * multiplier) * UNITS)
    pmf = np.exp(-0.5 * (np.arange(-reach - UNITS, reach + UNITS + 1) / (multiplier * UNITS)) ** 2)
    pmf /= pmf.sum()
    points = np.arange(-reach, reach + 1) + reach + UNITS
    up, down = pmf[points - UNITS], pmf[points + UNITS]
    laws = [(1 - rate) * pmf[points] + rate * (p * up + (1 - p) * down) for p in (0, 0.3, 1)]
    return max(float(np.maximum(a - math.exp(epsilon) * b, 0).sum()) for a, b in itertools.permutations(laws, 2))


@pytest.mark.usefixtures("_coarse")
@pytest.mark.parametrize(("bits", "epsilon"), [(0.3, 0.5), (1.0, 1.0)])
def test_every_outcome_of_one_coordinate_costs_what_is_claimed(bits: float, epsilon: float) -> None:
    law = SampledCoordinates(1, 1.0, 2, epsilon, 1e-3, bits=bits)
    assert 0.9e-3 < divergence(law.multiplier, law.rate, epsilon) <= 1e-3
    assert divergence(0.7 * law.multiplier, law.rate, epsilon) > 1e-3


def errors_of(law: SampledCoordinates, vectors: np.ndarray, runs: int) -> np.ndarray:
    truth = vectors.mean(axis=0)
    return np.array([np.square(law.release(law.tally(law.encode(vectors))) - truth).sum() for _ in range(runs)])


def test_errors_are_exactly_those_said_and_noise_has_power() -> None:
    vectors = np.random.default_rng(1).uniform(-1, 1, (50, 16))
    with seeded(2):
        law = SampledCoordinates(16, 1.0, 50, 4.0, 1e-4, bits=8)
        squared = errors_of(law, vectors, 1500)
        one = law.squared_error(vectors)
        standard = squared.std() / math.sqrt(squared.size)
        assert abs(squared.mean() - one) < 6 * standard
        for factor in (0.7, 1.3):
            # Another sigma would be seen.
            other = one + 16 * law.sigma**2 * (factor**2 - 1)
            assert abs(squared.mean() - other) > 10 * standard
    assert one <= law.squared_error()


@pytest.mark.slow
def test_kept_coordinates_and_rotations_are_unbiased_with_the_errors_said() -> None:
    vectors = np.zeros((60, 6))
    vectors[:, 0], vectors[:, 3] = 0.8, -0.6
    with seeded(3):
        found, said = [], []
        for _ in range(300):
            law = SampledCoordinates(6, 1.0, 60, 30.0, 1e-3, bits=2, kept=4, norm=2.0)
            found.append(law.release(law.tally(law.encode(vectors))))
            said.append(law.squared_error(vectors))
    estimates = np.array(found)
    squared = np.square(estimates - vectors.mean(axis=0)).sum(axis=1)
    assert law.places.size == 4
    assert np.abs(estimates.mean(axis=0) - vectors.mean(axis=0)).max() < 6 * estimates.std() / 17
    # The formula is for all 8 coordinates of the cube, two of which are dropped.
    assert 0.5 * np.mean(said) < squared.mean() < 1.1 * np.mean(said)


def test_signs_that_are_sent_are_as_many_as_said() -> None:
    with seeded(4):
        law = SampledCoordinates(100, 1.0, 2000, 1.0, 1e-4, bits=5)
        sent = np.count_nonzero(law.encode(np.ones((2000, 100))), axis=1)
    assert abs(sent.mean() - law.bits) < 6 * math.sqrt(5 / 2000)
    assert law.bits == 5.0 < law.bits_with_places < 40
    assert "already" in law.explain()
    assert law.uncompressed_error() < law.squared_error()


@pytest.mark.quarter
@pytest.mark.parametrize("bits", [1, 2, 4])
def test_hadamard_shares_have_the_error_said(bits: int) -> None:
    codes = np.repeat([0, 3, 5, 6], [40, 10, 30, 20])
    truth = np.bincount(codes, minlength=8) / 100
    with seeded(6):
        law = SampledHadamard(8, 100, 5.0, 1e-4, bits=bits)
        found = np.array([law.release(law.tally(law.encode(codes))) for _ in range(1200)])
    squared = np.square(found - truth).sum(axis=1)
    assert abs(squared.mean() - law.squared_error()) < 6 * squared.std() / math.sqrt(1200)
    assert np.abs(found.mean(axis=0) - truth).max() < 6 * found.std(axis=0).max() / math.sqrt(1200)
    assert law.uncompressed_error() <= law.squared_error() * 1.001
    assert "histogram" in law.explain()


def test_one_row_of_all_bits_has_noise_for_a_move_of_the_root_of_two() -> None:
    from emdp.privacy import gaussian_alpha

    law = SampledHadamard(8, 100, 1.0, 1e-5, bits=4)
    assert law.rows == 1
    assert 0.999 < gaussian_alpha(math.sqrt(2) / law.multiplier, 1e-5) <= 1.0


def encoder_loss(epsilon0: float, *, is_printed: bool) -> float:
    """Return the local epsilon of the published encoder with one bit: the true sign, or else any sign."""
    kept = math.exp(epsilon0) / (math.exp(epsilon0) + 1)
    true = kept + (1 - kept) / 2 if is_printed else kept
    return math.log(true / (1 - true))


def test_the_printed_encoder_is_not_as_private_as_it_says_and_this_one_is() -> None:
    for epsilon0, printed in ((0.1, 1.166), (0.5, 1.458), (1.0, 1.862)):
        assert encoder_loss(epsilon0, is_printed=True) == pytest.approx(printed, abs=5e-4)
        assert encoder_loss(epsilon0, is_printed=False) == pytest.approx(epsilon0)
    law = SignRounds(4, 1.0, 500, 1.0, 1e-6, bits=12)
    strength = law.law.signs[0].strength  # type: ignore[attr-defined]
    assert math.log(strength.ratio) <= law.epsilon0 * (1 + 1e-12)


@pytest.mark.quarter
@pytest.mark.parametrize("norm", [1.0, 2.0, math.inf])
def test_rounds_of_signs_cost_what_the_accountant_says_and_are_unbiased(norm: float) -> None:
    with seeded(8):
        law = SignRounds(4, 1.0, 400, 1.0, 1e-6, bits=12, norm=norm)
        assert (law.rounds, law.bits) == (4, 12)
        price = shuffle_epsilon(law.epsilon0, 400, 1e-6, rounds=4, randomizer="place-sign").epsilon
        assert 0.99 < price <= 1.0
        vectors = np.tile([0.3, -0.2, 0.0, 0.1], (400, 1))
        found = np.array([law.decode(law.tally(law.mixed(law.encode(vectors)))) for _ in range(300)])
    squared = np.square(found - vectors[0]).sum(axis=1)
    assert np.abs(found.mean(axis=0) - vectors[0]).max() < 6 * found.std() / math.sqrt(300)
    assert squared.mean() <= law.squared_error() * 1.2


COORDINATES = {"dimension": 8, "radius": 1.0, "users": 100, "epsilon": 1.0, "delta": 1e-5, "bits": 4}
HADAMARD = {"items": 8, "users": 100, "epsilon": 1.0, "delta": 1e-5, "bits": 2}
SIGNS = {"dimension": 8, "radius": 1.0, "users": 100, "epsilon": 1.0, "delta": 1e-5, "bits": 8}


@pytest.mark.parametrize(
    ("kind", "known", "changed"),
    [
        *((SampledCoordinates, COORDINATES, one) for one in (
            {"dimension": 0}, {"radius": 0.0}, {"users": 0}, {"epsilon": 0.0}, {"delta": 0.0}, {"delta": 1e-40},
            {"bits": 0}, {"bits": 9}, {"bits": math.nan}, {"norm": 1.0}, {"kept": 0}, {"kept": 9}, {"kept": 3},
        )),
        *((SampledHadamard, HADAMARD, one) for one in (
            {"items": 1}, {"users": 0}, {"epsilon": -1.0}, {"delta": 1.0}, {"bits": 0}, {"bits": 5},
        )),
        *((SignRounds, SIGNS, one) for one in (
            {"dimension": 0}, {"radius": -1.0}, {"users": 0}, {"epsilon": 0.0}, {"delta": 1.0}, {"bits": 3},
            {"norm": 3.0},
        )),
    ],
)  # fmt: skip
def test_malformed_arguments_are_refused(kind: type, known: dict[str, object], changed: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        kind(**{**known, **changed})


def test_what_no_user_sends_is_refused() -> None:
    law = SampledCoordinates(**COORDINATES)  # type: ignore[arg-type]
    rows = SampledHadamard(**HADAMARD)  # type: ignore[arg-type]
    signs = SignRounds(**SIGNS)  # type: ignore[arg-type]
    for call in (
        lambda: law.encode(np.zeros((3, 7))),
        lambda: law.tally(np.full((1, 8), 2)),
        lambda: law.tally(np.zeros((1, 8))),
        # The smallest integer of a type is its own absolute value in arrays.
        lambda: law.tally(np.full((1, 8), -128, dtype=np.int8)),
        lambda: law.release(np.full(8, np.iinfo(np.int64).min)),
        lambda: rows.tally(np.full((1, 4), -128, dtype=np.int8)),
        lambda: rows.release(np.full((rows.chunks, rows.rows), np.iinfo(np.int64).min)),
        lambda: law.release(np.full(8, 101)),
        lambda: rows.encode([8]),
        lambda: rows.encode([-1]),
        lambda: rows.tally(np.full((1, 4), 9)),
        lambda: rows.release(np.zeros(3, dtype=np.int64)),
        lambda: signs.tally(np.zeros((3, 9), dtype=np.int64)),
    ):
        with pytest.raises(UsageError):
            call()
    # A number that is none counts as 0 on the user's side.
    assert law.encode(np.full((2, 8), np.nan)).shape == (2, 8)
