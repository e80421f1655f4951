"""Shares of users with a fact: many yes/no facts of a person, by sampled bits that are local or mixed.

A fact of a user is whether some record makes its condition positive ("has ever been at a cafe"): a public 0/1 rule on
the bag, which one record may turn over. So the guarantee is at user level, and it assumes nothing of the numbers of
records (multimessage-shuffle.md 4; :mod:`emdp.mechanisms.vector.bits`, :mod:`emdp.mechanisms.vector.mixed_bits`). The
engine reads each user's mean of the condition, which is above 0 just where some record's value is; a user without
records has no fact, and a record that is elsewhere gives none: there every condition is 0.

Intervals. A fact's estimate has a known variance ``(a c^2 - 1)/(4 n)``, and each user adds at most ``(a c + 1)/2`` to
it, off its mean. So it has Bernstein's interval, or that of Berry and Esseen, whichever is the narrower
(:mod:`emdp.mechanisms.tails`).
"""

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from emdp.base.arrays import Integers
from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.estimators.columns.ordering import ordered
from emdp.estimators.crowds import OTHER_USERS
from emdp.estimators.messages import SIMULATED, SPLIT, TRUST, MessagePlan, WrappedRelease
from emdp.expressions import analyse
from emdp.expressions.numbers.fixed_point import fixed_point_exponent
from emdp.mechanisms import choose
from emdp.mechanisms.tails import bernstein_half, normal_half
from emdp.mechanisms.vector.bits import VectorBits
from emdp.mechanisms.vector.mixed_bits import MixedBits
from emdp.privacy import GuaranteeEvent
from emdp.privacy.shuffle.planes import enough_messages
from emdp.privacy.shuffle.users import shuffle_epsilon0
from emdp.questions.columns import PlannedColumn, Released
from emdp.questions.comparison import ROOT_MEAN_SQUARE, ComparedMethod
from emdp.questions.facts import Shares
from emdp.questions.reading import MeanBlock, Reading
from emdp.questions.shape import Shape
from emdp.spaces import Space

__all__ = ["FactMessages", "FactRows", "plan_shares", "share_half_width"]

FACT = "fact"
"""Column of the facts' names."""

MOST_FACTS = 4096
"""Most facts of one question."""

MOST_MESSAGES = 64
"""Most bits of a user that are chosen without being asked for."""

ENOUGH = 1.5
"""Variance over that of a bit of every fact, or of ever more bits, at which more are not chosen."""

AT_ONCE = 2**14
"""Users without records whose messages are drawn at once."""

USERS, TALLY, EXACT = 0, 1, 2
"""Kinds of sums: users, signs of a fact, users who have it."""

EVERY_USER = "every user counts once; a fact is true where some record of the user makes its condition positive"


