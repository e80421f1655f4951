"""The interface of an item randomizer: one item in, one output out, with ``alpha0``-``d_X`` privacy (EMD 3)."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from emdp.privacy.blanket.output_law import OutputLaw
from emdp.spaces import Space

__all__ = ["Randomizer"]


class Randomizer(ABC):
    """A randomizer ``A: X -> Y`` with ``A(x)(S) <= exp(alpha0 d_X(x, x')) A(x')(S)`` for all items and sets.

    Attributes
    ----------
    name : str
        The randomizer's name, in words.
    space : Space
        The item space ``X``.
    requested : float
        The ``alpha0`` that was asked for.
    """

    name: ClassVar[str]
    space: Space
    requested: float

    @property
    @abstractmethod
    def alpha0(self) -> float:
        """Actual strength of the randomizer, rounded up; it can be less than requested, or a little more."""

    @property
    @abstractmethod
    def w_min(self) -> float:
        """Smallest positive distance of two items, rounded down; 0 on a continuum."""

    @property
    @abstractmethod
    def law(self) -> OutputLaw | None:
        """The exact output law of a finite randomizer; None for a continuous one."""

    @abstractmethod
    def at(self, alpha0: float) -> Self:
        """Return the same randomizer at another strength."""

    @property
    @abstractmethod
    def theorem(self) -> str:
        """The source of ``alpha0``, in one line."""

    def explain(self) -> str:
        """Return the randomizer in one line."""
        return f"{self.name} on {self.space.noun}, alpha0 = {self.alpha0:.6g}"

    def parameters(self) -> dict[str, Any]:
        """Return what the ledger keeps of it, JSON-ready."""
        return {"name": self.name, "alpha0": self.alpha0}
