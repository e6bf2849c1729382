"""Which server is tried next, and after how long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_jetstream.core.servers import STEADY_SECONDS, Address, Backoff, Servers, parse
from penstock_jetstream.errors import UsageError

A, B, C = (Address(name) for name in "abc")
chances = st.floats(min_value=0, max_value=1, exclude_max=True)


def servers(*given_: Address, backoff: Backoff | None = None) -> Servers:
    return Servers(given_ or (A, B, C), backoff or Backoff())


@pytest.mark.interpreter
def test_an_address_is_read_from_a_url_or_less(subtests: pytest.Subtests) -> None:
    addresses = {
        "nats://a": Address("a", 4222),
        "nats://a:5000": Address("a", 5000),
        "tls://a:5000/": Address("a", 5000, tls=True),
        "a": Address("a"),
        "a:5000": Address("a", 5000),
        " nats://a ": Address("a"),
        "127.0.0.1": Address("127.0.0.1"),
        "::1": Address("::1"),
        "[::1]:5000": Address("::1", 5000),
        "nats://[fe80::1]:5000": Address("fe80::1", 5000),
        "nats://me:p%40ss@a:5000": Address("a", 5000, user="me", password="p@ss"),
        "nats://token@a": Address("a", user="token", password=None),
    }
    for url, address in addresses.items():
        with subtests.test(url):
            assert parse(url) == address
    address = parse("tls://someone:secret@[::1]:5000")
    assert str(address) == "tls://[::1]:5000"
    assert "secret" not in repr(address)
    assert "someone" not in repr(address)


def test_what_is_no_address_says_why_without_its_secret(subtests: pytest.Subtests) -> None:
    sentences = {
        "ws://a": "WebSocket is not supported",
        "wss://a:443": "WebSocket is not supported",
        "http://a": "http is no scheme of NATS",
        "nats://": "it names no host",
        "": "it names no host",
        "nats://a:port": "is not the address of a server",
        "nats://a:99999": "is not the address of a server",
        "nats://[::1": "is not the address of a server",
        "nats://a/b": "something follows the port",
        "nats://a?b=c": "something follows the port",
        "a b": "its host has a space",
        **dict.fromkeys(("nats://me:secret@a:port", "nats://me:sec/ret@a", "ws://secret@a", "nats://me:secret@")),
    }
    for url, sentence in sentences.items():
        with subtests.test(url):
            with pytest.raises(UsageError, match=sentence) as problem:
                parse(url)
            assert "nats://host:4222" in problem.value.advice
            assert "sec" not in str(problem.value)
            assert problem.value.__cause__ is None
    with pytest.raises(UsageError, match="No server was given"):
        Servers([], Backoff())


@given(chances)
def test_a_round_tries_each_server_once_and_the_one_that_was_lost_last(chance: float) -> None:
    pool = servers()
    assert sorted(map(str, pool.next_round(chance))) == sorted(map(str, (A, B, C)))
    pool.lost(B, lasted_seconds=60)
    assert pool.next_round(chance)[-1] == B


def test_chance_decides_which_server_is_first_and_the_order_of_the_others() -> None:
    assert [servers().next_round(chance)[0] for chance in (0, 0.4, 0.9)] == [A, B, C]
    assert servers().others(B, chance=0) == [A, C]
    assert servers().others(B, chance=0.5) == [C, A]
    assert servers(A).others(A, chance=0.9) == []


def test_after_a_link_that_lasted_the_next_is_made_at_once_and_otherwise_with_backoff() -> None:
    pool = servers()
    for _ in range(5):
        pool.next_round(0)
    pool.lost(A, lasted_seconds=STEADY_SECONDS)
    assert pool.wait_seconds(chance=0.99) == 0
    pool = servers(backoff=Backoff(first_seconds=1, most_seconds=100))
    waits = []
    for _ in range(4):
        pool.next_round(0)
        pool.lost(A, lasted_seconds=STEADY_SECONDS - 1)
        waits.append(pool.wait_seconds(chance=0.5))
    assert waits == [0.5, 1, 2, 4]


@given(st.integers(min_value=0, max_value=10_000), chances)
def test_a_wait_stays_within_its_bound(fruitless: int, chance: float) -> None:
    assert 0 <= Backoff(0.1, 5).wait_seconds(fruitless, chance) <= 5


def test_announced_servers_are_known_while_they_are_announced_and_trusted_like_the_announcing_one() -> None:
    pool = servers(A)
    pool.learn(["a:4222", "10.0.0.2:4222", "10.0.0.3:4222", "10.0.0.3:4222"], by=A)
    assert pool.known == [A, Address("10.0.0.2"), Address("10.0.0.3")]
    pool.learn(["10.0.0.3:4222"], by=A)
    assert pool.known == [A, Address("10.0.0.3")]
    pool.learn([], by=A)
    assert pool.known == [A]
    announcing = parse("tls://me:secret@nats.example")
    pool = Servers([announcing], Backoff())
    pool.learn(["10.0.0.2:5000", "other.example:5000"], by=announcing)
    _, by_ip, by_name = pool.known
    assert (by_ip.tls, by_ip.server_name, by_ip.user, by_ip.password) == (True, "nats.example", "me", "secret")
    assert (by_name.tls, by_name.server_name) == (True, "")
    pool.learn(["10.0.0.3:5000"], by=by_ip)
    assert pool.known[1].server_name == "nats.example"
