"""Frozen queries that hold expressions: what a session prices, charges and answers."""

from collections.abc import Iterable
from typing import Any, Literal

from emdp.base.checks import check_choice, check_count, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.expressions.nodes.base import Expression, lift
from emdp.privacy.guarantees.kinds import Neighbours
from emdp.questions.narrowing import Where, check_by, check_where
from emdp.questions.price import Price, check_price
from emdp.questions.tiers import Tiers

__all__ = [
    "CELL_NOISE",
    "VECTOR_NOISE",
    "CellNoise",
    "Mean",
    "VectorMean",
    "VectorNoise",
    "check_share",
    "mean",
    "vector_mean",
]

Messages = int | Literal["auto"]
"""How many messages a user sends in the shuffle model: a number, or as many as help."""

INTERVAL_ENDS = ("_low", "_high")
"""Suffixes of a column's name for the ends of its interval."""

VectorNoise = Literal["auto", "laplace", "gaussian", "k_norm"]
VECTOR_NOISE: tuple[VectorNoise, ...] = ("auto", "laplace", "gaussian", "k_norm")
"""Noise of a vector: the best for the parameters, product Laplace, Gaussian, or 2-norm K-norm (EMD 2)."""

CellNoise = Literal["auto", "laplace", "gaussian", "k_norm", "edges"]
CELL_NOISE: tuple[CellNoise, ...] = (*VECTOR_NOISE, "edges")
"""Noise of cells: that of a vector, or on the edges between neighbouring cells (private-measures.md 1)."""

MeanModel = Literal["central", "shuffle", "local"]
MEAN_MODELS: tuple[MeanModel, ...] = ("central", "shuffle", "local")
"""Models of trust for means: a curator adds noise to the average, every user's bits are mixed, or every user adds noise
to the own mean, or sends a bit."""


@dataclass(frozen=True)
class Mean:
    """The mean over users of the mean over each user's records of an expression (EMD 2, linear query).

    Parameters
    ----------
    expression : Expression
        The function of one record.
    price : Price
        What the answer may spend: ``alpha`` per unit of ``d_em`` for a d_EM-DP budget, or ``epsilon`` for a user-level
        one, and ``delta``. By removal of a user the mean is over the users who have records, a ratio of two noisy sums,
        and nothing rests on the number of users; not with ``where`` on records, nor in the local model.
    name : str, optional
        Column of the answer.
    by : tuple of str
        Columns to group by: categorical parts of the space (the mean among the records of each listed value) or
        public user columns (disjoint groups of users).
    where : Where, optional
        Which records or users count; see :func:`emdp.questions.narrowing.check_where` for what a caller may pass.
    share : float, optional
        The share of the records that a row of the answer is expected to be about, in (0, 1): what the errors of a
        preview with ``by`` or ``where`` assume in place of a share that public numbers give. The answer does not depend
        on it.
    model : {"central", "shuffle", "local"}
        Whether a curator adds the noise, every user sends bits that are mixed with all others' (this spends a
        ``delta``), or every user alone adds noise to the own mean. The last two have no ``by``, and ``where`` chooses
        records alone.

    messages : "auto" or int
        In the shuffle model how many bits of each mean a user sends, each mixed apart; more of them round less.

    Raises
    ------
    UsageError
        If a parameter is out of its range.
    """

    expression: Expression
    price: Price
    name: str | None = None
    by: tuple[str, ...] = ()
    where: Where | None = None
    model: MeanModel = "central"
    share: float | None = None
    messages: Messages = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "expression", lift(self.expression))
        object.__setattr__(self, "by", check_by(self.by))
        object.__setattr__(self, "where", check_where(self.where))
        check_price(self.price, is_removable=True, has_tiers=self.model != "shuffle")
        check_share(self)
        _check_model(self)
        if self.name is not None:
            _check_names((self.name,))


