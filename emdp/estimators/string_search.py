"""Frequent strings of an unknown list: what is searched for, by whom, and the rows of what was found.

In the local and the shuffle model users answer along prefixes (:mod:`emdp.mechanisms.heavy_hitters`). Every oracle's
message is that of one uniform record of its user, which does not depend on what is asked; so that record's string is
all that is kept of a user, and blocks are read once. Shuffled are the messages of a level; they amplify with the
number of the level's users, and a user is in one level alone. In the central model noise is added to the strings that
occur (:mod:`emdp.mechanisms.stable_histogram`).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from emdp.errors import InternalError, UsageError
from emdp.estimators.messages import TRUST, WEIGHING, MessagePlan, MessageRelease
from emdp.estimators.string_rows import FoundRows, StringShares
from emdp.expressions.columns import PlannedColumn
from emdp.expressions.heavy_hitters import EPSILONS, HeavyHitters
from emdp.expressions.reading import Reading, TextBlock, TextColumn
from emdp.mechanisms.heavy_hitters import HeavyHitterSearch, sampling_error
from emdp.mechanisms.oracle_bags import Bags
from emdp.mechanisms.stable_histogram import StableHistogram, best_histogram
from emdp.privacy import GuaranteeEvent, UserDP, shuffle_alpha, shuffle_alpha0

__all__ = ["PrefixRelease", "StringCounts", "plan_heavy_hitters"]

TEXT, COUNT = "value", "count"

MOST_ROWS = 2**22
"""Rows of counts after which equal strings are put together."""

LEAST_STEP = 1.01
"""How near to the smallest threshold that users and price allow the one for ``count`` is."""

LEAST_THRESHOLD = 1e-5

Released = tuple[tuple[str, ...], tuple[float, ...]]
"""The strings that were found and their estimates."""


@dataclass(frozen=True, eq=False)
class PrefixRelease(MessageRelease):
    """One message of every user along prefixes.

    Parameters
    ----------
    search : HeavyHitterSearch
        The search.
    accounted : str
        Which theorem gives the guarantee, where messages are shuffled; empty in the local model.
    """

    search: HeavyHitterSearch
    accounted: str = ""

    @property
    def theorem(self) -> str:
        """The guarantee's source, in one line."""
        own = "a user sends one message, epsilon-LDP at user level given all before it (emdp.mechanisms.heavy_hitters)"
        return f"{self.accounted}; {own}" if self.accounted else own

    @property
    def slack_epsilon(self) -> float:
        """0: messages are drawn from integer probabilities."""
        return 0.0

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        """Return the search as an answer's derivation shows it."""
        del unit
        search = self.search
        most = f"at most {search.candidates_at(search.step)} candidates a level, {search.most_survivors} of them pass"
        return (("search", search.explain()), ("levels", most))

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
        strings = tuple(one.decode("ascii") for one in found.strings)
        return (strings, tuple(found.estimates.tolist())), None if shares is None else (shares.frame(),)


@dataclass(frozen=True, eq=False)
class StringCounts(MessageRelease):
    """Noise on the slots of the strings that occur.

    Parameters
    ----------
    histogram : StableHistogram
        The mechanism.
    """

    histogram: StableHistogram

    @property
    def theorem(self) -> str:
        """The guarantee's source, in one line."""
        return (
            "discrete Laplace noise on bounded slots of every user, a threshold for strings that only one user has "
            "(emdp.mechanisms.stable_histogram)"
        )

    @property
    def slack_epsilon(self) -> float:
        """0: slots, noise and threshold are integers, drawn exactly."""
        return 0.0

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        """Return the mechanism as an answer's derivation shows it."""
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
        frames: list[pl.DataFrame] = []
        for block in read:
            _check_numbers(block, users)
            slots = self.histogram.draw_slots(Bags(block.offsets, np.arange(len(block.counts)), block.counts))
            frame = pl.DataFrame([block.texts.alias(TEXT), pl.Series(COUNT, slots)])
            frames.append(_added([frame.filter((pl.col(COUNT) > 0) & pl.col(TEXT).is_not_null())]))
            if sum(map(len, frames[1:])) > MOST_ROWS:
                frames = [_added(frames)]
            if shares is not None:
                shares.add(block)
        counted = (_added(frames) if frames else pl.DataFrame(schema={TEXT: pl.String, COUNT: pl.Int64})).sort(TEXT)
        noisy = self.histogram.draw_counts(counted.get_column(COUNT).to_numpy())
        kept = counted.with_columns(pl.Series(COUNT, noisy)).filter(pl.col(COUNT) >= 0)
        kept = kept.sort(COUNT, TEXT, descending=[True, False])
        estimates = kept.get_column(COUNT).to_numpy() / self.histogram.total
        released = tuple(kept.get_column(TEXT).to_list()), tuple(estimates.tolist())
        return released, None if shares is None else (shares.frame(),)


