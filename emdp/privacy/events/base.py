"""Base class of events; :mod:`emdp.privacy.events.table` says what an event is."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any, cast

from emdp.base.checks import check_finite
from emdp.base.errors import UsageError
from emdp.privacy.guarantees.kinds import Guarantee

__all__ = ["Event", "check_event", "check_slack_epsilon"]


class Event:
    """Base of all events.

    Attributes
    ----------
    guarantee : Guarantee
        What the release is charged as.
    slack_epsilon : float
        Additive epsilon that holds beside the guarantee; see :mod:`emdp.privacy.events.table`.
    """

    slack_epsilon: float

    if TYPE_CHECKING:
        # Only declared: a field of a dataclass would take an inherited property for its default.
        @property
        def guarantee(self) -> Guarantee:
            """The statement that the release is charged as, next to ``slack_epsilon``."""

    @property
    def gaussian_mu(self) -> float | None:
        """``mu`` of a release that is Gaussian throughout, so that squares add; None for any other."""
        return None

    @property
    def slack(self) -> tuple[float, float]:
        """``(slack_epsilon, slack_delta)``; the second is 0 for an event that has no such field."""
        return self.slack_epsilon, getattr(self, "slack_delta", 0.0)

    @property
    def shown_name(self) -> str:
        """Name of the release in a history."""
        return type(self).__name__.removesuffix("Event")

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready description that :func:`emdp.privacy.events.table.event_from_json` reads back."""
        values = {item.name: _plain(getattr(self, item.name)) for item in fields(cast(Any, self))}
        return {"event": type(self).__name__, **values}


def check_event(event: object) -> None:
    """Raise ``UsageError`` if this is no event.

    >>> check_event(Event())
    """
    if not isinstance(event, Event):
        raise UsageError(f"events must hold events, not {type(event).__name__}; pass what mechanism.event() returns.")


def check_slack_epsilon(event: Event) -> None:
    """Check an event's ``slack_epsilon`` while it is built, and make it a float.

    Raises
    ------
    UsageError
        If it is negative or not finite.
    """
    slack = check_finite("slack_epsilon", event.slack_epsilon)
    if slack < 0:
        raise UsageError(f"slack_epsilon must be at least 0, got {slack}; pass a number that is not negative.")
    object.__setattr__(event, "slack_epsilon", slack)


def _plain(value: Any) -> Any:
    if isinstance(value, Guarantee | Event):
        return value.to_json()
    return [_plain(member) for member in value] if isinstance(value, tuple) else value
