"""Every hypothesis of every theorem of ``emdp.mechanisms`` has a check that raises (style.md rule 13).

A row is a module, a hypothesis of its theorem in words, and a call that violates it. A module whose text has a theorem
must have a row here, or a reason why nothing of it can be violated by a caller. What no code can check is the data
owner's and stands in docs/guarantees.md: that ``n`` and the space are public, that a row belongs to its user.
"""

import ast
import math
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import emdp.mechanisms
from emdp.base.errors import RefusedError, UsageError
from emdp.mechanisms import GaussianMechanism, KNormMechanism, LaplaceMechanism
from emdp.mechanisms.bandits.rewards import BatchRewards
from emdp.mechanisms.central.edge_graph import GraphLaplaceMechanism
from emdp.mechanisms.central.edge_grid import EdgeAxis
from emdp.mechanisms.central.edge_laws import EdgeGaussianMechanism, EdgeLaplaceMechanism
from emdp.mechanisms.central.tiers import TieredNoise
from emdp.mechanisms.central.tree import Tree, tree_mechanism
from emdp.mechanisms.compressed.coordinates import SampledCoordinates
from emdp.mechanisms.compressed.hadamard import SampledHadamard
from emdp.mechanisms.compressed.signs import SignRounds
from emdp.mechanisms.contribution.moves import layout_move
from emdp.mechanisms.contribution.octaves import OctaveHistogram
from emdp.mechanisms.descent.central import CentralDescent
from emdp.mechanisms.descent.messages import MessageDescent
from emdp.mechanisms.descent.moments import MomentFit
from emdp.mechanisms.descent.rounds import DescentSetting
from emdp.mechanisms.items.moves import GivenMoves, move_weights
from emdp.mechanisms.keys.gaussian import GaussianKeys
from emdp.mechanisms.keys.laplace import LaplaceKeys, TruncatedKeys
from emdp.mechanisms.keys.numbers import KeysThenNumbers, KeysWithNumbers
from emdp.mechanisms.keys.weighted import WeightedKeys
from emdp.mechanisms.local.noise import LocalNoise
from emdp.mechanisms.local.one_bit import LocalOneBit, OneBitCoordinate
from emdp.mechanisms.local.shuffled_bits import ShuffledOneBit
from emdp.mechanisms.local.shuffled_planes import ShuffledPlanes
from emdp.mechanisms.local.tiered_bits import TieredBits
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.oracles.hadamard_bit import OneBitHadamardOracle
from emdp.mechanisms.oracles.hadamard_response import HadamardResponseOracle
from emdp.mechanisms.oracles.krr import KRROracle
from emdp.mechanisms.oracles.oracle import FrequencyOracle
from emdp.mechanisms.oracles.projective import ProjectiveOracle
from emdp.mechanisms.oracles.rappor import RapporOracle
from emdp.mechanisms.oracles.recoverable import RecoverableOracle
from emdp.mechanisms.oracles.subset import SubsetOracle
from emdp.mechanisms.oracles.tiered import TieredOracle
from emdp.mechanisms.oracles.unary import UnaryOracle
from emdp.mechanisms.records.counts import DistinctCounts
from emdp.mechanisms.records.distinct import count_distinct
from emdp.mechanisms.records.generalised import GeneralisedChoice
from emdp.mechanisms.records.intervals import QuantileIntervals
from emdp.mechanisms.records.quantiles import QuantileInterval, RecordQuantiles
from emdp.mechanisms.scalar.hybrid import HybridScalar
from emdp.mechanisms.scalar.laplace import LaplaceScalar
from emdp.mechanisms.scalar.one_bit import OneBitScalar
from emdp.mechanisms.scalar.piecewise import PiecewiseScalar
from emdp.mechanisms.streams.mechanism import StreamMechanism
from emdp.mechanisms.streams.strategy import Strategy
from emdp.mechanisms.strings.prefix_search import HeavyHitterSearch
from emdp.mechanisms.strings.stable_histogram import StableHistogram
from emdp.mechanisms.user_mean.base import UserMeanRelease, UserMeanSetting
from emdp.mechanisms.user_mean.central import CentralRange
from emdp.mechanisms.user_mean.clipped_mean import ClippedMean
from emdp.mechanisms.user_mean.local import BudgetSplit, OneRound, UserSplit
from emdp.mechanisms.user_mean.range_bins import RangeBins
from emdp.mechanisms.user_mean.range_stage import HadamardRange, HistogramRange, MedianRange
from emdp.mechanisms.user_mean.several import SeveralMeans, divided, several_means
from emdp.mechanisms.user_mean.shuffle import ShuffledUserMean
from emdp.mechanisms.user_mean.somewhere import central_somewhere
from emdp.mechanisms.user_mean.somewhere_messages import dealt_somewhere
from emdp.mechanisms.user_vector.directions import DirectionUserVector
from emdp.mechanisms.user_vector.setting import Frame, UserVectorSetting
from emdp.mechanisms.vector.bits import VectorBits
from emdp.mechanisms.vector.direction import VectorDirection
from emdp.mechanisms.vector.mixed_bits import MixedBits
from emdp.mechanisms.vector.mixed_directions import MixedDirections
from emdp.mechanisms.vector.one_bit import VectorOneBit
from emdp.mechanisms.vector.planes import VectorPlanes
from emdp.mechanisms.vector.randomizer import SignStrength
from emdp.mechanisms.vector.rotated import VectorRotated
from emdp.privacy import EmdDP, UserDP, reduced_guarantee, reduction_quantile, shuffle_alpha
from emdp.randomizers import (
    GKRR,
    KRR,
    Exponential,
    Geometric,
    HadamardResponse,
    OneBit,
    Optimal,
    PlanarLaplace,
    Recoverable,
    TieredResponse,
)
from emdp.spaces import Categories, Clusters, Cycle, Distances, Elsewhere, Embedding, Interval

