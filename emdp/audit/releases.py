"""Draws of a plan's release on two tables, by the product's own code, seen as scores.

The exact statistics of both tables come from the engine, so that SQL, fixed point and rounding are in the loop. Noise
that is added on a grid is drawn in bulk by the code that ``release`` draws with, and added to what ``release`` itself
makes of the statistic without noise. The same draws of noise serve both tables: a bound of each probability needs
independent draws of one table, and the union of two bounds needs nothing of how they hang together
(:mod:`emdp.audit.bounds`). What randomizes records or users is drawn in bulk where it can be (:mod:`emdp.audit.bulk`),
and is else run again and again as a whole.
"""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import field
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from emdp.audit.bulk import read_blocks
from emdp.audit.flows import CELLS, has_known_ratio
from emdp.audit.neighbours import Neighbours
from emdp.audit.noisy import log_ratio
from emdp.audit.tester import KNOWN, LEAST_TRIALS, Scores
from emdp.base.arrays import Floats
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators import MessagePlan, Plan
from emdp.estimators.frequency.structured_measures import StructuredPlan
from emdp.estimators.mean.local import LocalMeans
from emdp.estimators.messages import release_steps
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, KNormMechanism, LaplaceMechanism
from emdp.mechanisms.central.edges import EdgeMechanism
from emdp.mechanisms.local.noise import LocalNoise
from emdp.questions.columns import unordered
from emdp.tables import Table, aggregate

__all__ = [
    "DESCENT_SHARE",
    "MESSAGE_SHARE",
    "MOST_DRAWS",
    "NoiseDraws",
    "additive_releases",
    "additive_scores",
    "features",
    "first_number",
    "first_numbers",
    "joint_scores",
    "message_name",
    "message_scores",
    "noise_name",
    "one_user_scores",
    "parts_of_plan",
    "run_release",
]

MESSAGE_SHARE = 20
"""A release of messages is run once where noise is drawn so many times."""

DESCENT_SHARE = 4
"""The same for a curator's descents, whose likelihood ratio is known: worth more runs."""

MOST_DRAWS = 2_000_000
"""Numbers of noise drawn for one statement; exact samplers give about 10^5 in a second."""


