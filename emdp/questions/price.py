"""The price of a question: what it may spend, made where the question is asked and carried whole from there."""

import math
from dataclasses import field
from fractions import Fraction
from typing import Literal, Self

from emdp.base.checks import check_choice, check_positive, check_range, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.privacy.guarantees.kinds import NEIGHBOURS, EmdDP, Guarantee, Model, Neighbours, UserDP
from emdp.privacy.rounding import root_up
from emdp.questions.tiers import Tiers, check_levels

__all__ = [
    "NEIGHBOUR_WORDS",
    "PRICE_KINDS",
    "Neighbours",
    "Price",
    "PriceKind",
    "check_price",
    "epsilon_of_rho",
    "refuse_removal",
]

PriceKind = Literal["alpha", "epsilon"]
PRICE_KINDS: tuple[PriceKind, ...] = ("alpha", "epsilon")
"""Named as the level is: ``alpha`` per unit of ``d_em`` (d_EM-DP), ``epsilon`` at the user level."""

NEIGHBOUR_WORDS: tuple[Neighbours, ...] = NEIGHBOURS
"""Values of ``neighbours``: ``"replace"`` (the default) or ``"remove"``."""


@dataclass(frozen=True, repr=False)
class Price:
    """Price of a question: the kind of guarantee, its level and delta.

    Parameters
    ----------
    kind : {"alpha", "epsilon"}
        What the level is called, and so which guarantee it is of.
    level : float
        Alpha per unit of ``d_em``, or the user-level epsilon; positive. Infinite where nothing limits it: see
        :meth:`at_most`.
    delta : float
        In [0, 1).
    neighbours : {"replace", "remove"}
        What epsilon hides: whatever one user's records are replaced by, with a public number of users; or whether a
        user has records at all. Not with alpha.
    weaker : tuple of float
        Levels of further tiers of the release, falling, all below ``level``; see :func:`emdp.tiers`.

    Raises
    ------
    UsageError
        If a parameter is out of its range.

    >>> Price("alpha", 2.0), Price("epsilon", 1.0).is_user_level
    (Price(kind='alpha', level=2.0, delta=0.0), True)
    >>> Price("epsilon", 1.0, neighbours="remove")
    Price(kind='epsilon', level=1.0, delta=0.0, neighbours='remove')
    """

    kind: PriceKind
    level: float
    delta: float = 0.0
    neighbours: Neighbours = field(default="replace", kw_only=True)
    weaker: tuple[float, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, PRICE_KINDS)
        check_choice("neighbours", self.neighbours, NEIGHBOUR_WORDS)
        if self.is_by_removal and not self.is_user_level:
            raise UsageError("neighbours = 'remove' belongs to epsilon, not to alpha; pass epsilon=, or leave it out.")
        if self.level != math.inf:
            object.__setattr__(self, "level", check_positive(self.kind, self.level))
        object.__setattr__(self, "delta", check_unit_interval("delta", self.delta, zero=True))
        if self.weaker:
            object.__setattr__(self, "weaker", check_levels(self.kind, (self.level, *self.weaker))[1:])

    @classmethod
    def asked(
        cls,
        *,
        alpha: float | Tiers | None = None,
        epsilon: float | Tiers | None = None,
        delta: float = 0.0,
        neighbours: Neighbours = "replace",
    ) -> Self:
        """Return the price of a question that takes either level.

        Raises
        ------
        UsageError
            If a parameter is out of its range, or both or none of ``alpha`` and ``epsilon`` are given.

        >>> Price.asked(epsilon=1.0, delta=1e-9)
        Price(kind='epsilon', level=1.0, delta=1e-09)
        """
        first, weaker = zip(*map(_tiers_of, (alpha, epsilon)), strict=True)
        given = _given(*first)
        if len(given) != 1:
            raise UsageError(
                f"exactly one of alpha and epsilon must be given, got {'both' if given else 'none'}; alpha is for a "
                "d_EM-DP budget, epsilon for a user-level one."
            )
        ((kind, level),) = given.items()
        return cls(kind, check_positive(kind, level), delta, neighbours=neighbours, weaker=weaker[0] or weaker[1])

    @classmethod
    def at_most(cls, kind: PriceKind, *, alpha: float | None, epsilon: float | None, delta: float) -> Self:
        """Return the price of a release that may have its own strength: its level is then infinite.

        Parameters
        ----------
        kind : {"alpha", "epsilon"}
            What the release is priced in. If the other level is given, the price is of that kind, for the question to
            refuse.
        alpha, epsilon, delta
            What was asked for.

        >>> Price.at_most("alpha", alpha=None, epsilon=None, delta=1e-9).level
        inf
        """
        given = {name: check_positive(name, level) for name, level in _given(alpha, epsilon).items()}
        own: PriceKind = next((name for name in given if name != kind), kind)
        return cls(own, given.get(own, math.inf), delta)

    @classmethod
    def user_level(
        cls,
        epsilon: float | None,
        delta: float,
        *,
        missing: str,
        ends: tuple[float, float] | None = None,
        alpha: float | None = None,
        refused: str = "",
    ) -> Self:
        """Return the price of a question whose guarantee is at the user level alone.

        Parameters
        ----------
        epsilon, delta
            What was asked for.
        missing : str
            What is said where no epsilon was given.
        ends : (float, float), optional
            Least and largest epsilon; any positive one by default.
        alpha, refused
            An alpha that was given all the same, and what is said of it.

        Raises
        ------
        UsageError
            If the price is missing, of the other kind, or out of its range.

        >>> Price.user_level(1.0, 0.0, missing="epsilon must be given; pass one.").kind
        'epsilon'
        """
        given = _given(alpha, epsilon)
        if "alpha" in given:
            raise UsageError(refused)
        if not given:
            raise UsageError(missing)
        level = check_positive("epsilon", given["epsilon"]) if ends is None else check_range("epsilon", epsilon, *ends)
        return cls("epsilon", level, delta)

    @property
    def is_user_level(self) -> bool:
        """Whether the level is an epsilon, which holds however far the changed user's records move."""
        return self.kind == "epsilon"

    @property
    def is_by_removal(self) -> bool:
        """Whether epsilon hides whether a user has records at all, so that the number of users is private."""
        return self.neighbours == "remove"

    @property
    def is_limited(self) -> bool:
        """Whether there is a level that the question must not exceed."""
        return self.level != math.inf

    def promise(self, model: Model = "central") -> Guarantee:
        """Return the kind of guarantee that is asked for: level and delta are 0.

        >>> Price("epsilon", 1.0).promise()
        UserDP(epsilon=0.0, delta=0.0, model='central')
        """
        return UserDP(0.0, 0.0, model, neighbours=self.neighbours) if self.is_user_level else EmdDP(0.0, model=model)

    def __repr__(self) -> str:
        shown = f", neighbours={self.neighbours!r}" if self.is_by_removal else ""
        shown += f", weaker={self.weaker!r}" if self.weaker else ""
        return f"Price(kind={self.kind!r}, level={self.level!r}, delta={self.delta!r}{shown})"


