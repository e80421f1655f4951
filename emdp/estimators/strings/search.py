"""Frequent strings of an unknown list: what is searched for, by whom, and the rows of what was found.

In the local and the shuffle model users answer along prefixes (:mod:`emdp.mechanisms.strings.prefix_search`). Every
oracle's message is that of one uniform record of its user, which does not depend on what is asked; so that record's
string is all that is kept of a user, and blocks are read once. Shuffled are the messages of a level; they amplify with
the number of the level's users, and a user is in one level alone. In the central model noise is added to the strings
that occur (:mod:`emdp.mechanisms.strings.stable_histogram`).
"""

import math
from collections.abc import Iterator
from contextlib import closing
from typing import Any, ClassVar

import numpy as np
import polars as pl

from emdp.base.arrays import Integers
from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.estimators.crowds import OTHER_USERS
from emdp.estimators.messages import WEIGHING, MessagePlan, MessageRelease, trust
from emdp.estimators.strings.encoders import COUNT, VALUE, PrefixEncoder, ShareEncoder, SlotEncoder
from emdp.estimators.strings.rows import FoundRows, StringShares
from emdp.estimators.strings.thresholds import least_threshold, try_search
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.oracles.mixed import MIXED
from emdp.mechanisms.oracles.oracle import FrequencyOracle
from emdp.mechanisms.strings.prefix_search import FoundStrings, HeavyHitterSearch, Strings, sampling_error
from emdp.mechanisms.strings.stable_histogram import StableHistogram, best_histogram
from emdp.privacy import GuaranteeEvent, UserDP
from emdp.questions.columns import PlannedColumn
from emdp.questions.heavy_hitters import HeavyHitters
from emdp.questions.reading import Reading, RepeatedBlocks, SettlingBlocks, TextBlock, TextColumn

__all__ = ["PrefixRelease", "StringCounts", "plan_heavy_hitters"]

MOST_ROWS = 2**22
"""Rows of counts after which equal strings are put together."""

Released = tuple[tuple[str, ...], tuple[float, ...]]
"""The strings that were found and their estimates."""


