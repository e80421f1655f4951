"""The frozen query for an item-wise release: a randomized multiset of items (EMD 3)."""

from typing import Any, Literal

from emdp.base.checks import check_choice
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.items.randomizer import Randomizer
from emdp.privacy.guarantees.kinds import Neighbours
from emdp.privacy.reduction import BoundedReduction
from emdp.questions.price import Price, check_price, refuse_removal

__all__ = ["MODELS", "Itemwise", "check_model", "itemwise"]

Model = Literal["central", "shuffle", "local"]
MODELS: tuple[Model, ...] = ("central", "shuffle", "local")
"""Models of trust (EMD 1): a curator sees the records, a shuffler mixes everybody's messages, or nobody is trusted."""


@dataclass(frozen=True, eq=False)
class Itemwise:
    """Question for the multiset of outputs of a randomizer that every record goes through (EMD 3, PrivEMDItemWise).

    Parameters
    ----------
    randomizer : Randomizer, or a class of them
        An instance has its ``alpha0``; of a class such as ``emdp.randomizers.GKRR`` the strongest ``alpha0`` that the
        price allows is made on the table's space.
    price : Price
        Most that the release may cost: an ``alpha``, with ``sizes`` the ``epsilon`` between bags within its ``r``;
        without a limit only with an instance. Without a ``delta`` only composition is left, ``alpha = m alpha0``.
    model : {"central", "shuffle", "local"}
        All outputs are mixed, or those of each user apart.
    sizes : BoundedReduction, optional
        How users with different numbers of records are brought to one number; not needed where ``emdp.read`` was told
        ``records=``.
    name : str
        Column of the estimated frequencies.

    Raises
    ------
    UsageError
        If a parameter is malformed, or the price does not fit ``sizes``.
    """

    randomizer: Randomizer | type[Randomizer]
    price: Price
    model: Model = "central"
    sizes: BoundedReduction | None = None
    name: str = "frequency"

    def __post_init__(self) -> None:
        if not isinstance(self.randomizer, Randomizer) and not _is_randomizer_class(self.randomizer):
            raise UsageError(
                f"randomizer must be one of emdp.randomizers, not {type(self.randomizer).__name__}; pass such as "
                "emdp.randomizers.GKRR(space, alpha0) or the class alone."
            )
        check_price(self.price, is_limited=False)
        check_model(self.model)
        if not isinstance(self.name, str) or not self.name:
            raise UsageError("name must be a non-empty text; pass the answer's column.")
        if self.sizes is not None and not isinstance(self.sizes, BoundedReduction):
            raise UsageError("sizes must be an emdp.BoundedReduction(samples=, r=); pass one, or declare records=.")
        self._check_price()

    def _check_price(self) -> None:
        if self.sizes is None and self.price.is_user_level:
            raise UsageError("epsilon belongs to sizes=BoundedReduction(...), whose guarantee it is; pass alpha.")
        if self.sizes is not None and not self.price.is_user_level:
            raise UsageError("alpha does not fit sizes=BoundedReduction(...): it gives epsilon at r; pass epsilon.")
        if not self.price.is_limited and not isinstance(self.randomizer, Randomizer):
            wanted = self.price.kind
            raise UsageError(f"{wanted} must be given with a class of randomizers, which it calibrates; pass one.")

    @property
    def text(self) -> str:
        """The query as text, for the ledger and for explanations."""
        one = self.randomizer
        shown = f"{type(one).__name__}(alpha0={one.requested!r})" if isinstance(one, Randomizer) else one.__name__
        parts = [f"itemwise({shown}"]
        parts += [f"{self.price.kind}={self.price.level!r}"] if self.price.is_limited else []
        parts += [f"delta={self.price.delta!r}", f"model={self.model!r}"]
        parts += [] if self.sizes is None else [f"sizes={self.sizes!r}"]
        return ", ".join(parts) + ")"


def itemwise(
    randomizer: Any,
    *,
    alpha: float | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    model: Model = "central",
    sizes: BoundedReduction | None = None,
    name: str = "frequency",
    neighbours: Neighbours = "replace",
) -> Itemwise:
    """Return an :class:`Itemwise` query; see there for the parameters.

    >>> from emdp.mechanisms.items.krr import KRR
    >>> from emdp.spaces import Categories
    >>> itemwise(KRR(Categories("kind", ["bar", "cafe"]), 1.0), delta=1e-9).text
    "itemwise(KRR(alpha0=1.0), delta=1e-09, model='central')"
    """
    refuse_removal(neighbours, "item-wise releases")
    price = Price.at_most("alpha" if sizes is None else "epsilon", alpha=alpha, epsilon=epsilon, delta=delta)
    return Itemwise(randomizer, price, model, sizes, name)


def check_model(model: object) -> None:
    """Raise ``UsageError`` unless this names a model."""
    check_choice("model", model, MODELS)


def _is_randomizer_class(given: object) -> bool:
    return isinstance(given, type) and issubclass(given, Randomizer)
