"""Item-wise release as one of the methods for frequencies: its plan, its expected errors, and when it is weighed.

Item-wise release promises between bags of one public size, which the table declares (``records=``) or sampling makes
(``sizes=``). Its strength is calibrated by accountants that look at the randomizer's whole law: under a second for k-RR
and GKRR on some hundred items, but half a minute for the exponential randomizer on 300 items of a line in the local
model. So the automatic choice weighs it up to the numbers of items below, and what it found is remembered.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.errors import InternalError, RefusedError, UsageError
from emdp.estimators.frequency.models import ErrorModel, checked_prior, randomizer_errors
from emdp.estimators.frequency.rows import PooledRows
from emdp.estimators.itemwise.itemwise import plan_itemwise
from emdp.estimators.itemwise.release import ItemwiseRelease
from emdp.estimators.itemwise.rows import CountRows
from emdp.estimators.messages import MessagePlan
from emdp.mechanisms.items.exponential import Exponential
from emdp.mechanisms.items.finite import FiniteRandomizer
from emdp.mechanisms.items.gkrr import GKRR
from emdp.mechanisms.items.krr import KRR
from emdp.questions.item_frequencies import ItemFrequencies
from emdp.questions.itemwise import Itemwise
from emdp.spaces import Clusters, Space, count_items
from emdp.spaces.base import Floats

__all__ = ["check_weighable", "itemwise_model", "plan_item_shares"]

MOST_WEIGHED = {KRR: 600, GKRR: 300, Exponential: 200}
"""Most items of which the automatic choice weighs each randomizer where all records are mixed: about a second."""

MOST_WEIGHED_LOCALLY = {KRR: 600, GKRR: 300, Exponential: 40}
"""The same where each user's records are mixed apart: of the exponential one all pairs of items are looked at."""


def plan_item_shares(query: ItemFrequencies, *, space: Space, users: int, records: int | None) -> MessagePlan:
    """Return the plan of an item-wise release of which frequencies are estimated.

    Parameters
    ----------
    query, space, users, records
        As for :func:`emdp.estimators.frequency.items.plan_item_frequencies`.
    """
    inner = Itemwise(_kind(space), query.price, query.model, query.sizes, query.name)
    plan = plan_itemwise(inner, space=space, users=users, records=records)
    release = _release_of(plan)
    randomizer = release.randomizer
    if not isinstance(randomizer, FiniteRandomizer):
        raise InternalError("item-wise release of a finite space has no finite randomizer; please report it.")
    counts = CountRows(randomizer, query.name, users * release.size, release.is_sampled)
    if not counts.is_estimated:
        raise UsageError("item-wise release leaves no estimate of shares on this space; use method='auto'.")
    rows = PooledRows(
        counts, query.name, query.adjust, is_local=query.model == "local", shows_counts=query.method == "itemwise"
    )
    return replace(plan, finisher=rows, columns=counts.planned, notes=(*plan.notes, *rows.notes))


def check_weighable(query: ItemFrequencies, space: Space, records: int | None) -> None:
    """Refuse item-wise release where the automatic choice does not weigh it.

    Raises
    ------
    UsageError
        If the price does not fit it, or users may have different numbers of records.
    RefusedError
        If there are so many items that calibrating it would take long.

    >>> from emdp.spaces import Categories
    >>> from emdp.questions.price import Price
    >>> check_weighable(ItemFrequencies(Price("alpha", 1.0)), Categories("kind", ["bar", "cafe"]), 5)
    """
    if query.sizes is None and query.price.is_user_level:
        raise UsageError("its price is alpha, or epsilon with sizes=.")
    if query.sizes is None and records is None:
        raise UsageError("users may have different numbers of records: declare records=, or pass sizes= to sample.")
    most = (MOST_WEIGHED_LOCALLY if query.model == "local" else MOST_WEIGHED)[_kind(space)]
    items = count_items(space) or 0
    if items > most:
        raise RefusedError(
            f"calibrating {_kind(space).__name__} on {items} items, above {most}, takes long: pass method='itemwise'."
        )


def itemwise_model(plan: MessagePlan, users: int) -> Callable[[Floats | None], ErrorModel]:
    """Return the errors of an item-wise release at given shares of the items, None for equal ones; remembered.

    Parameters
    ----------
    plan : MessagePlan
        What :func:`plan_item_shares` returned.
    """
    release = _release_of(plan)
    randomizer, total = release.randomizer, users * release.size
    if not isinstance(randomizer, FiniteRandomizer):
        raise InternalError("item-wise release of a finite space has no finite randomizer; please report it.")

    def errors(prior: Floats | None) -> ErrorModel:
        own = _model(randomizer, total, None if prior is None else prior.tobytes())
        if not release.is_sampled:
            return own
        return SampledErrors(own, checked_prior(prior, own.size), total)

    return errors


class SampledErrors(ErrorModel):
    """Errors of a release from sampled records: those of the randomizer, and of the sampling.

    A user's ``s`` records are drawn with replacement from its own. The variance of the mean indicator of item ``x``
    over all draws is at most ``f_x (1 - f_x)/(n s)``, its value where every user has the shares ``f``.

    Parameters
    ----------
    prior : numpy.ndarray
        Public shares.
    items : int
        How many records are sampled from all users.

    >>> from emdp.estimators.frequency.models import IndependentErrors
    >>> SampledErrors(IndependentErrors(2, 0.01), np.array([0.5, 0.5]), 100).variances.tolist()
    [0.0125, 0.0125]
    """

    def __init__(self, inner: ErrorModel, prior: Floats, items: int) -> None:
        self.inner, self.size, self.prior, self.items = inner, inner.size, prior, items

    @property
    def variances(self) -> Floats:
        return np.asarray(self.inner.variances + self._of_shares(self.prior), dtype=np.float64)

    def group_variances(self, groups: Integers) -> Floats:
        """Return the variances of sums over groups; sampling keeps the sum of all shares."""
        sums = np.asarray(np.bincount(groups, self.prior), dtype=np.float64)
        return np.asarray(self.inner.group_variances(groups) + self._of_shares(sums), dtype=np.float64)

    def prefix_variances(self, order: Integers) -> Floats:
        sums = np.cumsum(self.prior[order])[:-1]
        return np.asarray(self.inner.prefix_variances(order) + self._of_shares(sums), dtype=np.float64)

    def combine(self, normals: Floats) -> Floats:
        """Return the inner errors, each cell's raised to its variance."""
        own = np.maximum(self.inner.variances, np.finfo(np.float64).tiny)
        return np.asarray(self.inner.combine(normals) * np.sqrt(self.variances / own), dtype=np.float64)

    def _of_shares(self, shares: Floats) -> Floats:
        kept = np.clip(shares, 0.0, 1.0)
        return np.asarray(kept * (1.0 - kept) / self.items, dtype=np.float64)


@lru_cache(maxsize=16)
def _model(randomizer: FiniteRandomizer, total: int, prior: bytes | None) -> ErrorModel:
    shares = None if prior is None else np.frombuffer(prior, dtype=np.float64)
    return randomizer_errors(randomizer, total, shares)


def _kind(space: Space) -> type[FiniteRandomizer]:
    if isinstance(space, Clusters):
        return GKRR
    return KRR if space.structure == "discrete" else Exponential


def _release_of(plan: MessagePlan) -> ItemwiseRelease:
    if not isinstance(plan.releaser, ItemwiseRelease):
        raise InternalError("item-wise release of a finite space has no finite randomizer; please report it.")
    return plan.releaser
