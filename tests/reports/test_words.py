"""Sentences of what is protected: never less than the truth, whatever was spent of which budget."""

import re
from fractions import Fraction

import pytest

from emdp.privacy import Change, DiscreteEmdDP, EmdDP, UserDP, change_distance
from emdp.reports.words import one_record_in_words, protection_sentences, share_in_words
from emdp.spaces import Categories, Geo, Interval, Product

LINE = Interval("x", 0, 50)
PLACES = Product(Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.7), unit="km"), Categories("kind", ["a", "b"]))


def epsilons(sentence: str) -> list[float]:
    return [float(found) for found in re.findall(r"epsilon ([\d.e+-]+\d)", sentence)]


def test_both_kinds_of_budget_add_up() -> None:
    """A page that spends alpha 6 and epsilon 7 hides a change of d_em 1/300 with 7.02, not with 0.02 and 7."""
    spent, promises = [EmdDP(6.0), UserDP(7.0, 1e-9)], [EmdDP(60.0, 1e-8), UserDP(40.0, 1e-9)]
    (sentence,) = protection_sentences(spent, promises, [Change(1 / 30, 5, 0.2)], LINE)
    assert epsilons(sentence) == [7.02, 40.2]
    assert "failure probability of 1e-09) by this page" in sentence
    assert "failure probability of 1.1e-08) by all" in sentence


def test_a_user_level_page_is_said_for_all_records() -> None:
    (sentence,) = protection_sentences([UserDP(0.5)], [EmdDP(60.0), UserDP(2.0)], [Change(0.1, 5, 0.2)], LINE)
    assert sentence.startswith("That your records are what they are")
    assert epsilons(sentence) == [0.5, 62.0]


def test_removal_is_said_of_records_that_are_there_at_all() -> None:
    removal = UserDP(0.5, 1e-9, neighbours="remove")
    (sentence,) = protection_sentences([removal, UserDP(0.25)], [removal.at_level(2.5, 1e-9)], [], LINE)
    assert sentence.startswith("That your records are there at all is hidden")
    assert epsilons(sentence) == [0.75, 2.5]
    # of records that change it says half as much: once gone, once there again
    (sentence,) = protection_sentences([EmdDP(6.0), removal], [EmdDP(60.0), removal], [Change(1 / 30, 5, 0.2)], LINE)
    assert epsilons(sentence) == [1.02, 1.2]
    assert "failure probability of 2.65e-09) by this page" in sentence
    (sentence,) = protection_sentences([EmdDP(6.0), removal], [removal.at_level(40.0, 1e-9)], [], LINE)
    assert "with no promise at all by all" in sentence


def test_a_budget_up_to_a_distance_promises_its_whole_epsilon_within_it_and_nothing_beyond() -> None:
    """Epsilon does not shrink with the change, and of "any others" records nothing is said."""
    near, far = Change(1 / 30, 5, 0.2), Change(0.5, 50, 0.2)
    within = DiscreteEmdDP(0.3, 1e-9, r=0.05)
    sentences = protection_sentences([within], [within.at_level(2.5, 1e-8)], [near, far], LINE)
    assert epsilons(sentences[0]) == [0.3, 2.5]
    assert "any others" not in " ".join(sentences)
    assert "is hidden with no promise at all by this page, and with no promise at all by all" in sentences[1]
    (both,) = protection_sentences([within, UserDP(1.0)], [within, UserDP(3.0)], [near], LINE)
    assert epsilons(both) == [1.3, 3.3]
    words = one_record_in_words([within], near, LINE)
    assert words == "with one record no promise at all, with ten 0.3, with thirty 0.3"


def test_nothing_spent_says_nothing() -> None:
    assert protection_sentences([], [EmdDP(60.0)], [], LINE) == ()
    assert protection_sentences([EmdDP(0.0)], [EmdDP(60.0)], [], LINE) == ()