@dataclass(frozen=True)
class VectorMean:
    """Several means that share one draw of noise (EMD 2).

    Parameters
    ----------
    expressions : tuple of Expression
        The functions of one record, at least one.
    price : Price
        For the whole vector.
    noise : {"auto", "laplace", "gaussian", "k_norm"}
        Law of the noise; Gaussian noise needs ``delta > 0``.
    names : tuple of str, optional
        Columns of the answer, distinct, one an expression.
    by, where, model, share, messages
        As in :class:`Mean`.
    bits : int, optional
        At user level, in the local or the shuffle model: most bits that a user sends, places among them. Every user
        then reports digits of some of the means alone, which the user draws. It saves bandwidth, never privacy: the
        preview has the error beside that of any number of bits.

    Raises
    ------
    UsageError
        As :class:`Mean`, and if names and expressions do not match.
    """

    expressions: tuple[Expression, ...]
    price: Price
    noise: VectorNoise = "auto"
    names: tuple[str, ...] | None = None
    by: tuple[str, ...] = ()
    where: Where | None = None
    model: MeanModel = "central"
    share: float | None = None
    messages: Messages = "auto"
    bits: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "by", check_by(self.by))
        object.__setattr__(self, "where", check_where(self.where))
        if isinstance(self.expressions, Expression | str) or not isinstance(self.expressions, Iterable):
            raise UsageError("expressions must be a sequence of expressions; for a single one use emdp.mean.")
        object.__setattr__(self, "expressions", tuple(map(lift, self.expressions)))
        if not self.expressions:
            raise UsageError("expressions is empty; pass at least one expression.")
        check_price(self.price, is_removable=True, has_tiers=self.model != "shuffle")
        check_share(self)
        _check_model(self)
        _check_bits(self)
        check_choice("noise", self.noise, VECTOR_NOISE)
        if self.noise == "gaussian" and self.price.delta == 0:
            raise UsageError("noise='gaussian' needs delta above 0, got 0; pass delta= or choose noise='k_norm'.")
        if self.names is not None:
            if isinstance(self.names, str):
                raise UsageError(f"names must be a sequence of texts, got {self.names!r}; pass a list.")
            object.__setattr__(self, "names", _check_names(self.names))
            if len(self.names) != len(self.expressions):
                raise UsageError(
                    f"names must be as many as the {len(self.expressions)} expressions, "
                    f"got {len(self.names)}; pass one for each."
                )


def mean(
    expression: Any,
    *,
    alpha: float | Tiers | None = None,
    epsilon: float | Tiers | None = None,
    delta: float = 0.0,
    name: str | None = None,
    by: str | Iterable[str] = (),
    where: Any = None,
    model: MeanModel = "central",
    share: float | None = None,
    neighbours: Neighbours = "replace",
    messages: Messages = "auto",
) -> Mean:
    """Return a :class:`Mean` query; see there for the parameters.

    Exactly one of ``alpha`` and ``epsilon`` makes its price.

    >>> from emdp.expressions import col
    >>> mean(col("price"), alpha=1.0).expression
    price
    """
    return Mean(
        lift(expression),
        Price.asked(alpha=alpha, epsilon=epsilon, delta=delta, neighbours=neighbours),
        name,
        by,  # type: ignore[arg-type]  # checked there
        where,
        model,
        share,
        messages,
    )


def vector_mean(
    expressions: Iterable[Any],
    *,
    alpha: float | Tiers | None = None,
    epsilon: float | Tiers | None = None,
    delta: float = 0.0,
    noise: VectorNoise = "auto",
    names: Iterable[str] | None = None,
    by: str | Iterable[str] = (),
    where: Any = None,
    model: MeanModel = "central",
    share: float | None = None,
    neighbours: Neighbours = "replace",
    messages: Messages = "auto",
    bits: int | None = None,
) -> VectorMean:
    """Return a :class:`VectorMean` query; see there for the parameters.

    Exactly one of ``alpha`` and ``epsilon`` makes its price.

    >>> from emdp.expressions import col
    >>> vector_mean([col("x"), col("y")], alpha=1.0, names=["x", "y"]).names
    ('x', 'y')
    """
    named = names if names is None or isinstance(names, str) else tuple(names)
    price = Price.asked(alpha=alpha, epsilon=epsilon, delta=delta, neighbours=neighbours)
    return VectorMean(expressions, price, noise, named, by, where, model, share, messages, bits)  # type: ignore[arg-type]


