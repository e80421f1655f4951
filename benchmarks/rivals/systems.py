"""The systems that are compared, what each needs installed, and what it is told.

A privacy statement says what it protects against. emdp's number of users is public, and its epsilon is for all records
of one user *replaced* by others, unless it is asked for `neighbours = 'remove'`. The others' is for a user who *comes
or goes*; replacing is going and coming, so that at half the number they promise what emdp does (OpenDP can be asked for
replacement itself). Each answers in three ways: `number` is the same epsilon in everybody's own terms, `protection` the
same promise of replacement, `removal` the same promise of a user who comes or goes.
"""

from dataclasses import dataclass, field
from typing import Any

from workload import EPSILON

__all__ = ["SETTINGS", "SYSTEMS", "System", "named"]

SETTINGS = {
    "number": "the same epsilon, each system's own neighbours",
    "protection": "the same promise: one user's records replaced",
    "removal": "the same promise: a user comes or goes",
}
"""The ways of being equal."""

OWN = {
    "number": {"epsilon": EPSILON},
    "protection": {"epsilon": EPSILON},
    "removal": {"epsilon": EPSILON, "neighbours": "remove"},
}

HALF = {"number": {"epsilon": EPSILON}, "protection": {"epsilon": EPSILON / 2}, "removal": {"epsilon": EPSILON}}

UNITS = {
    "number": {"epsilon": EPSILON, "unit": "contributions"},
    "protection": {"epsilon": EPSILON, "unit": "changes"},
    "removal": {"epsilon": EPSILON, "unit": "contributions"},
}

OPENDP = ("opendp[polars]==0.16.0",)

TUMULT = ("tmlt.analytics==0.21.0",)


@dataclass(frozen=True)
class System:
    """One system.

    Parameters
    ----------
    name : str
        As the tables have it.
    module : str
        The file beside this one that runs it.
    option : str
        Which way of the module.
    requirements : tuple of str
        What pip installs into its environment; nothing for the Python that has emdp.
    told : dict
        What it is told in each setting; the same for a system whose neighbours are emdp's, or that has no privacy.
    factor : int or None
        How many times slower than emdp it should be at least.
    beside : str
        Which of emdp's own rows does the same, where it is not the first: a session kept open beside a session kept
        open; and beside a new session that takes the data as they are, one on data that the ledger knows as checked.
    """

    name: str
    module: str
    option: str = ""
    requirements: tuple[str, ...] = ()
    told: dict[str, dict[str, Any]] = field(default_factory=lambda: {key: {"epsilon": EPSILON} for key in SETTINGS})
    factor: int | None = None
    beside: str = "emdp"


CHECKED, KEPT = "emdp, data checked before", "emdp, session kept"

SYSTEMS = (
    System("emdp", "system_emdp", "new", told=OWN),
    System(CHECKED, "system_emdp", "checked", told=OWN),
    System(KEPT, "system_emdp", "kept", told=OWN),
    System("plain DuckDB", "system_duckdb", "records"),
    System("plain DuckDB, capped", "system_duckdb", "capped"),
    System("OpenDP", "system_opendp", "", OPENDP, UNITS, factor=10),
    System("OpenDP, no backtraces", "system_opendp", "quiet", OPENDP, UNITS, factor=10),
    System("OpenDP, query built before", "system_opendp", "kept", OPENDP, UNITS, factor=10, beside=KEPT),
    System("SmartNoise", "system_smartnoise", requirements=("smartnoise-sql==1.0.10", "pyarrow"), told=HALF),
    System("PipelineDP", "system_pipelinedp", requirements=("pipeline-dp==0.3.1", "pyarrow"), told=HALF, factor=50),
    System("Tumult, Spark as installed", "system_tumult", "installed", TUMULT, HALF, factor=50, beside=CHECKED),
    System("Tumult Analytics", "system_tumult", "new", TUMULT, HALF, factor=50, beside=CHECKED),
    System("Tumult, session kept", "system_tumult", "kept", TUMULT, HALF, factor=50, beside=KEPT),
)
"""In the order in which each round asks them; emdp comes first, since the others are compared with it."""


def named(names: list[str]) -> list[System]:
    """Return emdp, the systems with these names, and emdp's rows beside them."""
    wanted = {"emdp", *names, *(system.beside for system in SYSTEMS if system.name in names)}
    return [system for system in SYSTEMS if system.name in wanted]
