"""The table of families, the planners, the methods of a session and the aggregates of SQL agree."""

import inspect
from typing import get_args

import pytest

import emdp
from emdp import questions
from emdp.base.errors import UsageError
from emdp.estimators.dispatch import PLANNERS
from emdp.questions.families import ALONE, FAMILIES, FUNCTIONS, family_of
from emdp.questions.resolution import Resolved
from emdp.sql.clauses import aggregates
from emdp.sql.text import families as options
from emdp.sql.translate import READERS


def test_every_resolved_question_is_of_one_family() -> None:
    listed = [question for family in FAMILIES for question in family.questions]
    assert len(set(listed)) == len(listed)
    assert set(listed) == set(get_args(Resolved))


def test_every_family_has_a_planner() -> None:
    assert list(PLANNERS) == [family.name for family in FAMILIES]


def test_a_session_asks_what_the_table_lists() -> None:
    asked = {name for name in questions.__all__ if inspect.isfunction(getattr(questions, name))}
    assert set(FUNCTIONS) == asked
    methods = {
        name
        for name, method in vars(emdp.Session).items()
        if inspect.isfunction(method) and inspect.signature(method).return_annotation is emdp.Answer
    }
    assert set(FUNCTIONS) == methods - {"sql", "answer"}
    assert all(getattr(emdp, name) is getattr(questions, name) for name in FUNCTIONS)


def test_aggregates_that_stand_alone_are_those_of_the_table() -> None:
    assert all(aggregates.is_aggregate(name) and family.alone for name, family in ALONE.items())
    assert set(READERS) == {family.name for family in FAMILIES if family.aggregates}
    named = {function for functions in options.FAMILIES.values() for function in functions}
    assert named <= set(ALONE) | set(options.MIXED)


def test_what_is_no_question_is_refused() -> None:
    with pytest.raises(UsageError, match=r"made by emdp.mean, vector_mean, frequencies, .* or user_mean, not int"):
        family_of(3)
