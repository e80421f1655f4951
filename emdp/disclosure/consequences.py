"""Consequences of a budget: for each story the largest beliefs and detections that it allows, in all.

The bounds are those of :mod:`emdp.privacy.inference`, at ``eps = alpha d_em`` with the budget's slack for rounding.
With a ``delta`` a belief may exceed its bound: bounds are stated at ``eps + BELIEF_SLACK`` then, and ``failure`` says
how often they may fail (T4). All is a function of public numbers, so that it may be published.

In every story a person's records become others. What is stated by removal costs two steps then, out and in: twice its
epsilon, and its delta ``1 + exp(epsilon)`` times (:mod:`emdp.privacy.guarantees.conversions`, theorem 2).
"""

import math
from collections.abc import Sequence
from dataclasses import field
from fractions import Fraction
from typing import TYPE_CHECKING

from emdp.base.checks import check_count, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.disclosure.stories import Story, default_stories
from emdp.disclosure.words import belief, sentence, warnings_of
from emdp.privacy import DiscreteEmdDP, EmdDP, Guarantee, UserDP, convert, epsilon_curve, gaussian_mu
from emdp.privacy.events.table import GuaranteeEvent
from emdp.privacy.guarantees.kinds import is_by_removal, is_by_source
from emdp.privacy.inference import (
    curve_advantage,
    curve_power,
    failure,
    gaussian_advantage,
    gaussian_posterior,
    group_loss,
    posterior,
    posterior_floor,
)
from emdp.privacy.rounding import as_decimal, float_up
from emdp.spaces import Space

if TYPE_CHECKING:
    import polars as pl

    from emdp.pictures import Picture

__all__ = ["BELIEF_SLACK", "NO_PROTECTION", "PRIORS", "Consequence", "Consequences", "consequences_of"]

PRIORS = (0.5, 0.1, 0.01)
"""Beliefs before: a coin toss, a suspicion, a rare fact. One alone would hide what base rates do."""

BELIEF_SLACK = 0.1
"""Added to epsilon where there is a delta; beliefs may then exceed their bound about ``10 delta`` of the time (T4)."""

FALSE_ALARMS = 0.01
"""Rate of false alarms at which detection is stated."""

NO_PROTECTION = 30.0
"""Epsilon above which nothing is protected: what the story says has to be taken for known."""

USUAL = 0.99
"""Share of answers below the usual belief under Gaussian noise."""

CURVE_DELTAS = (1e-2, 1e-3, 1e-4, 1e-6, 1e-9)
"""Deltas at which the curve of reports that are fixed in advance is looked up."""


