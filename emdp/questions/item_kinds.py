"""The kinds of aggregates that stand together in a select list: their SQL, and when each is refused.

An aggregate is a row of ``KINDS`` here, and a rule of the same name in ``RULES`` of
:mod:`emdp.estimators.mean.conditional`, which says what it is made of. A kind without a rule there is refused as a bug.
"""

from collections.abc import Callable

from emdp.base.classes import dataclass

__all__ = ["KINDS", "ItemKind", "KindRefusal", "Setting", "kind_of_function"]


@dataclass(frozen=True)
class Setting:
    """Facts about a statement on which the kinds of its items depend.

    Parameters
    ----------
    is_user_level : bool
        Whether the guarantee is user-level.
    has_cap : bool
        Whether ``max_records_per_user`` is set.
    is_filtered : bool
        Whether it filters or groups records.
    has_slots : bool
        Whether the table declares slots.
    """

    is_user_level: bool
    has_cap: bool
    is_filtered: bool
    has_slots: bool = False


@dataclass(frozen=True)
class KindRefusal:
    """Refusal of a kind in some statements, with its reason.

    Parameters
    ----------
    applies : callable
        Says whether a statement is one of these.
    problem : str
        What is wrong; ``{name}`` stands for the aggregate.
    """

    applies: Callable[[Setting], bool]
    problem: str
    remedy: str
    code: str


@dataclass(frozen=True)
class ItemKind:
    """A kind of aggregate.

    Parameters
    ----------
    sql : tuple of str
        Its names in SQL, in capitals; none where another aggregate's argument tells it.
    has_expression : bool
        Whether it is of an expression of one record.
    is_capped : bool
        Whether it has an answer under ``max_records_per_user``. Without one it is refused there.
    refusals : tuple of KindRefusal
        When else it is refused, the first that applies.
    """

    sql: tuple[str, ...]
    has_expression: bool = True
    is_capped: bool = False
    refusals: tuple[KindRefusal, ...] = ()

    @property
    def form(self) -> str:
        """Its argument as messages write it."""
        return "(e)" if self.has_expression else "()"

    def refusal(self, setting: Setting) -> KindRefusal | None:
        """Return why a statement may not ask for it, None where it may."""
        apart = () if self.is_capped else (_NO_CAP,)
        return next((one for one in (*apart, *self.refusals) if one.applies(setting)), None)


_NO_CAP = KindRefusal(
    lambda setting: setting.has_cap,
    "{name} is a mean over users that weigh the same, and max_records_per_user weighs records",
    "write SUM(e) or COUNT(*), or leave max_records_per_user out",
    "cap-unused",
)


def _total_refusals(instead: str) -> tuple[KindRefusal, ...]:
    return (
        KindRefusal(
            lambda setting: not setting.is_user_level and not setting.has_slots,
            "{name} depends on how many records a user has, which d_EM-DP does not bound",
            f"write {instead}, or WITH USER_PRIVACY OPTIONS (epsilon = 1.0, max_records_per_user = 50)",
            "total-under-emd",
        ),
        KindRefusal(
            lambda setting: setting.is_user_level and not setting.has_cap,
            "{name} depends on how many records a user has, and nothing bounds that",
            "add max_records_per_user = 50, or the number that fits, to OPTIONS",
            "cap-missing",
        ),
    )


_SHARE_OF_ALL = KindRefusal(
    lambda setting: not setting.is_filtered,
    "SHARE() is the weight of the chosen records, and nothing chooses any",
    "add WHERE or GROUP BY on a column of the records",
    "share-of-all",
)
_CHOSEN_ELSEWHERE = KindRefusal(
    lambda setting: setting.is_filtered,
    "records that are elsewhere are chosen by no condition and are in no group",
    "ask for SHARE(ELSEWHERE) in a statement without WHERE on records and without GROUP BY of them",
    "elsewhere-filtered",
)
_CHOSEN_USERS = KindRefusal(
    lambda setting: setting.is_filtered,
    "the number of users is public, but not how many of them have a record that a condition or group chooses",
    "ask for SHARE(), or choose and group by public user columns alone",
    "count-filtered",
)

KINDS: dict[str, ItemKind] = {
    "avg": ItemKind(("AVG",), is_capped=True),
    "part": ItemKind(("PART",)),
    "share": ItemKind(("SHARE",), has_expression=False, refusals=(_SHARE_OF_ALL,)),
    "elsewhere": ItemKind((), has_expression=False, refusals=(_CHOSEN_ELSEWHERE,)),
    "variance": ItemKind(("VARIANCE", "VAR_POP"), is_capped=True),
    "stddev": ItemKind(("STDDEV", "STDDEV_POP"), is_capped=True),
    "users": ItemKind((), has_expression=False, is_capped=True, refusals=(_CHOSEN_USERS,)),
    "count": ItemKind(
        ("COUNT",),
        has_expression=False,
        is_capped=True,
        refusals=_total_refusals("SHARE() with the condition in WHERE"),
    ),
    "sum": ItemKind(("SUM",), is_capped=True, refusals=_total_refusals("AVG(e), which weighs every user equally")),
}
"""``avg`` mean (within the chosen records); ``part`` E[e c]; ``share`` E[c]; ``elsewhere`` what is
left of 1; ``variance``, ``stddev`` of an expression
(within the chosen records); ``users`` the public number of users; ``count``, ``sum`` totals under a cap. By name."""


def kind_of_function(name: str) -> str | None:
    """Return the kind of an aggregate by a name in SQL, in capitals; None where it is none of a select list.

    >>> kind_of_function("VAR_POP"), kind_of_function("MEDIAN")
    ('variance', None)
    """
    return next((kind for kind, own in KINDS.items() if name in own.sql), None)
