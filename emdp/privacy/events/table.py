"""Events, the record of what was released: a ledger's memory, from which prices are computed and never the reverse.

**Stability contract.** Ledgers outlive versions. A field of an event never changes its meaning, its unit or
its name; a new version may add an event, or a field with a default that means what its absence meant. An
event that a version does not know is refused (:func:`event_from_json` reads through an explicit table), never
skipped.

Every event states a guarantee of some *kind* (:attr:`emdp.privacy.guarantees.kinds.Guarantee.kind`). Below, ``d``
is the distance of two neighbours on the scale of that kind: ``d_em`` in [0, 1] for an ``EmdDP``; for a
``UserDP`` or a ``DiscreteEmdDP`` every pair that it covers has ``d = 1``, and ``alpha`` stands for its
epsilon.

**Slack.** A computer rounds. A release is ``(alpha d + slack_epsilon, delta)``: the slack stands beside the
stated guarantee, since no larger alpha would repair it near ``d = 0`` (EMD 8.5), while what rounding costs in
probability, ``slack_delta``, is inside the delta. So that its squares can be added, a Gaussian event states a
second thing, from which the first would follow only up to a factor ``exp(slack_epsilon)`` of its delta: if ``P``
and ``Q`` are its laws on two neighbours and ``(P', Q')`` the ideal pair ``N(mu d, 1)``, ``N(0, 1)``, then for every
``t >= 0``

    ``H_{t exp(slack_epsilon)}(P‖Q) <= exp(slack_epsilon) H_t(P'‖Q') + slack_delta``.

An answer that needs no noise, because no neighbour changes it, is ``GuaranteeEvent(EmdDP(0.0))``: it costs
nothing and yet stands in the ledger.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any, cast

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.privacy.events.base import Event, check_slack_epsilon
from emdp.privacy.events.noise import GaussianEvent, KNormEvent, LaplaceEvent
from emdp.privacy.guarantees.kinds import Guarantee, guarantee_from_json
from emdp.privacy.rounding import as_decimal, float_up, root_up

__all__ = [
    "STAGES",
    "BatchEvent",
    "Event",
    "GaussianEvent",
    "GuaranteeEvent",
    "KNormEvent",
    "LaplaceEvent",
    "event_from_json",
]

STAGES = "stages of one statement"
"""How the name of a release in stages begins."""


@dataclass(frozen=True)
class GuaranteeEvent(Event):
    """A release known only by what it guarantees, such as an item-wise release.

    Parameters
    ----------
    guarantee : Guarantee
        What holds for it; ``EmdDP(0.0)`` for a release that does not depend on the data.
    mechanism : str
        Its name, for the reader of the history.
    slack_epsilon : float
        At least 0; additive, beside the guarantee.

    >>> from emdp.privacy.guarantees.kinds import EmdDP
    >>> GuaranteeEvent(EmdDP(2.0, 1e-12), mechanism="item-wise release").guarantee.delta
    1e-12
    """

    guarantee: Guarantee
    mechanism: str = ""
    slack_epsilon: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.guarantee, Guarantee):
            raise UsageError(f"guarantee must be a Guarantee, not {type(self.guarantee).__name__}; pass an EmdDP.")
        if not isinstance(self.mechanism, str):
            raise UsageError(f"mechanism must be a string, not {type(self.mechanism).__name__}; pass its name.")
        check_slack_epsilon(self)

    @property
    def shown_name(self) -> str:
        """Name of the release in a history: the stages of a statement with what each costs, where there are several."""
        return self.mechanism if self.mechanism.startswith(STAGES) else super().shown_name


@dataclass(frozen=True)
class BatchEvent(Event):
    """Several releases whose parameters were fixed before any of their answers was seen, priced as one.

    Parameters
    ----------
    events : tuple of Event
        What was done; at least one, all of one kind, none of them a batch.
    alpha, delta : float
        The price, as :func:`emdp.privacy.account.composition.price_batch` computes it; an account compares the two
        before it charges anything.
    slack_epsilon : float
        At least 0; additive, beside the price.

    References
    ----------
    EMD 7.

    >>> from emdp.privacy.guarantees.kinds import EmdDP
    >>> BatchEvent((GuaranteeEvent(EmdDP(1.0)), GuaranteeEvent(EmdDP(2.0))), 3.0, 0.0, 0.0).guarantee
    EmdDP(alpha=3.0, delta=0.0, sizes='unbounded', model='central')
    """

    events: tuple[Event, ...]
    alpha: float
    delta: float
    slack_epsilon: float

    def __post_init__(self) -> None:
        if not isinstance(self.events, tuple) or not self.events:
            raise UsageError("events must be a tuple of at least one event; pass the batch's releases.")
        for event in self.events:
            if not isinstance(event, Event) or isinstance(event, BatchEvent):
                raise UsageError(f"events must hold plain events, not {type(event).__name__}; pass its own events.")
        kinds = {event.guarantee.kind for event in self.events}
        if len(kinds) > 1:
            named = " and a ".join(sorted(kind.kind_name for kind in kinds))
            raise UsageError(f"events must be of one kind, not a {named}; state them in one kind first.")
        check_slack_epsilon(self)
        price = self.guarantee
        object.__setattr__(self, "alpha", price.level)
        object.__setattr__(self, "delta", price.delta)

    @property
    def guarantee(self) -> Guarantee:
        """``(alpha, delta)`` in the kind of the batch's events."""
        return self.events[0].guarantee.at_level(self.alpha, self.delta)

    @property
    def gaussian_mu(self) -> float | None:
        """The root of the sum of the squares, where every event is Gaussian."""
        ratios = [event.gaussian_mu for event in self.events]
        squares = [Fraction(ratio) ** 2 for ratio in ratios if ratio is not None]
        return root_up(sum(squares, Fraction(0))) if len(squares) == len(ratios) else None

    @property
    def slack(self) -> tuple[float, float]:
        """The sums of the events' slacks, rounded up."""
        pairs = [event.slack for event in self.events]
        return (
            float_up(sum((as_decimal(epsilon) for epsilon, _ in pairs), Fraction(0))),
            float_up(sum((as_decimal(delta) for _, delta in pairs), Fraction(0))),
        )


