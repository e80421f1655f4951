"""Data classes whose methods are made when the first one is used: a start makes those of the few that it needs.

:func:`dataclasses.dataclass` writes and compiles six functions for every class, a half to a third of a millisecond. A
query loads some 280 classes and makes objects of 90. So :func:`dataclass` here puts a placeholder in place of each
method and of what other code may ask of a data class. The first use of any makes them all, by Python's own decorator
on a twin of the class (same name, module, annotations, defaults, fields of its bases), and moves them into the class.
What a class gets is what Python's decorator gives, later; a mistake in a class shows at its first use.
"""

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

_DELAYED = frozenset({"init", "repr", "eq", "frozen", "kw_only"})
"""Options of classes that can wait; with any other a class is made at once."""

_ONE_AT_A_TIME = RLock()
"""Held while methods are made. What makes them imports nothing, so that no lock of an import is waited for."""


def _delayed(given: type | None = None, /, **options: bool) -> Any:
    """Make a class a data class, as :func:`dataclasses.dataclass`, and its methods when one is used.

    >>> @_delayed(frozen=True)
    ... class Price:
    ...     alpha: float
    ...     delta: float = 0.0
    >>> type(vars(Price)["__init__"]).__name__, Price(1.0), type(vars(Price)["__init__"]).__name__
    ('_Placeholder', Price(alpha=1.0, delta=0.0), 'function')
    """
    if given is None:
        return lambda cls: _delayed(cls, **options)
    own, decorate = vars(given), dataclasses.dataclass
    if not options.keys() <= _DELAYED or "__slots__" in own or {"__setattr__", "__delattr__"} & own.keys():
        return decorate(**options)(given)
    held = _without_fields(given)
    for names, left_out in _groups(own, options):
        make = _maker(given, options, left_out, names, held)
        for name in names:
            setattr(given, name, _Placeholder(name, given, make))
    if options.get("frozen", False):
        _freeze(given)
    elif options.get("eq", True) and _is_implicit_hash(own):
        given.__hash__ = None  # type: ignore[assignment]
    return given


def _groups(own: Mapping[str, Any], options: Mapping[str, bool]) -> list[tuple[list[str], tuple[str, ...]]]:
    """Return the names that are made together, by the rules of Python's decorator, and the options left out for them.

    An object needs the first group. Texts and comparisons of the second are asked of few classes.
    """
    first = ["__init__"] if options.get("init", True) else []
    first += ["__match_args__"] + ["__replace__"] * (sys.version_info >= (3, 13))
    second = [f"__{name}__" for name in ("repr", "eq") if options.get(name, True)]
    known = ["__dataclass_fields__", "__dataclass_params__"]
    hashed = ["__hash__"] if options.get("eq", True) and options.get("frozen", False) and _is_implicit_hash(own) else []
    return [
        ([name for name in first if name not in own] + known, ("repr", "eq")),
        ([name for name in second if name not in own] + hashed, ("init",)),
    ]


def _is_implicit_hash(own: Mapping[str, Any]) -> bool:
    """Whether a class says nothing of its hash; Python itself writes None beside an ``__eq__``."""
    return "__hash__" not in own or (own["__hash__"] is None and "__eq__" in own)


def _without_fields(cls: type) -> dict[str, Any]:
    """Put defaults in place of a class's :func:`dataclasses.field`, and return these."""
    found = {name: value for name, value in vars(cls).items() if isinstance(value, dataclasses.Field)}
    for name, value in found.items():
        if value.default is dataclasses.MISSING:
            delattr(cls, name)
        else:
            setattr(cls, name, value.default)
    return found


class _Placeholder:
    """What stands for one attribute until the first use of any."""

    def __init__(self, name: str, cls: type, make: Callable[[], None]) -> None:
        self.name, self.cls, self.make = name, cls, make

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        self.make()
        found = vars(self.cls)[self.name]
        return found.__get__(instance, owner) if hasattr(found, "__get__") else found

    def __reduce__(self) -> tuple[Callable[[Any], Any], tuple[Any]]:
        # A class that is sent with all it has, as Spark sends some, takes along what stands here in the end.
        self.make()
        return _same, (vars(self.cls)[self.name],)


def _same(found: Any) -> Any:
    return found


def _maker(
    cls: type, options: Mapping[str, bool], left_out: Sequence[str], names: Sequence[str], held: Mapping[str, Any]
) -> Callable[[], None]:
    """Return what puts some of the methods in place of their placeholders, once."""
    is_made = False

    def make() -> None:
        nonlocal is_made
        with _ONE_AT_A_TIME:
            if not is_made:
                decorate: Any = dataclasses.dataclass
                made = vars(decorate(**{**options, **dict.fromkeys(left_out, False)})(_twin(cls, held)))
                for option in left_out:
                    setattr(made["__dataclass_params__"], option, options.get(option, True))
                for name in names:
                    setattr(cls, name, made[name])
                is_made = True

    return make


def _twin(cls: type, held: Mapping[str, Any]) -> type:
    """Return a class with the fields of another, of which a decorator makes the same methods."""
    inherited: dict[str, Any] = {}
    parameters: Any = None
    for base in cls.__mro__[-1:0:-1]:
        fields = getattr(base, "__dataclass_fields__", None)
        if fields is not None:
            inherited.update(fields)
            parameters = vars(base).get("__dataclass_params__", parameters)
    known = {"__dataclass_fields__": inherited, "__dataclass_params__": parameters}
    bases = (type("Inherited", (), known),) if parameters is not None else ()
    annotations = dict(vars(cls).get("__annotations__", {}))
    space: dict[str, Any] = {name: getattr(cls, name) for name in annotations if hasattr(cls, name)}
    space |= dict(held) | {
        "__annotations__": annotations,
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
    }
    # A twin without a docstring would get one, from its signature.
    space["__doc__"] = cls.__doc__ or cls.__name__
    if hasattr(cls, "__post_init__"):
        space["__post_init__"] = cls.__post_init__
    return type(cls.__name__, bases, space)


def _freeze(cls: Any) -> None:
    """Refuse to set or delete what an object of a class holds."""

    def is_refused(self: object, name: str) -> bool:
        return type(self) is cls or any(name == field.name for field in dataclasses.fields(cls))

    def assign(self: object, name: str, value: object) -> None:
        if is_refused(self, name):
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def delete(self: object, name: str) -> None:
        if is_refused(self, name):
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    for name, method in (("__setattr__", assign), ("__delattr__", delete)):
        method.__name__, method.__qualname__ = name, f"{cls.__qualname__}.{name}"
        setattr(cls, name, method)


if TYPE_CHECKING or sys.version_info >= (3, 14):
    # Later Pythons keep annotations otherwise, and make the methods of a class faster.
    from dataclasses import dataclass
else:
    dataclass = _delayed
