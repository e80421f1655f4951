"""Numbers of accountants and calibrations: what releases cost, together and converted, with no table in sight."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import emdp
from emdp import privacy, randomizers
from emdp.privacy import Change, DiscreteEmdDP, EmdDP, UserDP

from .cases import Case

KINDS = {
    "unbounded": EmdDP(2.0, 1e-9),
    "bounded": EmdDP(2.0, sizes="bounded"),
    "local": EmdDP(3.0, model="local"),
    "shuffle": EmdDP(1.5, 1e-8, sizes="bounded", model="shuffle"),
    "discrete": DiscreteEmdDP(0.5, 1e-9, 0.05),
    "user": UserDP(1.0, 1e-9),
}
LAPLACE = privacy.LaplaceEvent(0.5, 1, 2.0, 1.0, 2.0**-40, 1e-12)
K_NORM = privacy.KNormEvent(0.25, 3, 8.0, 2.0, 2.0**-40, 1e-12)
GAUSSIAN = privacy.GaussianEvent(0.5, 1e-6, 4, 9.0, 1.0, 2.0**-40, 1e-12, 0.0)
OTHER = privacy.GuaranteeEvent(EmdDP(0.1, 1e-9), "another mechanism", 1e-13)
EVENTS = (LAPLACE, K_NORM, GAUSSIAN, OTHER)
PLACE = emdp.Geo("lat", "lon", (40.48, -74.26, 40.92, -73.70), unit="km")
TRIP = emdp.Product(PLACE.weighted(2), emdp.Cycle("hour", 24))


def cases() -> Iterator[Case]:
    for name, call in _calls().items():
        yield Case(name, _recorded(call))


def _recorded(call: Callable[[], Any]) -> Callable[[Path], dict[str, Any]]:
    return lambda folder: {"is": call()}


def _calls() -> dict[str, Callable[[], Any]]:
    return {**_guarantees(), **_noise(), **_composed(), **_shuffled(), **_reduced(), **_made()}


def _guarantees() -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {}
    for name, kind in KINDS.items():
        found[f"text {name}"] = lambda kind=kind: [str(kind), repr(kind), kind.to_json(), kind.kind_name]
        found[f"bounded {name}"] = lambda kind=kind: repr(privacy.to_bounded(kind))
        found[f"central {name}"] = lambda kind=kind: repr(privacy.to_central(kind))
        found[f"discrete {name}"] = lambda kind=kind: repr(privacy.to_discrete(kind, 0.1))
        found[f"user {name}"] = lambda kind=kind: repr(privacy.to_user(kind))
        found[f"pays {name}"] = lambda kind=kind: {
            other: privacy.converts_to(kind, own) for other, own in KINDS.items()
        }
    found["group"] = lambda: repr(privacy.group(DiscreteEmdDP(0.5, 1e-9, 0.05), 0.22))
    found["metric"] = lambda: repr(privacy.change_metric(EmdDP(2.0, 1e-9), 3.0))
    found["metrics"] = lambda: repr(privacy.compose_metrics(EmdDP(2.0, 1e-9), EmdDP(1.0)))
    found["protect"] = lambda: privacy.protect(Change(1 / 30, 1.5, 0.2), Change(1, 0.05, 0.2), space=PLACE)
    found["protect part"] = lambda: privacy.protect(Change(0.1, 2, 0.2, "hour"), Change(0.5, 1, 0.3, "lat"), space=TRIP)
    found["epsilon for"] = lambda: privacy.epsilon_for(9.0, Change(0.1, 1.5, 0.2), space=PLACE)
    found["change distance"] = lambda: privacy.change_distance(Change(0.1, 1.5, 0.2), space=PLACE)
    return found


def _noise() -> dict[str, Callable[[], Any]]:
    pairs = [(0.1, 1e-12), (1.0, 1e-6), (20.0, 1e-9)]
    return {
        "laplace scale": lambda: [privacy.laplace_scale(alpha, 3.0) for alpha, _ in pairs],
        "gaussian sigma": lambda: [privacy.gaussian_sigma(alpha, delta, 2.5) for alpha, delta in pairs],
        "gaussian mu": lambda: [privacy.gaussian_mu(alpha, delta) for alpha, delta in pairs],
        "gaussian alpha": lambda: [privacy.gaussian_alpha(mu, 1e-7) for mu in (0.01, 0.5, 3.0)],
        "gaussian delta": lambda: [privacy.gaussian_delta(alpha, 0.7, d) for alpha, d in ((0.5, 1.0), (2.0, 0.1))],
        "split": lambda: privacy.split(1.0, (1.0, 2.0, 4.0)),
    }


def _composed() -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {
        f"event {type(event).__name__}": lambda event=event: [
            repr(privacy.event_from_json(event.to_json())), event.to_json(), repr(event.guarantee),
        ]
        for event in EVENTS
    }  # fmt: skip
    found["compose"] = lambda: repr(privacy.compose(EVENTS))
    found["compose delta"] = lambda: repr(privacy.compose(EVENTS, 1e-5))
    found["tight"] = lambda: repr(privacy.tight([LAPLACE] * 3 + [GAUSSIAN] * 2, 1e-5))
    found["curve"] = lambda: privacy.epsilon_curve([LAPLACE, GAUSSIAN], 1e-6, [0.01, 0.1, 1.0])
    found["batch"] = lambda: privacy.price_batch([LAPLACE, GAUSSIAN], 1e-5).to_json()
    found["account"] = _account
    found["account of a user"] = lambda: repr(privacy.total_as_user([_charged()]))
    return found


def _charged() -> Any:
    account = privacy.Account(privacy.Budget(EmdDP(5.0, 1e-4), 0.25))
    for event in EVENTS:
        account = account.charge(event)
    return account


def _account() -> list[Any]:
    account = _charged()
    return [repr(account.spent), repr(account.remaining), account.affordable(LAPLACE), account.affordable(GAUSSIAN)]


def _shuffled() -> dict[str, Callable[[], Any]]:
    kinds = emdp.Categories("k", list("abcd"))
    known = randomizers.KRR(kinds, 2.0)
    found: dict[str, Callable[[], Any]] = {
        "shuffle alpha": lambda: privacy.shuffle_alpha(2.0, 100, 10**7, 1e-9),
        "shuffle alpha0": lambda: privacy.shuffle_alpha0(25, 1000, 10**8, 1e-12),
        "shuffle bounds": lambda: [repr(own) for own in privacy.shuffle_bounds(2.0, 100, 10**6, 1e-9, 1.0)],
        "shuffle known": lambda: [
            repr(own) for own in privacy.shuffle_bounds(None, 100, 10**5, 1e-9, 1.0, randomizer=known)
        ],
        "shuffle strengths": lambda: [repr(own) for own in privacy.shuffle_alpha0_bounds(9.0, 50, 10**6, 1e-9, 1.0)],
        "shuffle epsilon": lambda: repr(privacy.shuffle_epsilon(1.5, 10_000, 1e-7)),
        "shuffle epsilon0": lambda: privacy.shuffle_epsilon0(0.5, 10_000, 1e-7),
        "shuffle rounds": lambda: repr(privacy.shuffle_epsilon(0.5, 10_000, 1e-7, 8)),
        "shuffle total": lambda: repr(
            privacy.shuffle_total([privacy.ShuffleRound(0.5, 5000), privacy.ShuffleRound(0.25, 9000)], 1e-7)
        ),
        "renyi": lambda: [privacy.renyi_shuffle(order, 1000, 1.0) for order in (2.0, 4.5)],
        "renyi bound": lambda: [privacy.renyi_shuffle_bound(order, 1000, 1.0) for order in (2.0, 9.0)],
        "renyi subsampled": lambda: privacy.renyi_subsampled(2, 1000, 100, 1.0),
        "renyi delta": lambda: privacy.renyi_delta(lambda order: order / 100, 0.5),
        "renyi epsilon": lambda: privacy.renyi_epsilon(lambda order: order / 100, 1e-6),
    }
    # Sums of thousands of terms, whose last bits are those of the machine's exponential function.
    return {name: _rounded(call) if name in ROUNDED else call for name, call in found.items()}


ROUNDED: tuple[str, ...] = ()
"""Cases whose numbers are kept to twelve digits."""


def _rounded(call: Callable[[], Any]) -> Callable[[], Any]:
    def run() -> Any:
        found = call()
        numbers = found if isinstance(found, list) else [found]
        return [float(f"{number:.12g}") if math.isfinite(number) else number for number in numbers]

    return run


def _reduced() -> dict[str, Callable[[], Any]]:
    return {
        "reduction": lambda: [privacy.reduction_alpha(1.0, r, 200, 1e-9) for r in (0.01, 0.1, 0.5)],
        "reduction published": lambda: privacy.published_reduction_alpha(1.0, 0.05, 200, 1e-9),
        "reduction split": lambda: repr(privacy.reduction_split(1.0, 0.05, 200, 1e-9)),
        "reduction quantile": lambda: privacy.reduction_quantile(0.05, 200, 1e-9, epsilon=1.0),
        "reduced": lambda: repr(privacy.reduced_guarantee(EmdDP(3.0, 1e-10, sizes="bounded"), 0.05, 200, 1e-9)),
    }


def _made() -> dict[str, Callable[[], Any]]:
    kinds = emdp.Categories("k", list("abcd"))
    groups = emdp.Clusters("k", {"a": 1, "b": 1, "c": 2, "d": 2}, 0.25)
    line = emdp.Grid(emdp.Interval("x", 0, 6), 6)
    made: dict[str, Callable[[], Any]] = {
        "KRR": lambda: randomizers.KRR(kinds, 2.0),
        "GKRR": lambda: randomizers.GKRR(groups, 2.0),
        "Exponential": lambda: randomizers.Exponential(line, 3.0),
        "Exponential untuned": lambda: randomizers.Exponential(line, 3.0, tuned=False),
        "Geometric": lambda: randomizers.Geometric(line, 3.0),
        "Optimal": lambda: randomizers.Optimal(line, 3.0),
        "HadamardResponse": lambda: randomizers.HadamardResponse(kinds, 2.0),
        "OneBit": lambda: randomizers.OneBit(kinds, 1.0, [0, 1, 2, 3]),
    }
    return {f"randomizer {name}": lambda make=make: _described(make()) for name, make in made.items()}


def _described(randomizer: Any) -> list[Any]:
    return [repr(randomizer), randomizer.alpha0, randomizer.matrix]
