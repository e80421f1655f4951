"""``descent``: loss of a logistic model by who is in which round, model and epsilon (sampling-and-descent.md 2).

Generated people have one record each: ``d`` features, spread evenly over [-1, 1], and a target whose log-odds are a
linear function of them with a standard deviation of 1. The loss gap is the mean cross-entropy above the smallest in the
ball of weights. Schedules of the shuffle model: users dealt to rounds, each in one; everybody in every round; a secret
sample of a sixth of them in each round (CLDP-SGD); each joins a round by a secret coin of one in six (dss-SGD). Beside
them stand a curator's rounds, and local messages of users dealt to rounds. The published runs are of pictures, with
13,170 weights, which nothing here could rerun; this is the stand-in that the note asks for.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from emdp.experiments.base import USER, Experiment, Row, row_of
from emdp.mechanisms.descent.loss import UserRecords, minimum
from emdp.mechanisms.descent.plan import descent_candidates
from emdp.mechanisms.descent.rounds import Descent, DescentSetting
from emdp.mechanisms.vector.direction import VectorDirection
from emdp.mechanisms.weights import Floats
from emdp.noise.choices import draw_below, draw_bernoulli
from emdp.noise.discrete_gaussian import draw_discrete_gaussian

__all__ = ["GAP", "people", "run_descent", "schedules"]

GAP = "loss gap"
"""The measure."""

USERS, FULL_USERS = 6000, 60_000
FEATURES = 16
EPSILONS, FULL_EPSILONS = (0.5, 2.0), (0.5, 1.0, 2.0)
DELTA = 1e-5
PART = 6
"""One user in so many is drawn in a round, where users are drawn."""
RADIUS = 4.0
RUNS, FULL_RUNS = 3, 3
MANY = 100_000
"""Reports of a round from which their sum is drawn at once."""

_BITS = 62
_STEPS = 2**30


def run_descent(*, full: bool = False, seed: int = 0, runs: int | None = None) -> Experiment:
    """Return the loss gap against epsilon for each schedule; call it inside the test switch.

    Parameters
    ----------
    full, seed, runs
        As of :func:`emdp.experiments.frequency.run_local`.
    """
    users = FULL_USERS if full else USERS
    draws = (FULL_RUNS if full else RUNS) if runs is None else runs
    records = people(users, FEATURES)
    clip = math.sqrt(FEATURES + 1)
    least = _loss(records, minimum(records, loss="logistic", clip=clip, radius=RADIUS))
    rows: list[Row] = []
    for epsilon in FULL_EPSILONS if full else EPSILONS:
        for model, method, planned in schedules(users, epsilon, clip):
            descent = at_once(planned)
            gaps = [_loss(records, np.array(descent.release(records).weights)) - least for _ in range(draws)]
            rows.append(
                row_of(
                    gaps, panel=f"logistic, d = {FEATURES}, n = {users:,}", x=epsilon, method=method, guarantee=USER,
                    model=model, measure=GAP, bound=descent.typical_excess,
                    bound_source="expected where features are spread evenly (Descent.typical_excess)",
                    parameters={
                        "n": users, "d": FEATURES, "epsilon": epsilon, "delta": descent.delta,
                        "rounds": descent.rounds, "users_a_round": descent.users_a_round, "noise": descent.noise,
                    },
                )
            )  # fmt: skip
    unfitted = _loss(records, np.zeros(FEATURES + 1)) - least
    return Experiment(
        name="descent",
        title=f"Private gradient descent on {users:,} people: loss above the least",
        rows=tuple(rows),
        across=dict.fromkeys((row.panel for row in rows), "epsilon"),
        measures=(GAP,),
        sentences=(
            *_found(rows),
            f"Weights of 0 have a gap of {unfitted:.3g}: what is not well below it has learnt nothing.",
            f"Of more than {MANY:,} directions a round their sum is drawn, by the normal law with its exact mean and "
            "covariance.",
            "Drawing users anew in each round needs whoever draws to be trusted for keeping that secret.",
            "Where all records are with a curator already, the central rounds are never worse.",
        ),
        seed=seed,
        is_full=full,
    )


def schedules(users: int, epsilon: float, clip: float) -> Iterator[tuple[str, str, Descent]]:
    """Yield model, name and descent of every schedule, each with its best number of rounds."""
    shared = (users, FEATURES + 1, "logistic", clip, RADIUS, epsilon)

    def best(found: tuple[Descent, ...], name: str) -> Descent | None:
        own = [one for one in found if one.name.startswith(name)]
        return min(own, key=lambda one: one.expected_excess) if own else None

    central = descent_candidates(DescentSetting(*shared, DELTA))  # type: ignore[arg-type]
    yield "central", "central: everybody in every round", min(central, key=lambda one: one.expected_excess)
    mixed = DescentSetting(*shared, DELTA, "shuffle")  # type: ignore[arg-type]
    plain = descent_candidates(mixed)
    for name, words in (("users dealt", "dealt to rounds"), ("everybody", "everybody in every round")):
        found = best(plain, name)
        if found is not None:
            yield "shuffle", f"shuffle: {words}", found
    yield "shuffle", "shuffle: a secret sixth a round", descent_candidates(mixed, sampled=users // PART)[0]
    yield "shuffle", "shuffle: joining by a coin of 1/6", descent_candidates(mixed, participation=1 / PART)[0]
    local = descent_candidates(DescentSetting(*shared, 0.0, "local"))  # type: ignore[arg-type]
    yield "local", "local: dealt to rounds", min(local, key=lambda one: one.expected_excess)


class SummedDirections(VectorDirection):
    """Directions of so many users that their sum is drawn at once, by the normal law with its mean and covariance.

    A report ``s u`` of ``x`` has the mean ``x/M`` and the second moment ``E[u u^T] = 1/d``; all are independent.
    """

    def encode(self, vectors: npt.ArrayLike) -> Any:
        """Return the clipped vectors: nothing is drawn yet."""
        return self.clip(vectors)

    def tally(self, messages: npt.NDArray[Any]) -> Any:
        if not len(messages):
            return np.zeros(self.dimension, dtype=np.int64)
        means = messages / self.length
        covariance = len(means) / self.dimension * np.eye(self.dimension) - means.T @ means
        drawn = np.array(draw_discrete_gaussian(float(_STEPS), self.dimension), dtype=np.float64) / _STEPS
        noise = np.linalg.cholesky(covariance) @ drawn
        total = self.reports * means.sum(axis=0) + math.sqrt(self.reports) * noise
        return np.rint(np.ldexp(total, self._fraction_bits)).astype(np.int64)


def at_once(descent: Descent) -> Descent:
    """Return a descent with the sums of its directions drawn at once, where a round has more than :data:`MANY`."""
    law = getattr(descent, "law", None)
    if not isinstance(law, VectorDirection) or descent.users_a_round * law.reports <= MANY:
        return descent
    summed = SummedDirections(law.dimension, law.radius, law.requested, law.users, norm=law.norm, reports=law.reports)
    return replace(descent, law=summed)  # type: ignore[call-arg]  # of MessageDescent


def people(users: int, features: int) -> UserRecords:
    """Return generated people, one record each; call it inside the test switch.

    >>> from emdp.testing import seeded
    >>> with seeded(1):
    ...     records = people(1000, 4)
    >>> records.features.shape, bool(0.3 < records.targets.mean() < 0.7)
    ((5, 1000), True)
    """
    drawn = draw_below(np.full(users * features, _STEPS)).astype(np.float64).reshape(features, users)
    spread = 2.0 * drawn / _STEPS - 1.0
    # A feature has a variance of 1/3.
    truth = np.where(np.arange(features) % 2 == 0, 1.0, -1.0) * math.sqrt(3.0 / features)
    chances = 1.0 / (1.0 + np.exp(-(truth @ spread)))
    is_one = draw_bernoulli(np.rint(chances * 2.0**_BITS).astype(np.int64), _BITS)
    rows = np.vstack([np.ones(users), spread])
    return UserRecords(rows, is_one.astype(np.float64), np.arange(users + 1, dtype=np.int64))


def _loss(records: UserRecords, weights: Floats) -> float:
    margins = weights @ records.features
    return float(np.mean(np.logaddexp(0.0, margins) - records.targets * margins))


def _found(rows: list[Row]) -> tuple[str, ...]:
    """Say which schedule of the shuffle model has the smallest gap at each epsilon, and how it stands to a curator."""
    said = []
    for epsilon in dict.fromkeys(row.x for row in rows):
        own = [row for row in rows if row.x == epsilon]
        mixed = min((row for row in own if row.model == "shuffle"), key=lambda row: row.error_mean)
        central = next(row for row in own if row.model == "central")
        local = next(row for row in own if row.model == "local")
        said.append(
            f"epsilon = {epsilon:g}: {mixed.method} is the best of the shuffle model, {mixed.error_mean:.3g} in "
            f"{mixed.parameters['rounds']:g} rounds; a curator has {central.error_mean:.3g}, local messages "
            f"{local.error_mean:.3g}."
        )
    return tuple(said)
