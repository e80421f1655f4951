"""The frozen query for linear models fitted by private gradient descent at user level."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, Literal

from emdp.base.checks import check_choice, check_count, check_range, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.expressions.functions import col
from emdp.expressions.nodes.base import Expression, lift
from emdp.privacy.guarantees.kinds import Neighbours
from emdp.questions.itemwise import MODELS, Model
from emdp.questions.price import Price, check_price, refuse_removal

__all__ = ["FIT_LOSSES", "FIT_METHODS", "INTERCEPT", "FitLoss", "FitMethod", "LinearFit", "linear_fit_query"]

FitLoss = Literal["squared", "logistic"]
FIT_LOSSES: tuple[FitLoss, ...] = ("squared", "logistic")
"""Half the square of the residual, for a number; cross-entropy, for a target of 0 and 1."""

FitMethod = Literal["auto", "descent", "moments"]
FIT_METHODS: tuple[FitMethod, ...] = ("auto", "descent", "moments")
"""What is expected to be nearest; rounds of gradients; or noisy moments, central and squared, whose intervals hold."""

INTERCEPT = "intercept"
"""Name of the constant's row in the answer."""


@dataclass(frozen=True)
class LinearFit:
    """A linear or logistic model of one expression by others, at user level; every user weighs the same.

    Features are rescaled by their public ranges to [-1, 1] inside, and so is the target of the squared loss; the answer
    is in the units of the expressions. ``clip`` and ``radius`` are those of the rescaled ones.

    Parameters
    ----------
    features : tuple of Expression
        Functions of one record, distinct, none of them constant. A category becomes a feature by ``category_is``.
    target : Expression
        What is modelled: for the logistic loss within [0, 1], such as ``category_is("bus")``.
    price : Price
        Of the whole descent, at user level; delta is 0 in the local model, above 0 in the shuffle model, and the
        central model profits.
    loss : {"squared", "logistic"}
        What is minimised.
    model : {"central", "local", "shuffle"}
        Who sees what.
    rounds : int, optional
        Rounds of the descent; by default what is expected to be best.
    clip : float, optional
        Largest 2-norm of a record's gradient. A smaller one means less noise, and makes the squared loss Huber's where
        residuals are larger. By default what no prediction within the target's range exceeds.
    radius : float, optional
        Largest 2-norm of the weights. By default 1 for the squared loss: every model whose predictions are
        within the target's range on all of the features' ranges; 4 for the logistic one.
    records : int, optional
        How many records nearly every user has at least, for ranges of the gradients in the local and shuffle model; the
        ``records=`` that ``emdp.read`` was told by default, else 1.
    between : float, optional
        How far users' own mean gradients spread around the common one, in the 2-norm: 0 if all users are alike. Without
        it no ranges are looked for, since users who differ by more than is known would be clipped.
    sampled : int, optional
        In the shuffle model: how many users each round draws anew, in secret (CLDP-SGD); at least 2.
    participation : float, optional
        In the shuffle model: with what probability each user joins a round, by himself and in secret (dss-SGD). Without
        either users are dealt to rounds, or all are in every round, whichever is expected to be nearer.

    method : {"auto", "descent", "moments"}
        Rounds of gradients, or noisy means of products of features and target: for the squared loss in the central
        model without ``clip`` and ``rounds``. Moments give intervals of the least squares coefficients that hold for
        any data.

    Raises
    ------
    UsageError
        If a parameter is malformed.
    """

    features: tuple[Expression, ...]
    target: Expression
    price: Price
    loss: FitLoss = "squared"
    model: Model = "central"
    rounds: int | None = None
    clip: float | None = None
    radius: float | None = None
    records: int | None = None
    between: float | None = None
    sampled: int | None = None
    participation: float | None = None
    method: FitMethod = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(map(lift, self.features)))
        object.__setattr__(self, "target", lift(self.target))
        if not self.features:
            raise UsageError("features is empty; pass a column or at least one expression.")
        names = self.names
        if len(set(names)) < len(names) or INTERCEPT in names[1:]:
            raise UsageError(f"features must be distinct, and none called {INTERCEPT!r}; pass each of them once.")
        if str(self.target) in names:
            raise UsageError("target must not be a feature as well, for it would explain itself; leave it out of them.")
        check_price(self.price, "epsilon")
        check_choice("loss", self.loss, FIT_LOSSES)
        check_choice("model", self.model, MODELS)
        check_choice("method", self.method, FIT_METHODS)
        if self.method == "moments" and not self.has_moments:
            raise UsageError(
                "method='moments' is for the squared loss in the central model, without clip= and rounds=; leave these "
                "out, or take method='descent'."
            )
        if self.model == "shuffle" and self.price.delta == 0:
            raise UsageError("delta must be above 0 in the shuffle model, got 0; pass such as delta=1e-9.")
        if self.model == "local" and self.price.delta != 0:
            raise UsageError(
                f"delta must be 0 in the local model, which spends none, got {self.price.delta:g}; leave it out."
            )
        for name in ("rounds", "records"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_count(name, getattr(self, name)))
        for name in ("clip", "radius"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_range(name, getattr(self, name), 1e-6, 1e6))
        if self.between is not None:
            object.__setattr__(self, "between", check_range("between", self.between, 0.0, 1e6))
        self._check_drawn()

    def _check_drawn(self) -> None:
        if self.sampled is not None:
            object.__setattr__(self, "sampled", check_count("sampled", self.sampled, minimum=2))
        if self.participation is not None:
            share = check_unit_interval("participation", self.participation)
            object.__setattr__(self, "participation", share)
        if self.sampled is not None and self.participation is not None:
            raise UsageError("sampled and participation must not both be given; pass one of them.")
        if self.model != "shuffle" and (self.sampled is not None or self.participation is not None):
            raise UsageError(
                f"sampled and participation are of the shuffle model, got model={self.model!r}; leave them out, or "
                "pass model='shuffle'."
            )

    @property
    def has_moments(self) -> bool:
        """Whether moments could answer it."""
        is_plain = self.clip is None and self.rounds is None
        return self.loss == "squared" and self.model == "central" and is_plain and self.method != "descent"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the answer's rows: the constant, then the features."""
        return (INTERCEPT, *map(str, self.features))

    @property
    def formula(self) -> str:
        """The model as statisticians write it."""
        return f"{self.target} ~ {' + '.join(map(str, self.features))}"

    @property
    def text(self) -> str:
        """The query as text, for the ledger and for explanations."""
        parts = [f"[{', '.join(map(str, self.features))}]", f"target={self.target}", f"epsilon={self.price.level!r}"]
        parts += [f"delta={self.price.delta!r}"] if self.price.delta else []
        for field in fields(self)[3:]:
            value = getattr(self, field.name)
            parts += [] if value == field.default else [f"{field.name}={value!r}"]
        return f"linear_fit({', '.join(parts)})"


