"""The guarantees that emdp states, as frozen values (EMD 1).

Every one of them bounds the hockey-stick divergence ``H_t(P‖Q) = sup_E P(E) - t Q(E)`` between the laws of
what is released on two neighbouring tables. Neighbours *replace* one user's whole bag of records, also by none, while
``n``, the number of users, is public. A ``UserDP`` may be stated for neighbours by *removal* instead: all records of
one user appear or vanish, and nothing about ``n`` is public (user-level-sql.md 1.1). All numbers follow the decimal
rule of :mod:`emdp.privacy.rounding`.

A guarantee with parameters 0 says that the release does not depend on the data at all: it is what has been
spent of an untouched budget, and the *kind* (:attr:`Guarantee.kind`) that conversions and budgets compare.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any, ClassVar, Literal, Self, cast

from emdp.base.checks import check_choice, check_count, check_finite, check_positive, check_range, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.privacy.rounding import as_decimal, float_up

__all__ = [
    "MODELS",
    "NEIGHBOURS",
    "SIZES",
    "UNITS",
    "DiscreteEmdDP",
    "EmdDP",
    "Guarantee",
    "Model",
    "Neighbours",
    "Sizes",
    "Unit",
    "UserDP",
    "guarantee_from_json",
    "is_by_removal",
    "is_by_source",
    "is_per_history",
    "is_per_period",
]

Sizes = Literal["unbounded", "bounded"]
Model = Literal["central", "local", "shuffle"]
Neighbours = Literal["replace", "remove"]
Unit = Literal["user", "period", "history"]
SIZES: tuple[Sizes, ...] = ("unbounded", "bounded")
"""Sizes of the two bags of neighbours: unlike ones allowed, or one public size."""
MODELS: tuple[Model, ...] = ("central", "local", "shuffle")
"""Models of trust: a trusted curator, nobody but the user, or a trusted shuffler of the users' messages."""
NEIGHBOURS: tuple[Neighbours, ...] = ("replace", "remove")
"""Relations of neighbours: one user's records become others, with a public list or number of users; or appear and
vanish."""
UNITS: tuple[Unit, ...] = ("user", "period", "history")
"""What a change is of: all that a user ever did, what a user did in one period, or a part of so many periods."""

UNWRITTEN = {"neighbours": "replace", "unit": "user", "periods": None}
"""Values of fields that came later, which ledgers from before them mean; they are still written by leaving them out."""