@dataclass(frozen=True, eq=False)
class PrefixRelease(MessageRelease):
    """Release of strings by a search along prefixes: one message of every user."""

    slack_epsilon: ClassVar[float] = 0.0
    """Cost of rounding: 0, since messages are drawn from integer probabilities."""

    search: HeavyHitterSearch
    accounted: str = ""  # Which theorem gives the guarantee, where messages are shuffled; empty in the local model

    @property
    def epsilon0(self) -> float:
        """Epsilon of one message by itself."""
        return self.search.epsilon

    @property
    def theorem(self) -> str:
        own = "a user sends one message, epsilon-LDP at user level given all before it"
        own += " (emdp.mechanisms.strings.prefix_search)"
        return f"{self.accounted}; {own}" if self.accounted else own

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        del unit
        search = self.search
        most = f"at most {search.candidates_at(search.step)} candidates a level, {search.most_survivors} of them pass"
        told = ("search", search.explain()), ("levels", most)
        if not self.accounted:
            return told
        bits = search.oracle(search.candidates_at(search.step), search.level_users, search.epsilon).message_bits
        return (*told, ("message", f"{bits} bits a user, at most"))

    def half_width(self, failure: float) -> float:
        """Return how far off all estimates of the last level are, at most, but for a probability."""
        search = self.search
        oracle = search.oracle(search.candidates_at(search.step), search.level_users, search.epsilon)
        if search.levels == 1:
            return oracle.interval(_level(failure), together=True)
        own = oracle.interval(_level(0.5 * failure), together=True)
        return own + sampling_error(search.level_users, 0.5 * failure)

    def release(
        self, read: Iterator[TextBlock], *, users: int, keep_exact: bool
    ) -> tuple[Released, tuple[Any, ...] | None]:
        """Draw one record of every user, and the messages of all of them about it: this spends."""
        if isinstance(read, RepeatedBlocks):
            with closing(read):
                return self._asked(read, users, keep_exact=keep_exact)
        words = np.zeros(users, dtype=f"S{self.search.length}")
        shares = StringShares(users) if keep_exact else None
        for block in read:
            bags = Bags(block.offsets, np.arange(len(block.counts)), block.counts)
            chosen = block.texts.gather(bags.draw_items()).fill_null("")
            _check_numbers(block, users)
            words[block.users] = np.array(chosen.cast(pl.Binary).to_list(), dtype=words.dtype)
            if shares is not None:
                shares.add(block)
        listed, places = np.unique(words, return_inverse=True)
        found = self.search.search(Bags.of_items(places), listed)
        return _released(found), None if shares is None else (shares.frame(),)

    def _asked(
        self, blocks: RepeatedBlocks, users: int, *, keep_exact: bool
    ) -> tuple[Released, tuple[Any, ...] | None]:
        """Ask the users of each level where their strings are: this spends."""
        search, present = self.search, blocks.present()
        if present > users:
            raise InternalError(OTHER_USERS)
        shares = StringShares(users) if keep_exact else None
        if shares is not None:
            for frame in blocks.encode(ShareEncoder()):
                shares.add_sums(frame)
        dealt = search.deal()

        def tally(level: int, candidates: Strings, oracle: FrequencyOracle) -> Integers:
            encoder = PrefixEncoder(search, level, candidates, oracle)
            # A level may be the last in which strings are left.
            found, met = encoder.added(blocks.encode(encoder, dealt[:present], is_last=level == search.levels - 1))
            if met != present:
                raise InternalError(OTHER_USERS)
            # Users without records have none of the strings.
            return found + encoder.tally(np.zeros(int((dealt[present:] == level).sum()), dtype=f"S{search.length}"))

        return _released(search.ask(tally)), None if shares is None else (shares.frame(),)


@dataclass(frozen=True, eq=False)
class StringCounts(MessageRelease):
    """Noise on the slots of the strings that occur."""

    theorem: ClassVar[str] = (
        "discrete Laplace noise on bounded slots of every user, a threshold for strings that only one user has "
        "(emdp.mechanisms.strings.stable_histogram)"
    )
    epsilon0: ClassVar[None] = None
    """Epsilon of one message: None, since nobody sends one."""
    slack_epsilon: ClassVar[float] = 0.0
    """Cost of rounding: 0, since slots, noise and threshold are integers, drawn exactly."""

    histogram: StableHistogram

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        del unit
        own = self.histogram
        noise = f"discrete Laplace, scale {own.scale:.6g} slots = {own.scale / own.total:.3g} of a frequency"
        return (
            ("slots", f"{own.slots} of each of {own.users} users, dealt to strings by the user's shares"),
            ("noise", noise),
            ("threshold", f"{own.threshold} slots = {own.threshold / own.total:.4g} of a frequency, after the noise"),
        )

    def half_width(self, failure: float) -> float:
        """Return how far off all released estimates are, at most, but for a probability."""
        return self.histogram.half_width(failure)

    def release(
        self, read: Iterator[TextBlock], *, users: int, keep_exact: bool
    ) -> tuple[Released, tuple[Any, ...] | None]:
        """Deal slots, count them, add noise: this spends."""
        shares = StringShares(users) if keep_exact else None
        encoder = SlotEncoder(self.histogram)
        if isinstance(read, SettlingBlocks):
            with closing(read):
                if shares is not None:
                    # Of the test switch alone: nothing is kept of such a pass.
                    for frame in read.encode(ShareEncoder(), is_last=True):
                        shares.add_sums(frame)
                passed = pl.concat([_no_counts(), *read.settled(encoder)])
        else:
            passed = encoder.settle(_slots(read, encoder, shares))
        shown = passed.drop_nulls(VALUE).sort(COUNT, VALUE, descending=[True, False])
        if int(passed.get_column(COUNT).sum()) - int(shown.get_column(COUNT).sum()) > users:
            raise InternalError(OTHER_USERS)
        estimates = shown.get_column(COUNT).to_numpy() / self.histogram.total
        released = tuple(shown.get_column(VALUE).to_list()), tuple(estimates.tolist())
        return released, None if shares is None else (shares.frame(),)


