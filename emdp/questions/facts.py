"""The frozen query for shares of users: many yes/no facts of a person, such as "has ever been at a cafe"."""

from collections.abc import Iterable
from typing import Any, Literal

from emdp.base.checks import check_choice
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.expressions.nodes.base import Expression, lift
from emdp.questions.means import Messages, check_messages
from emdp.questions.price import Price, check_price
from emdp.questions.select import Order

__all__ = ["SHARES_MODELS", "Shares", "SharesModel", "shares"]

SharesModel = Literal["shuffle", "local"]
SHARES_MODELS: tuple[SharesModel, ...] = ("shuffle", "local")
"""Models of shares: every user's bits are mixed with those of all users, or private by themselves."""


@dataclass(frozen=True)
class Shares:
    """Question for the share of users who have a record that a condition holds for, of each of several.

    Parameters
    ----------
    conditions : tuple of Expression
        Functions of one record with values in [0, 1], such as ``emdp.category_is("cafe")``: a user's fact is true
        where some record of the user has a value above 0. Somebody without records has no true fact.
    price : Price
        At user level, for all facts together; the shuffle model needs a delta, the local one spends none.
    model : {"local", "shuffle"}
        Who sees what.
    messages : int or "auto"
        How many bits a user sends. Facts are dealt into so many blocks, and of each one bit is drawn.
    names : tuple of str, optional
        How the answer names each fact, distinct.
    name : str
        Column of the shares.
    order, limit, offset, statement, written
        As in :class:`emdp.questions.user_mean.UserMean`.

    Raises
    ------
    UsageError
        If a parameter is malformed.
    """

    conditions: tuple[Expression, ...]
    price: Price
    model: SharesModel = "local"
    messages: Messages = "auto"
    names: tuple[str, ...] | None = None
    name: str = "share"
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    statement: str = ""
    written: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.conditions, Expression | str) or not isinstance(self.conditions, Iterable):
            raise UsageError("conditions must be a sequence of expressions; pass a list.")
        object.__setattr__(self, "conditions", tuple(map(lift, self.conditions)))
        if not self.conditions:
            raise UsageError("conditions is empty; pass at least one expression with values in [0, 1].")
        check_price(self.price, "epsilon")
        check_choice("model", self.model, SHARES_MODELS)
        if self.model == "shuffle" and self.price.delta == 0:
            raise UsageError("delta must be above 0 in the shuffle model, got 0; pass such as delta=1e-9.")
        if self.model == "local" and self.price.delta != 0:
            raise UsageError(
                f"delta must be 0 in the local model, which spends none, got {self.price.delta:g}; leave it out."
            )
        check_messages(self.messages, is_shuffled=True)
        if self.messages != "auto" and int(self.messages) > len(self.conditions):
            raise UsageError(
                f"messages must be at most the {len(self.conditions)} conditions, got {self.messages}; pass fewer."
            )
        names = tuple(map(str, self.conditions)) if self.names is None else tuple(self.names)
        if len(names) != len(self.conditions) or len(set(names)) < len(names):
            raise UsageError(
                f"names must be {len(self.conditions)} distinct texts, one a condition, got {list(names)[:8]}; pass as "
                "many."
            )
        object.__setattr__(self, "names", names)

    @property
    def facts(self) -> tuple[str, ...]:
        """Names of the facts in the answer."""
        return self.names or ()

    @property
    def text(self) -> str:
        """The query as text, for the ledger and for explanations: as it was asked in SQL, or else as a call."""
        if self.statement:
            return self.statement
        more = "" if self.messages == "auto" else f", messages={self.messages}"
        return f"shares([{', '.join(map(str, self.conditions))}], model={self.model!r}{more})"


def shares(
    conditions: Iterable[Any],
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    model: SharesModel = "local",
    messages: Messages = "auto",
    names: Iterable[str] | None = None,
    alpha: float | None = None,
) -> Shares:
    """Return a :class:`Shares` query; see there for what is not below.

    Parameters
    ----------
    conditions : sequence of Expression
        What the facts are of.
    names : sequence of str, optional
        How the answer names them; as they are written by default.
    alpha : float, optional
        Refused: a fact may turn over by one record however near it moves, so that no metric bounds it.

    Raises
    ------
    UsageError
        If a parameter is malformed.

    >>> from emdp.expressions import category_is
    >>> shares([category_is("cafe"), category_is("park")], epsilon=1.0).facts
    ("category_is('cafe')", "category_is('park')")
    """
    price = Price.user_level(
        epsilon,
        delta,
        missing="epsilon must be given: what the answer may spend at the user level; pass such as 1.0.",
        alpha=alpha,
        refused="alpha does not fit shares: one record, however near it moves, turns a fact over; pass epsilon, or ask "
        "for session.mean(category_is(...), alpha=), the share of records.",
    )
    named = names if names is None or isinstance(names, str) else tuple(names)
    return Shares(conditions, price, model, messages, named)  # type: ignore[arg-type]  # checked there
