"""Plan of a stream: a linear question of every period, its rows, and the figures that are made of them.

The statistic of a period is that of the question's own plan, in the coordinates and scales in which that plan adds
noise; the figures of a period are weighted sums of periods (:mod:`emdp.mechanisms.streams.estimates`), given to the
plan's own finisher with the deviation that they have. So a mean among some records over a week is a ratio of the sums
of its days.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from emdp.base.checks import check_count
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators.contract import Records
from emdp.estimators.plan import Plan
from emdp.estimators.renoised import renoised
from emdp.estimators.streams.active import reach_of
from emdp.estimators.streams.changes import difference, of_linear
from emdp.mechanisms.central.edges import EdgeMechanism
from emdp.mechanisms.streams.estimates import SHOWS, combination, estimate, show_weights
from emdp.mechanisms.streams.mechanism import StreamMechanism
from emdp.mechanisms.streams.strategy import Plan as Figures
from emdp.mechanisms.streams.strategy import Strategy, crossing
from emdp.mechanisms.streams.window import FigureNoise
from emdp.privacy import Event, Guarantee, UserDP
from emdp.privacy.guarantees.kinds import UNITS, EmdDP, Unit
from emdp.questions.columns import PlannedColumn, Released
from emdp.questions.public_ranges import check_statistic
from emdp.spaces import Space

__all__ = ["Rows", "StreamPlan", "check_shows", "plan_stream"]

Rows = Mapping[int, Sequence[Sequence[int]]]
"""Released integers by period, counted from 1."""


@dataclass(frozen=True, eq=False)
class StreamPlan:
    """A priced stream: all that is settled before the data is touched.

    Parameters
    ----------
    plan : Plan
        Of one period's question.
    mechanism : StreamMechanism
        Noise of the rows.
    figures : {"days", "totals", "both"}
        What the stream is for.
    """

    plan: Plan
    mechanism: StreamMechanism
    figures: Figures

    @property
    def guarantee(self) -> Guarantee:
        """The promise of all rows together, in the stream's unit."""
        own = self.mechanism
        return self._kind(own.unit).at_level(own.alpha, own.delta)

    def event(self, unit: Unit, before: "StreamPlan | None" = None) -> Event:
        """Return the charge in a unit for opening the stream, or for prolonging it from what it was before."""
        return self.mechanism.event(unit, self._kind(unit), before=None if before is None else before.mechanism)

    def _kind(self, unit: Unit) -> Guarantee:
        """Return the kind of the promise of all rows in a unit; a question at user level has but one."""
        kind = self.plan.guarantee.kind
        periods = self.mechanism.periods if unit == "history" else None
        return replace(kind, unit=unit, periods=periods) if isinstance(kind, EmdDP) else kind

    def terms(self) -> dict[str, Any]:
        """Return the facts that a ledger keeps of the stream: all that later rows must have alike."""
        own = self.mechanism
        return {
            "figures": self.figures,
            "periods": own.periods,
            "unit": own.unit,
            "sensitivity": own.sensitivity,
            "dimension": own.dimension,
            "alpha": own.alpha,
            "delta": own.delta,
            "kind": self.plan.guarantee.kind.to_json(),
            "scales": list(self.plan.scales),
            "days": own.strategy.days,
            "totals": own.strategy.has_totals,
            "sigma": own.sigma,
            "grid": own.grid,
            "statistic_error": own.statistic_error,
            **({} if own.active is None else {"active": own.active, "reach": own.reach}),
        }

    def as_opened(self, terms: Mapping[str, Any], periods: int) -> "StreamPlan":
        """Return the plan with the noise and the rows with which a stream was opened, for so many periods.

        Raises
        ------
        UsageError
            If the statistic's computed error may be larger than what was paid for.
        """
        if self.mechanism.statistic_error > terms["statistic_error"]:
            raise UsageError(
                "the stream was opened for a smaller error of floating-point sums than this period's data have; open "
                "another one."
            )
        own = replace(
            self.mechanism,
            strategy=Strategy(terms["days"], terms["totals"]),
            statistic_error=terms["statistic_error"],
        )
        return replace(self, mechanism=own.prolonged(periods, terms["sigma"], terms["periods"]))

    def rounded(self, opened: tuple[Fraction, ...], records: Records) -> tuple[int, ...]:
        """Return a period's exact statistic as integers, if it lies in its public range: private numbers."""
        (users,) = self.plan.group_sizes(records.most_users)
        check_statistic(self.plan.aggregation, records.space, users, opened)
        return self.mechanism.rounded(self.plan.prepared(opened))

    def drawn(self, past: Sequence[Sequence[int]]) -> list[list[int]]:
        """Return the rows of the last of some periods, with fresh noise: this spends what was charged.

        Parameters
        ----------
        past : sequence of sequence of int
            Integers of all periods up to that one; zeros for those without a row.
        """
        exact, noise = self.mechanism.exact_rows(past), self.mechanism.draw()
        return [[value + z for value, z in zip(*pair, strict=True)] for pair in zip(exact, noise, strict=True)]

    def frame(self, rows: Rows, show: str, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return a figure at the last of some periods, with the columns of the question; no rows where there is none.

        A change that is not linear in the rows is the difference of the two periods' own figures, as each was shown
        (:mod:`emdp.estimators.streams.changes`).
        """
        weights = show_weights(show, sorted(rows))
        if weights is None:
            return self.frame(rows, "day", level, together=together).clear()
        finisher = self.plan.finisher if show != "change" else of_linear(self.plan.finisher)
        if finisher is None:
            last, before = weights
            until = {period: row for period, row in rows.items() if period != last}
            later, new = self._made(self.plan.finisher, rows, {last: 1.0})
            earlier, old = self._made(self.plan.finisher, until, {before: 1.0})
            return difference(later, earlier, (new, old), level, together=together)
        own, released = self._made(finisher, rows, weights)
        made: pl.DataFrame = own.frame(released, level, together=together)
        return made

    def expected(self, shows: Sequence[str]) -> pl.DataFrame:
        """Return the expected errors of figures at the last period, if every period has a row: from public numbers.

        One row a figure and column: figure, query, noise_scale, expected_error, interval_95 (half-width), of the first
        order in the noise where a column is a ratio, under what the column's note assumes.
        """
        rows = []
        for show in shows:
            weights = show_weights(show, range(1, self.mechanism.periods + 1))
            # The first of one period has no change.
            if weights is None:
                continue
            is_difference = show == "change" and of_linear(self.plan.finisher) is None
            days = [{period: 1.0} for period in weights] if is_difference else [weights]
            made = [FigureNoise.of(self._deviation(own), self.mechanism.dimension) for own in days]
            # Each of two intervals misses with half the probability; errors of two days are taken as independent.
            half = math.fsum(own.interval_half_width(0.975 if is_difference else 0.95) for own in made)
            error = math.hypot(*(own.expected_absolute_error for own in made))
            rows += [(show, *self._expected(column, error, half)) for column in self.plan.columns]
        schema = ["figure", "query", "noise_scale", "expected_error", "interval_95"]
        return pl.DataFrame(rows, schema=schema, orient="row")

    def _expected(self, column: PlannedColumn, error: float, half: float) -> tuple[str, float, float, float]:
        """Return a column's name, noise and errors under other noise than that of one release of its own."""
        own = self.plan.mechanisms[0]
        errors = error / own.expected_absolute_error
        scale = error / FigureNoise.of(1.0, 1).expected_absolute_error / own.scale
        return (
            column.name,
            column.noise_scale * scale,
            column.expected_error * errors,
            column.interval_95 * (half / own.interval_half_width(0.95)),
        )

    def _deviation(self, weights: Mapping[int, float]) -> float:
        """Return the deviation of a weighted sum of periods, from the rows of all up to the last of them."""
        own = self.mechanism
        released = tuple(range(1, max(weights) + 1))
        taken = np.array([weights.get(period, 0.0) for period in released])
        return own.sigma * float(np.linalg.norm(combination(own.strategy, released, taken)))

    def _made(self, finisher: Any, rows: Rows, weights: Mapping[int, float]) -> tuple[Any, Released]:
        """Return a finisher with the noise of a weighted sum of periods, and that sum in the statistic's own units."""
        own = self.mechanism
        found = estimate(own.strategy, rows, weights, sigma=own.sigma, grid=own.grid)
        noise = FigureNoise.of(found.deviation, own.dimension)
        released = (self.plan.restored([Fraction(value) for value in found.values.tolist()]),)
        return renoised(finisher, lambda planned: noise), released


def plan_stream(
    plan: Any,
    periods: int,
    *,
    unit: Unit,
    figures: Figures,
    active: int | None = None,
    space: Space | None = None,
    users: int | None = None,
) -> StreamPlan:
    """Return the plan of a stream of a question.

    Parameters
    ----------
    plan : AnyPlan
        Of the question for one period; its alpha (or epsilon) and delta are those of the whole stream.
    periods : int
        How many periods are paid for.
    unit : {"period", "user", "history"}
        Whose histories the level is for.
    figures : {"days", "totals", "both"}
        What the stream is for.
    active : int, optional
        Most periods in which one user counts.
    space, users : Space and int, optional
        Of the table; with ``active``.

    Raises
    ------
    UsageError
        If the question has no stream, or the unit or figures make none.
    """
    if unit not in UNITS:
        raise UsageError(
            f"unit must be 'period', 'user' or 'history', got {unit!r}; say whose histories are to be compared."
        )
    if type(plan) is not Plan or plan.is_cumulative or len(plan.mechanisms) != 1:
        raise UsageError(
            "a stream is of means, shares, histograms and sums over one group of users, linear in the records; "
            "leave GROUP BY of users' columns out, and ask for other answers period by period."
        )
    noise = plan.mechanisms[0]
    if plan.is_constant:
        raise UsageError("the answer is the same on every table, so that it needs no stream; ask for it once.")
    # Rows have noise on every number, and edges' sensitivity is that of flows: half of what cells move by.
    if isinstance(noise, EdgeMechanism) or (noise.norm != 2 and noise.dimension > 1):
        raise UsageError("noise must be Gaussian in a stream; ask with noise = 'gaussian', or leave it out.")
    guarantee = plan.guarantee
    if isinstance(guarantee, UserDP) and unit != "user":
        raise UsageError(
            "unit must be 'user' for a question at user level, whose budget promises of all that somebody did; "
            f"ask with alpha for unit={unit!r}."
        )
    if active is not None and (check_count("active", active) and not isinstance(guarantee, UserDP)):
        raise UsageError(
            "active must be left out of a question with alpha, whose promise does not grow with a cap: a small change "
            "of one period may move which others count; ask with epsilon and unit='user'."
        )
    if unit == "user" and figures != "days":
        _check_totals(figures, periods, active)
    mechanism = StreamMechanism(
        Strategy.of(figures, periods),
        periods,
        unit,
        noise.sensitivity,
        noise.dimension,
        guarantee.level,
        guarantee.delta,
        noise.statistic_error,
        active=active,
        reach=None if active is None or space is None else reach_of(plan, space, users or 1),
    )
    return StreamPlan(plan, mechanism, figures)


def _check_totals(figures: Figures, periods: int, active: int | None) -> None:
    """Refuse totals of users who may change in so many periods that sums of days are as exact."""
    least = crossing(periods)
    if active is None or active >= least:
        capped = f", or active below {least}" if least > 1 else ""
        raise UsageError(
            f"plan must be 'days' where the unit is the user, got {figures!r}: somebody may change in every period, "
            f"which totals would add up, and sums of days are more exact; take plan='days', or unit='period'{capped}."
        )


def check_shows(shows: Sequence[str]) -> tuple[str, ...]:
    """Return names of figures, or raise ``UsageError`` if one is none."""
    wrong = [show for show in shows if show not in SHOWS]
    if wrong or not shows:
        raise UsageError(f"show must hold some of {', '.join(map(repr, SHOWS))}, got {list(shows)!r}; pass those.")
    return tuple(dict.fromkeys(shows))
