"""Frozen queries for distributions: frequencies of cells, and quantiles of an expression."""

from collections.abc import Iterable
from numbers import Real
from typing import Any, Literal

from emdp.base.checks import check_choice, check_positive, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.expressions.nodes.base import Expression, lift
from emdp.mechanisms.item_methods import ItemMethod, item_methods
from emdp.privacy.guarantees.kinds import Neighbours
from emdp.privacy.reduction import BoundedReduction
from emdp.questions.item_frequencies import ADJUSTMENTS, Adjustment
from emdp.questions.itemwise import Model
from emdp.questions.means import CELL_NOISE, VECTOR_NOISE, CellNoise, Messages, VectorNoise, check_share
from emdp.questions.narrowing import Where, check_by, check_where
from emdp.questions.price import Price, check_price, refuse_removal
from emdp.questions.tiers import Tiers

__all__ = ["Frequencies", "Quantiles", "frequencies", "frequency_methods", "quantiles"]

FrequencyMethod = ItemMethod | Literal["smoothed"]


def frequency_methods() -> tuple[str, ...]:
    """Return the methods of frequencies by name.

    ``smoothed`` is a partition of unity on a continuous part, the listed values of a finite one (EMD 6); the others are
    for all items of a finite space.

    >>> frequency_methods()[:2]
    ('smoothed', 'auto')
    """
    return ("smoothed", *item_methods())


@dataclass(frozen=True)
class Frequencies:
    """A histogram in which every user weighs the same (EMD 6).

    Parameters
    ----------
    price : Price
        As in :class:`emdp.Mean`.
    cells : float, str or None
        A number: square cells of that pitch, in the natural unit of a continuous part (km of a ``Geo``). A text:
        the listed values of that column. None: all items of a finite space, such as a ``Grid``.
    column : str, optional
        With a pitch: a column of the part, where several are continuous.
    method : str
        How the frequencies are estimated: ``"auto"`` is the best, ``"smoothed"`` what fits cells; of all items of a
        finite space one of :func:`emdp.mechanisms.item_methods.item_methods`.
    model : {"central", "shuffle", "local"}
        Who sees what; of all items of a finite space.
    sizes : BoundedReduction, optional
        For item-wise release of all items of a finite space.
    adjust : {"none", "simplex", "d_em"}
        Of all items of a finite space: whether ``<name>_adjusted`` holds a distribution near the estimates, the nearest
        in the 2-norm or one near in the unit of ``d_em``. The estimates and their intervals stay as they are.
    noise : {"auto", "laplace", "gaussian", "k_norm", "edges"}
        Law of the noise of cells; ``"edges"`` is noise on the edges between neighbouring cells, whose errors cancel in
        regions. Of cells of a pitch, and of values with given distances, ``"auto"`` is that under alpha wherever a
        cell's expected error is no larger.
    messages : "auto" or int
        Of all items of a finite space, in the shuffle model and at user level: how many bits of Hadamard rows each user
        sends, each mixed apart; ``"auto"`` is one message by the best method.
    by : tuple of str
        Public user columns to group by.
    where : Where, optional
        Which users count; a factor of records is refused, group or ask for shares instead.
    name : str
        Column of the answer.

    Raises
    ------
    UsageError
        If a parameter is malformed.
    """

    price: Price
    cells: float | str | None = None
    column: str | None = None
    method: FrequencyMethod = "auto"
    noise: CellNoise = "auto"
    by: tuple[str, ...] = ()
    where: Where | None = None
    name: str = "frequency"
    model: Model = "central"
    sizes: BoundedReduction | None = None
    adjust: Adjustment = "none"
    messages: Messages = "auto"

    def __post_init__(self) -> None:
        if isinstance(self.cells, str):
            if not self.cells or self.column is not None:
                raise UsageError("cells names a column of listed values, so leave column out; pass one of the two.")
        elif self.cells is not None:
            object.__setattr__(self, "cells", check_positive("cells", self.cells))
        check_choice("method", self.method, frequency_methods())
        check_choice("adjust", self.adjust, ADJUSTMENTS)
        _check_common(self)
        if self.cells is not None:
            self._check_smoothed()
        elif self.noise not in ("auto", "edges"):
            raise UsageError("noise belongs to cells=; of all items of a space method= and delta= settle it.")
        elif self.method == "smoothed" or self.column is not None or self.by or self.where is not None:
            raise UsageError(
                "cells must be given for method='smoothed', column=, by= and where=; without it the items of the whole "
                "space are counted, so pass a pitch or a column."
            )

    def _check_smoothed(self) -> None:
        plain = (self.model, self.sizes, self.adjust, self.messages) == ("central", None, "none", "auto")
        if self.method not in ("auto", "smoothed") or not plain:
            raise UsageError(
                "cells= gives smoothed frequencies in the central model; for another method=, model=, sizes= or "
                "adjust= leave it out and read the table with a finite space, such as emdp.Grid."
            )


