"""Automatic caps: noisy users by octave of their records give a cap, the plan at that cap, and the rows of an answer.

All of it is post-processing of what :mod:`emdp.mechanisms.contribution.octaves` released.
"""

import math
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

import polars as pl

from emdp.base.classes import dataclass
from emdp.estimators.owned.plan import OwnedPlan
from emdp.estimators.owned.totals import plan_owned
from emdp.mechanisms.contribution.cap import Cap, choose_cap, cut_at
from emdp.mechanisms.contribution.octaves import OctaveHistogram
from emdp.mechanisms.release import Mechanism
from emdp.questions.columns import Finisher, Released, unordered
from emdp.questions.owned.question import OwnedSelect
from emdp.questions.owned.totals import AMOUNT_BITS, MOST_CAP
from emdp.questions.shape import Shape

__all__ = ["CapRule", "MeasuredRelease", "MeasuredRows", "octave_bins"]


@dataclass(frozen=True, eq=False)
class CapRule:
    """Public rule from noisy octaves to a cap, an estimate of what it leaves out, and a plan."""

    query: OwnedSelect  # With the law and the price of the second release
    users: int | None  # The public number of users, if there is one
    histogram: OctaveHistogram
    kappa: float  # Scale of the noise on a count of records at a cap of 1
    cells: int
    _plans: dict[tuple[int, float | None], OwnedPlan] = field(default_factory=dict, repr=False)

    @property
    def unit(self) -> int:
        """Units of the octaves and of the cap in a record: in one of the largest amounts where these are capped."""
        return 2**AMOUNT_BITS if self.query.amounts else 1

    def cap(self, noisy: Sequence[int]) -> int:
        """Return the cap: the given one, or that of least expected error."""
        return min(math.ceil(self._least(noisy).cap), MOST_CAP - 1) if self.query.cap is None else self.query.cap

    def cut(self, noisy: Sequence[int]) -> float | None:
        """Return the estimate of how many records the cap leaves out, of all users and groups.

        None where no octave stands out from its noise: then nothing is known of it.
        """
        if self._least(noisy).seen == 0:
            return None
        return cut_at(noisy, self.histogram.scale, float(self.cap(noisy)))

    def plan(self, noisy: Sequence[int]) -> OwnedPlan:
        """Return the plan of the second release."""
        return self.plan_at(self.cap(noisy), self.cut(noisy))

    def plan_at(self, cap: int, cut: float | None = None) -> OwnedPlan:
        """Return the plan at a cap."""
        key = (cap, cut)
        found = self._plans.get(key)
        if found is None:
            found = plan_owned(
                replace(self.query, cap=cap), users=self.users, cut=None if cut is None else cut / self.unit
            )
            # The last one alone is kept, for the rows of the answer that it made.
            self._plans.clear()
            self._plans[key] = found
        return found

    def _least(self, noisy: Sequence[int]) -> Cap:
        record = AMOUNT_BITS if self.query.amounts else 0
        return choose_cap(noisy, self.histogram.scale, self.kappa, self.cells, record)


@dataclass(frozen=True)
class MeasuredRelease:
    """The two releases, as a reader of an answer sees them."""

    histogram: OctaveHistogram
    noise: Mechanism  # The second, at what a preview assumes
    assumed: str | None  # What it assumes, in words; None where nothing is chosen
    slack_epsilon: float  # What is charged for rounding, whatever the cap
    is_exact = False

    @property
    def theorem(self) -> str:
        return f"{self.histogram.theorem}; then {self.noise.theorem}; their epsilons add up"

    @property
    def slack_delta(self) -> float:
        """The part of delta that covers rounding, of the second release."""
        return self.noise.slack_delta

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        first = ("octaves", f"epsilon {self.histogram.epsilon:.6g}, noise scale {self.histogram.scale:.6g} users a bin")
        end = "" if self.assumed is None else f", at {self.assumed}"
        return (first, *((name, f"{fact}{end}") for name, fact in self.noise.facts(unit)))


@dataclass(frozen=True, eq=False)
class MeasuredRows:
    """Rows of an answer whose first released group is the cap and the noisy octaves, and whose others are the sums."""

    rule: CapRule
    shape: Shape
    is_capped: bool = False

    def frame(self, released: Released, level: float, *, together: bool = False) -> pl.DataFrame:
        return self._rows(released).frame(self._rest(released), level, together=together)

    def of_capped(self) -> "MeasuredRows":
        """Return the same rows with intervals of capped totals in place of true ones."""
        return replace(self, is_capped=True)

    def exact(self, statistics: Released) -> pl.DataFrame:
        return self._rows(statistics).exact(self._rest(statistics))

    def diagnostics(self, released: Released) -> dict[str, Any]:
        """Return the cap, the estimated number of records that it leaves out, and users by octave of their records."""
        noisy = _octaves(released)
        cut = self.rule.cut(noisy)
        return {
            "cap": self.rule.cap(noisy) / self.rule.unit if self.rule.query.amounts else self.rule.cap(noisy),
            "records_left_out": None if cut is None else cut / self.rule.unit,
            "users_by_records": octave_bins(noisy, "records", self.rule.unit),
            "users_noise_scale": self.rule.histogram.scale,
        }

    def remarks(self, released: Released) -> tuple[str, ...]:
        """Return the cap and what it leaves out, and what the statement's own rows remark."""
        own = getattr(unordered(self._rows(released)), "remarks", None)
        return (self._told(_octaves(released)), *(() if own is None else own(self._rest(released))))

    def _told(self, noisy: Sequence[int]) -> str:
        """Return the cap and what it leaves out, in words."""
        how = "a cap of" if self.rule.query.cap is not None else "the cap was chosen as"
        cut, cap = self.rule.cut(noisy), self.rule.cap(noisy)
        shown = f"{cap / self.rule.unit:.4g}" if self.rule.query.amounts else str(cap)
        of = " of the largest amounts" if self.rule.query.amounts else ""
        what = (
            "no octave of users stands out from its noise, so that nothing is known of the records it leaves out"
            if cut is None
            else f"it leaves out about {cut / self.rule.unit:.4g} records{of}, an estimate that rests on the shape of "
            "the tail"
        )
        return f"{how} {shown} records{of} a user; {what}"

    def _rest(self, released: Any) -> Any:
        """Return what the statement's own rows take: all but the octaves."""
        return released[1:]

    def _rows(self, released: Released) -> Finisher:
        finisher = self.rule.plan(_octaves(released)).finisher
        inner = getattr(finisher, "of_capped", None) if self.is_capped else None
        found: Finisher = finisher if inner is None else inner()
        return found


def octave_bins(noisy: Sequence[int], what: str, unit: int = 1) -> pl.DataFrame:
    """Return noisy numbers of users by octave as a table: above how many, up to how many, and users."""
    bins = range(len(noisy))
    ends = [2**place if unit == 1 else 2**place / unit for place in bins]
    found = {
        f"{what}_above": [0 * ends[0], *ends[:-1]],
        f"{what}_up_to": [*ends[:-1], None],
        "users": list(noisy),
    }
    return pl.DataFrame(found)


def _octaves(released: Released) -> tuple[int, ...]:
    return tuple(map(int, released[0]))
