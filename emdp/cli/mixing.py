"""Output of ``emdp calibrate`` about one message a user: how strong it may be, and how good each model's answer is."""

import math
from typing import TYPE_CHECKING, Any, Literal

from emdp.base.checks import check_count, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import EmdpError, UsageError
from emdp.cli.calibration import Row, Section

if TYPE_CHECKING:
    from emdp.mechanisms.oracles.oracle import FrequencyOracle

__all__ = ["Messages", "messages_of", "messages_section", "models_section", "sections_of", "strengths_section"]

RANDOMIZERS = {"any": "any", "place-sign": "a place and a sign", "binary": "two outputs"}
"""Randomizers that the accountant of rounds knows, in words."""


@dataclass(frozen=True)
class Messages:
    """One message, or several, of every user."""

    users: int  # Public number of users, at least 2
    delta: float  # Above 0
    level: float = 0.0  # Epsilon at user level; or alpha of d_EM-DP on 0/1 distances
    unit: Literal["epsilon", "alpha"] = "epsilon"
    items: int | None = None
    rounds: int = 1  # Messages of a user, each mixed with those of the others by itself
    sampled: int | None = None  # How many of the users send each of them, drawn anew and in secret
    participation: float | None = None  # With what probability a user sends each, in secret

    def __str__(self) -> str:
        several = "" if self.rounds == 1 else f", {self.rounds} messages each"
        rounds = "one round" if self.rounds == 1 else f"{self.rounds} rounds"
        if self.sampled is not None:
            several = f", {rounds} of {self.sampled} drawn in secret"
        if self.participation is not None:
            several = f", {rounds} that each joins with probability {self.participation:.6g}, in secret"
        return f"{self.users} users mixed{several}, delta = {self.delta:.6g}"

    @property
    def is_whole(self) -> bool:
        """Whether it is one message of everybody, for which every oracle has a law of its own."""
        return self.rounds == 1 and not self.drawn

    @property
    def drawn(self) -> "dict[str, Any]":
        """The accountant's words for users who are drawn; empty where all send."""
        told = {"sampled": self.sampled, "participation": self.participation}
        return {name: value for name, value in told.items() if value is not None}

    def variance(self, epsilon0: float) -> float:
        """Return the variance of the share of a yes by randomized response, at a share of one half.

        Of all ``n`` users a message has ``1/(4 sinh^2)``. The mean over ``k`` drawn ones adds that of drawing them
        without replacement; of users who join with probability ``q`` the sum over ``q n`` has ``(coth^2/q - 1)/(4 n)``.
        """
        n, noise = self.users, 0.25 / math.sinh(epsilon0 / 2) ** 2
        if self.participation is not None:
            return ((noise + 0.25) / self.participation - 0.25) / (n * self.rounds)
        sent = self.sampled or n
        return (noise / sent + 0.25 * (n - sent) / (sent * (n - 1))) / self.rounds


def messages_of(
    users: int | None,
    delta: float,
    level: float,
    unit: Literal["epsilon", "alpha"],
    items: int | None,
    rounds: int,
    sampled: int | None,
    participation: float | None,
) -> Messages:
    """Return messages as options say, checked."""
    if users is None or users < 2:
        raise UsageError("--users is missing; it says how many messages are mixed, so pass 2 or more.")
    if delta == 0:
        raise UsageError("--delta is missing; mixing hides nothing without one, so pass one such as 1e-9.")
    if sampled is not None and participation is not None:
        raise UsageError("--sampled and --participation are two ways to draw users; pass one of them.")
    if sampled is not None and check_count("--sampled", sampled, minimum=2) > users:
        raise UsageError(f"--sampled must be at most the {users} users, got {sampled}; pass fewer.")
    if participation is not None:
        check_unit_interval("--participation", participation, one=True)
    return Messages(users, delta, level, unit, items, rounds, sampled, participation)


def sections_of(messages: Messages) -> tuple[Section, ...]:
    """Return how strong messages may be, and how good each model's answer is."""
    return strengths_section(messages), models_section(messages)


def strengths_section(messages: Messages) -> Section:
    """Return how strong a message may be by what is known of its law; by every oracle where items are counted."""
    rows: list[Row] = []
    if messages.unit == "epsilon":
        from emdp.privacy.shuffle.users import shuffle_epsilon0

        for kind, words in RANDOMIZERS.items():
            found = shuffle_epsilon0(
                messages.level, messages.users, messages.delta, messages.rounds, randomizer=kind, **messages.drawn
            )
            rows.append(_row(words, found, None, "by whoever sends it" if kind == "any" else "its own pair"))
    if messages.items is not None and messages.is_whole:
        for name, oracle, theorem in _mixed(messages):
            rows.append(_row(name, oracle.epsilon, math.sqrt(oracle.variance()), theorem))
    title = f"{messages.unit} = {messages.level:.6g} allows messages of this epsilon0, {messages}"
    if messages.items is not None and messages.is_whole:
        title += f"; deviation of a rare item's share among {messages.items}"
    return Section("messages", title, tuple(rows))