@dataclass(frozen=True, eq=False)
class _Method:
    """What answers a query, priced."""

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
    users : int
        The public number of users.

    Raises
    ------
    UsageError
        If users and price do not allow the threshold; the message says which they do.

    Guarantee
    ---------
    ``(epsilon, delta)`` at user level in the query's model: the texts of the two mechanisms.

    >>> query = HeavyHitters("message", threshold=0.001, epsilon=2.0, delta=1e-9, model="central", words=True)
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
            column=TextColumn(query.column, query.words, query.lower, query.longest, query.characters),
        ),
        releaser=method.releaser,
        event=GuaranteeEvent(method.guarantee, "frequent strings"),
        columns=(column,),
        choice=method.choice,
        finisher=rows,
        weighing=WEIGHING,
        notes=(_found(query, method, width), _strings(query), method.note),
        assumptions=TRUST[query.model],
        without_records="none of the strings",
    )


def _along_prefixes(query: HeavyHitters, users: int) -> _Method:
    if query.threshold is not None:
        threshold, made = query.threshold, _try_search(query, users, query.threshold)
        if made is None:
            least = _least_threshold(query, users)
            reached = "no threshold is in reach" if least is None else f"{least:.3g} is in reach"
            raise UsageError(
                f"threshold {threshold:g} needs more than {users} users at epsilon = {query.epsilon:g} in the "
                f"{query.model} model, where {reached}; ask for a larger one, for shorter strings (length=), or with "
                "model='central' and delta above 0."
            )
    else:
        found = _least_threshold(query, users)
        made = None if found is None else _try_search(query, users, found)
        if found is None or made is None:
            raise UsageError(
                f"users must be more than {users} to find any string at epsilon = {query.epsilon:g} in the "
                f"{query.model} model; ask for shorter strings (length=), or with model='central' and delta above 0."
            )
        threshold = found
    search, guarantee = made
    accounted, mixed = "", ""
    if query.model == "shuffle":
        accounted = "the messages of a level, shuffled: exact clone steps for m = 1 (EMD 3)"
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
    epsilon = float(query.epsilon or 0.0)
    histogram = best_histogram(users, epsilon, query.delta, query.failure)
    least = histogram.complete_above
    if not least < 1.0 or (query.threshold is not None and query.threshold < least):
        reached = "no threshold is in reach" if not least < 1.0 else f"{least:.3g} is in reach"
        wanted = "any" if query.threshold is None else f"{query.threshold:g}"
        raise UsageError(
            f"threshold {wanted} needs more than {users} users at epsilon = {epsilon:g} and delta = {query.delta:g}, "
            f"where {reached}; ask for a larger one, or pay more."
        )
    choice = (
        f"noise on the counts of strings that occur, {histogram.slots} slots a user, strings below "
        f"{histogram.threshold / histogram.total:.3g} left out."
    )
    note = "strings of any characters may appear as they stand in the records"
    return _Method(
        StringCounts(histogram),
        UserDP(epsilon, query.delta),
        least if query.threshold is None else query.threshold,
        histogram.standard_deviation,
        choice,
        note,
    )


def _try_search(query: HeavyHitters, users: int, threshold: float) -> tuple[HeavyHitterSearch, UserDP] | None:
    """Return the search for a threshold with what it guarantees; None where it takes more users."""
    epsilon = float(query.epsilon or 0.0)
    alphabet, length = (query.characters or "").encode("ascii"), query.longest or 1

    def made(count: int, strength: float) -> HeavyHitterSearch | None:
        try:
            return HeavyHitterSearch(count, strength, threshold, alphabet, length, query.failure)
        except UsageError:
            return None

    if query.model == "local":
        search = made(users, epsilon)
        return None if search is None else (search, UserDP(epsilon, 0.0, "local"))
    # How many levels there are follows from the threshold and the strings alone.
    planned = made(2**40, 20.0)
    level_users = 0 if planned is None else users // planned.levels
    if level_users < 2:
        return None
    strength = _strength(epsilon, level_users, query.delta)
    search = made(users, strength)
    if search is None:
        return None
    reached = shuffle_alpha(search.epsilon, 1, level_users, query.delta, 1.0)
    return search, UserDP(reached, query.delta, "shuffle")


def _least_threshold(query: HeavyHitters, users: int) -> float | None:
    """Return nearly the smallest threshold that users and price allow; None where none below 1 is allowed."""
    high, low = math.nextafter(1.0, 0.0), LEAST_THRESHOLD
    if _try_search(query, users, high) is None:
        return None
    while high > LEAST_STEP * low:
        middle = math.sqrt(low * high)
        if _try_search(query, users, middle) is None:
            low = middle
        else:
            high = middle
    return high


@lru_cache(maxsize=32)
def _strength(epsilon: float, users: int, delta: float) -> float:
    """Return the strength of a message that costs at most epsilon once those of all its level are mixed."""
    return min(shuffle_alpha0(epsilon, 1, users, delta, 1.0), EPSILONS[1])


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
    none = f"; strings {' or '.join(limits)} count as none" if limits else ""
    return f"{what}, {case}{none}; missing texts are records without one, and a user without records has none"


def _check_numbers(block: TextBlock, users: int) -> None:
    if len(block.users) and int(block.users.max()) >= users:
        raise InternalError("more users came from the engine than there are; please report it.")


def _added(frames: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(frames).group_by(TEXT).agg(pl.col(COUNT).sum())


def _level(failure: float) -> float:
    """Return the coverage that leaves at most a probability of failure."""
    return math.nextafter(1.0 - failure, 1.0)
