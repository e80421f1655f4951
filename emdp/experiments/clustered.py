"""Frequencies on clusters, the item space of the paper's comparison (EMD 4 and 6): every method as a draw of estimates.

``n`` users hold ``m`` records each among ``s`` clusters of ``t`` items, at distance ``within`` inside a cluster and 1
between clusters. A user has a home cluster, where most of the records lie. Estimated is the mean of the users'
normalised histograms; the error is the exact distance to it in the unit of ``d_em``: of the raw estimate (the
Kantorovich-Rubinstein norm, which theorems 6.5 and 6.6 bound) and of its Euclidean projection onto the simplex.

d_EM-DP is item-wise release by GKRR (bounded: ``m`` is public), Laplace noise on the averaged histogram with the
constant ``2/within``, and one message a user at ``epsilon0 = ln(1 + alpha within)``. User-level DP is Laplace noise at
``2/(n epsilon)``, one message a user, local or shuffled, and Hadamard response on every record with ``m epsilon0``
composed exactly (:func:`composed_strength`).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import cache

import numpy as np

from emdp.base.arrays import Floats, Integers
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators.frequency.errors import expected_errors, theorem_6_5, theorem_6_6
from emdp.estimators.frequency.geometry import Geometry
from emdp.estimators.frequency.models import IndependentErrors
from emdp.experiments.base import EMD, USER, Kind, Row, row_of
from emdp.mechanisms import LaplaceMechanism
from emdp.mechanisms.items.gkrr import GKRR
from emdp.mechanisms.items.hadamard_response import HadamardResponse
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.oracles.hadamard_bit import OneBitHadamardOracle
from emdp.mechanisms.oracles.hadamard_response import HadamardResponseOracle
from emdp.mechanisms.oracles.krr import KRROracle
from emdp.mechanisms.oracles.oracle import FrequencyOracle
from emdp.mechanisms.weights import integer_rows
from emdp.noise.choices import draw_below
from emdp.noise.discrete_laplace import draw_discrete_laplace_bulk
from emdp.noise.multinomial import draw_outcomes
from emdp.privacy import shuffle_alpha0
from emdp.spaces import Categories, Clusters
from emdp.transport.kr_norm import cluster_norm
from emdp.transport.simplex import project_to_simplex

__all__ = [
    "METHODS",
    "PROJECTED",
    "RAW",
    "People",
    "Setting",
    "composed_strength",
    "draw_people",
    "measure",
    "theorem_6_5_of",
]

RAW, PROJECTED = "d_em of the raw estimate", "d_em after projection"
"""The two measures."""

AT_HOME = 0.6
"""Share of a user's records in the own cluster, on average."""

FALL = 0.8
"""Quotient of the shares of two successive clusters, and of two successive items of one."""

SHARP_ITEMS = 1000
"""Most items for which the accountant looks at GKRR itself: above, at any randomizer on the space."""

FORMULA = "its expected value (formula)"
PAPER = "theorem 6.6, an upper bound (raw estimate)"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Sizes and prices of one point."""

    # clusters, width: `s` and `t`; `k = s t`.
    clusters: int = 10
    width: int = 5
    within: float = 0.25
    # m, n: Records a user, users.
    m: int = 100
    n: int = 5000
    epsilon: float = 1.0
    delta: float = 1e-6
    ratio: float = 50.0  # `alpha/epsilon`

    @property
    def k(self) -> int:
        """Number of items."""
        return self.clusters * self.width

    @property
    def alpha(self) -> float:
        """Loss per unit of ``d_em``."""
        return self.ratio * self.epsilon

    @property
    def codes(self) -> Integers:
        """Cluster of each item."""
        return np.repeat(np.arange(self.clusters), self.width)

    @property
    def space(self) -> Clusters:
        """The item space: items ``i0``, ``i1``, ..."""
        return Clusters("item", [(f"i{item}", f"c{item // self.width}") for item in range(self.k)], self.within)

    def parameters(self) -> dict[str, float]:
        """Return all numbers."""
        return {**asdict(self), "k": self.k, "alpha": self.alpha}


@dataclass(frozen=True, eq=False)
class People:
    """Generated records and what is estimated from them."""

    records: Integers  # Item of each record, shape (n, m)
    counts: Integers  # Records of each item, shape (k,)

    @property
    def truth(self) -> Floats:
        """The mean of the users' normalised histograms."""
        return self.counts / float(self.counts.sum())

    def draw_bags(self) -> Bags:
        """Return one record of each user, uniform among the own ones: all that an oracle's message depends on."""
        users, size = self.records.shape
        return Bags.of_items(self.records[np.arange(users), draw_below(np.full(users, size))])


