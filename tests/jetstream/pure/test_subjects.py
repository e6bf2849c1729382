"""Which subjects can be published to, and which can be subscribed to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_jetstream.core.subjects import MAX_SUBJECT_BYTES, encode_pattern, encode_queue, encode_target
from penstock_jetstream.errors import UsageError

NEITHER = ("", ".", "a.", ".a", "a..b", "a b", "a\tb", "a\r\nb", "a\x00", "\ud800", "a.b\n", ">.a", "a.>.b", "*.>.>")


def test_subjects_can_be_published_to_and_patterns_only_subscribed_to(subtests: pytest.Subtests) -> None:
    for subject in ("a", "a.b.c", "a*", "*a.b>", "ü.ö", "$JS.ACK._.x", "a/b-c_d=e", "_INBOX.x.1"):
        assert encode_target(subject) == encode_pattern(subject) == subject.encode()
    for subject in ("*", ">", "a.*", "*.a.*", "a.>", "*.>"):
        assert encode_pattern(subject) == subject.encode()
        with pytest.raises(UsageError, match="cannot be published to"):
            encode_target(subject)
    for subject in (*NEITHER, "x" * (MAX_SUBJECT_BYTES + 1)):
        for encode in (encode_target, encode_pattern):
            with subtests.test(ascii(subject[:9])), pytest.raises(UsageError):
                encode(subject)


@given(st.text())
def test_no_accepted_text_breaks_a_line_or_a_token(subject: str) -> None:
    for encode in (encode_target, encode_pattern, encode_queue):
        try:
            encoded = encode(subject)
        except UsageError:
            continue
        assert len(encoded.split()) == 1
        assert encoded.split()[0] == encoded == subject.encode()


def test_a_very_long_subject_is_judged_without_backtracking() -> None:
    """What backtracks would not end before the timeout of the test."""
    assert encode_target("*a." * 1300 + "b")
    with pytest.raises(UsageError):
        encode_target("*a." * 100_000)
