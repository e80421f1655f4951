"""Item-wise release under shuffling: the smallest alpha that some theorem gives, and the inverse.

**Setting** (EMD 3). An ``alpha0``-``d_X``-DP randomizer is applied to each of ``N`` items, ``m`` of each user, on a
space of diameter at most 1, and the multiset of outputs is released: ``N = m`` in the local model (each user shuffles
alone), ``N = m n`` in the central and the shuffle model. The release is ``(alpha, delta)`` *bounded* d_EM-DP for every
alpha below; each of :data:`METHODS` is one theorem, and the best valid one counts.

**Guarantee.** Every number is rounded to the safe side: alpha up, alpha0 down, and ``shuffle_alpha`` of a
``shuffle_alpha0`` is never above the alpha that was asked for. ``shuffle_alpha`` does not fall when ``alpha0`` or ``m``
rises, nor rise when ``N``, ``delta`` or ``w_min`` does, to one part in 100 000 of it: that exception is the trade-off
steps' (:mod:`emdp.privacy.shuffle.tradeoff`). Composition is always valid, with ``delta = 0``.
"""

import math
from collections.abc import Callable

from emdp.base.checks import check_count, check_finite, check_range, check_unit_interval
from emdp.base.errors import UsageError
from emdp.privacy.blanket.output_law import KnownRandomizer
from emdp.privacy.rounding import as_decimal, float_down, float_up
from emdp.privacy.shuffle.clones import clone_alpha, clone_alpha0
from emdp.privacy.shuffle.closed_form import closed_form_alpha, closed_form_alpha0, closed_form_limit
from emdp.privacy.shuffle.grid import LARGEST_ALPHA0
from emdp.privacy.shuffle.method import (
    Outcome,
    ShuffleBound,
    ShuffleMethod,
    ShuffleSetting,
    ShuffleStrength,
    search_strength,
    step_down,
)
from emdp.privacy.shuffle.tradeoff import tradeoff_steps_alpha, tradeoff_steps_alpha0

__all__ = [
    "METHODS",
    "ShuffleBound",
    "ShuffleMethod",
    "ShuffleSetting",
    "ShuffleStrength",
    "check_setting",
    "check_strength",
    "shuffle_alpha",
    "shuffle_alpha0",
    "shuffle_alpha0_bounds",
    "shuffle_bounds",
]

_ONE_STEP = "it composes steps, and a single item that moves by 1 makes one: that of the clones"
_Search = Callable[[float, ShuffleSetting], Outcome]
_Steps = Callable[[float, int, int, float, float], float]
_NO_DELTA = "delta is 0, and the theorem needs a delta above 0"


def shuffle_alpha(
    alpha0: float | None,
    m: int,
    N: int,
    delta: float,
    w_min: float = 0.0,
    *,
    randomizer: KnownRandomizer | None = None,
) -> float:
    """Return the smallest alpha of an item-wise release that a theorem gives, rounded up.

    Parameters
    ----------
    alpha0 : float or None
        Of the randomizer, at least 0, per unit of ``d_X``; None takes the known randomizer's. The accountants are
        sharp from 1e-4 to 12; above 12 composition alone is used.
    m : int
        Public number of items of every user, at least 1.
    N : int
        Number of items shuffled together, at least ``m``: ``m`` in the local model, ``m n`` in the others.
    delta : float
        In [0, 1); 0 leaves composition, ``m alpha0``.
    w_min : float
        Smallest positive distance of two items, in [0, 1]: 1 for the 0/1 metric. 0, any space, is always valid; a
        larger number must hold in the space. A known randomizer brings its own.
    randomizer : KnownRandomizer, optional
        The randomizer itself: its law, where finite, sharpens the bound.

    Returns
    -------
    float
        Alpha per unit of ``d_em``, for bounded d_EM-DP. 0 where delta covers the whole change.

    Raises
    ------
    UsageError
        If an argument is out of its range, or ``alpha0`` or ``w_min`` contradicts the randomizer.

    References
    ----------
    EMD 3 (known answers below).

    >>> round(shuffle_alpha(2.0, 1000, 10**8, 1e-12), 2), round(shuffle_alpha(2.0, 1000, 10**8, 1e-12, w_min=1.0), 2)
    (3.48, 2.83)
    >>> shuffle_alpha(0.025, 1000, 10**8, 0.0)
    25.0
    """
    setting = check_setting(m, N, delta, w_min, randomizer)
    strength = check_strength(alpha0, randomizer)
    bounds = _bounds(strength, setting, randomizer)
    return min(bound.alpha for bound in bounds if bound.alpha is not None)