@dataclass(frozen=True, eq=False)
class Method:
    """A way to draw estimates at one setting."""

    name: str
    guarantee: Kind
    model: str
    sample: Callable[[], Floats]
    bound: float
    source: str
    strength: float


def draw_people(setting: Setting) -> People:
    """Return generated records: half at home in a cluster, falling shares; inside the test switch from its seed.

    >>> from emdp.testing import seeded
    >>> with seeded(0):
    ...     people = draw_people(Setting(m=10, n=20))
    >>> people.records.shape, int(people.counts.sum())
    ((20, 10), 200)
    """
    k, s = setting.k, setting.clusters
    groups = FALL ** np.arange(s)
    items = np.tile(FALL ** np.arange(setting.width), s)
    common = np.repeat(groups, setting.width) * items
    at_home = (setting.codes == np.arange(s)[:, None]) * items
    shares = AT_HOME * at_home / at_home.sum(axis=1, keepdims=True) + (1 - AT_HOME) * common / common.sum()
    # integer_rows wants a square: homes are drawn from the clusters, repeated in rows.
    chosen = integer_rows(np.tile(groups / groups.sum(), (s, 1)))[:1]
    home = draw_outcomes(np.zeros(setting.n, dtype=np.int64), chosen)
    rows = integer_rows(np.repeat(shares, setting.width, axis=0))[:: setting.width]
    flat = draw_outcomes(np.repeat(home, setting.m), rows)
    return People(flat.reshape(setting.n, setting.m), np.bincount(flat, minlength=k).astype(np.int64))


def measure(method: str, setting: Setting, people: People, *, panel: str, x: float, runs: int) -> list[Row]:
    """Return the raw and the projected error of a method of ``METHODS`` over independent runs.

    Parameters
    ----------
    method : str
        Key of ``METHODS``.
    setting : Setting
        Sizes and prices.
    people : People
        The records, of the same sizes.
    panel, x
        As in :class:`emdp.experiments.base.Row`.
    runs : int
        Independent draws.
    """
    if people.records.shape != (setting.n, setting.m):
        raise UsageError("people must be drawn for the same n and m; call draw_people with this setting.")
    found = METHODS[method](setting, people)
    truth, raw, projected = people.truth, [], []
    for _ in range(runs):
        estimate = found.sample()
        error = estimate - truth
        raw.append(cluster_norm(error - error.mean(), setting.codes, setting.within))
        projected.append(cluster_norm(project_to_simplex(estimate) - truth, setting.codes, setting.within))
    shared = {
        "panel": panel, "x": x, "method": found.name, "guarantee": found.guarantee, "model": found.model,
        "parameters": {**setting.parameters(), "strength": found.strength},
    }  # fmt: skip
    return [
        row_of(raw, measure=RAW, bound=found.bound, bound_source=found.source, **shared),
        row_of(projected, measure=PROJECTED, bound=found.bound, bound_source=found.source, **shared),
    ]


def composed_strength(epsilon: float, delta: float, m: int) -> float:
    """Return the largest ``epsilon0`` whose ``m``-fold composition is ``(epsilon, delta)``-DP, to 1e-9 from below.

    Composition of ``m`` mechanisms is dominated by that of ``m`` binary randomised responses (Kairouz, Oh and
    Viswanath 2015), whose loss is ``(2 j - m) epsilon0`` with ``j`` binomial.

    >>> composed_strength(1.0, 0.0, 10), round(composed_strength(1.0, 1e-6, 100), 5)
    (0.1, 0.02401)
    """
    if delta == 0 or m == 1:
        return epsilon / m
    low, high = epsilon / m, epsilon
    while high - low > 1e-9 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _composed_delta(middle, epsilon, m) <= delta else (low, middle)
    return low


def _composed_delta(strength: float, epsilon: float, m: int) -> float:
    from scipy.special import gammaln

    wins = np.arange(m + 1, dtype=np.float64)
    logs = gammaln(m + 1.0) - gammaln(wins + 1.0) - gammaln(m - wins + 1.0)
    logs += wins * strength - m * math.log1p(math.exp(strength))
    loss = (2.0 * wins - m) * strength
    return float((np.exp(logs) * -np.expm1(np.minimum(epsilon - loss, 0.0))).sum())


def theorem_6_5_of(setting: Setting, strength: float) -> float:
    """Return the bound of theorem 6.5 for GKRR of a strength."""
    inverse = GKRR(setting.space, strength).right_inverse
    return theorem_6_5(inverse, setting.codes, setting.within, setting.m * setting.n)


@cache
def _item_strength(alpha: float, m: int, total: int, delta: float, clusters: int, width: int, within: float) -> float:
    """Return ``alpha0`` of GKRR for an item-wise release; the accountant is the slow part, and asked repeatedly."""
    any_randomizer = shuffle_alpha0(alpha, m, total, delta, within)
    if clusters * width > SHARP_ITEMS:
        return any_randomizer
    space = Setting(clusters=clusters, width=width, within=within).space
    return max(any_randomizer, shuffle_alpha0(alpha, m, total, delta, randomizer=GKRR(space, 1.0)))