@dataclass(frozen=True)
class Consequence:
    """Bounds on what may be learned of one story.

    Parameters
    ----------
    story : Story
        The change.
    d_em : float
        Its largest earth-mover distance.
    epsilon : float
        Loss that the budget allows for it, rounded up.
    beliefs : tuple of float
        For each prior the largest belief afterwards.
    floors : tuple of float
        For each prior the smallest one.
    caught : float
        Largest rate of detection at one false alarm in a hundred.
    advantage : float
        Largest gap between detection and false alarms.
    gaussian_advantage, usual_belief : float or None
        The same gap where all noise is Gaussian, and a belief (from the first prior) that 99 of 100 answers stay below;
        None without a delta.
    """

    story: Story
    d_em: float
    epsilon: float
    beliefs: tuple[float, ...]
    floors: tuple[float, ...]
    caught: float
    advantage: float
    gaussian_advantage: float | None = None
    usual_belief: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether no belief is bounded to speak of."""
        return self.epsilon > NO_PROTECTION


@dataclass(frozen=True, repr=False)
class Consequences:
    """Consequences of a guarantee for one person, story by story.

    Parameters
    ----------
    guarantee : Guarantee
        What may be released in all, or what one statement releases.
    priors : tuple of float
        Beliefs before.
    rows : tuple of Consequence
        One a story, the smallest change first.
    failure : float
        How often a belief may lie outside its bounds, at most; 0 without a delta.
    reports : int
        How many such releases there are, all of them fixed in advance where it is above 1.
    group : int
        How many people change together.
    warnings : tuple of str
        What a reader must know beside the numbers.
    beside : tuple of Guarantee
        Of what else is released about the same people, which the numbers have in them.

    Attributes
    ----------
    frame : polars.DataFrame
        One row a story.

    >>> from emdp.spaces import Interval
    >>> found = consequences_of(Interval("x", 0, 40), EmdDP(20.0), stories=[Story("one visit of 20", 1/20)])
    >>> [round(belief, 3) for belief in found.rows[0].beliefs]
    [0.731, 0.232, 0.027]
    """

    guarantee: Guarantee
    priors: tuple[float, ...]
    rows: tuple[Consequence, ...]
    failure: float = 0.0
    reports: int = 1
    group: int = 1
    warnings: tuple[str, ...] = field(default=())
    beside: tuple[Guarantee, ...] = ()

    @property
    def promise(self) -> str:
        """All that is promised, in one line."""
        return ", and ".join(map(str, (self.guarantee, *self.beside)))

    @property
    def frame(self) -> "pl.DataFrame":
        """Rows as a table: story, d_em, epsilon, a column a prior, caught, advantage, two of Gaussian noise."""
        import polars as pl

        columns: dict[str, list[object]] = {
            "story": [row.story.title for row in self.rows],
            "d_em": [row.d_em for row in self.rows],
            "epsilon": [row.epsilon for row in self.rows],
        }
        for place, prior in enumerate(self.priors):
            columns[f"belief_from_{prior:g}"] = [row.beliefs[place] for row in self.rows]
        columns["caught_at_1_percent"] = [row.caught for row in self.rows]
        columns["advantage"] = [row.advantage for row in self.rows]
        if any(row.gaussian_advantage is not None for row in self.rows):
            columns["gaussian_advantage"] = [row.gaussian_advantage for row in self.rows]
            columns["gaussian_usual_belief"] = [row.usual_belief for row in self.rows]
        return pl.DataFrame(columns)

    @property
    def picture(self) -> "Picture":
        """Picture of beliefs before and after, one row a story."""
        from emdp.pictures.beliefs import draw_beliefs

        prior = self.priors[0]
        rows = [
            belief(row.story.title, prior, None if row.is_open else (row.floors[0], row.beliefs[0]))
            for row in self.rows
        ]
        return draw_beliefs(rows, title="How sure can somebody be afterwards, at most?")

    def sentences(self) -> tuple[str, ...]:
        """Return the consequences in words, one sentence a story."""
        return tuple(self.sentence(row) for row in self.rows)

    def sentence(self, row: Consequence) -> str:
        """Return what one row says, in one sentence."""
        return sentence(row.story.title, self.priors, None if row.is_open else row.beliefs, row.caught)

    def _repr_html_(self) -> str:
        from emdp.base.html import frame_html

        return f"{self.picture.svg}{frame_html(self.frame)}"

    def __repr__(self) -> str:
        return "\n".join(self.sentences())


def consequences_of(
    space: Space,
    guarantee: Guarantee,
    *,
    stories: Sequence[Story] | None = None,
    priors: Sequence[float] = PRIORS,
    slack: float = 0.0,
    reports: int = 1,
    group: int = 1,
    beside: Sequence[Guarantee] = (),
) -> Consequences:
    """Return what a guarantee lets an attacker learn, for stories about one person's records.

    Parameters
    ----------
    space : Space
        Of the table.
    guarantee : Guarantee
        What may be released in all, or what one statement releases.
    stories : sequence of Story, optional
        By default those that the space suggests.
    priors : sequence of float
        Beliefs before, each in (0, 1).
    slack : float
        Epsilon beside the guarantee, for rounding.
    reports : int
        How many such releases there are, fixed in advance, the change being in each of them: priced by the best bound
        there is (T7).
    group : int
        How many people change together in the same way (T8).
    beside : sequence of Guarantee
        Of what else is released about the same people, as often: epsilons and deltas of each story add up (T7).

    Raises
    ------
    UsageError
        If an argument is out of its range, a story leaves open in which part of a product space it happens, or both
        several reports and a group are asked for.

    References
    ----------
    :mod:`emdp.privacy.inference`, T1 to T8.

    >>> from emdp.spaces import Geo
    >>> city = Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km")
    >>> found = consequences_of(city, EmdDP(20.0), stories=[Story("home is 5 km away", 0.6, 5.0)])
    >>> round(found.rows[0].epsilon, 3), round(100 * found.rows[0].beliefs[0], 1)
    (0.883, 70.7)
    """
    before = tuple(check_unit_interval("prior", prior) for prior in priors)
    if not before:
        raise UsageError("priors must hold at least one belief; pass numbers such as 0.5.")
    count, people = check_count("reports", reports), check_count("group", group)
    if count > 1 and people > 1:
        raise UsageError("reports and group cannot both be above 1; ask for one of them.")
    if any(map(is_by_source, (guarantee, *beside))):
        raise UsageError(
            "guarantee is of one period, or of many, and stories are of all that somebody did; pass one per user."
        )
    own = tuple(default_stories(space) if stories is None else stories)
    if not own:
        raise UsageError("stories must hold at least one story; pass some, or leave them out.")
    model = _Losses(guarantee, slack, count, people, tuple(beside))
    rows = tuple(_row(story, story.d_em(space), model, before) for story in own)
    lost = max(model.delta_of(row.d_em) for row in rows)
    failing = min(1.0, 2.0 * failure(lost, BELIEF_SLACK)) if lost < 1 else 1.0
    # What is said of levels beside the rows is of all reports together, too.
    told = [own.at_level(float_up(as_decimal(own.level) * count), own.delta) for own in (guarantee, *beside)]
    warnings = warnings_of(space, told)
    return Consequences(guarantee, before, rows, failing, count, people, warnings, tuple(beside))


@dataclass(frozen=True)
class _Losses:
    """From a distance to the loss that a guarantee allows."""

    guarantee: Guarantee
    slack: float
    reports: int
    group: int
    beside: tuple[Guarantee, ...] = ()

    def epsilon_of(self, d: float) -> float:
        """Return epsilon for a change at a distance; infinity where nothing is promised."""
        return self._group(d)[0]

    def delta_of(self, d: float) -> float:
        """Return delta for a change at a distance."""
        return self._group(d)[1]

    def _group(self, d: float) -> tuple[float, float]:
        found = [_lost(promise, self.slack, d) for promise in (self.guarantee, *self.beside)]
        losses = [own for own in found if own is not None]
        if len(losses) < len(found):
            return math.inf, self.guarantee.delta
        loss = sum((own for own, _ in losses), Fraction(0))
        delta = sum((own for _, own in losses), Fraction(0))
        if self.group > 1:
            return group_loss([float_up(loss)] * self.group, float_up(delta))
        return float_up(loss * self.reports), float_up(min(Fraction(1), delta * self.reports))

    def curve_of(self, d: float) -> list[tuple[float, float]]:
        """Return points of the privacy curve, the plain sum among them."""
        points = [(self.epsilon_of(d), self.delta_of(d))]
        promise = self.guarantee
        if self.reports > 1 and not self.beside and isinstance(promise, EmdDP) and promise.level > 0:
            events = [GuaranteeEvent(promise.at_level(promise.level, promise.delta))] * self.reports
            for delta in CURVE_DELTAS:
                if delta > points[0][1]:
                    loss = float(epsilon_curve(events, delta, [d])[0])
                    points.append((float_up(as_decimal(loss) + as_decimal(self.slack) * self.reports), delta))
        return points

    def shift_of(self, d: float) -> float | None:
        """Return ``mu d`` of Gaussian noise at the guarantee's level and delta; None without a delta."""
        promise = self.guarantee
        if self.beside or not promise.delta or not promise.level or not isinstance(promise, EmdDP | UserDP):
            return None
        rate = d if isinstance(promise, EmdDP) else 2.0 if is_by_removal(promise) else 1.0
        return gaussian_mu(promise.level, promise.delta) * rate * math.sqrt(self.reports) * self.group