def check_price(
    price: object,
    kind: PriceKind | None = None,
    *,
    is_limited: bool = True,
    is_removable: bool = False,
    has_tiers: bool = False,
) -> None:
    """Check the price of a question while it is built.

    Parameters
    ----------
    price : object
        Must be a :class:`Price`.
    kind : {"alpha", "epsilon"}, optional
        The only kind that the question has.
    is_limited : bool
        Whether its level must be finite.
    is_removable : bool
        Whether the question can be asked by removal of a user; the others are refused here.
    has_tiers : bool
        Whether the question can have several readers.
    """
    if not isinstance(price, Price):
        raise UsageError(
            f"price must be an emdp.questions.Price, not {type(price).__name__}; ask by emdp.mean and its like."
        )
    if kind is not None and price.kind != kind:
        raise UsageError(f"price must be of kind {kind!r} here, got {price.kind!r}; pass {kind}.")
    if is_limited:
        check_positive(price.kind, price.level)
    if not is_removable:
        refuse_removal(price.neighbours, "such questions")
    if price.weaker and not has_tiers:
        raise UsageError(
            f"{price.kind} has tiers, which means and frequencies have alone; pass one number for such questions."
        )


def epsilon_of_rho(rho: float, delta: float) -> float:
    """Return the epsilon at which Gaussian noise of ``rho`` has this delta, rounded up.

    Noise of deviation ``sigma`` for a move of ``Delta`` in the 2-norm has ``rho = Delta^2/(2 sigma^2)`` (concentrated
    differential privacy: Bun and Steinke 2016, proposition 1.6), so ``mu = Delta/sigma = sqrt(2 rho)``. The epsilon is
    that of the exact profile (Balle and Wang 2018, theorem 8), not of the looser conversion from ``rho``.

    Parameters
    ----------
    rho : float
        Above 0.
    delta : float
        In (0, 1).

    Raises
    ------
    UsageError
        If a parameter is out of its range, or delta alone covers noise of this ``rho``.

    >>> round(epsilon_of_rho(1 / (2 * 5.4953**2), 1e-9), 4)
    1.0
    """
    # Loaded where it is needed.
    from emdp.privacy.calibration import gaussian_alpha

    square = 2 * Fraction(check_positive("rho", rho))
    epsilon = gaussian_alpha(root_up(square), check_unit_interval("delta", delta))
    if epsilon == 0:
        raise UsageError(f"rho = {rho:g} is so small that delta = {delta:g} covers it; pass a smaller delta.")
    return epsilon


def refuse_removal(neighbours: object, what: str) -> None:
    """Raise where a kind of question is asked by removal and cannot be: it rests on the public number of users.

    Parameters
    ----------
    neighbours : {"replace", "remove"}
        As the analyst passed it.
    what : str
        The kind of question, as it begins a sentence.

    Raises
    ------
    UsageError
        If it is neither of the two, or removal.

    >>> refuse_removal("replace", "quantiles")
    """
    check_choice("neighbours", neighbours, NEIGHBOUR_WORDS)
    if neighbours == "remove":
        raise UsageError(
            f"neighbours = 'remove' does not fit: {what} divide by the number of users, or count messages of all of "
            "them, and that number is private then; leave neighbours out, or ask for COUNT, SUM or AVG with "
            "max_records_per_user."
        )


def _tiers_of(level: float | Tiers | None) -> tuple[float | None, tuple[float, ...]]:
    return (level.levels[0], level.levels[1:]) if isinstance(level, Tiers) else (level, ())


def _given(alpha: float | None, epsilon: float | None) -> dict[PriceKind, float]:
    levels: tuple[tuple[PriceKind, float | None], ...] = (("alpha", alpha), ("epsilon", epsilon))
    return {kind: level for kind, level in levels if level is not None}