Call = Callable[[], Any]

LABELS = Categories("item", ["a", "b", "c"])


def _bit(rate: float, high: float = 1.0) -> LocalOneBit:
    return LocalOneBit((OneBitCoordinate(0.0, high, rate),), 10)


TWINS = Embedding("word", {"word": ["a", "b", "c"], "x": [0.0, 0.0, 1.0]}, neutral="a")
"""Two of three items at distance 0 of each other."""

TRIANGLE = Distances("item", ["a", "b", "c"], [[0, 1, 1], [1, 0, 1], [1, 1, 0]])
"""Three items that lie on no line."""

SMALL = UserMeanSetting(100, 0.0, 10.0, 1.0, model="local", spread=0.01, failure=0.5)
WHOLE_MEANS = central_somewhere(UserMeanSetting(9, 0.0, 1.0, 1.0, elsewhere=True))[0]
AWAY = UserMeanSetting(600, 0.0, 1.0, 1.0, elsewhere=True)
TWO = divided(AWAY, [(0.0, 1.0)] * 2, [None] * 2, [0.0] * 2)
SPLIT = {"setting": SMALL, "second": 0.5, "first": 0.5}
SHUFFLED = UserMeanSetting(100, 0.0, 10.0, 0.1, delta=1e-6, model="shuffle")
DESCENT = DescentSetting(100, 2, "squared", 1.0, 1.0, 1.0, 1e-6)
WHOLE = DescentSetting(100, 2, "squared", 9.0, 1.0, 1.0, 1e-6)
PURE = DescentSetting(100, 2, "squared", 1.0, 1.0, 1.0)
LAW = VectorPlanes(2, 1.0, 1.0, 50)


def noise(kind: Any, **changed: Any) -> Call:
    values = {"sensitivity": 1.0, "alpha": 1.0, "delta": 1e-6 if kind is GaussianMechanism else 0.0, **changed}
    return lambda: kind(**values)


def additive(module: str, kind: Any) -> list[tuple[str, str, Call]]:
    return [
        (module, "alpha is positive", noise(kind, alpha=0.0)),
        (module, "the sensitivity is a finite bound", noise(kind, sensitivity=math.inf)),
        (module, "the sensitivity is not negative", noise(kind, sensitivity=-1.0)),
        (module, "the statistic's error is not negative", noise(kind, statistic_error=-1e-9)),
        (module, "the statistic is a vector", noise(kind, dimension=0)),
        (module, "the grid is finer than the noise", noise(kind, magnitude=1e30)),
        (module, "exact values are rounded", lambda: noise(kind)().release((0.5,))),
        (module, "as many values as coordinates", lambda: noise(kind)().release(())),
    ]


def oracle(module: str, kind: type[FrequencyOracle]) -> list[tuple[str, str, Call]]:
    return [
        (module, "two items or more", lambda: kind(1, 10, 1.0)),
        (module, "some users", lambda: kind(4, 0, 1.0)),
        (module, "epsilon is positive", lambda: kind(4, 10, 0.0)),
        (module, "records are of the public items", lambda: kind(4, 1, 1.0).encode(Bags.of_items([4]))),
        (module, "a tally of all users", lambda: kind(4, 10, 1.0).decode(np.zeros(3, dtype=np.int64))),
    ]


def scalar(module: str, kind: Any) -> list[tuple[str, str, Call]]:
    return [
        (module, "the range is one", lambda: kind(1.0, 1.0, 1.0)),
        (module, "the range is finite", lambda: kind(0.0, math.inf, 1.0)),
        (module, "epsilon is positive", lambda: kind(0.0, 1.0, 0.0)),
        (module, "epsilon fits 62 bits", lambda: kind(0.0, 1.0, 50.0)),
    ]


def threshold(module: str, kind: Any) -> list[tuple[str, str, Call]]:
    return [
        (module, f"epsilon is positive ({kind.__name__})", lambda: kind(0.0, 1e-6, 3, "remove")),
        (module, f"delta is positive ({kind.__name__})", lambda: kind(1.0, 0.0, 3, "remove")),
        (module, f"a user has a key ({kind.__name__})", lambda: kind(1.0, 1e-6, 0, "remove")),
        (module, f"the neighbours are named ({kind.__name__})", lambda: kind(1.0, 1e-6, 3, "add")),
        (module, f"somebody has every key ({kind.__name__})", lambda: kind(1.0, 1e-6, 3, "remove").release([0])),
        (
            module,
            f"a price is of its own neighbours ({kind.__name__})",
            lambda: kind(1.0, 1e-6, 3, "remove").event(UserDP(0.0)),
        ),
    ]


