"""What a server might send, as hypothesis makes it up: frames, streams of them, and how a network tears them."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from hypothesis import strategies as st

from penstock_jetstream.core.wire import Message

SIDS = (b"1", b"2", b"17")

words = st.text("abcMSGH*>$_", min_size=1, max_size=6)
subjects = st.lists(words, min_size=1, max_size=4).map(lambda tokens: ".".join(tokens).encode())
payloads = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([b"\r\n", b"\r\n\r\n", b"PONG\r\n", b"MSG a 1 b 2\r\nhi\r\n", b"x\r\nMSG a 1 0\r\n", b""]),
)
header_values = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=10)
header_names = st.text(
    st.characters(min_codepoint=33, max_codepoint=126, exclude_characters=":"), min_size=1, max_size=8
)
header_blocks = st.sampled_from([b"", b"NATS/1.0\r\n\r\n", b"NATS/1.0 503\r\n\r\n", b"NATS/1.0\r\nA: b\r\n\r\n"])
messages = st.tuples(st.sampled_from(SIDS), subjects, st.one_of(st.just(b""), subjects), header_blocks, payloads)
controls = st.sampled_from(
    [b"PING\r\n", b"PONG\r\n", b"+OK\r\n", b"-ERR 'Stale Connection'\r\n", b'INFO {"server_id":"A","n":1}\r\n']
)


def frame(message: Message) -> bytes:
    """Return a message as a server sends it."""
    sid, subject, reply, header, payload = message
    fields = [subject, sid, reply] if reply else [subject, sid]
    sizes = [b"%d" % len(header)] if header else []
    line = b" ".join([b"HMSG" if header else b"MSG", *fields, *sizes, b"%d" % (len(header) + len(payload))])
    return line + b"\r\n" + header + payload + b"\r\n"


streams = st.lists(st.one_of(messages.map(frame), controls), max_size=12).map(b"".join)


def torn(stream: bytes, cuts: Iterable[int]) -> Iterator[bytes]:
    """Cut a stream where the numbers say, as far as they are within it."""
    places = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    return (stream[start:end] for start, end in pairwise(places))
