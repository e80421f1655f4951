"""Linear models by private gradient descent at user level: excess loss against users and epsilon, in every model.

Run `python benchmarks/learn.py` from the project's root (about ten minutes on two quiet cores; `--runs 3` is quicker).
Two features, uniform on [-1, 1] and [-0.6, 0.6]; the squared loss has weights (0.1, 0.5, -0.3) and noise of 0.15, the
logistic one three times these weights. A user has 1 to 5 records. Errors are of the exact mean loss of the users in
the table, above its least value in the ball: measured (mean of the runs), what a preview calls typical, its bound, and
measured with the published steps ``D/(G sqrt(t))`` and the last iterate on the same kind of messages. `start` is that
of no model at all, so that a fit is of use where it is far below; `slope` is the root mean square error of the weights.

The second table has users with many alike records, where range-then-mean rounds pay.
"""

import argparse
import math
import time
from dataclasses import replace
from typing import Any

import numpy as np

import emdp
from emdp.mechanisms.descent.loss import Loss, UserRecords, minimum, user_gradients
from emdp.mechanisms.descent.plan import best_descent, descent_candidates
from emdp.mechanisms.descent.rounds import Descent, DescentSetting

Array = np.ndarray[Any, Any]

TRUTH = np.array([0.1, 0.5, -0.3])


def people(users: int, most: int, loss: Loss, seed: int = 3) -> UserRecords:
    """Return generated records of users, 1 to ``most`` each."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, most + 1, users) if most < 100 else np.full(users, most)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    count = int(offsets[-1])
    features = np.vstack([np.ones(count), rng.uniform(-1, 1, count), rng.uniform(-0.6, 0.6, count)])
    margins = TRUTH @ features
    if loss == "squared":
        return UserRecords(features, np.clip(margins + rng.normal(0, 0.15, count), -1, 1), offsets)
    return UserRecords(features, (rng.uniform(size=count) < 1 / (1 + np.exp(-3 * margins))).astype(float), offsets)


def mean_loss(records: UserRecords, weights: Array, loss: Loss) -> float:
    """Return the mean over users of the mean loss of their records."""
    sizes = np.diff(records.offsets)
    margins = weights @ records.features
    if loss == "squared":
        values = 0.5 * (margins - records.targets) ** 2
    else:
        values = np.logaddexp(0, margins) - records.targets * margins
    return float(np.repeat(1 / (sizes * records.users), sizes) @ values)


def published(descent: Descent, records: UserRecords) -> Array:
    """Return the last iterate of steps ``D/(G sqrt(t))`` on the same kind of messages."""
    own = descent.setting
    size = math.hypot(own.clip, descent.spread)
    weights = np.zeros(own.dimension)
    for number, users in enumerate(descent._dealt(), start=1):
        rows = user_gradients(records, weights, loss=own.loss, clip=own.clip, exponent=own.exponent, users=users)
        weights = weights - own.radius / (size * math.sqrt(number)) * descent._estimate(rows)
        weights = weights * (own.radius / max(own.radius, float(np.linalg.norm(weights))))
    return weights


def setting_of(loss: Loss, users: int, model: str, epsilon: float, delta: float) -> DescentSetting:
    """Return the setting that a query without clip and radius has."""
    clip = math.sqrt(3) * (2 if loss == "squared" else 1)
    return DescentSetting(users, 3, loss, clip, 1.0 if loss == "squared" else 4.0, epsilon, delta, model)


def measured(descent: Descent, records: UserRecords, least: Array, runs: int) -> str:
    """Return a row of the table: errors of a descent."""
    loss = descent.setting.loss
    floor = mean_loss(records, least, loss)
    excess, old, squares, start = [], [], [], time.perf_counter()
    with emdp.testing.seeded(1):
        for _ in range(runs):
            weights = np.array(descent.release(records).weights)
            excess.append(mean_loss(records, weights, loss) - floor)
            squares.append(float(np.mean((weights - least) ** 2)))
        took = (time.perf_counter() - start) / runs
        for _ in range(runs):
            old.append(mean_loss(records, published(descent, records), loss) - floor)
    zero = mean_loss(records, np.zeros(3), loss) - floor
    told = f"{descent.typical_excess:9.5f} {descent.expected_excess:7.4f} {np.mean(old):11.5f} {zero:8.4f}"
    return (
        f"{np.mean(excess):9.5f} +- {np.std(excess) / math.sqrt(runs):7.5f} {told} "
        f"{math.sqrt(np.mean(squares)):7.4f} {descent.rounds:5d} {took:6.2f} s  {descent.name}"
    )


HEAD = (
    f"{'measured excess':>20s} {'typical':>9s} {'bound':>7s} {'published':>11s} {'start':>8s} {'slope':>7s} {'T':>5s} "
    f"{'time':>8s}"
)
MODELS = (("central", 1e-6), ("central", 0.0), ("local", 0.0), ("shuffle", 1e-6))


def models(runs: int) -> None:
    """Print the table of models, users and epsilons."""
    print(f"{'loss':9s} {'users':>7s} {'model':8s} {'delta':>6s} {'eps':>5s} {HEAD}")
    losses: tuple[Loss, ...] = ("squared", "logistic")
    for loss in losses:
        for users in (2_000, 20_000, 100_000):
            records = people(users, 5, loss)
            largest = setting_of(loss, users, "central", 1.0, 0.0)
            least = minimum(records, loss=loss, clip=largest.clip, radius=largest.radius)
            for model, delta in MODELS:
                for epsilon in (1.0, 4.0):
                    if users == 100_000 and model != "local" and epsilon > 1:
                        continue
                    descent = best_descent(setting_of(loss, users, model, epsilon, delta))
                    many = runs if users <= 20_000 else max(2, runs // 5)
                    row = measured(descent, records, least, many)
                    print(f"{loss:9s} {users:7d} {model:8s} {delta:6.0e} {epsilon:5.1f} {row}", flush=True)


def ranges(runs: int) -> None:
    """Print range-then-mean against one-shot reports for users with many alike records."""
    print(
        f"\nusers with many alike records, squared loss\n{'users':>7s} {'records':>7s} {'model':8s} {'eps':>5s} {HEAD}"
    )
    users, most = 4_000, 1_000
    records = people(users, most, "squared")
    for model, epsilon, delta in (("local", 4.0, 0.0), ("shuffle", 4.0, 1e-6)):
        setting = replace(setting_of("squared", users, model, epsilon, delta), records=most, between=0.0)
        least = minimum(records, loss="squared", clip=setting.clip, radius=setting.radius)
        for descent in descent_candidates(setting):
            row = measured(descent, records, least, max(2, runs // 5))
            print(f"{users:7d} {most:7d} {model:8s} {epsilon:5.1f} {row}", flush=True)


def main() -> None:
    """Run both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    models(runs)
    ranges(runs)


if __name__ == "__main__":
    main()