@pytest.mark.parametrize("alpha", [0.013, 1.0, 3.3333, 81.585, 1234.5])
@pytest.mark.parametrize(
    "change", [Change(0.0333, 5, 1, part="lat"), Change(0.37, 0.7, 1, part=0), Change(1, 1, 1, part="kind")]
)
def test_numbers_are_rounded_up_and_by_little(alpha: float, change: Change) -> None:
    (sentence,) = protection_sentences([EmdDP(alpha)], [EmdDP(alpha)], [change], PLACES)
    truth = Fraction(alpha) * Fraction(change_distance(change, space=PLACES))
    said, whole = epsilons(sentence)
    assert said == whole
    assert truth * (1 - Fraction(1, 10**11)) <= Fraction(said) <= truth * Fraction(1012, 1000)


def test_a_share_that_is_named_counts_as_what_the_name_says() -> None:
    (named,) = protection_sentences([EmdDP(300.0)], [EmdDP(300.0)], [Change(0.0333, 50, 1)], LINE)
    assert "a thirtieth" in named
    assert epsilons(named)[0] == 10.0
    assert share_in_words(0.034) == "3.4 %"


def test_words_of_a_period_a_part_and_a_usual_change() -> None:
    (sentence,) = protection_sentences([EmdDP(6.0)], [EmdDP(6.0)], [], PLACES, period="2026-W47")
    assert "a tenth of your records of 2026-W47 by 0.7 km in lat, lon is hidden" in sentence


class TestPeriods:
    """What a page says of periods: the theorem of :mod:`emdp.privacy.account.periods`."""

    # The example of elsewhere-periods-continual.md B4: alpha 81.585 on a diameter of 67.9875 km.
    CITY = Interval("x", 0, 67.9875)
    CHANGE = Change(1 / 30, 5, 0.2)

    def test_one_record_may_be_all_that_somebody_did(self) -> None:
        (sentence,) = protection_sentences(
            [EmdDP(8.1)], [EmdDP(81.585)], [self.CHANGE], self.CITY, period="2026-W47"
        )  # fmt: skip
        assert (
            "records of 2026-W47 by 5 is hidden with epsilon 0.0199 by this page, and with epsilon 0.2 by all"
            in sentence
        )
        assert "even if as large a part of every other period's changes too." in sentence
        assert sentence.endswith("with one record epsilon 6, with ten 0.6, with thirty 0.2.")

    def test_what_is_said_of_one_record_is_its_loss(self) -> None:
        for alpha in (0.3, 20.0, 81.585):
            words = one_record_in_words([EmdDP(alpha)], self.CHANGE, self.CITY)
            said = [float(number) for number in re.findall(r"[\d.]+", words)]
            for count, epsilon in zip((1, 10, 30), said, strict=True):
                truth = alpha * 5 / 67.9875 / count
                assert truth * (1 - 1e-9) <= epsilon <= truth * 1.012

    def test_a_table_that_grows_says_when(self) -> None:
        (sentence,) = protection_sentences([EmdDP(6.0)], [EmdDP(60.0)], [self.CHANGE], LINE, is_growing=True)
        assert sentence.endswith("if they changed so as they were when each answer was given.")

    def test_a_budget_per_period_beside_one_per_user(self) -> None:
        promises = [EmdDP(60.0), EmdDP(3.0, unit="period"), UserDP(1.0)]
        (sentence,) = protection_sentences([EmdDP(1.5)], promises, [self.CHANGE], LINE, period="W1")
        assert "with epsilon 1.2 by all that is ever answered, even if" in sentence
        assert "If only W1 changes, it is hidden with epsilon 1.01 by all that is ever answered." in sentence

    def test_a_budget_per_period_alone_says_what_it_leaves_open(self) -> None:
        promises = [EmdDP(3.0, unit="period")]
        (sentence,) = protection_sentences(
            [EmdDP(1.5, unit="period")], promises, [self.CHANGE], LINE, period="W1"
        )  # fmt: skip
        assert "with epsilon 0.01 by all that is ever answered about W1." in sentence
        assert "What you did in k periods is hidden with k times that" in sentence
        assert "that you have been in the data for long is not." in sentence
        assert "every other period" not in sentence