@dataclass(frozen=True, eq=False)
class _Method:
    """Method that answers a query, with its guarantee, threshold and error."""

    releaser: PrefixRelease | StringCounts
    guarantee: UserDP
    threshold: float
    deviation: float
    choice: str
    note: str


def plan_heavy_hitters(query: HeavyHitters, *, users: int) -> MessagePlan:
    """Return the plan of a search for frequent strings.

    Parameters
    ----------
    query : HeavyHitters
        The query; its column is one of text.

    Raises
    ------
    UsageError
        If users and price do not allow the threshold; the message says which they do.

    Guarantee
    ---------
    ``(epsilon, delta)`` at user level in the query's model: the texts of the two mechanisms.

    >>> from emdp.questions.price import Price
    >>> query = HeavyHitters("message", Price("epsilon", 2.0, 1e-9), threshold=0.001, model="central", words=True)
    >>> plan = plan_heavy_hitters(query, users=100_000)
    >>> plan.guarantee, plan.reading.column.name
    (UserDP(epsilon=2.0, delta=1e-09, model='central'), 'message')
    """
    method = _central(query, users) if query.model == "central" else _along_prefixes(query, users)
    width = method.releaser.half_width(query.failure)
    column = PlannedColumn(
        name=query.name,
        expression=f"share of each frequent {'word' if query.words else 'text'} in the average user's records",
        lipschitz=math.nan,
        low=0.0,
        high=1.0,
        noise_scale=method.deviation,
        expected_error=method.deviation * math.sqrt(2.0 / math.pi),
        interval_95=method.releaser.half_width(0.05),
        note="noise_scale is the standard deviation of a string's frequency; intervals hold for all strings at once",
    )
    rows = FoundRows(query.name, method.threshold, width, query.count, method.releaser.half_width)
    return MessagePlan(
        reading=Reading(
            "texts",
            by_user=True,
            column=TextColumn(query.column, query.words, query.lower, query.longest, query.characters, query.tokenizer),
        ),
        releaser=method.releaser,
        event=GuaranteeEvent(method.guarantee, "frequent strings"),
        columns=(column,),
        choice=method.choice,
        finisher=rows,
        weighing=WEIGHING,
        notes=(_found(query, method, width), _strings(query), method.note),
        assumptions=trust(query.model, method.releaser.epsilon0),
        without_records="none of the strings",
    )


def _along_prefixes(query: HeavyHitters, users: int) -> _Method:
    if query.threshold is not None:
        threshold, made = query.threshold, try_search(query, users, query.threshold)
        if made is None:
            least = least_threshold(query, users)
            reached = "no threshold is in reach" if least is None else f"{least:.3g} is in reach"
            raise UsageError(
                f"threshold {threshold:g} needs more than {users} users at epsilon = {query.price.level:g} in the "
                f"{query.model} model, where {reached}; ask for a larger one, for shorter strings (length=), or with "
                "model='central' and delta above 0."
            )
    else:
        found = least_threshold(query, users)
        made = None if found is None else try_search(query, users, found)
        if found is None or made is None:
            raise UsageError(
                f"users must be more than {users} to find any string at epsilon = {query.price.level:g} in the "
                f"{query.model} model; ask for shorter strings (length=), or with model='central' and delta above 0."
            )
        threshold = found
    search, guarantee = made
    accounted, mixed = "", ""
    if query.model == "shuffle":
        accounted = f"the messages of a level, shuffled: {MIXED}"
        mixed = f"epsilon0 = {search.epsilon:.4g} a message, {search.level_users} of a level mixed; "
    release = PrefixRelease(search, accounted)
    oracle = search.oracle(search.candidates_at(search.step), search.level_users, search.epsilon)
    deviation = math.hypot(math.sqrt(oracle.variance()), 0.5 / math.sqrt(search.level_users))
    choice = (
        f"search along prefixes, {search.levels} levels of {search.step} bytes, {search.level_users} users asked at "
        f"each, dealt out at random; {mixed}one message a user by {search.oracle.name}."
    )
    note = "a user's message is about one uniform record of the user; estimates are those of the last level's users"
    return _Method(release, guarantee, threshold, deviation, choice, note)