def numbers_apart(dimension: int) -> Any:
    return KeysThenNumbers(
        TruncatedKeys(1.0, 1e-6, 1, "replace"), LaplaceMechanism(sensitivity=4.0, alpha=1.0, dimension=dimension)
    )


def numbers_together(dimension: int, keys: int, magnitude: float = 1.0) -> Any:
    noise = GaussianMechanism(sensitivity=2.0, alpha=1.0, delta=1e-9, dimension=dimension, magnitude=magnitude)
    return KeysWithNumbers(noise, keys, "replace", 1e-9)


def vector(module: str, kind: Any) -> list[tuple[str, str, Call]]:
    return [
        (module, "the radius is positive", lambda: kind(2, 0.0, 1.0, 10)),
        (module, "there is a coordinate", lambda: kind(0, 1.0, 1.0, 10)),
        (module, "epsilon is positive", lambda: kind(2, 1.0, 0.0, 10)),
        (module, "some users", lambda: kind(2, 1.0, 1.0, 0)),
        (module, "the norm is one", lambda: kind(2, 1.0, 1.0, 10, norm=0.5)),
    ]


DAYS = Strategy.of("days", 4)
LINE = (EdgeAxis(3, 1.0),)

ROWS: list[tuple[str, str, Call]] = [
    *additive("central/laplace", LaplaceMechanism),
    *additive("central/k_norm", KNormMechanism),
    *additive("central/gaussian", GaussianMechanism),
    (
        "central/additive",
        "a statistic said to be constant has no error",
        noise(LaplaceMechanism, sensitivity=0, statistic_error=1),
    ),
    ("central/laplace", "pure noise has no delta", noise(LaplaceMechanism, delta=1e-6)),
    ("central/k_norm", "pure noise has no delta", noise(KNormMechanism, delta=1e-6)),
    ("central/gaussian", "delta is positive", noise(GaussianMechanism, delta=0.0)),
    ("central/gaussian", "delta is below 1", noise(GaussianMechanism, delta=1.0)),
    (
        "central/tiers",
        "the levels fall",
        lambda: TieredNoise.of(LaplaceMechanism(sensitivity=1.0, alpha=1.0), (1.0, 1.0)),
    ),
    (
        "central/tiers",
        "the first level is the mechanism's",
        lambda: TieredNoise.of(LaplaceMechanism(sensitivity=1.0, alpha=1.0), (2.0, 1.0)),
    ),
    (
        "central/tiers",
        "the noise has steps",
        lambda: TieredNoise.of(KNormMechanism(sensitivity=1.0, alpha=1.0, dimension=2), (1.0, 0.5)),
    ),
    (
        "central/tiers",
        "Gaussian steps are wide",
        lambda: TieredNoise.of(GaussianMechanism(sensitivity=1.0, alpha=1.0, delta=1e-6), (1.0, 0.999999)),
    ),
    ("central/edges", "alpha is positive", lambda: EdgeLaplaceMechanism.on(LINE, alpha=0.0)),
    ("central/edges", "flows have a bound", lambda: EdgeAxis(3, math.inf)),
    ("central/edges", "no edge is free of noise", lambda: EdgeAxis(3, 0.0)),
    ("central/edges", "a ring has three nodes", lambda: EdgeAxis(2, 1.0, "round")),
    (
        "central/edges",
        "one grid holds all axes",
        lambda: EdgeLaplaceMechanism.on((*LINE, EdgeAxis(3, 1e-9)), alpha=1.0),
    ),
    (
        "central/edges",
        "no axis moves by more than the sensitivity",
        lambda: EdgeLaplaceMechanism(axes=LINE, sensitivity=0.5, dimension=3, alpha=1.0),
    ),
    ("central/edges", "Laplace noise has no delta", lambda: EdgeLaplaceMechanism.on(LINE, alpha=1.0, delta=1e-6)),
    ("central/edges", "Gaussian noise has a delta", lambda: EdgeGaussianMechanism.on(LINE, alpha=1.0)),
    ("central/edges", "a number for each node", lambda: EdgeLaplaceMechanism.on(LINE, alpha=1.0).release([])),
    ("central/edges", "exact values are rounded", lambda: EdgeLaplaceMechanism.on(LINE, alpha=1.0).release([0.5] * 3)),
    (
        "central/edge_graph",
        "the graph is connected",
        lambda: GraphLaplaceMechanism.over([(0, 1), (2, 3)], [1.0, 1.0], alpha=1.0),
    ),
    ("central/edge_graph", "lengths are finite", lambda: GraphLaplaceMechanism.over([(0, 1)], [0.0], alpha=1.0)),
    ("central/edge_graph", "there is an edge", lambda: GraphLaplaceMechanism.over([], [], alpha=1.0)),
    ("central/edge_graph", "each edge has a length", lambda: GraphLaplaceMechanism.over([(0, 1)], [1, 1], alpha=1.0)),
    ("central/tree", "an axis has two nodes", lambda: Tree((1, 1))),
    ("central/tree", "sides have a size", lambda: Tree((4, 0))),
    ("central/tree", "factors reach as far as the levels", lambda: Tree((4**9 + 1,))),
    ("central/tree", "some users", lambda: tree_mechanism(Tree((4,)), users=0, epsilon=1.0, sum_error=0.0)),
    ("central/tree", "epsilon is positive", lambda: tree_mechanism(Tree((4,)), users=9, epsilon=0.0, sum_error=0.0)),
    ("local/noise", "some users", lambda: LocalNoise(LaplaceMechanism(sensitivity=1.0, alpha=1.0), 0)),
    ("local/one_bit", "the range is one", lambda: OneBitCoordinate(1.0, 1.0, rate=1.0)),
    ("local/one_bit", "the error is a bound", lambda: OneBitCoordinate(0.0, 1.0, rate=1.0, error=-1.0)),
    ("local/one_bit", "the error is a number", lambda: OneBitCoordinate(0.0, 1.0, rate=1.0, error=float("nan"))),
    ("local/one_bit", "the rate is positive", lambda: OneBitCoordinate(0.0, 1.0, rate=0.0)),
    ("local/one_bit", "there is a coordinate", lambda: LocalOneBit((), 10)),
    (
        "local/one_bit",
        "a user for each that is dealt",
        lambda: LocalOneBit((OneBitCoordinate(0, 1, 1.0),) * 3, 2, True),
    ),
    ("local/shuffled_bits", "bits are not dealt out", lambda: ShuffledOneBit((OneBitCoordinate(0, 1, 1.0),), 9, True)),
    (
        "local/shuffled_bits",
        "a coordinate has a bit",
        lambda: ShuffledOneBit((OneBitCoordinate(0, 1, 1.0),), 9, messages=0),
    ),
    (
        "local/shuffled_bits",
        "delta covers the slack of rounding",
        lambda: ShuffledOneBit((OneBitCoordinate(0, 1, 1.0, error=0.1),), 9),
    ),
    (
        "local/shuffled_bits",
        "an unmixed bit is private",
        lambda: ShuffledOneBit((OneBitCoordinate(0, 1, 1.0),), 9, unmixed=0),
    ),
    (
        "local/shuffled_planes",
        "planes are not dealt out",
        lambda: ShuffledPlanes((OneBitCoordinate(0, 1, 1.0),), 9, True, messages=2, strengths=(1.0, 1.0)),
    ),
    (
        "local/shuffled_planes",
        "every plane has as many signs",
        lambda: ShuffledPlanes((OneBitCoordinate(0, 1, 1.0),), 9, messages=3, strengths=(1.0, 1.0)),
    ),
    ("vector/mixed_bits", "a message has a strength", lambda: MixedBits(4, 0.0, 10, blocks=2)),
    ("vector/mixed_bits", "a block has a bit", lambda: MixedBits(4, 1.0, 10, blocks=5)),
    ("vector/mixed_bits", "there is a message", lambda: MixedBits(4, 1.0, 10, blocks=0)),
    ("items/krr", "items are distinct", lambda: KRR(TWINS, 1.0)),
    ("items/krr", "the space is finite", lambda: KRR(Interval("x", 0, 1), 1.0)),
    ("items/gkrr", "the space is clustered", lambda: GKRR(LABELS, 1.0)),
    ("items/gkrr", "clusters are nearer inside", lambda: GKRR(Clusters("c", {"a": 0, "b": 0, "c": 1}, 1.5), 1.0)),
    ("items/exponential", "tuned is said", lambda: Exponential(LABELS, 1.0, tuned=1)),  # type: ignore[arg-type]
    ("items/exponential", "the space is finite", lambda: Exponential(Cycle("h", 24), 1.0)),
    ("items/geometric", "items lie on a line or a grid", lambda: Geometric(TRIANGLE, 1.0)),
    ("items/geometric", "items are distinct", lambda: Geometric(TWINS, 1.0)),
    ("items/hadamard_response", "items are distinct", lambda: HadamardResponse(TWINS, 1.0)),
    ("items/optimal", "items are distinct", lambda: Optimal(TWINS, 1.0)),
    ("items/tiered", "levels fall", lambda: TieredResponse(2, (1.0, 1.0))),
    ("items/tiered", "there are items", lambda: TieredResponse(1, (1.0,))),
    ("items/tiered", "a tier has its keys", lambda: TieredResponse(2, (2.0, 1.0)).decode(np.array([0]), None, 1)),
    ("items/moves", "parts fall", lambda: move_weights(2, [Fraction(1, 2), Fraction(1, 2)])),
    ("items/moves", "weights are probabilities", lambda: GivenMoves(2, (2**62,))),
    ("items/moves", "symbols are those of the alphabet", lambda: GivenMoves(2, (2**60,)).encode(np.array([2]))),
    ("local/tiered_bits", "levels fall", lambda: TieredBits((_bit(1.0), _bit(2.0)))),
    ("local/tiered_bits", "all tiers are of one mean", lambda: TieredBits((_bit(2.0, 3.0), _bit(1.0)))),
    ("oracles/tiered", "levels fall", lambda: TieredOracle("krr", 3, 10, (1.0, 1.0))),
    ("oracles/tiered", "the oracle has tiers", lambda: TieredOracle("rappor", 3, 10, (2.0, 1.0))),  # type: ignore[arg-type]
    ("items/recoverable", "items are distinct", lambda: Recoverable(TWINS, 1.0)),
    ("items/recoverable", "the space is finite", lambda: Recoverable(Interval("x", 0, 1), 1.0)),
    ("items/recoverable", "items are the space's", lambda: Recoverable(LABELS, 1.0).encode(np.array([3]))),
    (
        "items/recoverable",
        "a key is one",
        lambda: Recoverable(LABELS, 1.0).recover(np.array([0]), np.array([99])),
    ),
    ("items/optimal", "the program has no overflow", lambda: Optimal(LABELS, 31.0)),
    ("items/optimal", "the prior is one", lambda: Optimal(LABELS, 1.0, [1.0, -1.0, 1.0])),
    ("items/one_bit", "the constant covers the values", lambda: OneBit(LABELS, 1.0, [0.0, 1.0, 5.0], lipschitz=1.0)),
    ("items/one_bit", "equal items have equal values", lambda: OneBit(TWINS, 1.0, [0.0, 1.0, 2.0])),
    ("items/one_bit", "values are finite", lambda: OneBit(LABELS, 1.0, [0.0, 1.0, math.nan])),
    ("items/planar_laplace", "the space has a chart", lambda: PlanarLaplace(LABELS, 1.0)),
    (
        "items/planar_laplace",
        "the bit has a part of alpha0",
        lambda: PlanarLaplace(Elsewhere(Interval("x", 0, 1), 0.5), 1.0),
    ),
    ("items/planar_laplace", "alpha0 fits the lattice", lambda: PlanarLaplace(Interval("x", 0, 1), 1e30)),
    *(
        (kind.__module__.rpartition(".")[2], "alpha0 is positive", lambda kind=kind: kind(LABELS, 0.0))
        for kind in (KRR, Exponential, HadamardResponse, Optimal)
    ),
    ("items/finite", "codes are of the items", lambda: KRR(LABELS, 1.0).draw(np.array([3]))),
    ("items/finite", "a count for each item", lambda: KRR(LABELS, 1.0).release(np.array([1, 2]))),
    ("items/finite", "a histogram of outputs", lambda: KRR(LABELS, 1.0).estimate(np.zeros(3))),
    *oracle("oracles/hadamard_bit", OneBitHadamardOracle),
    *oracle("oracles/hadamard_response", HadamardResponseOracle),
    *oracle("oracles/recoverable", RecoverableOracle),
    ("oracles/recoverable", "a difference set has that many places", lambda: RecoverableOracle(4096, 10, 1.0)),
    *oracle("oracles/krr", KRROracle),
    *oracle("oracles/projective", ProjectiveOracle),
    *oracle("oracles/rappor", RapporOracle),
    *oracle("oracles/subset", SubsetOracle),
    *oracle("oracles/unary", UnaryOracle),
    ("oracles/oracle", "no user without a record", lambda: Bags(np.array([0, 0]), np.zeros(0, int), np.zeros(0, int))),
    ("oracles/oracle", "counts are positive", lambda: Bags(np.array([0, 1]), np.array([0]), np.array([0]))),
    *scalar("scalar/one_bit", OneBitScalar),
    *scalar("scalar/laplace", LaplaceScalar),
    *scalar("scalar/piecewise", PiecewiseScalar),
    *scalar("scalar/hybrid", HybridScalar),
    ("contribution/moves", "a cap is not negative", lambda: layout_move(-1, 3, "replace")),
    ("contribution/moves", "a cap is exact", lambda: layout_move(0.1, 3, "replace")),  # type: ignore[arg-type]
    ("contribution/octaves", "epsilon is positive", lambda: OctaveHistogram(0.0, "remove")),
    ("contribution/octaves", "counts of all octaves", lambda: OctaveHistogram(0.1, "remove").release([3])),
    ("contribution/octaves", "a price is of its own neighbours", lambda: OctaveHistogram(0.1, "remove").event()),
    ("records/quantiles", "levels are in (0, 1)", lambda: RecordQuantiles((1.0,), 1.0, "remove", 1)),
    ("records/quantiles", "levels rise", lambda: RecordQuantiles((0.5, 0.5), 1.0, "remove", 1)),
    ("records/quantiles", "epsilon is positive", lambda: RecordQuantiles((0.5,), 0.0, "remove", 1)),
    ("records/quantiles", "a user has a cap", lambda: RecordQuantiles((0.5,), 1.0, "remove", 0)),
    ("records/quantiles", "weights are not negative", lambda: RecordQuantiles((0.5,), 1.0, "remove", 1).release([-1])),
    ("records/quantiles", "groups are given", lambda: RecordQuantiles((0.5,), 1.0, "remove", 1, 2).release([1])),
    ("records/intervals", "levels rise", lambda: QuantileIntervals((0.5, 0.4), 1.0, "remove", 1, 0.1)),
    ("records/intervals", "an interval may fail", lambda: QuantileIntervals((0.5,), 1.0, "remove", 1, 0.0)),
    ("records/quantiles", "an interval may fail", lambda: QuantileInterval(0.5, 1.0, "remove", 1, 0.0)),
    ("records/quantiles", "a price is of its own neighbours", lambda: RecordQuantiles((0.5,), 1, "remove", 1).event()),
    ("records/distinct", "users come in their order", lambda: count_distinct([2, 1], [1, 1], (1,))),
    ("records/distinct", "an owner has a cap", lambda: count_distinct([1], [1], (0,))),
    ("records/generalised", "scores move by something", lambda: GeneralisedChoice((0,), 1.0, "remove")),
    ("records/generalised", "epsilon is positive", lambda: GeneralisedChoice((1,), 0.0, "remove")),
    ("records/generalised", "a score for each", lambda: GeneralisedChoice((1,), 1.0, "remove").release([1, 2])),
    ("records/generalised", "a price is of its own neighbours", lambda: GeneralisedChoice((1,), 1, "remove").event()),
    *threshold("keys/threshold", TruncatedKeys),
    *threshold("keys/laplace", LaplaceKeys),
    *threshold("keys/gaussian", GaussianKeys),
    (
        "records/counts",
        "epsilon is positive",
        lambda: DistinctCounts(epsilon=0.0, neighbours="remove", groups=1, cap=1),
    ),
    ("records/counts", "there is a group", lambda: DistinctCounts(epsilon=1.0, neighbours="remove", groups=0, cap=1)),
    ("records/counts", "a user has a value", lambda: DistinctCounts(epsilon=1.0, neighbours="remove", groups=1, cap=0)),
    ("keys/numbers", "noise is for all keys that move (apart)", lambda: numbers_apart(3)),
    ("keys/numbers", "noise is for all keys that move (together)", lambda: numbers_together(3, 1)),
    ("keys/numbers", "a user has a key", lambda: numbers_together(4, 0)),
    ("keys/numbers", "a number of users is not rounded", lambda: numbers_together(4, 1, magnitude=2.0**60)),
    ("keys/weighted", "epsilon is positive", lambda: WeightedKeys(0.0, 1e-6, 3, "remove")),
    ("keys/weighted", "delta is positive", lambda: WeightedKeys(1.0, 0.0, 3, "remove")),
    ("keys/weighted", "a user has a key", lambda: WeightedKeys(1.0, 1e-6, 0, "remove")),
    ("keys/weighted", "rounds have shares", lambda: WeightedKeys(1.0, 1e-6, 3, "remove", (1.0, 0.0))),
    ("keys/weighted", "pairs stand by user", lambda: WeightedKeys(1.0, 1e-6, 3, "remove").release([2, 1], [0, 0])),
    ("keys/weighted", "a price is of its own neighbours", lambda: WeightedKeys(1.0, 1e-6, 3, "remove").event()),
    ("bandits/rewards", "epsilon is positive", lambda: BatchRewards("central", 0.0, 9)),
    ("bandits/rewards", "there is a user", lambda: BatchRewards("central", 1.0, 0)),
    ("bandits/rewards", "mixing takes a delta", lambda: BatchRewards("shuffle", 1.0, 9)),
    ("bandits/rewards", "others take none", lambda: BatchRewards("local", 1.0, 9, 1e-6)),
    ("bandits/rewards", "a sum is of what users send", lambda: BatchRewards("local", 1.0, 1).check([3])),
    ("compressed/coordinates", "delta is positive", lambda: SampledCoordinates(4, 1.0, 9, 1.0, 0.0, bits=2)),
    ("compressed/coordinates", "epsilon is positive", lambda: SampledCoordinates(4, 1.0, 9, 0.0, 1e-6, bits=2)),
    ("compressed/coordinates", "a rate is at most 1", lambda: SampledCoordinates(4, 1.0, 9, 1.0, 1e-6, bits=5)),
    ("compressed/coordinates", "delta covers the lattice", lambda: SampledCoordinates(4, 1.0, 9, 1, 1e-31, bits=2)),
    ("compressed/hadamard", "delta is positive", lambda: SampledHadamard(4, 9, 1.0, 0.0, bits=2)),
    ("compressed/hadamard", "items are public", lambda: SampledHadamard(4, 9, 1.0, 1e-6, bits=2).encode([4])),
    ("compressed/hadamard", "bits are of the items", lambda: SampledHadamard(4, 9, 1.0, 1e-6, bits=4)),
    ("compressed/signs", "there is a round", lambda: SignRounds(4, 1.0, 9, 1.0, 1e-6, bits=2)),
    ("compressed/signs", "epsilon is positive", lambda: SignRounds(4, 1.0, 9, 0.0, 1e-6, bits=3)),
    *vector("vector/planes", VectorPlanes),
    *vector("vector/one_bit", VectorOneBit),
    *vector("vector/direction", VectorDirection),
    *vector("vector/rotated", VectorRotated),
    ("vector/cube", "at most as many reports as counted", lambda: VectorPlanes(2, 1.0, 1.0, 10, blocks=3)),
    ("vector/bits", "epsilon is positive", lambda: VectorBits(2, 0.0, 10)),
    ("vector/rotated", "beta is a probability", lambda: VectorRotated(2, 1.0, 1.0, 10, beta=0.0)),
    ("vector/rotated", "signs are public signs", lambda: VectorRotated(2, 1.0, 1.0, 10, rotation=[1, 0])),
    ("vector/randomizer", "a kept sign is likelier than a turned one", lambda: SignStrength(2**61)),
    ("user_mean/clipped_mean", "the bounds are an interval", lambda: ClippedMean(1.0, 1.0, 10, 1.0)),
    ("user_mean/clipped_mean", "some users", lambda: ClippedMean(0.0, 1.0, 0, 1.0)),
    ("user_mean/clipped_mean", "epsilon is positive", lambda: ClippedMean(0.0, 1.0, 10, 0.0)),
    ("user_mean/range_bins", "the bounds are an interval", lambda: RangeBins(1.0, 1.0, 1.0)),
    ("user_mean/range_bins", "the radius is positive", lambda: RangeBins(0.0, 1.0, 0.0)),
    *(
        (
            "user_mean/range_stage",
            f"some users ({kind.__name__})",
            lambda kind=kind: kind(RangeBins(0.0, 9.0, 1.0), 0, 1.0),
        )
        for kind in (HadamardRange, HistogramRange, MedianRange)
    ),
    *(
        (
            "user_mean/range_stage",
            f"epsilon ({kind.__name__})",
            lambda kind=kind: kind(RangeBins(0.0, 9.0, 1.0), 9, 0.0),
        )
        for kind in (HadamardRange, HistogramRange, MedianRange)
    ),
    ("strings/stable_histogram", "2 delta (2 + epsilon) <= epsilon", lambda: StableHistogram(10, 1.0, 0.2, 4)),
    ("strings/stable_histogram", "delta is positive", lambda: StableHistogram(10, 1.0, 0.0, 4)),
    ("strings/stable_histogram", "a user has slots", lambda: StableHistogram(10, 1.0, 1e-6, 0)),
    (
        "strings/prefix_search",
        "w <= threshold/3",
        lambda: HeavyHitterSearch(100, 1.0, threshold=0.1, alphabet=b"ab", length=2),
    ),
    ("strings/prefix_search", "the alphabet is public bytes", lambda: HeavyHitterSearch(10**7, 1.0, 0.5, b"aa", 2)),
    ("user_mean/local", "bins for two rounds", lambda: BudgetSplit(**{**SPLIT, "setting": SHUFFLED})),  # type: ignore[arg-type]
    ("user_mean/local", "users for both rounds", lambda: UserSplit(**SPLIT, chosen=100)),  # type: ignore[arg-type]
    (
        "user_mean/several",
        "the parts are within the budget",
        lambda: SeveralMeans(replace(AWAY, epsilon=0.9), several_means(AWAY, TWO)[0].parts),
    ),
    ("user_mean/several", "ways of users who may be elsewhere", lambda: SeveralMeans(AWAY, ())),
    ("user_mean/local", "local messages are pure", lambda: UserMeanSetting(9, 0, 1, 1.0, delta=0.1, model="local")),
    (
        "user_mean/central",
        "a part of epsilon for the range",
        lambda: CentralRange(setting=SMALL, first=1.0, kind=MedianRange),
    ),
    (
        "user_mean/shuffle",
        "messages fit once mixed",
        lambda: ShuffledUserMean(inner=OneRound(setting=SHUFFLED, second=9.0)),
    ),
    (
        "user_mean/somewhere",
        "the release is one of a mean and a share",
        lambda: WHOLE_MEANS.ends(UserMeanRelease(WHOLE_MEANS, Fraction(0), (0.0, 1.0)), 0.1),
    ),
    (
        "user_mean/somewhere_messages",
        "both parts have users to mix",
        lambda: dealt_somewhere(UserMeanSetting(3, 0.0, 1.0, 1.0, model="local", elsewhere=True)),
    ),
    ("user_mean/shuffle", "mixing takes a delta", lambda: UserMeanSetting(9, 0, 1, 1.0, model="shuffle")),
    ("user_vector/setting", "ends for each coordinate", lambda: UserVectorSetting(9, (0.0,), (), 1.0)),
    ("user_vector/local", "local messages are pure", lambda: UserVectorSetting(9, (0.0,), (1.0,), 1.0, 0.1, "local")),
    (
        "user_vector/directions",
        "the ball has a radius",
        lambda: DirectionUserVector(
            UserVectorSetting(9, (0.0,), (1.0,), 1.0, model="local"),
            Frame((RangeBins(0.0, 1.0, 1.0),), (1.0,), True, 1),
            1.0,
            1,
        ),
    ),
    ("vector/mixed_directions", "a report has a strength", lambda: MixedDirections(4, 1.0, 0.0, 10, reports=2)),
    ("vector/mixed_directions", "there is a report", lambda: MixedDirections(4, 1.0, 1.0, 10, reports=2000)),
    ("user_vector/central", "low below high", lambda: UserVectorSetting(9, (0.0,), (0.0,), 1.0)),
    ("descent/rounds", "gradients are clipped", lambda: DescentSetting(9, 2, "squared", 0.0, 1.0, 1.0)),
    ("descent/loss", "the loss is one of two", lambda: DescentSetting(9, 2, "hinge", 1.0, 1.0, 1.0)),  # type: ignore[arg-type]
    ("descent/central", "rounds are counted", lambda: CentralDescent(DESCENT, -1, True)),
    ("descent/central", "rounds are whole", lambda: CentralDescent(DESCENT, 1.5, True)),  # type: ignore[arg-type]
    ("descent/central", "there is a round", lambda: CentralDescent(DESCENT, 0, True).epsilon),
    ("descent/central", "Gaussian noise has a delta", lambda: CentralDescent(PURE, 3, True).epsilon),
    ("descent/moments", "gradients are not clipped", lambda: MomentFit(DESCENT, 1, True)),
    ("descent/moments", "there is one round", lambda: MomentFit(WHOLE, 2, True)),
    (
        "descent/moments",
        "the loss is squared",
        lambda: MomentFit(DescentSetting(9, 2, "logistic", 9.0, 1, 1), 1, False),
    ),
    ("descent/moments", "Gaussian noise has a delta", lambda: MomentFit(replace(WHOLE, delta=0.0), 1, True).epsilon),
    ("descent/messages", "messages are not central", lambda: MessageDescent(DESCENT, 2, LAW)),
    (
        "descent/messages",
        "users drawn anew are not dealt",
        lambda: MessageDescent(DescentSetting(9, 2, "squared", 1.0, 1.0, 1.0, 0.1, "shuffle"), 2, LAW, True, 4),
    ),
    ("streams/strategy", "periods are bounded", lambda: Strategy.of("totals", 10**9)),
    ("streams/strategy", "there is a block", lambda: Strategy(0, False)),
    ("streams/mechanism", "Gaussian noise has a delta", lambda: StreamMechanism(DAYS, 4, "period", 0.1, 1, 1.0, 0.0)),
    ("streams/mechanism", "a bound above 0", lambda: StreamMechanism(DAYS, 4, "period", 0.0, 1, 1.0, 1e-6)),
    ("streams/mechanism", "one of three units", lambda: StreamMechanism(DAYS, 4, "year", 0.1, 1, 1.0, 1e-6)),  # type: ignore[arg-type]
    ("streams/mechanism", "a cap is of users", lambda: StreamMechanism(DAYS, 4, "period", 0.1, 1, 1.0, 1e-6, active=2)),
    ("streams/strategy", "a cap is of some periods", lambda: DAYS.active_square(4, 0)),
    ("streams/mechanism", "there is a period", lambda: StreamMechanism(DAYS, 0, "period", 0.1, 1, 1.0, 1e-6)),
]

