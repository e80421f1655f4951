"""Data classes with delayed methods: every class is as Python's own decorator makes it, whatever is used first."""

import copy
import dataclasses
import inspect
import pickle
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any, ClassVar

import pytest

import emdp
from emdp.base.classes import _delayed

Decorator = Callable[..., Any]
MAKERS = {"Python's": dataclasses.dataclass, "emdp's": _delayed}


def family(decorate: Decorator) -> dict[str, Any]:
    """Return classes of every shape that emdp has."""

    @decorate(frozen=True)
    class Point:
        """A place."""

        x: float
        y: float = 0.0
        names: tuple[str, ...] = field(default=(), compare=False)
        made: list[int] = field(default_factory=list, repr=False, hash=False, compare=False)
        kind: ClassVar[str] = "point"

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("x must not be negative")
            object.__setattr__(self, "total", self.x + self.y)

    @decorate(frozen=True)
    class Deep(Point):
        """A place with a depth, and another default of y."""

        y: float = 1.0
        depth: int = field(default=7, kw_only=True)

        def __repr__(self) -> str:
            return "deep"

    @decorate(frozen=True, eq=False)
    class Same:
        x: object

    @decorate(frozen=True, kw_only=True)
    class Named:
        x: int
        y: int = 2

    @decorate
    class Open:
        x: int
        y: list[int] = field(default_factory=list)

    @decorate(frozen=True, init=False, repr=False)
    class Own:
        x: int

        def __init__(self, *words: int) -> None:
            object.__setattr__(self, "x", len(words))

        def __hash__(self) -> int:
            return 5

    @decorate(frozen=True)
    class Compared:
        x: int

        def __eq__(self, other: object) -> bool:
            return True

    class Abstract(ABC):
        @abstractmethod
        def told(self) -> str: ...

    @decorate(frozen=True)
    class Concrete(Abstract):
        x: int

        def told(self) -> str:
            return f"{self.x}"

    class Plain(Point):
        """No data class itself."""

    @decorate(frozen=True)
    class Empty:
        """Nothing."""

    @decorate(frozen=True, order=True)
    class Ordered:
        x: int

    @decorate(frozen=True, slots=True)
    class Slotted:
        x: int

    return {name: value for name, value in locals().items() if name not in {"decorate", "Abstract"}}


