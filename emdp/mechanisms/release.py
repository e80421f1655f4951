"""Public facts about the mechanism behind an answer, whatever its kind, or about several that are shown as one."""

from fractions import Fraction
from typing import Protocol

from emdp.base.classes import dataclass
from emdp.privacy.rounding import as_decimal, float_up

__all__ = ["JoinedMechanism", "Mechanism"]


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


@dataclass(frozen=True)
class JoinedMechanism:
    """Several mechanisms as an answer shows them."""

    members: tuple[Mechanism, ...]

    @property
    def theorem(self) -> str:
        return "; ".join(dict.fromkeys(member.theorem for member in self.members))

    @property
    def slack_epsilon(self) -> float:
        """The sum of what rounding costs, rounded up."""
        return float_up(sum((as_decimal(member.slack_epsilon) for member in self.members), Fraction(0)))

    @property
    def slack_delta(self) -> float:
        """The sum of the parts of delta that cover rounding, rounded up."""
        return float_up(sum((as_decimal(member.slack_delta) for member in self.members), Fraction(0)))

    @property
    def is_exact(self) -> bool:
        return all(member.is_exact for member in self.members)

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        return tuple(fact for member in self.members for fact in member.facts(unit))
