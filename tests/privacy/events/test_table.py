"""Events: what they check about themselves, and that a ledger can read them back."""

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.privacy import (
    BatchEvent,
    DiscreteEmdDP,
    EmdDP,
    Event,
    GaussianEvent,
    GuaranteeEvent,
    KNormEvent,
    LaplaceEvent,
    UserDP,
    event_from_json,
    gaussian_sigma,
    laplace_scale,
)
from emdp.privacy.rounding import float_up, root_up

GRID = 2.0**-40


def laplace(alpha: float = 1.0, **changes: object) -> LaplaceEvent:
    values = {"scale": laplace_scale(alpha, 0.3), "sensitivity": 0.3, "grid": GRID, **changes}
    rounding = {"slack_epsilon": 1.001 * GRID / values["scale"]}  # type: ignore[operator]
    return LaplaceEvent(alpha, 1, **{**rounding, **values})  # type: ignore[arg-type]


def gaussian(alpha: float = 1.0, delta: float = 1e-6, slack: float = 1e-12, **changes: object) -> GaussianEvent:
    values = {"sigma": gaussian_sigma(alpha, delta - slack, 0.3), "sensitivity": 0.3, "grid": GRID}
    return GaussianEvent(alpha, delta, 2, slack_epsilon=0.0, slack_delta=slack, **{**values, **changes})  # type: ignore[arg-type]


EXAMPLES: list[Event] = [
    laplace(0.1),
    laplace(2.0, kind=UserDP(0)),
    KNormEvent(1.0, 3, 0.3, 0.3, GRID, 1e-11, 1e-15),
    gaussian(),
    gaussian(kind=DiscreteEmdDP(0, 0, 0.1, model="local")),
    GuaranteeEvent(EmdDP(2.0, 1e-9, "bounded"), "item-wise release", 1e-14),
    BatchEvent((laplace(), gaussian()), 2.0, 1e-6, 1e-12),
]


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)
def test_json_gives_the_event_back(event: Event) -> None:
    assert event_from_json(json.loads(json.dumps(event.to_json()))) == event


@given(st.floats(1e-3, 1e3), st.floats(1e-6, 1e6))
def test_a_laplace_event_accepts_the_calibrated_scale_and_nothing_smaller(alpha: float, size: float) -> None:
    scale = laplace_scale(alpha, size)
    assert laplace(alpha, scale=scale, sensitivity=size).guarantee == EmdDP(alpha)
    with pytest.raises(UsageError, match=r"scale = .* is too small"):
        laplace(alpha, scale=math.nextafter(scale, 0), sensitivity=size)
    with pytest.raises(UsageError, match=r"scale = .* is too small"):
        KNormEvent(alpha, 2, math.nextafter(scale, 0), size, GRID, 0.0)


@given(st.floats(0.01, 100.0), st.floats(1e-12, 0.1), st.floats(0.0, 0.9))
def test_a_gaussian_event_accepts_the_calibrated_sigma_and_no_thinner_one(
    alpha: float, delta: float, part: float
) -> None:
    slack = delta * part
    event = gaussian(alpha, delta, slack)
    assert event.guarantee == EmdDP(alpha, delta)
    assert Fraction(event.mu) * Fraction(event.sigma) >= Fraction(event.sensitivity)
    with pytest.raises(UsageError, match=r"sigma = .* is too small"):
        gaussian(alpha, delta, slack, sigma=event.sigma * (1 - 1e-8))


def test_the_slack_of_a_gaussian_event_is_inside_its_delta() -> None:
    with pytest.raises(UsageError, match=r"sigma = .* is too small"):
        gaussian(1.0, 1e-6, 1e-8, sigma=gaussian_sigma(1.0, 1e-6, 0.3))


def test_mu_may_be_stated_larger_but_not_smaller() -> None:
    base = gaussian()
    assert gaussian(1.0, 2e-6, sigma=base.sigma, mu=base.mu).mu == base.mu
    with pytest.raises(UsageError, match="mu must be at least sensitivity/sigma"):
        gaussian(mu=base.mu * 0.99)
    with pytest.raises(UsageError, match=r"sigma = .* is too small"):
        gaussian(mu=base.mu * 1.01)


def test_an_event_states_its_kind() -> None:
    assert laplace(0.5, kind=UserDP(0)).guarantee == UserDP(0.5)
    assert gaussian(kind=EmdDP(0, sizes="bounded")).guarantee == EmdDP(1.0, 1e-6, "bounded")
    with pytest.raises(UsageError, match="kind must be a guarantee with parameters 0"):
        laplace(0.5, kind=UserDP(1.0))