def check_share(query: Any) -> None:
    """Check ``share`` of a query while it is built: a number in (0, 1), where something chooses records."""
    if query.share is None:
        return
    object.__setattr__(query, "share", check_unit_interval("share", query.share))
    if not query.by and query.where is None:
        raise UsageError(
            "share says which part of the records by= and where= choose; pass one of them, or leave it out."
        )


def _check_model(query: Mean | VectorMean) -> None:
    check_choice("model", query.model, MEAN_MODELS)
    if query.model != "central" and query.price.is_by_removal:
        raise UsageError(
            f"neighbours = 'remove' does not fit model = {query.model!r}, where the number of messages tells the "
            "number of users; leave it out, or take the central model."
        )
    if query.model != "central" and (query.by or (query.where is not None and query.where.users)):
        raise UsageError(
            f"model={query.model!r} has every user send the same messages, so by= and a choice of users do not fit it; "
            "leave them out, or choose records by an expression in where=."
        )
    if query.model == "shuffle" and query.price.delta == 0:
        raise UsageError("model='shuffle' needs delta above 0, got 0; pass delta=, or model='local'.")
    if query.model == "shuffle" and getattr(query, "noise", "auto") != "auto":
        raise UsageError("noise does not fit model='shuffle', where users send bits; leave it out.")
    check_messages(query.messages, is_shuffled=query.model == "shuffle")


def _check_bits(query: VectorMean) -> None:
    """Check a limit of bits while a vector of means is built."""
    if query.bits is None:
        return
    check_count("bits", query.bits)
    if query.model == "central":
        raise UsageError("bits bounds what a user sends, and a curator has all records; leave it out, or pass model=.")
    if not query.price.is_user_level or query.price.weaker:
        raise UsageError("bits needs one epsilon, since a digit of a mean promises nothing in d_em; pass epsilon=.")
    if query.model == "local" and query.price.delta > 0:
        raise UsageError(f"bits has no use for delta = {query.price.delta} in the local model; leave delta out.")
    if query.where is not None or query.messages != "auto" or query.noise != "auto":
        raise UsageError(
            "bits chooses the messages itself and is for all records; leave out where, messages and noise."
        )


def check_messages(messages: object, *, is_shuffled: bool) -> None:
    """Check how many messages of a user are asked for: ``"auto"``, or a number in the shuffle model.

    >>> check_messages("auto", is_shuffled=False), check_messages(4, is_shuffled=True)
    (None, None)
    """
    if messages == "auto":
        return
    if isinstance(messages, str):
        raise UsageError(f"messages must be 'auto' or a number, got {messages!r}; pass such as 4.")
    check_count("messages", messages)
    if not is_shuffled:
        raise UsageError("messages says how many messages a user sends to be mixed; pass model='shuffle' with it.")


def _check_names(names: Iterable[str]) -> tuple[str, ...]:
    listed = tuple(names)
    for name in listed:
        if not isinstance(name, str) or not name:
            raise UsageError(f"names must be non-empty texts, got {name!r}; pass the answer's column names.")
    if len(set(listed)) < len(listed):
        raise UsageError(f"names must be distinct, got {listed!r}; rename one.")
    for taken in (f"{name}{end}" for name in listed for end in INTERVAL_ENDS):
        if taken in listed:
            raise UsageError(f"names must leave {taken!r} to another column's interval; rename one.")
    return listed
