"""The frozen query for user-level means by range-then-mean: a range is found first, then the mean inside it."""

import math
from collections.abc import Iterable
from typing import Any, Literal

from emdp.base.checks import check_choice, check_count, check_finite, check_positive, check_range, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.expressions.functions import clamp, col
from emdp.expressions.nodes.base import Expression, lift
from emdp.privacy.guarantees.kinds import Neighbours
from emdp.questions.itemwise import MODELS, Model
from emdp.questions.price import Price, check_price, refuse_removal

__all__ = ["MEAN_METHODS", "MeanMethod", "UserMean", "user_mean"]

MeanMethod = Literal["auto", "range", "direct"]
MEAN_METHODS: tuple[MeanMethod, ...] = ("auto", "range", "direct")
"""Methods for means over users: the one with the smaller expected error; range, then mean; one round on the bounds."""

SAID = ("model", "spread", "between", "radius", "records", "failure", "method")
"""Parameters that a query's text names where they are not the default."""


@dataclass(frozen=True)
class UserMean:
    """The mean over users of the mean over each user's records, at user level, when nobody knows where it lies.

    Privacy assumes nothing of the data. ``spread``, ``between`` and ``records`` say where users' means are expected,
    and so how wide the range is; where they are wrong, means are clipped and the answer is off.

    Parameters
    ----------
    expressions : tuple of Expression
        Functions of one record: one, or the coordinates of a vector.
    price : Price
        At user level; the shuffle model needs a delta, and a vector in the central model profits.
    model : {"central", "shuffle", "local"}
        Who sees what.
    spread : tuple of float, optional
        Sub-Gaussian parameter of one record around its user's own mean, one a coordinate, such as the standard
        deviation of normal records, or half the width of their range. Without it there is no range stage.
    between : tuple of float
        Sub-Gaussian parameter of users' own means around the common one, one a coordinate: 0 if all users are alike.
    radius : float, optional
        Of a vector, in place of ``spread``: records lie in a ball of this radius, in the 2-norm, around the middle of
        the bounds; ranges are then found after a random rotation. ``between`` is then one number in the 2-norm.
    records : int, optional
        How many records nearly every user has at least, public; the ``records=`` that ``emdp.read`` was told by
        default, else 1.
    failure : float
        In (0, 1): the probability, at most, with which the range may miss a user, given that the above is right.
    method : {"auto", "range", "direct"}
        Which rounds; ``"auto"`` takes what is expected to be nearest, failures included.
    names : tuple of str, optional
        Columns of the answer, distinct, one an expression.
    limit : int, optional
        Most rows of the answer, which has one.
    offset : int
        Rows of the answer to leave out first.
    statement : str
        The SQL that it was asked in, if it was.
    written : str
        The aggregate as the analyst wrote it, for previews.

    Raises
    ------
    UsageError
        If a parameter is malformed.
    """

    expressions: tuple[Expression, ...]
    price: Price
    model: Model = "central"
    spread: tuple[float, ...] | None = None
    between: tuple[float, ...] = (0.0,)
    radius: float | None = None
    records: int | None = None
    failure: float = 0.01
    method: MeanMethod = "auto"
    names: tuple[str, ...] | None = None
    limit: int | None = None
    offset: int = 0
    statement: str = ""
    written: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "expressions", tuple(map(lift, self.expressions)))
        if not self.expressions:
            raise UsageError("expressions is empty; pass a column or at least one expression.")
        check_price(self.price, "epsilon")
        check_choice("model", self.model, MODELS)
        if self.model == "shuffle" and self.price.delta == 0:
            raise UsageError("delta must be above 0 in the shuffle model, got 0; pass such as delta=1e-9.")
        if self.model == "local" and self.price.delta != 0:
            raise UsageError(
                f"delta must be 0 in the local model, which spends none, got {self.price.delta:g}; leave it out."
            )
        self._check_spreads()
        if self.records is not None:
            check_count("records", self.records)
        object.__setattr__(self, "failure", check_unit_interval("failure", self.failure))
        check_choice("method", self.method, MEAN_METHODS)
        if self.method == "range" and self.spread is None and self.radius is None:
            raise UsageError(
                "spread must be given for a range to be found: how far a user's records lie from their mean; pass "
                "such as the largest plausible standard deviation, or method='direct'."
            )
        self._check_names()

    def _check_spreads(self) -> None:
        count = len(self.expressions)
        if self.spread is not None:
            object.__setattr__(self, "spread", tuple(check_positive("spread", one) for one in self.spread))
        object.__setattr__(self, "between", tuple(check_range("between", one, 0, math.inf) for one in self.between))
        if self.radius is not None:
            object.__setattr__(self, "radius", check_positive("radius", self.radius))
            if self.spread is not None or count == 1:
                raise UsageError("radius is for a vector, in place of spread; pass one of the two.")
        for name, given in (("spread", self.spread), ("between", self.between)):
            if given is not None and len(given) not in (1, count):
                raise UsageError(f"{name} must be one number, or {count}, one a coordinate, got {len(given)}.")
            if given is not None and len(given) == 1 and not (name == "between" and self.radius is not None):
                object.__setattr__(self, name, given * count)
        if self.radius is not None and len(self.between) > 1:
            raise UsageError("between must be one number, in the 2-norm, where radius is given; pass one.")
        if any(self.between) and self.spread is None and self.radius is None:
            raise UsageError("between does nothing without spread, which says how far records lie from their mean.")

    def _check_names(self) -> None:
        if self.names is None:
            return
        if len(self.names) != len(self.expressions) or len(set(self.names)) < len(self.names):
            raise UsageError(
                f"names must be {len(self.expressions)} distinct texts, one an expression, got {list(self.names)}; "
                "pass as many."
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The answer's columns."""
        if self.names is not None:
            return self.names
        if len(self.expressions) == 1:
            return ("user_mean",)
        return tuple(f"user_mean_{number}" for number in range(1, len(self.expressions) + 1))

    @property
    def text(self) -> str:
        """The query as text, for the ledger and for explanations: as it was asked in SQL, or else as a call."""
        if self.statement:
            return self.statement
        parts = [", ".join(map(str, self.expressions)), f"epsilon={self.price.level!r}"]
        parts += [f"delta={self.price.delta!r}"] if self.price.delta else []
        for name in SAID:
            value, default = getattr(self, name), getattr(UserMean, name)
            if name == "between" and not any(value):
                continue
            if isinstance(value, tuple):
                value = value[0] if len(set(value)) == 1 else list(value)
            parts += [] if value == default else [f"{name}={value!r}"]
        return f"user_mean({', '.join(parts)})"


def user_mean(
    column: Any,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    model: Model = "central",
    spread: float | Iterable[float] | None = None,
    between: float | Iterable[float] = 0.0,
    radius: float | None = None,
    bounds: Any = None,
    records: int | None = None,
    failure: float = 0.01,
    method: MeanMethod = "auto",
    name: str | Iterable[str] | None = None,
    alpha: float | None = None,
    neighbours: Neighbours = "replace",
) -> UserMean:
    """Return a :class:`UserMean` query; see there for what is not below.

    Parameters
    ----------
    column : str or Expression, or a sequence of them
        What the mean is of; several are one vector.
    spread, between : float, or one a coordinate
        See :class:`UserMean`.
    bounds : (float, float), or one a coordinate, optional
        What every record is clipped to; by default the range that the expression has in the space.
    name : str or sequence of str, optional
        Columns of the answer.
    alpha : float, optional
        Refused: under d_EM-DP the metric bounds the change, so that a linear query needs no range.

    Raises
    ------
    UsageError
        If a parameter is malformed.

    >>> user_mean("hour", epsilon=1.0, spread=6.0, records=20).text
    'user_mean(hour, epsilon=1.0, spread=6.0, records=20)'
    """
    price = Price.user_level(
        epsilon,
        delta,
        missing="epsilon must be given: what the answer may spend at the user level; pass such as 1.0.",
        alpha=alpha,
        refused="alpha does not fit user_mean, which has a guarantee at the user level; pass epsilon, or ask for "
        "session.mean(..., alpha=), where the metric bounds the change and no range is needed.",
    )
    columns = [column] if isinstance(column, str | Expression) or not isinstance(column, Iterable) else list(column)
    expressions = [col(one) if isinstance(one, str) else lift(one) for one in columns]
    if bounds is not None:
        ends = _ends(bounds, len(expressions))
        expressions = [clamp(one, low, high) for one, (low, high) in zip(expressions, ends, strict=True)]
    names = None if name is None else (name,) if isinstance(name, str) else tuple(name)
    refuse_removal(neighbours, "means over users")
    return UserMean(
        expressions=tuple(expressions),
        price=price,
        model=model,
        spread=None if spread is None else _numbers(spread),
        between=_numbers(between),
        radius=radius,
        records=records,
        failure=failure,
        method=method,
        names=names,
    )


def _numbers(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)


def _ends(bounds: Any, count: int) -> list[tuple[float, float]]:
    """Return one pair of ends a coordinate."""
    try:
        given = list(bounds)
        pairs = [given] * count if all(isinstance(end, int | float) for end in given) else [list(one) for one in given]
    except TypeError:
        pairs = []
    if len(pairs) != count or any(len(pair) != 2 for pair in pairs):
        raise UsageError("bounds must be (low, high), or one such pair a coordinate; pass two numbers.")
    ends = [(check_finite("bounds", low), check_finite("bounds", high)) for low, high in pairs]
    if any(low >= high for low, high in ends):
        raise UsageError("bounds must have low below high; pass (low, high).")
    return ends