class Guarantee(ABC):
    """Base of all guarantees: a level (alpha or epsilon), a delta, and what the two are stated about.

    Attributes
    ----------
    level_name : {"alpha", "epsilon"}
        What the level is called.
    delta : float
        Slack in probability, in [0, 1).
    model : {"central", "local", "shuffle"}
        Who sees what.
    """

    level_name: ClassVar[str]
    delta: float
    model: Model

    @property
    def level(self) -> float:
        """The guarantee's alpha or epsilon, whichever it has."""
        return float(getattr(self, self.level_name))

    @property
    def kind(self) -> Self:
        """Guarantee with parameters 0: two guarantees are of one kind if these are equal.

        >>> EmdDP(2.0, 1e-9).kind == EmdDP(0.5).kind, EmdDP(2.0).kind == EmdDP(2.0, sizes="bounded").kind
        (True, False)
        """
        return self.at_level(0.0, 0.0)

    @property
    @abstractmethod
    def kind_name(self) -> str:
        """The kind in words, such as ``"unbounded central EmdDP"``."""

    def at_level(self, level: float, delta: float) -> Self:
        """Return the guarantee of the same kind with another level and delta.

        >>> UserDP(1.0).at_level(0.5, 1e-9)
        UserDP(epsilon=0.5, delta=1e-09, model='central')
        """
        return type(self)(**{**self._values(), self.level_name: level, "delta": delta})

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready description that :func:`guarantee_from_json` reads back.

        >>> UserDP(1.0).to_json()
        {'kind': 'UserDP', 'epsilon': 1.0, 'delta': 0.0, 'model': 'central'}
        """
        return {"kind": type(self).__name__, **self._values()}

    def _values(self) -> dict[str, Any]:
        """Return the fields, without those that have the value of ``UNWRITTEN``."""
        values = {item.name: getattr(self, item.name) for item in fields(cast(Any, self))}
        return {name: value for name, value in values.items() if UNWRITTEN.get(name) != value}

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self._values().items())
        return f"{type(self).__name__}({shown})"

    def _check_parameters(self) -> None:
        level = check_finite(self.level_name, getattr(self, self.level_name))
        if level < 0:
            raise UsageError(f"{self.level_name} must be at least 0, got {level}; pass a number that is not negative.")
        object.__setattr__(self, self.level_name, abs(level))
        object.__setattr__(self, "delta", check_unit_interval("delta", self.delta, zero=True))
        check_choice("model", self.model, MODELS)


@dataclass(frozen=True, repr=False)
class EmdDP(Guarantee):
    """Metric differential privacy under the earth-mover distance: ``(alpha, delta)`` d_EM-DP.

    For every two neighbours whose changed user's bags are at distance ``d = d_em``:
    ``H_{exp(alpha d)}(M(K)‖M(K')) <= delta``. Of several answers, on several periods or versions of the data, ``d`` is
    the largest distance of the bags that one of them reads (:mod:`emdp.privacy.account.periods`).

    Parameters
    ----------
    alpha : float
        Loss per unit of ``d_em``, at least 0; since ``d_em`` is in [0, 1], values far above 1 are normal.
    delta : float
        In [0, 1).
    sizes : {"unbounded", "bounded"}
        Bags of any sizes; or only bags of one public size (in the local model, of equal size).
    model : {"central", "local", "shuffle"}
        Who sees what.
    unit : {"user", "period", "history"}
        Which histories of a user are compared. ``"user"``: any two. ``"period"``, which is weaker: two that differ in
        one period, a public part of the data; of two that differ in ``k`` periods less is said. ``"history"``: any two,
        and ``d`` is the mean of the distances in ``periods`` periods, so that a record of one of them is a small part.
        The latter two are of the central model alone.
    periods : int, optional
        Number of periods of ``unit="history"``, at least 1.

    Raises
    ------
    UsageError
        If a parameter is out of its range.

    References
    ----------
    EMD 1 (table of guarantees); elsewhere-periods-continual.md B1.

    >>> print(EmdDP(25.86, 1e-8))
    alpha = 25.86 per unit of d_em, delta = 1e-08 (unbounded central EmdDP)
    >>> EmdDP(2.0, unit="period").kind_name
    'unbounded central EmdDP per period'
    >>> EmdDP(1040.0, unit="history", periods=52).kind_name
    'unbounded central EmdDP per history of 52 periods'
    """

    alpha: float
    delta: float = 0.0
    sizes: Sizes = "unbounded"
    model: Model = "central"
    unit: Unit = field(default="user", kw_only=True)
    periods: int | None = field(default=None, kw_only=True)
    level_name: ClassVar[str] = "alpha"

    def __post_init__(self) -> None:
        self._check_parameters()
        check_choice("sizes", self.sizes, SIZES)
        check_choice("unit", self.unit, UNITS)
        if (self.unit == "history") != (self.periods is not None):
            raise UsageError(
                f"periods must be given with unit = 'history' and with no other, got unit = {self.unit!r}; "
                "say EmdDP(1040.0, unit='history', periods=52)."
            )
        if self.periods is not None:
            object.__setattr__(self, "periods", check_count("periods", self.periods))
        if self.unit != "user" and self.model != "central":
            raise UsageError(
                f"unit = {self.unit!r} does not fit model = {self.model!r}, whose messages are charged as a whole "
                "user's; leave unit out, or take the central model."
            )

    @property
    def kind_name(self) -> str:
        units = {"user": "", "period": " per period", "history": f" per history of {self.periods} periods"}
        return f"{self.sizes} {self.model} EmdDP{units[self.unit]}"

    def at(self, d: float) -> tuple[float, float]:
        """Return ``(epsilon, delta) = (alpha d, delta)``, for two bags at distance ``d`` or nearer.

        Parameters
        ----------
        d : float
            Earth-mover distance, in [0, 1].

        >>> EmdDP(alpha=10, delta=1e-9).at(0.03), EmdDP(10).at(0)
        ((0.3, 1e-09), (0.0, 0.0))
        """
        distance = check_range("d", d, 0.0, 1.0)
        return float_up(as_decimal(self.alpha) * as_decimal(distance)), self.delta

    def __str__(self) -> str:
        return f"alpha = {self.alpha!r} per unit of d_em, delta = {self.delta!r} ({self.kind_name})"


@dataclass(frozen=True)
class DiscreteEmdDP(Guarantee):
    """``(epsilon, delta)`` for every two neighbours whose changed user's bags are within ``d_em <= r``.

    Parameters
    ----------
    epsilon : float
        At least 0.
    delta : float
        In [0, 1).
    r : float
        Protected earth-mover distance, in (0, 1].
    sizes : {"unbounded", "bounded"}
        Bags of any sizes, or only bags of one public size; the latter has no group privacy (EMD 1: the chain
        of mixtures behind it passes through other sizes).
    model : {"central", "local", "shuffle"}
        Who sees what.

    Raises
    ------
    UsageError
        If a parameter is out of its range.

    References
    ----------
    EMD 1.

    >>> print(DiscreteEmdDP(0.2, 1e-9, r=0.05))
    epsilon = 0.2, delta = 1e-09 (unbounded central DiscreteEmdDP up to d_em = 0.05)
    """

    epsilon: float
    delta: float
    r: float
    sizes: Sizes = "unbounded"
    model: Model = "central"
    level_name: ClassVar[str] = "epsilon"

    def __post_init__(self) -> None:
        self._check_parameters()
        object.__setattr__(self, "r", check_range("r", check_positive("r", self.r), 0.0, 1.0))
        check_choice("sizes", self.sizes, SIZES)

    @property
    def kind_name(self) -> str:
        """The kind in words; ``r`` is part of it."""
        return f"{self.sizes} {self.model} DiscreteEmdDP up to d_em = {self.r!r}"

    def __str__(self) -> str:
        return f"epsilon = {self.epsilon!r}, delta = {self.delta!r} ({self.kind_name})"


@dataclass(frozen=True, repr=False)
class UserDP(Guarantee):
    """The ordinary user-level guarantee: ``(epsilon, delta)`` whatever one user's records are.

    Parameters
    ----------
    epsilon : float
        At least 0.
    delta : float
        In [0, 1).
    model : {"central", "local", "shuffle"}
        Who sees what.
    neighbours : {"replace", "remove"}
        Which tables must look alike. ``"replace"``: those in which one user's records become any others, also none;
        the list or number of users is public. ``"remove"``: those in which all records of one user appear or vanish;
        nothing about the number of users is public. It is of the central model alone.

    Raises
    ------
    UsageError
        If a parameter is out of its range.

    References
    ----------
    EMD 1; user-level-sql.md 1.1.

    >>> print(UserDP(1.0))
    epsilon = 1.0, delta = 0.0 (central UserDP)
    >>> UserDP(1.0, neighbours="remove")
    UserDP(epsilon=1.0, delta=0.0, model='central', neighbours='remove')
    """

    epsilon: float
    delta: float = 0.0
    model: Model = "central"
    neighbours: Neighbours = field(default="replace", kw_only=True)
    level_name: ClassVar[str] = "epsilon"

    def __post_init__(self) -> None:
        self._check_parameters()
        check_choice("neighbours", self.neighbours, NEIGHBOURS)
        if self.neighbours == "remove" and self.model != "central":
            raise UsageError(
                f"neighbours = 'remove' does not fit model = {self.model!r}, where the number of messages tells the "
                "number of users; leave neighbours out, or take the central model."
            )

    @property
    def kind_name(self) -> str:
        return f"{self.model} UserDP{' by removal' if self.neighbours == 'remove' else ''}"

    def __str__(self) -> str:
        return f"epsilon = {self.epsilon!r}, delta = {self.delta!r} ({self.kind_name})"


def is_by_removal(guarantee: Guarantee) -> bool:
    """Say whether a guarantee is stated for a user who appears or vanishes, so that their number is private.

    >>> is_by_removal(UserDP(1.0, neighbours="remove")), is_by_removal(UserDP(1.0)), is_by_removal(EmdDP(1.0))
    (True, False, False)
    """
    return isinstance(guarantee, UserDP) and guarantee.neighbours == "remove"


def is_per_period(guarantee: Guarantee) -> bool:
    """Say whether a guarantee is about what a user did in one period, and not about all that a user did.

    >>> is_per_period(EmdDP(2.0, unit="period")), is_per_period(EmdDP(2.0)), is_per_period(UserDP(1.0))
    (True, False, False)
    """
    return isinstance(guarantee, EmdDP) and guarantee.unit == "period"


def is_per_history(guarantee: Guarantee) -> bool:
    """Say whether a guarantee is about a part of all that a user did in a public number of periods.

    >>> is_per_history(EmdDP(104.0, unit="history", periods=52)), is_per_history(EmdDP(2.0))
    (True, False)
    """
    return isinstance(guarantee, EmdDP) and guarantee.unit == "history"


def is_by_source(guarantee: Guarantee) -> bool:
    """Say whether a budget for a guarantee must know which period each answer reads.

    >>> [is_by_source(EmdDP(2.0, unit=unit)) for unit in ("user", "period")]
    [False, True]
    """
    return is_per_period(guarantee) or is_per_history(guarantee)


def guarantee_from_json(description: Mapping[str, Any]) -> Guarantee:
    """Return the guarantee that ``to_json`` described.

    Raises
    ------
    UsageError
        If the kind is unknown, or a field is missing or left over: nothing is guessed.

    >>> guarantee_from_json(EmdDP(2.0).to_json())
    EmdDP(alpha=2.0, delta=0.0, sizes='unbounded', model='central')
    """
    if not isinstance(description, Mapping):
        raise UsageError(f"a guarantee must be a JSON object, not {type(description).__name__}; pass to_json().")
    values = dict(description)
    kind = values.pop("kind", None)
    build = _KINDS.get(kind) if isinstance(kind, str) else None
    if build is None:
        found = repr(kind) if isinstance(kind, str) else f"of type {type(kind).__name__}"
        raise UsageError(f"kind {found} is no known guarantee, only {', '.join(_KINDS)}; use a newer emdp.")
    named = {item.name for item in fields(build)}
    # What came later is left out where it has the value of before, and read whether or not it is written.
    if not named - set(UNWRITTEN) <= set(values) <= named:
        raise UsageError(f"{sorted(map(str, values))} are not the fields of {kind}; pass what to_json() wrote.")
    return build(**values)


_KINDS: dict[str, type[EmdDP] | type[DiscreteEmdDP] | type[UserDP]] = {
    "EmdDP": EmdDP,
    "DiscreteEmdDP": DiscreteEmdDP,
    "UserDP": UserDP,
}