@dataclass(frozen=True, eq=False)
class FactEncoder:
    """Draws the messages of a block's users from their facts, and adds them up."""

    keys: ClassVar[tuple[str, ...]] = ("what", "place")
    """Kind of the sum, and number of the fact."""

    law: VectorBits
    exponents: tuple[int, ...]  # Fixed-point exponent of each condition's mean
    keep_exact: bool = False  # Whether the facts are added up as well, for the test switch

    @property
    def schema(self) -> Mapping[str, pl.DataType]:
        """Kind of the sum, number of the fact, and the sum."""
        return dict.fromkeys(("what", "place", "sum"), pl.Int64())

    def encode(self, block: MeanBlock) -> Iterator[pl.DataFrame]:
        if tuple(block.exponents) != self.exponents:
            raise InternalError("the engine's means have another unit than was planned; please report it.")
        yield self.summed(block.means > 0)

    def summed(self, facts: npt.NDArray[np.bool_]) -> pl.DataFrame:
        """Draw a message for each row of facts, shape (users, facts), and add them up."""
        tally = self.law.tally(self.law.encode(facts.astype(np.float64)))[0]
        sums = {USERS: np.array([len(facts)]), TALLY: tally}
        if self.keep_exact:
            sums[EXACT] = facts.sum(axis=0)
        frames = [
            pl.DataFrame({"what": np.full(len(own), what), "place": np.arange(len(own)), "sum": own})
            for what, own in sums.items()
        ]
        return pl.concat(frames).cast(dict(self.schema))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class FactMessages(WrappedRelease):
    """Draws every user's bits, and estimates the shares."""

    slack_epsilon: ClassVar[float] = 0.0
    """Cost of rounding: 0, since nothing rests on floating point."""
    slack_delta: ClassVar[float] = 0.0

    law: VectorBits
    exponents: tuple[int, ...]

    @property
    def theorem(self) -> str:
        return self.law.theorem

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        del unit
        place = max(math.ceil(math.log2(max(int(self.law._sizes(self.law.blocks)[0]), 1))), 0)
        sent = f"{self.law.blocks} of each user, {self.law.blocks * (1 + place)} bits with their places"
        if not isinstance(self.law, MixedBits):
            return (("messages", sent),)
        seen = f"epsilon0 = {self.law.each:.6g} each, {self.law.epsilon:.6g} together"
        return ("messages", sent), ("unmixed", f"{seen}, for whoever sees a user's messages before they are mixed")

    def encoder(self, *, keep_exact: bool) -> FactEncoder:
        return FactEncoder(self.law, self.exponents, keep_exact)

    def release(
        self, read: Iterator[MeanBlock], *, users: int, keep_exact: bool
    ) -> tuple[tuple[tuple[float, ...], ...], Released | None]:
        """Draw the messages of all users: this spends."""
        encoder = self.encoder(keep_exact=keep_exact)
        return self.merge(chain.from_iterable(map(encoder.encode, read)), users=users, keep_exact=keep_exact)

    def merge(
        self, frames: Iterator[pl.DataFrame], *, users: int, keep_exact: bool
    ) -> tuple[tuple[tuple[float, ...], ...], Released | None]:
        """Return the release, made from the sums of all blocks in any order: this spends.

        Users without records, who have no fact, send their messages here.
        """
        encoder, size = self.encoder(keep_exact=keep_exact), self.law.dimension
        sums = {what: np.zeros(size, dtype=np.int64) for what in (USERS, TALLY, EXACT)}
        _add(sums, frames)
        present = int(sums[USERS][0])
        if present > users:
            raise InternalError(OTHER_USERS)
        for start in range(present, users, AT_ONCE):
            nobody = np.zeros((min(AT_ONCE, users - start), size), dtype=np.bool_)
            _add(sums, iter([encoder.summed(nobody)]))
        released = tuple(self.law.decode(sums[TALLY][None, :], users).tolist())
        exact = tuple(Fraction(count, users) for count in sums[EXACT].tolist())
        return (released,), (exact,) if keep_exact else None


def _add(sums: dict[int, Integers], frames: Iterator[pl.DataFrame]) -> None:
    for frame in frames:
        for what, place, own in frame.iter_rows():
            sums[what][place] += own


@dataclass(frozen=True, eq=False)
class FactRows:
    """Rows of facts: the estimated share of each, with an interval."""

    names: tuple[str, ...]
    law: VectorBits
    users: int
    name: str = "share"

    @property
    def shape(self) -> Shape:
        return Shape("rows", keys=(FACT,))

    @property
    def sortable(self) -> tuple[str, ...]:
        """Columns by which rows can be sorted."""
        return (FACT, self.name, f"{self.name}_low", f"{self.name}_high")

    def frame(self, released: Any, level: float, *, together: bool = False) -> pl.DataFrame:
        own = 1.0 - (1.0 - level) / len(self.names) if together else level
        values = np.array(released[0], dtype=np.float64)
        widths = np.array([share_half_width(self.law, place, own) for place in range(len(self.names))])
        low, high = np.clip(values - widths, 0.0, 1.0), np.clip(values + widths, 0.0, 1.0)
        return pl.DataFrame(
            {FACT: list(self.names), self.name: values, f"{self.name}_low": low, f"{self.name}_high": high}
        )

    def exact(self, statistics: Any) -> pl.DataFrame:
        return pl.DataFrame({FACT: list(self.names), self.name: [float(value) for value in statistics[0]]})


def share_half_width(law: VectorBits, place: int, level: float) -> float:
    """Return the half-width of an interval that holds a fact's share with at least this probability.

    >>> law = VectorBits(1, 2.0, 10_000)
    >>> round(share_half_width(law, 0, 0.95) / math.sqrt(law.squared_error()), 2)
    2.33
    """
    tail = 1.0 - level
    size = int(law._sizes(law.blocks)[place % law.blocks])
    contrast = float(law.signs[0].strength.contrast)
    variance, bound = max(size * contrast**2 - 1.0, 0.0) / 4.0, 0.5 * (size * contrast + 1.0)
    # the third moment is at most the bound times the variance
    skew = bound / math.sqrt(variance) if variance > 0 else math.inf
    half = min(bernstein_half(variance, bound, law.users, tail), normal_half(variance, skew, law.users, tail))
    return half * (1.0 + 1e-9)