def test_a_release_without_noise_is_a_guarantee_of_nothing() -> None:
    assert GuaranteeEvent(EmdDP(0.0)).guarantee.level == 0
    with pytest.raises(UsageError, match="state a release without noise as a GuaranteeEvent"):
        LaplaceEvent(0.0, 1, 1.0, 1.0, GRID, 0.0)


def test_a_batch_of_gaussians_has_a_mu_and_a_mixed_one_has_none() -> None:
    single = gaussian()
    batch = BatchEvent((single,) * 4, 2.0, 1e-6, 0.0)
    assert batch.gaussian_mu == pytest.approx(2 * single.mu, rel=1e-15)
    assert Fraction(batch.gaussian_mu) ** 2 >= 4 * Fraction(single.mu) ** 2
    assert batch.slack == (0.0, 4e-12)
    assert BatchEvent((single, laplace()), 2.0, 1e-6, 1e-12).gaussian_mu is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: laplace(slack_epsilon=-1e-9), "slack_epsilon must be at least 0"),
        (lambda: laplace(grid=0.0), "grid must be above 0"),
        (lambda: laplace(sensitivity=math.nan), "sensitivity must be finite"),
        (lambda: LaplaceEvent(1.0, 0, 1.0, 1.0, GRID, 0.0), "dimension must be at least 1"),
        (lambda: KNormEvent(1.0, 2, 1.0, 1.0, GRID, 1e-11, norm="1"), "norm must be one of"),
        (lambda: KNormEvent(1.0, 2, 1.0, 1.0, GRID, 1e-11, 1.0), "slack_delta must be in"),
        (lambda: GuaranteeEvent(1.0), "guarantee must be a Guarantee"),
        (lambda: GuaranteeEvent(EmdDP(1.0), 7), "mechanism must be a string"),
        (lambda: BatchEvent((), 1.0, 0.0, 0.0), "at least one event"),
        (lambda: BatchEvent((BatchEvent((laplace(),), 1.0, 0.0, 0.0),), 1.0, 0.0, 0.0), "plain events"),
        (
            lambda: BatchEvent((laplace(), laplace(kind=UserDP(0))), 2.0, 0.0, 0.0),
            "one kind, not a central UserDP and a unbounded central EmdDP",
        ),
        (lambda: BatchEvent((laplace(),), -1.0, 0.0, 0.0), "alpha must be at least 0"),
    ],
)
def test_malformed_events_are_named(make: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    "description",
    [
        {},
        {"event": "SubsampledEvent"},
        {"event": "os.system"},
        {**laplace().to_json(), "count": 10},
        {key: value for key, value in laplace().to_json().items() if key != "kind"},
        {**laplace().to_json(), "kind": {"kind": "NoDP"}},
        {**laplace().to_json(), "scale": 1e-9},
        {**EXAMPLES[-1].to_json(), "events": [{"event": "Nothing"}]},
        "LaplaceEvent",
    ],
)
def test_json_that_is_not_ours_is_refused(description: object) -> None:
    with pytest.raises(UsageError):
        event_from_json(description)  # type: ignore[arg-type]


@pytest.mark.parametrize("dimension", [1, 3])
def test_slack_covers_at_least_the_grid(dimension: int) -> None:
    """Rounding moves both statistics by half a step in every coordinate: the norm of that many ones."""
    step = Fraction(1, 64)
    for build, costs in (
        (lambda slack: LaplaceEvent(1.0, dimension, 1.0, 1.0, 1 / 64, slack), dimension * step),
        (lambda slack: KNormEvent(1.0, dimension, 1.0, 1.0, 1 / 64, slack), root_up(dimension * step**2)),
        (lambda slack: KNormEvent(1.0, dimension, 1.0, 1.0, 1 / 64, slack, norm="inf"), step),
    ):
        build(float_up(Fraction(costs)))
        for slack in (0.0, float(costs) * (1 - 1e-12)):
            with pytest.raises(UsageError, match="is less than rounding to grid"):
                build(slack)


@pytest.mark.parametrize("name", ["sensitivity", "scale", "grid"])
def test_numbers_that_are_no_floats_are_refused(name: str) -> None:
    values = {"scale": 1.0, "sensitivity": 0.3, "grid": GRID, name: Fraction(1, 3)}
    with pytest.raises(UsageError, match=f"{name} must be a float64"):
        laplace(**values)


@pytest.mark.parametrize("changes", [{"mu": 1e101}, {"sigma": 1e120}])
def test_a_gaussian_ratio_beyond_its_range_is_refused(changes: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="mu must be between"):
        gaussian(**changes)  # type: ignore[arg-type]


def test_names_that_are_no_strings_are_not_printed() -> None:
    for description in ({"event": [1]}, {**laplace().to_json(), "kind": {"kind": [1]}}):
        with pytest.raises(UsageError, match="of type list"):
            event_from_json(description)