def event_from_json(description: Mapping[str, Any]) -> Event:
    """Return the event that ``to_json`` described.

    Raises
    ------
    UsageError
        If the event is unknown, or a field is missing or left over: nothing is guessed.

    >>> event = LaplaceEvent(2.0, 1, 0.5, 1.0, 2.0**-40, 2.0**-39)
    >>> event_from_json(event.to_json()) == event
    True
    """
    if not isinstance(description, Mapping):
        raise UsageError(f"an event must be a JSON object, not {type(description).__name__}; pass to_json().")
    values = dict(description)
    name = values.pop("event", None)
    build = _EVENTS.get(name) if isinstance(name, str) else None
    if build is None:
        found = repr(name) if isinstance(name, str) else f"of type {type(name).__name__}"
        raise UsageError(f"event {found} is not known, only {', '.join(_EVENTS)}; use the newer emdp that wrote it.")
    if set(values) != {item.name for item in fields(cast(Any, build))}:
        raise UsageError(f"{sorted(map(str, values))} are not the fields of {name}; pass what to_json() wrote.")
    for key in ("kind", "guarantee"):
        if key in values:
            values[key] = guarantee_from_json(values[key])
    if "events" in values:
        values["events"] = _members(values["events"])
    return build(**values)


def _members(listed: object) -> tuple[Event, ...]:
    if not isinstance(listed, list | tuple):
        raise UsageError(f"events must be a list, not {type(listed).__name__}; pass what to_json() wrote.")
    for member in listed:
        # before it is read, since batches within batches could be nested deeper than Python's stack
        if isinstance(member, Mapping) and member.get("event") == BatchEvent.__name__:
            raise UsageError("events must hold plain events, not a BatchEvent; pass its own events.")
    return tuple(event_from_json(member) for member in listed)


_EVENTS: dict[str, Callable[..., Event]] = {
    "LaplaceEvent": LaplaceEvent,
    "KNormEvent": KNormEvent,
    "GaussianEvent": GaussianEvent,
    "GuaranteeEvent": GuaranteeEvent,
    "BatchEvent": BatchEvent,
}
