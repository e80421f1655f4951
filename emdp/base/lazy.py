"""Names that a package offers without loading their modules: each is loaded when it is first used (PEP 562).

What a command does not need it does not load, and the start of a process is short. A package lists its names twice:
imported under ``TYPE_CHECKING``, for readers and type checkers (``as`` the same name where no ``__all__`` stands in the
package), and below it by module for :func:`lazy_names`; a test compares the two. A name that is also the name of a
module of the package must be imported plainly, since loading the module would put the module in its place.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

__all__ = ["lazy_names"]


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and the ``__dir__`` of a package whose names lie in modules that load on first use.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    homes : mapping of str to str
        The names that each module has, with a space between, or ``"*"`` for all of its ``__all__``; for the package
        itself, names of its modules.

    Returns
    -------
    tuple of two functions
        A name is looked up once, and then is an attribute of the package. Where no ``__all__`` stands in the package,
        it is that of all these names.

    >>> import emdp
    >>> "mean" in dir(emdp), emdp.mean.__module__
    (True, 'emdp.questions.means')
    """
    home_of = {name: module for module, names in homes.items() if names != "*" for name in names.split()}

    whole = [module for module, names in homes.items() if names == "*"]

    def offered() -> dict[str, str]:
        return home_of | {name: module for module in whole for name in import_module(module).__all__}

    def find(name: str) -> object:
        if name == "__all__":
            return sorted(offered())
        # What Python itself asks a module for begins with an underscore, and loads nothing.
        home = home_of.get(name) or (None if name.startswith("_") else offered().get(name))
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = import_module(f"{home}.{name}") if home == package else getattr(import_module(home), name)
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *offered()})

    return find, names
