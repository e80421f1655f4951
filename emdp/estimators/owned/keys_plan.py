"""Plans of statements that ask for groups alone, which nobody listed: found by weights, in rounds.

Every user gives each of their groups the same weight, of 2-norm 1 together, and a group is shown where its weight with
noise passes a threshold; in the next round users give their weight to groups that were not found yet
(:mod:`emdp.mechanisms.keys.weighted`, which has theorem and proof). Where most groups are rare that finds more of them
than a count of users does, and no number is released of any.
"""

import math
from typing import Any

import numpy as np
import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators.columns.ordering import ordered
from emdp.estimators.columns.sizes import check_level
from emdp.estimators.contract import Records
from emdp.estimators.owned.found import Found, FoundRows
from emdp.estimators.owned.frame_plan import FramePlan
from emdp.estimators.user_groups import check_names
from emdp.mechanisms.keys.weighted import WeightedKeys
from emdp.questions.columns import PlannedColumn
from emdp.questions.owned.groups import OwnedKeys
from emdp.questions.owned.question import OwnedSelect

__all__ = ["KeysPlan", "plan_keys"]


@dataclass(frozen=True, eq=False, kw_only=True)
class KeysPlan(FramePlan):
    """A priced release of groups alone; ``keys`` is what draws."""

    aggregation: OwnedKeys
    keys: WeightedKeys

    @property
    def mechanisms(self) -> tuple[WeightedKeys, ...]:
        return (self.keys,)

    @property
    def weighing(self) -> str:
        return f"every user counts alike, with one weight in each of at most {self.keys.keys} groups a round"

    def drawn(self, frame: pl.DataFrame, records: Records, *, keep_exact: bool) -> tuple[Found, Found | None]:
        del records
        names = [f"key_{place}" for place in range(len(self.aggregation.keys))]
        # In an order of their values, which tells nothing of users.
        groups = frame.select(names).unique().sort(names, nulls_last=False)
        places = _places(frame, groups, names)
        found = self.keys.release(frame.get_column("user_place").to_numpy(), places)
        rows = groups[np.sort(np.concatenate(found)).tolist()]
        released = Found(tuple(tuple(rows.get_column(name)) for name in names), ())
        return released, released if keep_exact else None


def plan_keys(query: OwnedSelect) -> KeysPlan:
    """Return the plan of a statement of groups alone.

    Parameters
    ----------
    query : OwnedSelect
        Without items; a key of it has no list.
    """
    _check(query)
    price, kept = query.price, query.groups_cap or 0
    keys = WeightedKeys(price.level, price.delta, kept, price.neighbours)
    names = tuple(key.name for key in query.keys)
    shown = tuple(dict.fromkeys((*query.columns, *names)))
    rows = FoundRows(tuple((key.name, key.node.kind) for key in query.keys), (), None, shown)
    return KeysPlan(
        aggregation=OwnedKeys(query.relation, query.keys, query.public),
        keys=keys,
        event=keys.event(price.promise()),
        columns=tuple(_preview(key.name, str(key.node), keys.people) for key in query.keys if not key.is_listed)[:1],
        choice=f"Gaussian noise on weights of groups and thresholds, in {len(keys.sigmas)} rounds.",
        finisher=ordered(rows, query.order, limit=query.limit, offset=query.offset, columns=rows.sortable),
        notes=(
            f"a group is shown half of the time where {keys.people} users have it who have no other, and of users with "
            "more groups where more have it; groups that are not shown may exist, and no number is released of any",
            f"of a user in more than {kept} groups {kept} are looked at in a round, and others in the next one",
        ),
    )


def _check(query: OwnedSelect) -> None:
    check_level(query.price.level)
    if query.items or all(key.is_listed for key in query.keys):
        raise UsageError("items must be none, and a key without a list; ask for groups that nobody listed.")
    if query.price.delta == 0 or query.groups_cap is None:
        raise UsageError(
            "delta and max_groups_per_user must be given for keys without a public list; add delta = 1e-9 and "
            "max_groups_per_user = 30."
        )
    if query.noise not in ("auto", "gaussian"):
        raise UsageError("noise must be 'gaussian' for groups alone; leave it out.")
    check_names([key.name for key in query.keys])


def _places(frame: pl.DataFrame, groups: pl.DataFrame, names: list[str]) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """Return the place of each row's group."""
    numbered = groups.with_row_index("number")
    joined = frame.select(names).join(numbered, on=names, how="left", nulls_equal=True, maintain_order="left")
    return joined.get_column("number").cast(pl.Int64).to_numpy()


def _preview(name: str, written: str, people: int) -> PlannedColumn:
    return PlannedColumn(
        name=name,
        expression=written,
        lipschitz=math.inf,
        low=0.0,
        high=math.inf,
        noise_scale=0.0,
        expected_error=0.0,
        interval_95=0.0,
        note=f"no number: a group is shown half of the time where {people} users have it alone",
        written=name,
    )