def objects(known: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, words, named in (
        ("Point", (1.0,), {}), ("Point", (1.0, 2.0), {"names": ("a",)}), ("Point", (1.0,), {"made": [3]}),
        ("Deep", (1.0,), {}), ("Deep", (1.0, 3.0), {"depth": 2}), ("Same", (1,), {}), ("Named", (), {"x": 1}),
        ("Open", (1,), {}), ("Own", (1, 2), {}), ("Compared", (1,), {}), ("Concrete", (1,), {}), ("Plain", (1.0,), {}),
        ("Empty", (), {}), ("Ordered", (3,), {}), ("Slotted", (3,), {}),
    ):  # fmt: skip
        yield name, known[name](*words, **named)


def told(action: Callable[[], Any]) -> Any:
    try:
        return action()
    except (TypeError, ValueError, AttributeError) as problem:
        return type(problem), str(problem)


FIRST: dict[str, Callable[[Any, Any], Any]] = {
    "make": lambda cls, one: None,
    "text": lambda cls, one: None if cls.__repr__ is object.__repr__ or " object at " in repr(one) else repr(one),
    "hash": lambda cls, one: told(lambda: hash(one) - (hash(one) if cls.__hash__ is object.__hash__ else 0)),
    "equal": lambda cls, one: (one == one, one == copy.copy(one), one == 3, one != copy.copy(one)),
    "fields": lambda cls, one: [
        (own.name, str(own.type), own.default is dataclasses.MISSING or own.default, own.kw_only, own.compare, own.repr)
        for own in dataclasses.fields(cls)
    ],
    "is one": lambda cls, one: (dataclasses.is_dataclass(cls), dataclasses.is_dataclass(one)),
    "parameters": lambda cls, one: repr(cls.__dataclass_params__),
    "match": lambda cls, one: cls.__match_args__,
    "signature": lambda cls, one: str(inspect.signature(cls)),
    "replace": lambda cls, one: told(lambda: vars(dataclasses.replace(one, x=9)) if hasattr(one, "__dict__") else 0),
    "set": lambda cls, one: told(lambda: setattr(one, "x", 4)),
    "set another": lambda cls, one: told(lambda: setattr(one, "other", 4)),
    "delete": lambda cls, one: told(lambda: delattr(one, "x")),
    "as dict": lambda cls, one: told(lambda: dataclasses.asdict(one)),
    "by class": lambda cls, one: [str(told(lambda n=name: getattr(cls, n))) for name in ("x", "y", "depth", "kind")],
    "unknown argument": lambda cls, one: told(lambda: cls(nothing=1)),
    "too few": lambda cls, one: told(lambda: cls() and None),
    "refused": lambda cls, one: told(lambda: cls(x=-1.0) and None),
    "without init": lambda cls, one: told(lambda: repr(copy.copy(one)).partition(" object at ")[0]),
    "hashable": lambda cls, one: cls.__hash__ is None,
    "order": lambda cls, one: told(lambda: one < one),
}


@pytest.mark.parametrize("use", FIRST)
def test_a_class_is_as_python_makes_it_whatever_is_used_first(use: str) -> None:
    answers: dict[str, list[Any]] = {}
    for maker, decorate in MAKERS.items():
        known = family(decorate)
        answers[maker] = [(name, FIRST[use](known[name], one)) for name, one in objects(known)]
        answers[maker] += [(name, vars(one)) for name, one in objects(known) if hasattr(one, "__dict__")]
    assert answers["emdp's"] == answers["Python's"]


@pytest.mark.parametrize("use", ["fields", "is one", "parameters", "match", "signature", "by class", "too few"])
def test_a_class_can_be_asked_before_it_has_an_object(use: str) -> None:
    ours, theirs = family(_delayed), family(dataclasses.dataclass)
    for name in ours:
        assert FIRST[use](ours[name], None) == FIRST[use](theirs[name], None), name


def test_objects_that_no_init_made_are_compared_and_frozen() -> None:
    for name, cls in family(_delayed).items():
        one, other = object.__new__(cls), object.__new__(cls)
        if name in {"Point", "Deep", "Plain", "Named", "Concrete"}:
            for held in (one, other):
                vars(held).update(x=1, y=2, names=(), depth=3)
            assert one == other, name
            assert hash(one) == hash(other)
            with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
                one.x = 2


def test_a_class_of_python_over_one_of_emdp_and_the_other_way_round() -> None:
    for lower, upper in ((_delayed, dataclasses.dataclass), (dataclasses.dataclass, _delayed)):
        base = family(lower)["Point"]

        class Over(base):  # type: ignore[misc]
            z: int = 3

        made = upper(frozen=True)(Over)
        assert repr(made(1.0, z=4)).endswith("Over(x=1.0, y=0.0, names=(), z=4)")
        with pytest.raises(TypeError, match="frozen"):
            upper()(type("Thawed", (base,), {"__annotations__": {"w": int}, "w": 1}))()


def test_a_mistake_shows_at_the_first_use() -> None:
    @_delayed(frozen=True)
    class Wrong:
        x: int = 1
        y: list[int] = []  # noqa: RUF012

    with pytest.raises(ValueError, match="mutable default"):
        Wrong()
    with pytest.raises(ValueError, match="mutable default"):
        Wrong()


def test_many_threads_may_make_the_first_object() -> None:
    for _ in range(30):
        known = family(_delayed)
        start, found = threading.Barrier(8), []

        def work(known: dict[str, Any] = known, start: threading.Barrier = start, found: list[Any] = found) -> None:
            start.wait()
            found.append((repr(known["Deep"](1.0)), known["Point"](1.0) == known["Point"](1.0, 0.0)))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [("deep", True)] * 8


def test_objects_of_emdp_are_pickled_into_a_process_that_made_none() -> None:
    price = emdp.Interval("x", 0, 1)
    again = pickle.loads(pickle.dumps(price))
    assert again == price
    assert hash(again) == hash(price)