def shuffle_alpha0(
    alpha: float,
    m: int,
    N: int,
    delta: float,
    w_min: float = 0.0,
    *,
    randomizer: KnownRandomizer | None = None,
) -> float:
    """Return the largest ``alpha0`` whose item-wise release has this alpha, rounded down: the inverse.

    Parameters
    ----------
    alpha : float
        Wanted, per unit of ``d_em``, at least 0.
    m, N, delta, w_min
        As in :func:`shuffle_alpha`.
    randomizer : KnownRandomizer, optional
        The kind of randomizer: ``randomizer.at(result)`` is checked to have this alpha. The search asks for about a
        dozen strengths and stops within one part in a thousand of the largest.

    Returns
    -------
    float
        ``shuffle_alpha(result, ...) <= alpha``.

    Raises
    ------
    UsageError
        If an argument is out of its range.

    >>> round(shuffle_alpha0(25.0, 1000, 10**8, 1e-12), 3), round(shuffle_alpha0(25.0, 1000, 10**8, 1e-12, 1.0), 3)
    (4.312, 5.424)
    >>> shuffle_alpha0(25.0, 1000, 10**8, 0.0)
    0.025
    """
    setting, wanted = check_setting(m, N, delta, w_min, randomizer), _check_alpha(alpha)
    start = _best_alpha0(wanted, setting)
    if randomizer is None:
        return step_down(start, lambda strength: shuffle_alpha(strength, m, N, delta, w_min) <= wanted)
    return search_strength(
        start, lambda strength: shuffle_alpha(None, m, N, delta, randomizer=randomizer.at(strength)) <= wanted
    )


def shuffle_bounds(
    alpha0: float | None,
    m: int,
    N: int,
    delta: float,
    w_min: float = 0.0,
    *,
    randomizer: KnownRandomizer | None = None,
) -> tuple[ShuffleBound, ...]:
    """Return what every accountant says of an item-wise release, the smallest alpha first, the invalid ones last.

    Parameters and errors are those of :func:`shuffle_alpha`, whose result is the first bound's alpha.

    >>> for bound in shuffle_bounds(1.0, 10, 1000, 1e-6):
    ...     print(bound.method, round(bound.alpha, 3) if bound.alpha else bound.reason)
    trade-off steps 2.212
    exact clone steps 2.388
    composition 10.0
    closed form alpha0 must be below 0.9477 here
    """
    setting = check_setting(m, N, delta, w_min, randomizer)
    bounds = _bounds(check_strength(alpha0, randomizer), setting, randomizer)
    return tuple(sorted(bounds, key=lambda bound: math.inf if bound.alpha is None else bound.alpha))


def shuffle_alpha0_bounds(
    alpha: float,
    m: int,
    N: int,
    delta: float,
    w_min: float = 0.0,
    *,
    randomizer: KnownRandomizer | None = None,
) -> tuple[ShuffleStrength, ...]:
    """Return the strength that every accountant allows for a wanted alpha, the largest first, the invalid ones last.

    Parameters and errors are those of :func:`shuffle_alpha0`.

    >>> for strength in shuffle_alpha0_bounds(25.0, 1000, 10**8, 1e-12):
    ...     print(strength.method, round(strength.alpha0, 3))
    trade-off steps 4.312
    exact clone steps 3.849
    closed form 2.484
    composition 0.025
    """
    setting, wanted = check_setting(m, N, delta, w_min, randomizer), _check_alpha(alpha)
    found = [ShuffleStrength(method.name, *method.alpha0(wanted, setting), method.theorem) for method in METHODS]
    if randomizer is not None:
        start = max(strength.alpha0 for strength in found if strength.alpha0 is not None)
        found.append(_blanket_strength(wanted, start, setting, randomizer))
    return tuple(sorted(found, key=lambda strength: -math.inf if strength.alpha0 is None else -strength.alpha0))


