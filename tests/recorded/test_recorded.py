"""Every recorded question has the answer that it had: what to do about a difference stands in ``README.md`` here."""

from typing import Any

import pytest

from .cases import SUBJECTS, cases_of
from .record import compared, read_results

WITHOUT_SPARK = [subject for subject in SUBJECTS if subject != "engines"]
RECORDED = {subject: read_results(subject) for subject in SUBJECTS}


def listed(subjects: list[str]) -> list[Any]:
    return [pytest.param(subject, name, id=f"{subject}-{name}") for subject in subjects for name in RECORDED[subject]]


@pytest.mark.quarter
@pytest.mark.parametrize(("subject", "name"), listed(WITHOUT_SPARK))
def test_an_answer_is_what_it_was(subject: str, name: str) -> None:
    found = compared(subject, name, RECORDED[subject][name])
    assert not found, "\n".join(found)


@pytest.mark.slow
@pytest.mark.parametrize(("subject", "name"), listed(["engines"]))
def test_an_answer_on_spark_is_what_it_was(spark: Any, subject: str, name: str) -> None:
    found = compared(subject, name, RECORDED[subject][name])
    assert not found, "\n".join(found)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_case_is_recorded(subject: str) -> None:
    assert list(RECORDED[subject]) == list(cases_of(subject)), "run: python -m tests.recorded.record"