PRIVACY: list[tuple[str, str, Call]] = [
    ("reduction", "the mechanism on samples is bounded", lambda: reduced_guarantee(EmdDP(1.0), 0.1, 10, 0.1)),
    ("reduction", "r is in (0, 1]", lambda: reduction_quantile(0.0, 10, 0.1)),
    ("shuffle/items", "a user's items are among all", lambda: shuffle_alpha(1.0, 10, 5, 1e-6)),
    ("shuffle/items", "delta is positive", lambda: shuffle_alpha(1.0, 1, 5, -1e-6)),
    ("shuffle/items", "w_min is a distance", lambda: shuffle_alpha(1.0, 1, 5, 1e-6, 1.5)),
    ("shuffle/items", "alpha0 is a number", lambda: shuffle_alpha(math.nan, 1, 5, 1e-6)),
]

ELSEWHERE = {
    "__init__": "no theorem of its own",
    "user_mean/base": "its settings' checks stand under user_mean_local, _central and _shuffle",
    "scalar/randomizer": "abstract; rows of the four laws",
}
"""Modules whose text names a theorem without one of their own."""


def named(part: Any) -> str:
    return part if isinstance(part, str) else ""


@pytest.mark.quarter
@pytest.mark.parametrize(("module", "hypothesis", "call"), [*ROWS, *PRIVACY], ids=named)
def test_a_violated_hypothesis_raises(module: str, hypothesis: str, call: Call) -> None:
    with pytest.raises((UsageError, RefusedError)) as caught:
        call()
    # A sentence with a remedy, not a stumble of the code behind.
    assert re.search(r"[;,.]", str(caught.value))


def test_every_module_with_a_theorem_has_a_row() -> None:
    known = {module for module, _, _ in ROWS} | set(ELSEWHERE)
    root, seen = Path(str(emdp.mechanisms.__path__[0])), 0
    for file in sorted(root.rglob("*.py")):
        text = ast.get_docstring(ast.parse(file.read_text())) or ""
        if re.search(r"Theorem|Lemma", text):
            module = str(file.relative_to(root).with_suffix(""))
            assert module in known, f"{module}: add a row for each hypothesis of its theorem"
            seen += 1
    assert seen > 40, "the search for theorems finds too few"