def _best_alpha0(alpha: float, setting: ShuffleSetting) -> float:
    """Return the largest strength that a method allows; one that shows more at the best so far allows less."""
    best = 0.0
    for method in reversed(METHODS):
        if best > 0:
            there = method.alpha(best, setting)[0]
            if there is None or there > alpha:
                continue
        best = max(best, method.alpha0(alpha, setting)[0] or 0.0)
    return best


def _bounds(strength: float, setting: ShuffleSetting, randomizer: KnownRandomizer | None) -> list[ShuffleBound]:
    if strength == 0:
        return [_bound(_COMPOSITION.name, (0.0, ""), _COMPOSITION.theorem, setting)]
    bounds = [_bound(method.name, method.alpha(strength, setting), method.theorem, setting) for method in METHODS]
    if randomizer is not None:
        bounds.append(_bound("blanket", _blanket_alpha(randomizer, setting), _BLANKET_THEOREM, setting))
    return bounds


def _bound(name: str, outcome: Outcome, theorem: str, setting: ShuffleSetting) -> ShuffleBound:
    delta = 0.0 if name == _COMPOSITION.name else setting.delta
    return ShuffleBound(name, outcome[0], delta, outcome[1], theorem)


def _composition_alpha(alpha0: float, setting: ShuffleSetting) -> Outcome:
    # a float that states a guarantee stands for its decimal (emdp.privacy.rounding)
    return float_up(as_decimal(alpha0) * setting.m), ""


def _composition_alpha0(alpha: float, setting: ShuffleSetting) -> Outcome:
    return float_down(as_decimal(alpha) / setting.m), ""


def _closed_alpha(alpha0: float, setting: ShuffleSetting) -> Outcome:
    found = closed_form_alpha(alpha0, setting.m, setting.N, setting.delta)
    if found is not None:
        return found, ""
    limit = closed_form_limit(alpha0, setting.m, setting.N, setting.delta)
    return None, f"alpha0 must be below {limit:.4g} here" if limit > 0 else "it holds for no alpha0 with so few items"


def _closed_alpha0(alpha: float, setting: ShuffleSetting) -> Outcome:
    found = closed_form_alpha0(alpha, setting.m, setting.N, setting.delta)
    return (
        (found, "")
        if found is not None
        else (None, "its condition on alpha0 holds for no alpha0 that gives this alpha")
    )


def _with_delta(name: str, theorem: str, alpha: _Search, alpha0: _Search) -> ShuffleMethod:
    """Return a method that is asked only where there is a delta."""

    def asked(search: _Search) -> _Search:
        return lambda value, setting: (None, _NO_DELTA) if setting.delta == 0 else search(value, setting)

    return ShuffleMethod(name, theorem, asked(alpha), asked(alpha0))


def _stepwise(name: str, theorem: str, alpha: _Steps, alpha0: _Steps) -> ShuffleMethod:
    """Return a method that moves one item after the other: ``inf`` and 0 are its ways to say that it is not used."""

    def from_alpha0(strength: float, setting: ShuffleSetting) -> Outcome:
        if strength > LARGEST_ALPHA0:
            return None, f"alpha0 is above {LARGEST_ALPHA0}, the largest that is computed"
        found = alpha(strength, setting.m, setting.N, setting.delta, setting.w_min)
        return (found, "") if math.isfinite(found) else (None, _ONE_STEP)

    def from_alpha(wanted: float, setting: ShuffleSetting) -> Outcome:
        found = alpha0(wanted, setting.m, setting.N, setting.delta, setting.w_min)
        return (found, "") if found > 0 else (None, "it allows no more than composition")

    return _with_delta(name, theorem, from_alpha0, from_alpha)


