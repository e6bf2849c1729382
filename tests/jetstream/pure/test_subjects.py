"""Which subjects can be sent to, and which can be listened to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_jetstream.core.subjects import MAX_SUBJECT_BYTES, encode_pattern, encode_queue, encode_target
from penstock_jetstream.errors import UsageError

TARGETS = ["a", "a.b.c", "a*", "*a.b>", "ü.ö", "$JS.ACK._.x", "a/b-c_d=e", "_INBOX.x.1"]
PATTERNS = ["*", ">", "a.*", "*.a.*", "a.>", "*.>"]
NEITHER = ["", ".", "a.", ".a", "a..b", "a b", "a\tb", "a\r\nb", "a\x00", "\ud800", "a.b\n"]


@pytest.mark.parametrize("subject", TARGETS)
def test_a_subject_of_words_can_be_sent_to_and_listened_to(subject: str) -> None:
    assert encode_target(subject) == encode_pattern(subject) == subject.encode()


@pytest.mark.parametrize("subject", PATTERNS)
def test_a_pattern_can_only_be_listened_to(subject: str) -> None:
    assert encode_pattern(subject) == subject.encode()
    with pytest.raises(UsageError, match="cannot be published to"):
        encode_target(subject)


@pytest.mark.parametrize("subject", [*NEITHER, "x" * (MAX_SUBJECT_BYTES + 1), ">.a", "a.>.b", "*.>.>"])
def test_what_no_server_takes_is_refused(subject: str) -> None:
    with pytest.raises(UsageError):
        encode_target(subject)
    with pytest.raises(UsageError):
        encode_pattern(subject)


@given(st.text())
def test_nothing_that_is_let_through_breaks_a_line_or_a_token(subject: str) -> None:
    for encode in (encode_target, encode_pattern, encode_queue):
        try:
            encoded = encode(subject)
        except UsageError:
            continue
        assert len(encoded.split()) == 1
        assert encoded.split()[0] == encoded == subject.encode()


def test_the_longest_subject_is_judged_in_no_time() -> None:
    assert encode_target("*a." * 1300 + "b")
    with pytest.raises(UsageError):
        encode_target("*a." * 100_000)
