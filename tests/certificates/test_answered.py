"""What became of a target, in words that do not promise more."""

from pacbayes.certificates.decisions import Answered
from pacbayes.certificates.sentences import format_target


def test_words():
    found = Answered(0.02, 0.5, 1000, 910, 10, 7)
    assert found.share == 0.91
    assert found.headline == "At most 2.0 % errors among the 91.0 % that it answers"
    assert found.observed == "It erred on 10 of the 910 that it answered."
    assert found.details[0].startswith("Of 7 thresholds")


def test_words_where_nothing_passed():
    found = Answered(0.02, None, 100, 0, 0, 1, None)
    assert not found.passed
    assert found.observed == ""
    assert "no guarantee" not in found.claim("Surely,", "it")
    assert found.headline == "Answers nothing: 2.0 % was not reached"
    assert "did not pass" in found.details[0]


def test_targets_are_written_as_a_person_writes_them():
    assert [format_target(t) for t in (0.02, 0.07, 0.001, 0.5, 0.0333)] == [
        "2.0 %",
        "7.0 %",
        "0.1 %",
        "50.0 %",
        "3.33 %",
    ]