def plan_shares(query: Shares, *, space: Space, users: int) -> MessagePlan:
    """Return the plan of shares of users by facts.

    Guarantee
    ---------
    ``(epsilon, delta)`` at user level in the model, for any records: multimessage-shuffle.md 1 and 4.

    >>> from emdp.expressions import category_is
    >>> from emdp.questions.facts import shares
    >>> from emdp.spaces import Categories
    >>> query = shares([category_is("a"), category_is("b")], epsilon=1.0)
    >>> plan = plan_shares(query, space=Categories("kind", ["a", "b", "c"]), users=1000)
    >>> plan.guarantee.kind_name, plan.columns[0].name
    ('local UserDP', 'share')
    """
    if len(query.conditions) > MOST_FACTS:
        raise UsageError(f"at most {MOST_FACTS} conditions fit one question, got {len(query.conditions)}; ask twice.")
    ranges = [analyse(condition, space) for condition in query.conditions]
    for condition, known in zip(query.conditions, ranges, strict=True):
        if known.low < 0 or known.high > 1:
            raise UsageError(
                f"conditions must have values in [0, 1], but `{condition}` has the range [{known.low:.6g}, "
                f"{known.high:.6g}]; pass a category, or a ramp."
            )
    law = _law(query, users)
    half = max(share_half_width(law, place, 0.95) for place in range(min(law.blocks, law.dimension)))
    deviation = math.sqrt(law.squared_error() / law.dimension)
    rows = FactRows(query.facts, law, users, query.name)
    column = PlannedColumn(
        name=query.name,
        expression=f"users with each of {law.dimension} facts",
        lipschitz=math.inf,
        low=0.0,
        high=1.0,
        noise_scale=deviation,
        expected_error=deviation * math.sqrt(2.0 / math.pi),
        interval_95=half,
        written=query.written,
    )
    is_mixed = query.model == "shuffle"
    guarantee = query.price.promise(query.model).at_level(query.price.level, query.price.delta)
    return MessagePlan(
        reading=Reading("means", by_user=True, expressions=query.conditions),
        releaser=FactMessages(law, tuple(map(fixed_point_exponent, ranges))),
        event=GuaranteeEvent(guarantee, f"{'mixed ' if is_mixed else ''}bits of users' facts"),
        columns=(column,),
        choice=f"{query.model} model, {law.blocks} of {law.dimension} facts of every user, one of each block of them.",
        finisher=ordered(rows, query.order, limit=query.limit, offset=query.offset, columns=rows.sortable),
        weighing=EVERY_USER,
        notes=() if is_mixed else (SIMULATED,),
        assumptions=(*TRUST["shuffle"], *SPLIT[: law.blocks > 1]) if is_mixed else (),
        comparison=_compared(query, law, users),
        without_records="no fact",
    )


def _law(query: Shares, users: int) -> VectorBits:
    size, wanted = len(query.conditions), query.messages
    if query.model == "local":
        return VectorBits(size, query.price.level, users, blocks=None if wanted == "auto" else int(wanted))
    if wanted != "auto":
        return _mixed(query, users, int(wanted))
    strength = 1.0 / float(_mixed(query, users, 1).signs[0].strength.contrast)
    return _mixed(query, users, min(enough_messages(strength, ENOUGH), size, MOST_MESSAGES))


def _mixed(query: Shares, users: int, blocks: int) -> MixedBits:
    size, price = len(query.conditions), query.price
    if users < 2:
        return MixedBits(size, price.level / blocks * (1 - 2.0**-50), users, blocks=blocks)
    kind = "binary" if blocks == size else "place-sign"
    each = shuffle_epsilon0(price.level, users, price.delta, blocks, randomizer=kind)
    return MixedBits(size, min(each, 40.0), users, blocks=blocks)


def _compared(query: Shares, law: VectorBits, users: int) -> tuple[ComparedMethod, ...]:
    """Return the errors of all three models at this price."""
    size, price = law.dimension, query.price
    noise = choose(
        alpha=price.level,
        delta=price.delta,
        dimension=size,
        sensitivity_1=size / users * (1 + 1e-12),
        sensitivity_2=math.sqrt(size) / users * (1 + 1e-12),
    ).mechanism
    local = law if query.model == "local" else VectorBits(size, price.level, users)
    lines = [("central", noise.interval_half_width(0.6826894921370859), f"not offered: a curator's {noise.name} noise")]
    if query.model == "shuffle":
        lines.append(("shuffle", _deviation(law), f"{law.blocks} messages a user, mixed"))
    lines.append(("local", _deviation(local), "nobody is trusted; each user's message by itself"))
    return tuple(
        ComparedMethod(method, error, method == query.model, remark, ROOT_MEAN_SQUARE)
        for method, error, remark in lines
    )


def _deviation(law: VectorBits) -> float:
    return math.sqrt(law.squared_error() / law.dimension)