@dataclass(frozen=True)
class Quantiles:
    """Quantiles of an expression among the records, every user weighing the same.

    Parameters
    ----------
    expression : Expression
        Function of one record.
    levels : tuple of float
        Distinct, in (0, 1).
    price, noise, name
        As in :class:`Frequencies`.
    by : tuple of str
        Public user columns to group by.
    where : Where, optional
        Which records and users count.
    step : float, optional
        Width of the ramps of the smoothed distribution function, in the expression's unit; chosen by default.
    share : float, optional
        As in :class:`emdp.Mean`, for ``where``; the width that is chosen follows it, too.

    Raises
    ------
    UsageError
        If a parameter is malformed.
    """

    expression: Expression
    levels: tuple[float, ...]
    price: Price
    noise: VectorNoise = "auto"
    by: tuple[str, ...] = ()
    where: Where | None = None
    step: float | None = None
    name: str = "quantile"
    share: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "expression", lift(self.expression))
        levels = (self.levels,) if isinstance(self.levels, Real) else tuple(self.levels)
        object.__setattr__(self, "levels", tuple(check_unit_interval("qs", level) for level in levels))
        if not self.levels or len(set(self.levels)) < len(self.levels):
            raise UsageError("qs must be at least one number in (0, 1), each once; pass such as [0.5, 0.9].")
        if self.step is not None:
            object.__setattr__(self, "step", check_positive("step", self.step))
        _check_common(self)
        check_share(self)


def frequencies(
    cells: float | str | None = None,
    *,
    column: str | None = None,
    alpha: float | Tiers | None = None,
    epsilon: float | Tiers | None = None,
    delta: float = 0.0,
    method: FrequencyMethod = "auto",
    noise: CellNoise = "auto",
    by: str | Iterable[str] = (),
    where: Any = None,
    name: str = "frequency",
    model: Model = "central",
    sizes: BoundedReduction | None = None,
    adjust: Adjustment = "none",
    neighbours: Neighbours = "replace",
    messages: Messages = "auto",
) -> Frequencies:
    """Return a :class:`Frequencies` query; see there for the parameters.

    >>> frequencies(1.0, alpha=2.0).cells, frequencies("category", alpha=2.0).cells
    (1.0, 'category')
    """
    refuse_removal(neighbours, "frequencies")
    return Frequencies(
        Price.asked(alpha=alpha, epsilon=epsilon, delta=delta),
        cells,
        column,
        method,
        noise,
        by,  # type: ignore[arg-type]  # checked there
        where,
        name,
        model,
        sizes,
        adjust,
        messages,
    )


def quantiles(
    expression: Any,
    qs: float | Iterable[float],
    *,
    alpha: float | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    noise: VectorNoise = "auto",
    by: str | Iterable[str] = (),
    where: Any = None,
    step: float | None = None,
    name: str = "quantile",
    share: float | None = None,
    neighbours: Neighbours = "replace",
) -> Quantiles:
    """Return a :class:`Quantiles` query; see there for the parameters.

    >>> from emdp.expressions import col
    >>> quantiles(col("price"), [0.5, 0.9], alpha=2.0).levels
    (0.5, 0.9)
    """
    refuse_removal(neighbours, "quantiles")
    price = Price.asked(alpha=alpha, epsilon=epsilon, delta=delta)
    return Quantiles(lift(expression), qs, price, noise, by, where, step, name, share)  # type: ignore[arg-type]


def _check_common(query: Frequencies | Quantiles) -> None:
    check_price(query.price, has_tiers=isinstance(query, Frequencies) and query.model != "shuffle")
    check_choice("noise", query.noise, CELL_NOISE if isinstance(query, Frequencies) else VECTOR_NOISE)
    object.__setattr__(query, "by", check_by(query.by))
    object.__setattr__(query, "where", check_where(query.where))
    if not isinstance(query.name, str) or not query.name:
        raise UsageError("name must be a non-empty text; pass the answer's column.")
