"""Mutants of every reader's input, and the harness that counts them.

Here a few thousand; ``pytest -m full`` reads 100,000, as does ``python tests/bad_input/run.py --inputs 100000``.
"""

import random
from pathlib import Path

import pytest
import run
from expectations import BrokenPromiseError, check_refusal, everything_said
from known import KNOWN, known_fault
from mutator import mutated_bytes, mutated_text, mutated_tree
from readers import READERS, feed

from emdp.base.errors import DataRuleError, InternalError, UsageError

QUICK_SEED = 9


def check(tallies: dict[str, run.Tally], inputs: int) -> None:
    """No promise was broken, no input lost; every reader refused some, and many were read."""
    assert [line for one in tallies.values() for line in one.broken] == []
    assert sum(one.inputs for one in tallies.values()) == inputs
    assert all(0 < one.inputs > one.kinds["accepted"] for one in tallies.values())
    # Mutations that leave all of it readable, or none of it, would try nothing.
    assert 0.1 * inputs < sum(one.kinds["accepted"] for one in tallies.values()) < 0.5 * inputs


@pytest.mark.slow
def test_thousands_of_mutants_are_read_or_refused() -> None:
    # In one process, since the start of another costs as much as hundreds of inputs.
    counts = {name: reader.quick for name, reader in READERS.items()}
    check(run.run(counts, seed=QUICK_SEED), sum(counts.values()))


def test_the_shares_of_the_readers_add_up() -> None:
    assert sum(reader.quick for reader in READERS.values()) > 3_000
    assert sum(reader.share for reader in READERS.values()) == run.PER_INPUTS


@pytest.mark.full
def test_a_hundred_thousand_mutants_are_read_or_refused() -> None:
    counts = {name: reader.share for name, reader in READERS.items()}
    check(run.run(counts, seed=random.SystemRandom().randrange(2**32), jobs=2), run.PER_INPUTS)


# ------------------------------------------------ the harness itself


class _Odd:
    """A reader that does what a test says; stands in for one of emdp's."""

    def __init__(self, ending: BaseException | None) -> None:
        self.ending = ending

    def feed(self, rng: random.Random) -> str:
        if self.ending is not None:
            raise self.ending
        return "read"


def chained(error: BaseException, hidden: BaseException) -> BaseException:
    error.__context__, error.__suppress_context__ = hidden, True
    return error


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        (None, "accepted"),
        (UsageError("x must be a number, not a text; pass one."), "refused"),
        (DataRuleError("table 'visits' has rows without a user; give every row a user."), "refused"),
        (ValueError("anything."), "broken"),
        (InternalError("a bug."), "broken"),
        (SystemError("anything."), "broken"),
        (UsageError("no full stop"), "broken"),
        (UsageError("two\nlines."), "broken"),
        (UsageError("a bell \x07."), "broken"),
        (UsageError("half a character \ud800."), "broken"),
        (UsageError("Conversion Error: no text of DuckDB's."), "broken"),
        (UsageError("the user zqvj-1 is not listed."), "broken"),
        (chained(UsageError("no such user."), ValueError("zqvj-1")), "broken"),
        (chained(UsageError("no text."), UnicodeDecodeError("utf-8", b"zqvj\xff", 4, 5, "invalid")), "broken"),
        (UsageError("the value 31.92781828 is too large."), "broken"),
    ],
)
def test_the_harness_tells_promises_kept_from_promises_broken(ending: BaseException | None, kind: str) -> None:
    outcome = feed(_Odd(ending), "odd", 1, 1)
    assert (outcome.kind, outcome.status) == (kind, getattr(ending, "exit_status", 0) if kind != "broken" else -1)


def test_what_an_error_says_is_all_of_its_chain() -> None:
    inner = KeyError("deep")
    middle = chained(ValueError("middle"), inner)
    outer = UsageError("outer.")
    outer.__cause__ = middle
    said = everything_said(outer)
    assert all(word in said for word in ("outer.", "middle", "deep"))
    with pytest.raises(BrokenPromiseError, match="came from"):
        check_refusal(chained(UsageError("outer."), KeyError("zqvj")))


def test_a_crash_and_a_hang_are_named_and_the_rest_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A copy of the script whose readers are replaced: one crashes at its second input, one hangs.
    here = Path(run.__file__).parent
    for path in here.glob("*.py"):
        (tmp_path / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "readers.py").write_text(
        "import os, time\n"
        "from dataclasses import dataclass\n"
        "@dataclass\nclass Outcome:\n    kind: str\n    word: str\n    status: int\n    seconds: float\n"
        "@dataclass\nclass Reader:\n    is_public: bool\n    share: int = 1\n"
        "    def make(self, folder):\n        print('' if self.is_public else 'zqvj', flush=True)\n"
        "READERS = {name: Reader(name != 'leaks') for name in ('crashes', 'hangs', 'leaks')}\n"
        "def feed(reader, name, seed, index):\n"
        "    if (name, index) == ('crashes', 1): os.abort()\n"
        "    if (name, index) == ('hangs', 2): time.sleep(60)\n"
        "    if name == 'leaks': print('zqvj', flush=True)\n"
        "    return Outcome('accepted', 'read', 0, 0.0)\n"
    )
    monkeypatch.setattr(run, "HERE", tmp_path)
    tallies = run.run(dict.fromkeys(("crashes", "hangs", "leaks"), 4), seed=1, limit=1.0)
    assert [one.inputs for one in tallies.values()] == [4, 4, 4]
    assert [one.kinds["accepted"] for one in tallies.values()] == [3, 3, 4]
    (crash,), (hang,), (leak,) = (one.broken for one in tallies.values())
    assert crash.startswith("crashes 1: ends the process (status -6)")
    assert hang.startswith("hangs 2: hangs the process")
    assert leak == "leaks before 4: prints zqvj"


def test_mutations_change_what_they_are_given_and_are_the_same_for_one_seed() -> None:
    content, text, tree = bytes(range(256)) * 4, "kind = 'a'\nlow = 0\n" * 9, {"kind": "a", "parts": [1, {"x": 2.5}]}
    for way, given in ((mutated_bytes, content), (mutated_text, text), (mutated_tree, tree)):
        made = [way(random.Random(seed), given) for seed in range(200)]  # type: ignore[operator]
        assert repr(made) == repr([way(random.Random(seed), given) for seed in range(200)])  # type: ignore[operator]
        assert sum(one != given for one in made) > 150
        assert len({repr(one) for one in made}) > 50
    assert tree == {"kind": "a", "parts": [1, {"x": 2.5}]}


def test_a_known_fault_is_known_by_reader_promise_and_place() -> None:
    for fault in KNOWN:
        assert set(fault.readers) <= set(READERS)
        assert known_fault(fault.readers[0], "another promise", ["emdp/tables/engines/duckdb/engine.py:f"]) is None
        assert known_fault("space", fault.promise, ["emdp/tables/engines/duckdb/engine.py:f"]) is None
