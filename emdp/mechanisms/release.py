"""Public facts about the mechanism behind an answer, whatever its kind."""

from typing import Protocol

__all__ = ["Mechanism"]


class Mechanism(Protocol):
    """A mechanism as an answer shows it: one release, with its theorem and what rounding costs."""

    @property
    def theorem(self) -> str:
        """The guarantee's source, in one line."""

    @property
    def slack_epsilon(self) -> float:
        """Loss beside the guarantee that rounding and floating-point evaluation cost, rounded up."""

    @property
    def slack_delta(self) -> float:
        """The part of delta that covers rounding; 0 for pure noise."""

    @property
    def is_exact(self) -> bool:
        """Whether the answer is the same on every table."""

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        """Return what is public about the release, as pairs of a short name and a fact.

        Parameters
        ----------
        unit : str
            Unit of sensitivities, such as ``d_em``.
        """