def messages_section(epsilon0: float, messages: Messages) -> Section:
    """Return epsilon of messages of a strength, by what is known of their law."""
    from emdp.privacy.shuffle.users import shuffle_epsilon

    rows: list[Row] = []
    for kind, words in RANDOMIZERS.items():
        bound = shuffle_epsilon(
            epsilon0, messages.users, messages.delta, messages.rounds, randomizer=kind, **messages.drawn
        )
        rows.append({"message": words, "epsilon": bound.epsilon, "why": bound.theorem.partition(" (")[0]})
    if messages.items is not None and messages.is_whole:
        for name, oracle in _oracles(messages.items, messages.users, epsilon0):
            law = oracle.sets
            if law is not None:
                found = law.epsilon(messages.users, messages.delta)
                rows.append({"message": name, "epsilon": found, "why": "exact blanket of its sets"})
    title = f"messages of epsilon0 = {epsilon0:.6g} give this epsilon, {messages}"
    return Section("messages", title, tuple(rows))


def models_section(messages: Messages) -> Section:
    """Return the error of a share for a curator, for mixed messages and for messages that nobody mixes."""
    rows: list[Row] = []
    if messages.unit == "epsilon":
        rows += [{"asked": "a yes or no", **row} for row in _yes_or_no(messages)]
    if messages.items is not None and not messages.drawn:
        asked = f"a share among {messages.items}"
        rows += [{"asked": asked, **row} for row in _shares(messages, messages.items)]
    title = f"standard deviation of a share at {messages.unit} = {messages.level:.6g}, {messages}"
    return Section("models", title, tuple(rows))


def _row(message: str, epsilon0: float, deviation: float | None, why: str) -> Row:
    return {"message": message, "epsilon0": epsilon0, "deviation": deviation, "why": why.partition(" (")[0]}


def _model(model: str, method: str, epsilon0: float | None, deviation: float) -> Row:
    return {"model": model, "method": method, "epsilon0": epsilon0, "deviation": deviation}


def _yes_or_no(messages: Messages) -> list[Row]:
    from emdp.privacy.shuffle.users import shuffle_epsilon0

    users, level = messages.users, messages.level
    mixed = shuffle_epsilon0(level, users, messages.delta, messages.rounds, randomizer="binary", **messages.drawn)
    several = "" if messages.rounds == 1 else f", {messages.rounds} times"
    # who is trusted by nobody does best with one message
    alone = Messages(users, messages.delta, level).variance(level)
    return [
        _model("central", *_noise(messages, 1.0, 1.0)),
        _model("shuffle", f"randomized response{several}", mixed, math.sqrt(messages.variance(mixed))),
        _model("local", "randomized response", level, math.sqrt(alone)),
    ]


def _shares(messages: Messages, items: int) -> list[Row]:
    rows = [_model("central", *_noise(messages, 2.0, math.sqrt(2.0)))]
    for model in ("shuffle", "local"):
        if model == "shuffle":
            found = [(name, oracle) for name, oracle, _ in _mixed(messages)]
        else:
            strength = math.log1p(messages.level) if messages.unit == "alpha" else messages.level
            found = _oracles(items, messages.users, strength)
        name, best = min(found, key=lambda one: one[1].variance())
        rows.append(_model(model, name, best.epsilon, math.sqrt(best.variance())))
    return rows


def _noise(messages: Messages, one_norm: float, two_norm: float) -> tuple[str, None, float]:
    """Return the better noise of a curator on a vector that one user moves by so much, and its deviation."""
    from emdp.privacy import gaussian_sigma, laplace_scale
    from emdp.privacy.rounding import quotient_up

    laplace = math.sqrt(2.0) * laplace_scale(messages.level, quotient_up(one_norm, messages.users))
    gaussian = gaussian_sigma(messages.level, messages.delta, quotient_up(two_norm, messages.users))
    return ("Laplace noise", None, laplace) if laplace <= gaussian else ("Gaussian noise", None, gaussian)


def _mixed(messages: Messages) -> "list[tuple[str, FrequencyOracle, str]]":
    """Return the oracles that fit, each as strong as mixing its messages allows, and the source."""
    from emdp.mechanisms.item_methods import METHODS
    from emdp.mechanisms.oracles.mixed import mix

    found = []
    for name, method in METHODS.items():
        if method.oracle is not None and method.is_weighed:
            try:
                one = mix(
                    method.oracle(), messages.items or 2, messages.users, messages.level, messages.delta,
                    unit=messages.unit,
                )  # fmt: skip
            except EmdpError:
                continue
            found.append((name, one.oracle, one.theorem.partition(": ")[2]))
    return found


def _oracles(items: int, users: int, epsilon0: float) -> "list[tuple[str, FrequencyOracle]]":
    from emdp.mechanisms.item_methods import METHODS

    found = []
    for name, method in METHODS.items():
        if method.oracle is not None and method.is_weighed:
            try:
                found.append((name, method.oracle()(items, users, epsilon0)))
            except EmdpError:
                continue
    return found
