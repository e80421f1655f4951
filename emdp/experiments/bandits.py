"""``bandits``: regret of a linear bandit of private rewards (linear-bandits.md 3; the thesis's Fig. 6.2a).

Each instance is a set of actions and an unknown vector ``theta``; a user who plays ``a`` has a reward of 1 or -1 with
mean ``<a, theta>``. Regret is what is lost against always playing the best action, over all ``T`` rounds. Two settings:
ten actions and ``theta`` uniform on the circle (published), and sixty actions on the sphere of four dimensions with
``theta = 0.9 e_1``. All methods run on the same instances. Radii are those of :mod:`emdp.mechanisms.bandits.rewards`,
with the design's own spread in place of its bound ``2 d``, and local messages are bits: both halve the regret of the
note's run.
"""

import math

import numpy as np

from emdp.experiments.base import USER, Experiment, Row, row_of
from emdp.learn.bandit import LinearBandit, Model
from emdp.mechanisms.weights import Floats
from emdp.noise.choices import draw_bernoulli
from emdp.noise.discrete_gaussian import draw_discrete_gaussian

__all__ = ["REGRET", "one_regret", "run_bandits"]

REGRET = "regret"
"""The measure."""

HORIZON, FULL_HORIZON = 100_000, 1_000_000
RUNS, FULL_RUNS = 5, 20
DELTA = 1e-6

PRICES: tuple[tuple[Model, tuple[float, ...]], ...] = (
    ("central", (0.1, 1.0, 10.0, 40.0)),
    ("local", (0.5, 2.0, 10.0, 40.0)),
    ("shuffle", (0.2, 1.0)),
)
"""Models with the epsilons that each is run at; central at 40 has hardly any noise, and stands for no privacy."""

_BITS = 62
_UNITS = 2.0**30


def run_bandits(*, full: bool = False, seed: int = 0, runs: int | None = None) -> Experiment:
    """Return regret against epsilon in three models; call it inside the test switch.

    Parameters
    ----------
    full, seed, runs
        As of :func:`emdp.experiments.frequency.run_local`.
    """
    horizon = FULL_HORIZON if full else HORIZON
    draws = (FULL_RUNS if full else RUNS) if runs is None else runs
    rows: list[Row] = []
    for panel, instances in _settings(horizon, draws):
        for model, epsilons in PRICES:
            for epsilon in epsilons:
                delta = DELTA if model == "shuffle" else 0.0
                errors = [one_regret(*instance, horizon, epsilon, model, delta) for instance in instances]
                numbers = {"T": horizon, "epsilon": epsilon, "delta": delta, "d": instances[0][0].shape[1]}
                rows.append(
                    row_of(
                        errors, panel=panel, x=epsilon, method=f"{model}, {USER}", guarantee=USER, model=model,
                        measure=REGRET, parameters={**numbers, "actions": len(instances[0][0])},
                    )
                )  # fmt: skip
    return Experiment(
        name="bandits",
        title=f"Linear bandits over {horizon:,} users: regret",
        rows=tuple(rows),
        across=dict.fromkeys((row.panel for row in rows), "epsilon"),
        measures=(REGRET,),
        sentences=(
            *_found(rows),
            "The published noise of scale 1/epsilon would have cost 2 epsilon: a reward in [-1, 1] moves a sum by 2.",
            "The central model at epsilon = 40 has hardly any noise: what is lost there, learning costs.",
            "Each user plays once: batches have no user in common, and all of them cost what one does.",
            "Where all rewards are already with a curator, the central model is never worse.",
        ),
        seed=seed,
        is_full=full,
    )


def one_regret(actions: Floats, theta: Floats, horizon: int, epsilon: float, model: Model, delta: float) -> float:
    """Return the regret of one run, in which rewards are 1 or -1.

    >>> from emdp.testing import seeded
    >>> with seeded(3):
    ...     regret = one_regret(np.eye(2), np.array([0.9, -0.9]), 1000, 1.0, "central", 0.0)
    >>> 0 < regret < 1800
    True
    """
    means = np.clip(actions @ theta, -1.0, 1.0)
    bandit = LinearBandit(actions, horizon, epsilon, model, delta=delta)
    lost = 0.0
    while not bandit.is_finished:
        batch = bandit.ask()
        own = means[batch.actions]
        lost += float((means.max() - own).sum())
        chances = np.rint((1.0 + own) * 2.0 ** (_BITS - 1)).astype(np.int64)
        bandit.tell(batch.encode(2.0 * draw_bernoulli(chances, _BITS) - 1.0))
    return lost + bandit.rounds_left * float(means.max() - means[bandit.best])


def _settings(horizon: int, draws: int) -> tuple[tuple[str, list[tuple[Floats, Floats]]], ...]:
    """Return the instances, actions and ``theta``, of each panel."""
    circle = [_on_sphere(11, 2) for _ in range(draws)]
    sphere = [(_on_sphere(60, 4), np.array([0.9, 0.0, 0.0, 0.0])) for _ in range(draws)]
    return (
        (f"circle, 10 actions, T = {horizon:,}", [(own[:10], own[10]) for own in circle]),
        (f"sphere in 4 dimensions, 60 actions, T = {horizon:,}", sphere),
    )


def _on_sphere(count: int, dimension: int) -> Floats:
    drawn = np.array(draw_discrete_gaussian(_UNITS, count * dimension), dtype=np.float64).reshape(count, dimension)
    # Kept within length 1 whatever is rounded.
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), dtype=np.float64)


def _found(rows: list[Row]) -> tuple[str, ...]:
    """Say what privacy costs in each panel, beside the central model at 40."""
    said = []
    for panel in dict.fromkeys(row.panel for row in rows):
        own = {(row.model, row.x): row.error_mean for row in rows if row.panel == panel}
        free = own["central", 40.0]
        told = [
            f"{model} at {x:g} {own[model, x] / free:.1f}x"
            for model, xs in PRICES
            for x in xs
            if math.isfinite(free) and free > 0 and x < 40
        ]
        said.append(f"{panel}: regret beside hardly any noise: {', '.join(told)}.")
    return tuple(said)
