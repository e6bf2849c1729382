"""Credentials files and seeds: what is read, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_jetstream.core.credentials import parse_credentials, parse_seed
from penstock_jetstream.errors import AuthenticationError
from tests.testbed.nats.identity import Identity, credentials_file

USER = Identity.new_user()
JWT = Identity.new_account().sign_user(USER)
TEXT = credentials_file(JWT, USER)
SOURCE = "The file /etc/nats/user.creds"


def test_a_credentials_file_has_a_jwt_and_a_seed_as_any_tool_writes_them() -> None:
    found = parse_credentials(TEXT, SOURCE)
    assert (found.jwt, found.seed) == (JWT, USER.seed)
    assert JWT not in repr(found)
    assert USER.seed not in repr(found)
    for variant in (
        TEXT.replace("\n", "\r\n"),
        f"# made yesterday\n{TEXT}\n\n# the end\n",
        TEXT.replace("------END", "-----END"),
        f"  {TEXT.replace(JWT, f'{JWT}   ')}",
    ):
        assert parse_credentials(variant, SOURCE) == found
    for text in (USER.seed, f"{USER.seed}\n", f"# mine\n\n  {USER.seed}  \n", TEXT):
        assert parse_seed(text, SOURCE) == USER.seed


def test_an_error_says_what_is_wrong_with_a_file_without_its_secrets(subtests: pytest.Subtests) -> None:
    cases = [
        ("", "has no user JWT"),
        ("/etc/nats/user.creds", "has no user JWT"),
        (TEXT.partition("-----BEGIN USER NKEY")[0], "has no seed"),
        (TEXT.partition("------END USER NKEY")[0], "has no seed"),
        (TEXT.replace(JWT, "not.ajwt"), "has a user JWT that is none"),
        (TEXT.replace(USER.seed, USER.seed[:-1]), "has a seed that is damaged"),
        (TEXT.replace(USER.seed, Identity.new_account().seed), "not a user's"),
        (TEXT.replace(USER.seed, "SUNOT!BASE32"), "has a seed that is damaged"),
    ]
    for number, (text, sentence) in enumerate(cases):
        with subtests.test(sentence, number=number):
            with pytest.raises(AuthenticationError, match=sentence) as problem:
                parse_credentials(text, SOURCE)
            assert SOURCE in str(problem.value)
            assert USER.seed not in str(problem.value)
            assert JWT not in str(problem.value)
    for text, lines in (("", 0), ("a\nb\n", 2)):
        with pytest.raises(AuthenticationError, match=f"should have one line, the seed; it has {lines}"):
            parse_seed(text, SOURCE)


def test_a_changed_letter_of_a_seed_is_noticed() -> None:
    """Also of the last, whose lowest two bits belong to no byte, so that four letters would stand for one seed."""
    for place, letter in enumerate(USER.seed):
        for other in set("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") - {letter}:
            with pytest.raises(AuthenticationError):
                parse_seed(USER.seed[:place] + other + USER.seed[place + 1 :], SOURCE)


@given(st.text())
def test_any_text_is_credentials_or_an_authentication_error(text: str) -> None:
    with pytest.raises(AuthenticationError):
        parse_credentials(text, SOURCE)
