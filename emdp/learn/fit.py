"""Linear and logistic models of a session's table by private gradient descent, with predictions for public frames."""

from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from emdp.answers import Answer
from emdp.base.arrays import Floats
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.base.frames import to_polars
from emdp.expressions import analyse, evaluate
from emdp.privacy import Guarantee
from emdp.questions.linear_fit import LinearFit, linear_fit_query
from emdp.sessions.session import Session
from emdp.spaces import Space

__all__ = ["FittedLinear", "fit_linear"]


@dataclass(frozen=True, eq=False, repr=False)
class FittedLinear:
    """A fitted model. Everything in it was released, so that using it costs nothing.

    Parameters
    ----------
    query : LinearFit
        What was fitted.
    answer : Answer
        The release: ``answer.frame`` has a row a coefficient, ``answer.explain()`` the whole derivation.
    space : Space
        Of the table's items: what predictions are computed on.

    Attributes
    ----------
    coefficients : tuple of float
        One a feature, in the units of the expressions.
    intercept : float
        What is predicted where all features are 0; for the logistic loss the logarithm of odds there.
    guarantee : Guarantee
        What holds for the fit.
    """

    query: LinearFit
    answer: Answer
    space: Space

    @cached_property
    def _values(self) -> tuple[float, ...]:
        return tuple(self.answer.frame.get_column("coefficient").to_list())

    @property
    def coefficients(self) -> tuple[float, ...]:
        """Coefficients, one a feature, in the units of the expressions."""
        return self._values[1:]

    @property
    def intercept(self) -> float:
        """Prediction where all features are 0."""
        return self._values[0]

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of the fit."""
        return self.answer.guarantee

    def __repr__(self) -> str:
        return repr(self.answer)

    def predict(self, frame: object) -> Floats:
        """Return predictions for the rows of a frame, shape (rows,).

        Parameters
        ----------
        frame : a frame with the columns of the features
            Such as a Polars frame or a mapping of columns. The space's rule for invalid values applies; parts of the
            space that no feature is of, such as the target's, may be missing.

        Returns
        -------
        numpy.ndarray
            The target's expected value; for the logistic loss the probability of 1. NaN for rows that are elsewhere.

        Raises
        ------
        UsageError
            If a column of a feature is missing, or its values do not fit.
        """
        items = self._items(frame)
        margins = np.full(len(items), self.intercept)
        for coefficient, expression in zip(self.coefficients, self.query.features, strict=True):
            margins += coefficient * evaluate(expression, self.space, items)
        # Of an item that is elsewhere nothing is predicted.
        margins[self.space.is_elsewhere(items)] = np.nan
        if self.query.loss == "squared":
            return margins
        from scipy.special import expit

        return np.asarray(expit(margins), dtype=np.float64)

    def _items(self, frame: object) -> Floats:
        """Return a frame's encoded items, the neutral item in parts that are neither there nor needed."""
        given = to_polars("frame", frame)
        needed = np.zeros(len(self.space.parts), dtype=np.bool_)
        for expression in self.query.features:
            needed |= np.array(analyse(expression, self.space).parts) > 0
        blocks = []
        for part, is_needed in zip(self.space.parts, needed, strict=True):
            missing = [name for name in part.columns if name not in given.columns]
            if not missing and part.on_invalid == "elsewhere" and is_needed:
                valid = part.valid_mask(given)
                block = np.full((len(given), part.width), np.nan)
                block[valid] = part.encode(given.filter(pl.Series(valid)))
                blocks.append(block)
            elif not missing and part.on_invalid != "elsewhere":
                blocks.append(part.encode(given))
            elif not is_needed:
                blocks.append(np.repeat(part.neutral_item, len(given), axis=0))
            else:
                raise UsageError(f"frame has no column {missing[0]!r}, which a feature needs; pass it too.")
        return np.hstack(blocks)


def fit_linear(session: Session, features: Any, target: Any, **options: Any) -> FittedLinear:
    """Fit a linear or logistic model at user level, as one release: charged as a whole before any data are read.

    Parameters
    ----------
    session : Session
        On the private table, with a ``UserDP`` budget.
    features : str or Expression, or a sequence of them
        Columns or functions of one record, such as ``emdp.distance_to((40.7, -74.0))``.
    target : str or Expression
        What is modelled; for the logistic loss 0 or 1, such as ``emdp.category_is("bus")``.
    **options
        ``epsilon=``, ``delta=``, ``loss=`` (``"squared"``, ``"logistic"``), ``model=`` (``"central"``, ``"local"``,
        ``"shuffle"``), ``rounds=``, ``clip=``, ``radius=``, ``records=``, ``between=``, ``method=``, and in the shuffle
        model ``sampled=`` (CLDP-SGD) or ``participation=`` (dss-SGD): see :class:`LinearFit`.

    Returns
    -------
    FittedLinear

    Raises
    ------
    UsageError
        If a parameter is malformed, an expression is constant, or the target does not fit the loss.
    EmdpError
        As ``session.answer`` does.

    Guarantee
    ---------
    ``(epsilon, delta)`` at user level in the model for all rounds of the descent together, for any records:
    :mod:`emdp.mechanisms.descent.central` and :mod:`emdp.mechanisms.descent.messages`.

    >>> import tempfile
    >>> import emdp
    >>> rows = {"user": list(range(400)), "x": [u / 40 for u in range(400)], "y": [u / 80 + 1 for u in range(400)]}
    >>> space = emdp.Product(emdp.Interval("x", 0, 10), emdp.Interval("y", 0, 10))
    >>> with tempfile.TemporaryDirectory() as folder, emdp.testing.seeded(1):
    ...     table = emdp.read(rows, user="user", users=400, space=space)
    ...     session = emdp.Session(table, budget=emdp.UserDP(50.0, 1e-6), ledger=f"{folder}/x.ledger")
    ...     fit = fit_linear(session, "x", "y", epsilon=50.0, delta=1e-6)
    >>> abs(fit.intercept - 1) < 0.3, abs(fit.coefficients[0] - 0.5) < 0.05, fit.predict({"x": [4.0]}).shape
    (True, True, (1,))
    """
    if not isinstance(session, Session):
        raise UsageError(f"session must be an emdp.Session, not {type(session).__name__}; open one on the table.")
    query = linear_fit_query(features, target, **options)
    return FittedLinear(query, session.answer(query), session.table.space)