@dataclass(eq=False)
class NoiseDraws:
    """Noise of additive mechanisms in grid steps, drawn once and used for every distance."""

    trials: int  # Releases to draw, fewer where a release has many coordinates
    _kept: dict[tuple[int, int], Floats] = field(default_factory=dict)

    def of(self, mechanism: AdditiveMechanism, place: tuple[int, int]) -> Floats:
        """Return the noise of a mechanism at a place (statement, group), shape (releases, dimension)."""
        if place not in self._kept:
            releases = max(min(self.trials, MOST_DRAWS // mechanism.dimension), LEAST_TRIALS)
            if not isinstance(mechanism, LaplaceMechanism | GaussianMechanism | KNormMechanism | EdgeMechanism):
                raise UsageError(f"an audit does not know how to draw {mechanism.name} noise; audit another query.")
            drawn = mechanism.draw_many(releases)
            self._kept[place] = np.array(drawn, dtype=np.float64).reshape(releases, mechanism.dimension)
        return self._kept[place]


def first_number(frame: pl.DataFrame) -> float:
    """Return the number in the first row of an answer's last column of values (keys come before), NaN without one.

    >>> first_number(pl.DataFrame({"day": [0], "share": [0.25], "share_low": [0.2], "share_high": [0.3]}))
    0.25
    """
    for series in reversed(frame.get_columns()):
        if series.dtype.is_numeric() and not series.name.endswith(("_low", "_high")) and len(series):
            value = series[0]
            return float("nan") if value is None else float(value)
    return float("nan")


def first_numbers(plan: Any, frame: pl.DataFrame) -> tuple[float, ...]:
    """Return the first number of an answer; of a measure in blocks that of each block, which has its items alone."""
    if not isinstance(plan, StructuredPlan):
        return (first_number(frame),)
    rows: Any = unordered(plan.finisher)
    return tuple(
        first_number(frame.filter(*(pl.col(item).is_null() != (item in own.items) for item in rows.items)))
        for own in rows.blocks
    )


def parts_of_plan(plan: Plan) -> tuple[Plan, ...]:
    """Return the releases that a plan makes one after the other: several of a measure that is joined, else itself."""
    return plan.releases if isinstance(plan, StructuredPlan) else (plan,)


def noise_name(plan: Plan) -> str:
    """Return what a plan's noise is called, with its number of coordinates, of each of its releases."""
    named = [own.mechanisms[0] for own in parts_of_plan(plan)]
    return " and ".join("constant" if own.is_exact else f"{own.name}{_values_of(own)}" for own in named)


def message_name(plan: MessagePlan) -> str:
    """Return what makes a plan's messages is called, with its number of coordinates."""
    inner = getattr(plan.releaser, "oracle", getattr(plan.releaser, "mechanism", None))
    if stated := getattr(plan.event, "mechanism", ""):
        return str(stated)
    noise = getattr(inner, "mechanism", None)
    if noise is not None:
        return f"{noise.name} noise of every user"
    return f"{getattr(inner, 'name', type(plan.releaser).__name__)}{_values_of(inner)}"


def _values_of(mechanism: Any) -> str:
    dimension = getattr(mechanism, "dimension", 1)
    return "" if dimension == 1 else f", {dimension} values"


def features(released: Any, outputs: int) -> Floats:
    """Return a release as numbers: of a histogram its counts, of frames their numbers, of an estimate it and its range.

    Parameters
    ----------
    outputs : int
        Number of a randomizer's outputs, 0 where they are no listed values.

    >>> features(((Fraction(1, 2), 3), np.array([4.0])), 0).tolist()
    [0.5, 3.0, 4.0]
    """
    return np.array(list(_numbers(released, outputs)), dtype=np.float64)


def _numbers(released: Any, outputs: int) -> Iterable[float]:
    if isinstance(released, tuple | list):
        for member in released:
            yield from _numbers(member, outputs)
    elif isinstance(released, np.ndarray):
        yield from released.astype(np.float64).ravel().tolist()
    elif isinstance(released, pl.DataFrame):
        yield from _frame_numbers(released, outputs)
    elif isinstance(released, Mapping):
        yield from _numbers(tuple(released.values()), outputs)
    elif isinstance(released, int | float | Fraction | np.number):
        yield float(released)
    elif hasattr(released, "weights"):
        yield from _numbers(released.weights, outputs)
    elif hasattr(released, "value"):
        yield from _numbers(released.value, outputs)
        yield from _numbers(getattr(released, "range", getattr(released, "ranges", ())), outputs)
    else:
        raise UsageError(f"an audit does not know how to look at a {type(released).__name__}; audit another query.")


def _frame_numbers(frame: pl.DataFrame, outputs: int) -> Iterable[float]:
    if outputs and {"output", "count"} <= set(frame.columns):
        found = frame.group_by("output").agg(pl.col("count").sum())
        counts = np.zeros(outputs)
        counts[found.get_column("output").to_numpy()] = found.get_column("count").to_numpy()
        yield from counts.tolist()
        return
    for series in frame.iter_columns():
        if series.dtype.is_numeric() and series.name != "user":
            yield from series.cast(pl.Float64).sort().to_list()


def additive_scores(plan: Plan, tables: Neighbours, draws: NoiseDraws, place: int) -> Scores:
    """Return the scores of a statistic with noise: the likelihood ratio, and where noise lies along the change.

    Of several releases with noise of their own the ratios are summed: the joint law of all is seen, which may lose what
    their levels add up to.
    """
    centres = [[centre for own in found for centre in own] for found in _centres(plan, tables)]
    mechanisms = [mechanism for own in parts_of_plan(plan) for mechanism in own.mechanisms]
    releases = max(draws.trials, LEAST_TRIALS)
    both: list[list[Floats]] = [[], []]
    for group, (mechanism, first, second) in enumerate(zip(mechanisms, *centres, strict=True)):
        grid = mechanism.answer_step if not mechanism.is_exact else Fraction(1)
        shift = np.array([float((b - a) / grid) for a, b in zip(first, second, strict=True)])
        if not shift.any():
            continue
        if mechanism.is_exact:
            raise UsageError("a statistic that was said to be constant differs between two tables: no noise hides it.")
        noise = draws.of(mechanism, (place, group))
        releases = min(releases, len(noise))
        for own, offset in zip(both, (noise, noise + shift), strict=True):
            own.append(np.stack([log_ratio(mechanism, offset, shift), offset @ shift / (shift @ shift)], axis=1))
    if not both[0]:
        same = np.zeros((releases, 1))
        return Scores(same, same, (KNOWN,))
    summed = [np.sum([one[:releases] for one in own], axis=0) for own in both]
    is_known = all(has_known_ratio(mechanism) for mechanism in mechanisms)
    return Scores(summed[0], summed[1], (KNOWN if is_known else CELLS, "shift"))


def _centres(plan: Plan, tables: Neighbours) -> list[list[list[tuple[Fraction, ...]]]]:
    """Return for both tables, and for each release of a plan, what each group's would be without noise."""
    return [[_centres_of(own, table) for own in parts_of_plan(plan)] for table in (tables.first, tables.second)]


def _centres_of(plan: Plan, table: Table) -> list[tuple[Fraction, ...]]:
    statistics = [statistic.open() for statistic in aggregate(table, plan.aggregation)]
    return [
        _without_noise(mechanism).release(plan.prepared(values))
        for mechanism, values in zip(plan.mechanisms, statistics, strict=True)
    ]


def _without_noise(mechanism: AdditiveMechanism) -> AdditiveMechanism:
    """Return the mechanism with noise 0: its own ``release`` then rounds and does whatever else it does."""
    silent = copy(mechanism)
    vars(silent)["_draw"] = lambda: (0,) * mechanism.dimension
    return silent


def additive_releases(plan: Plan, tables: Neighbours, most: int) -> Iterable[Any]:
    """Yield so many releases of the first table."""
    parts = parts_of_plan(plan)
    made = [_drawn(own, centres, most) for own, centres in zip(parts, _centres(plan, tables)[0], strict=True)]
    if len(parts) == 1:
        return made[0]
    # coordinates of a second release stand behind those of the first
    return ((tuple(chain.from_iterable(chain(*one))),) for one in zip(*made, strict=True))


def _drawn(plan: Plan, centres: Sequence[tuple[Fraction, ...]], most: int) -> Iterable[Any]:
    """Yield so many releases with these centres."""
    noise = [
        None if mechanism.is_exact else NoiseDraws(most).of(mechanism, (0, group))
        for group, mechanism in enumerate(plan.mechanisms)
    ]
    for trial in range(most):
        yield tuple(
            plan.restored(
                centre
                if own is None
                else tuple(c + int(z) * mechanism.answer_step for c, z in zip(centre, own[trial], strict=True))
            )
            for mechanism, centre, own in zip(plan.mechanisms, centres, noise, strict=True)
        )


def message_scores(plan: MessagePlan, tables: Neighbours, trials: int) -> Scores:
    """Return the numbers of whole releases, run again and again on both tables."""
    outputs = _outputs(plan)
    seen = []
    for table in (tables.first, tables.second):
        blocks = read_blocks(plan, table)
        seen.append([features(run_release(plan, table, blocks), outputs) for _ in range(trials)])
    width = {len(row) for own in seen for row in own}
    if len(width) > 1:
        # How many numbers there are is itself released.
        seen = [[np.array([len(row), row.sum()]) for row in own] for own in seen]
    first, second = (np.nan_to_num(np.array(own), posinf=1e300, neginf=-1e300) for own in seen)
    return Scores(first, second, tuple(f"number {place}" for place in range(1, first.shape[1] + 1)))


def one_user_scores(plan: MessagePlan, tables: Neighbours, trials: int) -> Scores | None:
    """Return scores of the messages that one user alone sends, by the code that encodes those of many users.

    What the user's message guarantees, no average of such messages can lose. None for other releases.
    """
    if tables.first.n > 1 or not isinstance(plan.releaser, LocalMeans):
        return None
    seen = []
    for table in (tables.first, tables.second):
        blocks = read_blocks(plan, table)
        messages = _messages_of_means(plan.releaser, blocks, trials)
        if messages is None:
            return None
        seen.append(messages.reshape(len(messages), -1).astype(np.float64))
    return Scores(seen[0], seen[1], tuple(f"message {place}" for place in range(1, seen[0].shape[1] + 1)))


def _messages_of_means(releaser: LocalMeans, blocks: Any, trials: int) -> npt.NDArray[Any] | None:
    releases = max(min(trials, MOST_DRAWS // len(releaser.exponents)), LEAST_TRIALS)
    means = np.repeat(np.concatenate([block.means for block in blocks]), releases, axis=0)
    if isinstance(releaser.mechanism, LocalNoise):
        return releaser.mechanism.encode(means, releaser.exponents)
    if releaser.mechanism.is_dealt:
        return None
    return releaser.mechanism.encode(means, releaser.exponents, np.zeros(releases, dtype=np.int64))


def _outputs(plan: MessagePlan) -> int:
    weights = getattr(getattr(plan.releaser, "randomizer", None), "weights", None)
    return 0 if weights is None else int(weights.shape[1])


def run_release(plan: MessagePlan, table: Any, blocks: Any = None) -> Any:
    """Return one release of a table, from blocks that were read of it already where they are given."""
    blocks = read_blocks(plan, table) if blocks is None else blocks
    encoder, finish = release_steps(plan.releaser, keep_exact=False)
    if encoder is not None:
        given: Any = chain.from_iterable(map(encoder.encode, blocks))
    else:
        given = blocks.copy() if isinstance(blocks, np.ndarray) else iter(blocks)
    released, _ = finish(given, users=table.n)
    return released


def joint_scores(parts: Sequence[Scores]) -> Scores:
    """Return the scores of several releases on the same two tables, their likelihood ratios summed up.

    Likelihood ratios of independent releases multiply; other scores stand side by side.
    """
    trials = min(part.trials for part in parts)
    known = [part for part in parts if part.names[0] == KNOWN]
    others = [part for part in parts if part.names[0] != KNOWN]
    columns: list[tuple[Floats, Floats]] = []
    names: list[str] = []
    if known:
        first = np.sum([part.first[:trials, 0] for part in known], axis=0)
        second = np.sum([part.second[:trials, 0] for part in known], axis=0)
        columns.append((first[:, None], second[:, None]))
        names.append(KNOWN)
    for number, part in enumerate(others, start=1):
        columns.append((part.first[:trials], part.second[:trials]))
        names += [f"{name} of release {number}" for name in part.names]
    return Scores(np.hstack([a for a, _ in columns]), np.hstack([b for _, b in columns]), tuple(names))
