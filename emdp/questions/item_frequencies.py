"""The frozen query for frequencies of all items of a finite space, by one of several methods."""

from typing import Literal

from emdp.base.checks import check_choice
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.item_methods import ItemMethod, item_methods
from emdp.privacy import Guarantee
from emdp.privacy.reduction import BoundedReduction
from emdp.questions.itemwise import MODELS, Model
from emdp.questions.means import Messages, check_messages
from emdp.questions.price import Price, check_price
from emdp.questions.select import FrequencyQuery, Order

__all__ = ["ADJUSTMENTS", "Adjustment", "ItemFrequencies"]

Adjustment = Literal["none", "simplex", "d_em"]
ADJUSTMENTS: tuple[Adjustment, ...] = ("none", "simplex", "d_em")
"""Distributions that may stand beside the estimates: none, the nearest in the 2-norm, one near in ``d_em``."""


@dataclass(frozen=True)
class ItemFrequencies:
    """The share of each item of a finite space in the average user's records.

    Parameters
    ----------
    order, limit, offset
        Post-processing of the answer's rows.
    """

    price: Price  # See `emdp.Mean`
    method: ItemMethod = "auto"  # One of `emdp.mechanisms.item_methods.item_methods`
    model: Model = "central"  # Who sees what
    # For item-wise release of users with different numbers of records; the price is then `epsilon` at its `r`.
    sizes: BoundedReduction | None = None
    name: str = "frequency"
    text: str = ""
    # Whether a column `<name>_adjusted` holds a distribution near the estimates: post-processing, without cost.
    adjust: Adjustment = "none"
    # The same shares as the frequencies of listed values, in the central model: then this is its histogram.
    listed: FrequencyQuery | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    written: str = ""
    # Of the budgets that may pay; `"auto"` chooses no method that none of them pays. Empty: any may.
    promises: tuple[Guarantee, ...] = ()
    # In the shuffle model, at user level: how many bits of Hadamard rows each user sends, each of a record drawn afresh
    # and mixed apart. `"auto"` is one message, by the best method.
    messages: Messages = "auto"

    def __post_init__(self) -> None:
        check_choice("method", self.method, item_methods())
        check_choice("model", self.model, MODELS)
        check_choice("adjust", self.adjust, ADJUSTMENTS)
        check_price(self.price, has_tiers=self.model != "shuffle")
        check_messages(self.messages, is_shuffled=self.model == "shuffle")
        if self.messages != "auto":
            # Loaded where it is needed: a mean has no messages.
            from emdp.privacy.shuffle.renyi_product import LARGEST_ROUNDS

            if int(self.messages) > LARGEST_ROUNDS:
                raise UsageError(f"messages must be at most {LARGEST_ROUNDS}, got {self.messages}; pass fewer.")
        if self.sizes is not None and self.method not in ("auto", "itemwise"):
            raise UsageError(f"sizes belongs to item-wise release, not to method={self.method!r}; leave it out.")
