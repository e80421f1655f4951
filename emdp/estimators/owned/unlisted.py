"""Plans of statements by keys that nobody listed: a threshold on users decides which are shown.

The engine keeps at most ``L`` groups of each user, by the user's own rows (:mod:`emdp.questions.owned.groups`). Two
drawings are compared from public numbers: a threshold with truncated Laplace noise and then Laplace noise for all else;
and one Gaussian draw for both (:mod:`emdp.mechanisms.keys.numbers`, theorems 1 and 2). Numbers of users have a share of
the price like another column, also where they are not asked for. Where people alone are counted, the price is that of
one count a key, exactly (:mod:`emdp.mechanisms.keys.choose`). How far one user moves the other numbers is said in
:mod:`emdp.estimators.owned.blocks`, for ``2 L`` cells: more keys than one user's records can touch on two tables.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.estimators.columns.ordering import ordered
from emdp.estimators.columns.sizes import MOST_USERS, check_level
from emdp.estimators.columns.true_totals import TRUE_TOTALS, true_total
from emdp.estimators.columns.values import OutputColumn
from emdp.estimators.owned.blocks import Block, Drawing
from emdp.estimators.owned.found import FoundRows, PeopleCount
from emdp.estimators.owned.noise import Chosen, arguments_of, cap_norm, choose
from emdp.estimators.owned.notes import QUOTIENTS, check_caps, weight_note
from emdp.estimators.owned.totals import Preview, additive_mechanism, answer_names, column_of, of_truth
from emdp.estimators.owned.unlisted_plan import UnlistedPlan
from emdp.estimators.user_groups import check_names
from emdp.mechanisms import GaussianMechanism, LaplaceMechanism
from emdp.mechanisms.keys.choose import best_threshold
from emdp.mechanisms.keys.gaussian import GaussianKeys
from emdp.mechanisms.keys.laplace import LaplaceKeys, TruncatedKeys
from emdp.mechanisms.keys.numbers import KeysThenNumbers, KeysWithNumbers, NumberedKeys
from emdp.mechanisms.keys.threshold import KeyThreshold
from emdp.privacy.rounding import split
from emdp.questions.columns import PlannedColumn
from emdp.questions.owned.groups import OwnedGroups
from emdp.questions.owned.question import TOTAL_KINDS, OwnedItem, OwnedSelect

__all__ = ["plan_unlisted"]

PEOPLE = OwnedItem("users", "number of users")
"""Drawn with the others where it is not asked for."""

ASSUMED_TIMES = 10
"""How many times the people that a key needs a preview assumes of a group."""


@dataclass(frozen=True, eq=False)
class _Drawn:
    """A way to draw: threshold and noise, what is drawn of the other items, and errors to compare by."""

    keys: NumberedKeys
    chosen: Chosen | None
    blocks: tuple[tuple[Block, Drawing], ...]
    errors: tuple[float, ...]

    @property
    def noise(self) -> LaplaceMechanism | GaussianMechanism | None:
        """Noise of the numbers."""
        return self.keys.noise if isinstance(self.keys, KeysThenNumbers | KeysWithNumbers) else None


def plan_unlisted(query: OwnedSelect, *, users: int | None) -> UnlistedPlan:
    """Return the plan of a statement by keys that nobody listed.

    Parameters
    ----------
    query : OwnedSelect
        A key of it has no list; its names are looked up and its ranges known.
    users : int or None
        The public number of users; by removal None where there is none.
    """
    _check(query)
    kept = query.groups_cap or 0
    others = tuple(item for item in query.items if item.kind != "users")
    arguments = arguments_of(others)
    cap, each = (query.cap, query.group_rows) if arguments else (None, None)
    groups = OwnedGroups(query.relation, query.keys, kept, arguments, cap, query.public, group_rows=each)
    drawn = _best(_candidates(query, groups, others, users))
    groups = replace(groups, norm=1 if drawn.chosen is None else cap_norm(groups, drawn.chosen.kind))
    columns = _columns(query, drawn, others)
    keys = [key.name for key in query.keys]
    rows = FoundRows(
        tuple((key.name, key.node.kind) for key in query.keys),
        tuple(_of_truth(item, own) for item, own in zip(query.items, columns, strict=True)),
        drawn.noise,
        answer_names(query, keys),
    )
    return UnlistedPlan(
        aggregation=groups,
        keys=drawn.keys,
        blocks=drawn.blocks,
        event=drawn.keys.event(query.price.promise()),
        columns=_previews(query, drawn, groups, columns, others, users),
        choice=_choice(drawn, len(query.items)),
        finisher=ordered(rows, query.order, limit=query.limit, offset=query.offset, columns=rows.sortable),
        notes=_notes(query, drawn, groups.norm),
    )


def _check(query: OwnedSelect) -> None:
    check_level(query.price.level)
    if not query.items:
        raise UsageError("items must have an aggregate; pass one.")
    if query.price.delta == 0:
        raise UsageError("delta must be above 0 for keys without a public list; pass delta = 1e-9, or list the keys.")
    if query.groups_cap is None:
        raise UsageError(
            "max_groups_per_user must be given for keys without a public list, since a user could show any number of "
            "them; add max_groups_per_user = 5."
        )
    if any(item.kind not in TOTAL_KINDS or item.condition is not None for item in query.items):
        raise UsageError("items must be counts, sums, means, variances or people here; list the groups for others.")
    needs_cap = any(item.kind != "users" for item in query.items)
    if query.group_rows is not None:
        check_caps(query, needs_cap=needs_cap)
    elif needs_cap == (query.cap is None):
        raise UsageError("max_records_per_user belongs to counts and sums of records; add it there, and only there.")
    if query.noise == "k_norm":
        raise UsageError("noise must be 'laplace' or 'gaussian' under USER_PRIVACY; leave it out or pass one.")
    check_names(
        [
            *(key.name for key in query.keys),
            *(f"{item.name}{end}" for item in query.items for end in ("", "_low", "_high")),
        ]
    )


def _candidates(
    query: OwnedSelect, groups: OwnedGroups, others: tuple[OwnedItem, ...], users: int | None
) -> list[_Drawn]:
    kinds: dict[str, tuple[type[KeyThreshold], ...]] = {
        "laplace": (TruncatedKeys, LaplaceKeys),
        "gaussian": (GaussianKeys,),
    }
    price = query.price
    if not others:
        if query.noise == "auto":
            threshold = best_threshold(price.level, price.delta, groups.groups_cap, price.neighbours)
        else:
            made = [kind(price.level, price.delta, groups.groups_cap, price.neighbours) for kind in kinds[query.noise]]
            threshold = min(made, key=lambda one: (one.people, one.standard_deviation))
        return [_Drawn(KeysThenNumbers(threshold), None, (), ())]
    found = []
    if query.noise != "gaussian":
        found.append(_apart(query, groups, others, users, kinds["laplace"]))
    if query.noise != "laplace":
        found.append(_together(query, groups, others, users))
    return found


def _apart(
    query: OwnedSelect,
    groups: OwnedGroups,
    others: tuple[OwnedItem, ...],
    users: int | None,
    kinds: Sequence[type[KeyThreshold]],
) -> _Drawn:
    price = query.price
    first, second = split(price.level, (1, len(others)))
    thresholds = [kind(first, price.delta, groups.groups_cap, price.neighbours) for kind in kinds]
    threshold = min(thresholds, key=lambda one: (one.people, one.standard_deviation))
    rest = replace(query, items=others, price=replace(price, level=second, delta=0.0), noise="laplace")
    chosen = choose(rest, groups)
    noise = additive_mechanism(chosen, groups, rest, users)
    if not isinstance(noise, LaplaceMechanism):
        raise InternalError("Laplace noise was asked for and not made; please report this.")
    return _Drawn(KeysThenNumbers(threshold, noise), chosen, chosen.blocks, chosen.errors)


def _together(query: OwnedSelect, groups: OwnedGroups, others: tuple[OwnedItem, ...], users: int | None) -> _Drawn:
    price = query.price
    own, new = split(price.delta, (1, 1))
    all_of_it = replace(query, items=(*others, PEOPLE), price=replace(price, delta=own), noise="gaussian")
    counted = replace(groups, counts_users=True)
    chosen = choose(all_of_it, counted)
    place = chosen.places[-1]
    (people, drawing) = chosen.blocks[place]
    unit = 1.0 / drawing.scales[0]
    # Numbers of users are drawn as they are, so that they lie on the grid.
    blocks = tuple(
        (people, Drawing(drawing.rows, (1.0,))) if number == place else (block, one.scaled(unit))
        for number, (block, one) in enumerate(chosen.blocks)
    )
    # Last, as what is released of them is.
    rest = tuple(pair for number, pair in enumerate(blocks) if number != place)
    places = tuple(one - (one > place) for one in chosen.places[:-1])
    noise = additive_mechanism(replace(chosen, blocks=(*rest, blocks[place])), counted, all_of_it, users)
    if not isinstance(noise, GaussianMechanism):
        raise InternalError("Gaussian noise was asked for and not made; please report this.")
    made = replace(chosen, blocks=rest, places=places, shapes=chosen.shapes[:-1], errors=chosen.errors[:-1])
    # On the finest grid, whatever totals may be: what is released are fractions, which nothing overflows.
    keys = KeysWithNumbers(replace(noise, magnitude=0.0), groups.groups_cap, price.neighbours, new)
    return _Drawn(keys, made, rest, made.errors)


def _best(found: Sequence[_Drawn]) -> _Drawn:
    """Return the drawing with the least mean of what is bad about it: the people that a key needs, and errors."""

    def sizes(one: _Drawn) -> tuple[float, ...]:
        return (float(one.keys.people), *one.errors)

    least = [min(values) or 1.0 for values in zip(*map(sizes, found), strict=True)]
    return min(found, key=lambda one: math.fsum(own / best for own, best in zip(sizes(one), least, strict=True)))


def _columns(query: OwnedSelect, drawn: _Drawn, others: tuple[OwnedItem, ...]) -> list[OutputColumn]:
    columns: list[OutputColumn] = []
    rest = replace(query, items=others)
    made = [] if drawn.chosen is None else [column_of(rest, drawn.chosen, place) for place in range(len(others))]
    remaining = iter(made)
    last = 0 if drawn.chosen is None else drawn.chosen.rows
    for item in query.items:
        columns.append(PeopleCount(item.name, last, drawn.keys) if item.kind == "users" else next(remaining))
    return columns


def _of_truth(item: OwnedItem, column: OutputColumn) -> OutputColumn:
    """Return a total with the ends that hold for the true one: groups above ``L`` of a user are left out of it."""
    return true_total(column, 0.0, 1.0) if item.kind == "users" else of_truth(item, column, is_cut=True)


def _choice(drawn: _Drawn, items: int) -> str:
    name = drawn.keys.keys.name if isinstance(drawn.keys, KeysThenNumbers) else "Gaussian"
    noise = "" if drawn.noise is None else f", {drawn.noise.name} noise for what else is counted"
    return f"{name} noise and a threshold on numbers of users{noise}; {items} column{'s' if items > 1 else ''}."


def _notes(query: OwnedSelect, drawn: _Drawn, norm: int) -> tuple[str, ...]:
    notes = [
        f"a group is shown where its number of users with noise is at least {drawn.keys.people}: with that many users "
        "it is shown half of the time, with one user almost never; groups that are not shown may exist",
        f"of a user in more than {query.groups_cap} groups {query.groups_cap} are kept, the same at every question, so "
        "that an interval of a number of users has no upper end",
        "intervals have their coverage over all groups, shown or not; of a group near the threshold the number that is "
        "shown is more often above the true one",
    ]
    cap = str(query.cap) if query.group_rows is None else f"{query.group_rows} in a group"
    if drawn.chosen is not None:
        notes.append(f"records are those in the groups that are kept of a user; {weight_note(query, cap, norm)}")
    if any(item.kind in ("rows", "count", "sum") for item in query.items):
        notes.append(TRUE_TOTALS.format(cap=cap))
    if any(item.kind in QUOTIENTS for item in query.items):
        notes.append(
            f"means, variances and deviations weigh records of at most {cap} a user, over values that are there; "
            "where their count is within its noise there is no value (NULL) and an unbounded interval"
        )
    return tuple(notes)


@dataclass(frozen=True, eq=False)
class _Preview(Preview):
    """Preview of a group that has several times the people it needs."""

    people: int = 0

    @property
    def count(self) -> float:
        """Records with a value that are assumed of a group."""
        kept = self.totals.cells // 2
        most = (self.totals.cap or 1) if self.totals.group_rows is None else kept * self.totals.group_rows
        each = max(1.0, most * 0.5 / kept)
        return ASSUMED_TIMES * self.people * each


def _previews(
    query: OwnedSelect,
    drawn: _Drawn,
    groups: OwnedGroups,
    columns: Sequence[OutputColumn],
    others: tuple[OwnedItem, ...],
    users: int | None,
) -> tuple[PlannedColumn, ...]:
    found = []
    rest = replace(query, items=others)
    place = 0
    for item, column in zip(query.items, columns, strict=True):
        if item.kind == "users" or drawn.chosen is None or drawn.noise is None:
            found.append(_people_preview(item, drawn.keys, query, users))
            continue
        preview = _Preview(rest, drawn.chosen, drawn.noise, groups, users, drawn.keys.people)
        made = preview.column(place, column)
        if item.kind in QUOTIENTS:
            made = replace(
                made,
                note=f"errors if {preview.count:.6g} records with a value are counted in a group, which has "
                f"{ASSUMED_TIMES} times the {drawn.keys.people} people that it needs, with a mean a quarter of the "
                "range from its middle",
            )
        found.append(replace(made, share=1.0 / len(query.items)))
        place += 1
    return tuple(found)


def _people_preview(item: OwnedItem, keys: NumberedKeys, query: OwnedSelect, users: int | None) -> PlannedColumn:
    deviation = keys.standard_deviation
    return PlannedColumn(
        name=item.name,
        expression="1",
        lipschitz=math.inf,
        low=0.0,
        high=float(MOST_USERS if users is None else users),
        noise_scale=deviation,
        expected_error=deviation * math.sqrt(2.0 / math.pi),
        interval_95=keys.half_width(0.95),
        share=1.0 / len(query.items),
        note=f"a group needs {keys.people} people to be shown half of the time",
        written=item.text,
    )