def linear_fit_query(
    features: Any,
    target: Any,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    loss: FitLoss = "squared",
    model: Model = "central",
    rounds: int | None = None,
    clip: float | None = None,
    radius: float | None = None,
    records: int | None = None,
    between: float | None = None,
    sampled: int | None = None,
    participation: float | None = None,
    method: FitMethod = "auto",
    alpha: float | None = None,
    neighbours: Neighbours = "replace",
) -> LinearFit:
    """Return a :class:`LinearFit` query, for ``session.preview`` and ``session.answer``; the class has the parameters.

    Parameters
    ----------
    features : str or Expression, or a sequence of them
        Columns or functions of one record.
    target : str or Expression
        What is modelled.
    alpha : float, optional
        Refused: the guarantee is at the user level.

    Raises
    ------
    UsageError
        If a parameter is malformed.

    >>> linear_fit_query(["age", "hour"], "price", epsilon=1.0, model="local").text
    "linear_fit([age, hour], target=price, epsilon=1.0, model='local')"
    """
    price = Price.user_level(
        epsilon,
        delta,
        missing="epsilon must be given: what the fit may spend at the user level; pass such as 1.0.",
        alpha=alpha,
        refused="alpha does not fit a descent, which has a guarantee at the user level; pass epsilon.",
    )
    listed = [features] if isinstance(features, str | Expression) or not isinstance(features, Iterable) else features
    refuse_removal(neighbours, "fits over users")
    return LinearFit(
        features=tuple(col(one) if isinstance(one, str) else lift(one) for one in listed),
        target=col(target) if isinstance(target, str) else lift(target),
        price=price,
        loss=loss,
        model=model,
        rounds=rounds,
        clip=clip,
        radius=radius,
        records=records,
        between=between,
        sampled=sampled,
        participation=participation,
        method=method,
    )