def _central(query: HeavyHitters, users: int) -> _Method:
    epsilon, delta = query.price.level, query.price.delta
    histogram = best_histogram(users, epsilon, delta, query.failure)
    least = histogram.complete_above
    if not least < 1.0 or (query.threshold is not None and query.threshold < least):
        reached = "no threshold is in reach" if not least < 1.0 else f"{least:.3g} is in reach"
        wanted = "to find any string" if query.threshold is None else f"for a threshold of {query.threshold:g}"
        remedy = "ask for a larger one, or pay more" if least < 1.0 else "pay more"
        raise UsageError(
            f"users must be more than {users} {wanted} at epsilon = {epsilon:g} and delta = {delta:g}, "
            f"where {reached}; {remedy}."
        )
    choice = (
        f"noise on the counts of strings that occur, {histogram.slots} slots a user, strings below "
        f"{histogram.threshold / histogram.total:.3g} left out."
    )
    note = "strings of any characters may appear as they stand in the records"
    return _Method(
        StringCounts(histogram),
        UserDP(epsilon, delta),
        least if query.threshold is None else query.threshold,
        histogram.standard_deviation,
        choice,
        note,
    )


def _found(query: HeavyHitters, method: _Method, width: float) -> str:
    wanted = "" if query.count is None else f" the {query.count} largest estimates are shown of what was found;"
    return (
        f"but for a probability of {query.failure:g},{wanted} every string with a frequency of at least "
        f"{method.threshold:.4g} is found, none below {max(method.threshold - 2.0 * width, 0.0):.4g}, and all "
        f"estimates are within {width:.3g}"
    )


def _strings(query: HeavyHitters) -> str:
    limits = [] if query.longest is None else [f"longer than {query.longest} bytes"]
    limits += [] if query.characters is None else [f"with other characters than {query.characters!r}"]
    what = "words are as emdp.Words makes them" if query.words else "strings are whole texts"
    case = "ASCII capitals are small letters" if query.lower else "capitals and small letters differ"
    case = "folded by Unicode 14.0" if query.tokenizer == "unicode" else case
    none = f"; strings {' or '.join(limits)} count as none" if limits else ""
    return f"{what}, {case}{none}; missing texts are records without one, and a user without records has none"


def _check_numbers(block: TextBlock, users: int) -> None:
    if len(block.users) and int(block.users.max()) >= users:
        raise InternalError(OTHER_USERS)


def _no_counts() -> pl.DataFrame:
    return pl.DataFrame(schema={VALUE: pl.String, COUNT: pl.Int64})


def _slots(read: Iterator[TextBlock], encoder: SlotEncoder, shares: StringShares | None) -> pl.DataFrame:
    """Return the slots of each string, of all users."""
    kept = [_no_counts()]
    for block in read:
        if shares is not None:
            shares.add(block)
        kept += encoder.encode(block)
        if sum(map(len, kept[1:])) > MOST_ROWS:
            kept = [_added(kept)]
    return _added(kept)


def _added(frames: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(frames).group_by(VALUE).agg(pl.col(COUNT).sum())


def _released(found: FoundStrings) -> Released:
    return tuple(one.decode("ascii") for one in found.strings), tuple(found.estimates.tolist())


def _level(failure: float) -> float:
    """Return the coverage that leaves at most a probability of failure."""
    return math.nextafter(1.0 - failure, 1.0)
