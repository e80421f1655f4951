"""Errors say their parts: argument, problem and remedy are attributes, and no code looks into a message for them."""

import ast
import json
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

import emdp
from emdp.base import errors
from emdp.base.errors import EmdpError, NotLipschitzError, ReportError, SqlError, UsageError
from emdp.expressions.analysis.checker import analyse

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "recorded" / "results"

OTHERS_WORDS = {
    "emdp/base/files.py",  # of the reader of TOML
    "emdp/reports/definition.py",  # of the reader of TOML
    "emdp/tables/engines/duckdb/execution.py",
    "emdp/tables/engines/duckdb/source.py",
    "emdp/tables/engines/spark/draws.py",
    "emdp/tables/engines/spark/errors.py",
}
"""Files that look into texts of errors that are not emdp's."""


def recorded() -> list[dict[str, str]]:
    """Return the refusals that were recorded of Python and of SQL, without the underlined text."""
    lines = [line for name in ("refusals", "refused") for line in (RECORDED / f"{name}.jsonl").read_text().splitlines()]
    return [said for _, _, said in map(json.loads, lines) if isinstance(said, dict) and "says" in said]


def sentences() -> Iterator[tuple[str, str]]:
    """Return place and text of each error that is written out in the code, a digit for each value in it."""
    for path in sorted((ROOT / "emdp").rglob("*.py")):
        calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call) and node.args)
        for call in calls:
            given = call.args[0]
            if ast.unparse(call.func) in errors.__all__ and isinstance(given, ast.Constant | ast.JoinedStr):
                pieces = given.values if isinstance(given, ast.JoinedStr) else [given]
                text = "".join(str(own.value) if isinstance(own, ast.Constant) else "0" for own in pieces)
                yield f"{path.relative_to(ROOT)}:{call.lineno}", text


@pytest.mark.parametrize(
    ("said", "argument", "problem", "remedy"),
    [
        ("delta must be in [0, 1), got 2.0; pass less.", "delta", "delta must be in [0, 1), got 2.0", "pass less"),
        ("noise='a' needs delta; pass it.", "noise", "noise='a' needs delta", "pass it"),
        ("--delta is missing; pass one.", "--delta", "--delta is missing", "pass one"),
        ("the disk is full; make room; it stays charged.", None, "the disk is full", "make room; it stays charged"),
        ("`a; b` fits no part (x: no; y: no); name it.", None, "`a; b` fits no part (x: no; y: no)", "name it"),
        ("got 'it; is', a user's; pass another's.", None, "got 'it; is', a user's", "pass another's"),
        ("""got "it's; so", and 'a\\'; b'; pass it.""", None, """got "it's; so", and 'a\\'; b'""", "pass it"),
        ("nothing was shown.", None, "nothing was shown", ""),
        ("a.toml:1: x; do y.\na.toml:2: z; do it.", None, "a.toml:1: x; do y.\na.toml:2: z; do it", ""),
        ("", None, "", ""),
    ],
)
def test_a_message_has_parts(said: str, argument: str | None, problem: str, remedy: str) -> None:
    error = EmdpError(said)
    assert (error.argument, error.problem, error.remedy) == (argument, problem, remedy)
    assert str(error) == said
    assert error.sentence == said.removesuffix(".")


def test_parts_make_a_message() -> None:
    error = UsageError("got a; b", argument="name", remedy="pass c; or d")
    assert str(error) == "got a; b; pass c; or d."
    assert (error.argument, error.problem, error.remedy) == ("name", "got a; b", "pass c; or d")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), vars(again)) == (str(error), vars(error))


@pytest.mark.parametrize("name", sorted(set(errors.__all__) & {*dir(errors)}))
def test_every_class_has_them(name: str) -> None:
    kind = getattr(errors, name)
    if not isinstance(kind, type) or kind in (SqlError, NotLipschitzError, ReportError):
        return
    error = kind("alpha must be given; pass it.")
    assert (error.argument, error.problem, error.remedy) == ("alpha", "alpha must be given", "pass it")


def test_parts_of_errors_with_more() -> None:
    with pytest.raises(NotLipschitzError) as steep:
        analyse(1 / emdp.col("x"), emdp.Interval("x", 0, 1))
    assert str(steep.value) == f"{steep.value.problem}; {steep.value.remedy}"
    name = "x" * 500
    refused = SqlError(f"{name} is long", remedy="shorten it", code="long", sql=name, start=0, end=500)
    assert (refused.argument, refused.problem, refused.remedy) == (None, f"{name} is long", "shorten it")
    assert str(refused).startswith(f"{refused.sentence}.\nline 1 | xxx")
    assert len(refused.sentence) < 100
    several = ReportError(["a.toml:1: x; do y.", "a.toml:2: z; do it."])
    assert (several.problem, several.remedy) == ("a.toml:1: x; do y.\na.toml:2: z; do it", "")


def test_every_recorded_refusal_is_a_problem_and_a_remedy() -> None:
    found = recorded()
    assert len(found) > 300
    for said in found:
        first = said["says"].split("\n")[0] if said["error"] == "SqlError" else said["says"]
        error = EmdpError(first)
        assert error.sentence == first.removesuffix(".")
        assert error.problem
        assert bool(error.remedy) == ("; " in first), first


@pytest.mark.slow
def test_every_sentence_of_the_code_is_split_at_its_first_semicolon() -> None:
    found = list(sentences())
    assert len(found) > 900
    for place, text in found:
        if "\n" not in text:
            problem, _, remedy = text.removesuffix(".").partition("; ")
            error = EmdpError(text)
            assert (error.problem, error.remedy) == (problem, remedy), place


@pytest.mark.slow
def test_nobody_looks_into_a_message() -> None:
    found = set()
    for path in sorted((ROOT / "emdp").rglob("*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        caught = {f"str({node.name})" for node in nodes if isinstance(node, ast.ExceptHandler)} | {"str(cause)"}
        for node in nodes:
            looked = node.comparators if isinstance(node, ast.Compare) else []
            looked = [node.value] if isinstance(node, ast.Attribute | ast.Subscript | ast.Assign) else looked
            if caught & {ast.unparse(own) for own in looked}:
                found.add(path.relative_to(ROOT).as_posix())
    assert found == OTHERS_WORDS