_COMPOSITION = ShuffleMethod(
    "composition", "m items, each alpha0-d_X-DP: m alpha0, delta = 0 (EMD 3)", _composition_alpha, _composition_alpha0
)

METHODS: tuple[ShuffleMethod, ...] = (
    _COMPOSITION,
    _stepwise(
        "exact clone steps",
        "exact clone pair for each moved item, any allocation (EMD 3, [sharper]; emdp.privacy.shuffle.clones)",
        clone_alpha,
        clone_alpha0,
    ),
    _stepwise(
        "trade-off steps",
        "composition of the clone pairs' trade-off functions (after EMD 3; emdp.privacy.tradeoff.composition)",
        tradeoff_steps_alpha,
        tradeoff_steps_alpha0,
    ),
    _with_delta(
        "closed form",
        "paper, Thm 4.4, under its condition on alpha0 (EMD 3; emdp.privacy.shuffle.closed_form)",
        _closed_alpha,
        _closed_alpha0,
    ),
)
"""The accountants for any randomizer."""

_BLANKET_THEOREM = (
    "privacy blanket of the known law for each moved item (technical-notes 1.5; emdp.privacy.blanket.accountant)"
)


def _blanket_alpha(randomizer: KnownRandomizer, setting: ShuffleSetting) -> Outcome:
    law = randomizer.law
    if setting.delta == 0:
        return None, _NO_DELTA
    if law is None:
        return None, "the randomizer's law is not finite"
    from emdp.privacy.blanket.accountant import blanket_alpha

    found = blanket_alpha(law, setting.m, setting.N, setting.delta)
    return (found, "") if math.isfinite(found) else (None, "the blanket certifies no alpha")


def _blanket_strength(
    alpha: float, start: float, setting: ShuffleSetting, randomizer: KnownRandomizer
) -> ShuffleStrength:
    def fits(strength: float) -> bool:
        found = _blanket_alpha(randomizer.at(strength), setting)[0]
        return found is not None and found <= alpha

    reason = _blanket_alpha(randomizer, setting)[1] if setting.delta == 0 or randomizer.law is None else ""
    found = None if reason else search_strength(start, fits)
    if found == 0:
        found, reason = None, "the blanket shows this alpha for no strength that was tried"
    return ShuffleStrength("blanket", found, reason, _BLANKET_THEOREM)


def check_setting(
    m: object, N: object, delta: object, w_min: object, randomizer: KnownRandomizer | None, *, name: str = "m"
) -> ShuffleSetting:
    """Return the public numbers of a release, or raise ``UsageError``; ``name`` is what the caller calls ``m``."""
    items, total = check_count(name, m), check_count("N", N)
    if total < items:
        raise UsageError(f"N must be at least {name} = {items}, got {total}; pass the number of items of all users.")
    smallest = check_range("w_min", w_min, 0.0, 1.0)
    if randomizer is not None:
        if smallest > randomizer.w_min:
            raise UsageError(
                f"w_min must be at most the randomizer's, {randomizer.w_min}, got {smallest}; leave it out."
            )
        smallest = min(randomizer.w_min, 1.0)
    return ShuffleSetting(items, total, check_unit_interval("delta", delta, zero=True), smallest)


def check_strength(alpha0: object, randomizer: KnownRandomizer | None) -> float:
    """Return the strength of a randomizer, given or known, or raise ``UsageError`` if the two contradict."""
    if randomizer is None:
        if alpha0 is None:
            raise UsageError("alpha0 must be a number when there is no randomizer; pass one of the two.")
        return _check_level("alpha0", alpha0)
    if alpha0 is not None and _check_level("alpha0", alpha0) < randomizer.alpha0:
        raise UsageError(
            f"alpha0 must be at least the randomizer's, {randomizer.alpha0}, got {alpha0}; pass None to use that one."
        )
    return _check_level("alpha0", randomizer.alpha0)


def _check_alpha(alpha: object) -> float:
    return _check_level("alpha", alpha)


def _check_level(name: str, value: object) -> float:
    number = check_finite(name, value)
    if number < 0:
        raise UsageError(f"{name} must be at least 0, got {number}; pass a number that is not negative.")
    return number