def _lost(promise: Guarantee, slack: float, d: float) -> tuple[Fraction, Fraction] | None:
    """Return epsilon and delta of one release for one person's change at a distance; None where nothing is promised."""
    if isinstance(promise, DiscreteEmdDP) and d > promise.r:
        return None
    rate = as_decimal(d) if isinstance(promise, EmdDP) else Fraction(1)
    loss = as_decimal(promise.level) * rate + as_decimal(slack)
    if not is_by_removal(promise):
        return loss, as_decimal(promise.delta)
    try:
        doubled = convert(promise.at_level(float_up(loss), promise.delta), UserDP(0.0))
    except UsageError:
        # Its delta would reach 1.
        return None
    return as_decimal(doubled.level), as_decimal(doubled.delta)


def _row(story: Story, d: float, model: _Losses, priors: tuple[float, ...]) -> Consequence:
    epsilon = model.epsilon_of(d)
    if not math.isfinite(epsilon):
        ones = (1.0,) * len(priors)
        return Consequence(story, d, epsilon, ones, (0.0,) * len(priors), 1.0, 1.0)
    belief = epsilon + (BELIEF_SLACK if model.delta_of(d) else 0.0)
    curve = model.curve_of(d)
    shift = model.shift_of(d)
    return Consequence(
        story,
        d,
        epsilon,
        tuple(posterior(prior, belief) for prior in priors),
        tuple(posterior_floor(prior, belief) for prior in priors),
        curve_power(FALSE_ALARMS, curve),
        curve_advantage(curve),
        None if shift is None else gaussian_advantage(shift),
        None if shift is None else gaussian_posterior(priors[0], shift, USUAL),
    )