def _itemwise(name: str, setting: Setting, people: People, *, model: str, guarantee: Kind = EMD) -> Method:
    total = setting.m * (setting.n if model == "shuffle" else 1)
    level = setting.alpha if guarantee == EMD else setting.epsilon
    strength = _item_strength(
        level, setting.m, total, setting.delta, setting.clusters, setting.width, setting.within
    )  # fmt: skip
    randomizer = GKRR(setting.space, strength)
    bound = theorem_6_6(randomizer.alpha0, setting.within, setting.clusters, setting.width, setting.m * setting.n)

    def sample() -> Floats:
        return randomizer.estimate(randomizer.release(people.counts))

    return Method(name, guarantee, model, sample, bound, PAPER, randomizer.alpha0)


def _laplace(name: str, setting: Setting, people: People, *, guarantee: Kind) -> Method:
    spread, level = (1.0 / setting.within, setting.alpha) if guarantee == EMD else (1.0, setting.epsilon)
    noise = LaplaceMechanism(sensitivity=2.0 * spread / setting.n, alpha=level, dimension=setting.k)

    def sample() -> Floats:
        return np.asarray(people.truth + noise.grid * draw_discrete_laplace_bulk(noise.noise_units, setting.k))

    bound = _formula(setting, noise.standard_deviation**2, "laplace")
    return Method(name, guarantee, "central", sample, bound, FORMULA, noise.scale)


def _message(name: str, setting: Setting, people: People, *, guarantee: Kind, model: str = "local") -> Method:
    strength = math.log1p(setting.alpha * setting.within) if guarantee == EMD else setting.epsilon
    if model == "shuffle":
        strength = shuffle_alpha0(setting.epsilon, 1, setting.n, setting.delta, 1.0)
    kinds: tuple[type[FrequencyOracle], ...] = (OneBitHadamardOracle, KRROracle, HadamardResponseOracle)
    oracle = min((kind(setting.k, setting.n, strength) for kind in kinds), key=lambda one: one.expected_l2_squared())

    def sample() -> Floats:
        return oracle.decode(oracle.draw_tally(people.draw_bags()))

    bound = _formula(setting, oracle.expected_l2_squared(people.truth) / setting.k)
    return Method(name, guarantee, model, sample, bound, FORMULA, oracle.epsilon)


def _records(name: str, setting: Setting, people: People) -> Method:
    strength = composed_strength(setting.epsilon, setting.delta, setting.m)
    space = Categories("item", [f"i{item}" for item in range(setting.k)])
    randomizer = HadamardResponse(space, strength)
    users = setting.n * setting.m
    oracle = HadamardResponseOracle(setting.k, users, strength)

    def sample() -> Floats:
        return randomizer.estimate(randomizer.release(people.counts))

    bound = _formula(setting, oracle.expected_l2_squared(people.truth) / setting.k)
    return Method(name, USER, "local", sample, bound, FORMULA, strength)


def _formula(setting: Setting, variance: float, law: str = "normal") -> float:
    model = IndependentErrors(setting.k, variance, law="laplace" if law == "laplace" else "normal")
    return expected_errors(model, Geometry.clustered(setting.codes, setting.within)).d_em


METHODS: Mapping[str, Callable[[Setting, People], Method]] = {
    "item-wise": lambda s, p: _itemwise("GKRR on all records, shuffled", s, p, model="shuffle"),
    "item-wise, alpha = epsilon": lambda s, p: _itemwise(
        "GKRR on all records, shuffled, alpha = epsilon", replace(s, ratio=1.0), p, model="shuffle", guarantee=USER
    ),
    "histogram": lambda s, p: _laplace("Laplace on the histogram, 2/(within alpha n)", s, p, guarantee=EMD),
    "user histogram": lambda s, p: _laplace("Laplace on the histogram, 2/(epsilon n)", s, p, guarantee=USER),
    "user shuffled": lambda s, p: _message("one message a user, shuffled", s, p, guarantee=USER, model="shuffle"),
    "local item-wise": lambda s, p: _itemwise("GKRR on every record", s, p, model="local"),
    "message": lambda s, p: _message("one message a user, ln(1 + alpha within)", s, p, guarantee=EMD),
    "user message": lambda s, p: _message("one message a user, epsilon", s, p, guarantee=USER),
    "user records": lambda s, p: _records("Hadamard response on every record", s, p),
}
"""The methods: d_EM-DP and user-level DP, central (with the shuffle model, which trusts less) and local."""
