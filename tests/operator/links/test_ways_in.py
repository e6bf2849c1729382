"""Every way to say who we are, with every way to encrypt, from what is in Secrets; and what is said where it fails."""

from typing import Any

import pytest

from penstock_operator.plan.connections import Connected
from penstock_operator.plan.reasons import Reason
from penstock_operator.services.links import Secrets
from penstock_operator.services.nats.material import MaterialError, material, secret_names
from tests.operator.links.linking import CONNECTION, encryption, keeping, login, spec_of
from tests.testbed.certificates import Authority
from tests.testbed.nats.authentication import METHODS, Access
from tests.testbed.nats.encryption import WAYS, tls
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.run import current

NAMED = ["userpass", "token", "nkey", "creds"]


def access_of(method: str) -> Access:
    return METHODS[method](current().new_folder(method))


@pytest.mark.parametrize("encrypted", WAYS)
@pytest.mark.parametrize("method", METHODS)
async def test_who_is_known_gets_in_with_every_encryption(start_nats: StartNats, method: str, encrypted: str) -> None:
    access, both_ends = access_of(method), WAYS[encrypted](current().new_folder("tls"))
    server = start_nats(access=access, encryption=both_ends)
    (fields, secrets), (tls_fields, tls_secrets) = login(access), encryption(both_ends) if both_ends else ({}, {})
    async with keeping() as kept:
        kept.keep(spec_of(server.url, **fields, **tls_fields), {**secrets, **tls_secrets})
        await kept.connected()


@pytest.mark.parametrize("method", NAMED)
async def test_who_is_not_known_is_told_so_and_gets_in_once_the_secret_is_right(
    start_nats: StartNats, method: str
) -> None:
    access = access_of(method)
    server = start_nats(access=access)
    fields, wrong = login(access_of(method))
    _, right = login(access)
    async with keeping() as kept:
        kept.keep(spec_of(server.url, **fields), wrong)
        failing = await kept.failing()
        assert failing.reason is Reason.UNAUTHORIZED
        assert f"{server.url} refused the connection: Authorization Violation." in failing.message
        kept.keep(spec_of(server.url, **fields), right)
        await kept.connected()


async def test_a_server_that_is_not_trusted_is_told_from_one_that_is_not_there(start_nats: StartNats) -> None:
    encrypted = tls(current().new_folder("tls"))
    server = start_nats(encryption=encrypted)
    fields, _ = encryption(encrypted)
    stranger = {"authority": {"ca.crt": Authority.new("another").certificate.pem}}
    async with keeping() as kept:
        kept.keep(spec_of(server.url, **fields), stranger)
        failing = await kept.failing()
        assert failing.reason is Reason.TLS_FAILED
        assert "is not trusted" in failing.message
        assert "tls.caSecretRef" in failing.message
        assert "Tls(" not in failing.message


async def test_a_server_that_wants_a_certificate_says_which_field_gives_it(start_nats: StartNats) -> None:
    encrypted = tls(current().new_folder("tls"), verify_clients=True)
    server = start_nats(encryption=encrypted)
    fields, secrets = encryption(encrypted)
    del fields["tls"]["clientCertificateSecretRef"]
    async with keeping() as kept:
        kept.keep(spec_of(server.url, **fields), secrets)
        failing = await kept.failing()
        assert failing.reason is Reason.UNAUTHORIZED
        assert "tls.clientCertificateSecretRef" in failing.message


async def test_a_server_that_is_not_there_is_unreachable_until_it_is(start_nats: StartNats) -> None:
    server = start_nats()
    server.terminate()
    async with keeping() as kept:
        kept.keep(spec_of(server.url))
        failing = await kept.failing()
        assert failing.reason is Reason.UNREACHABLE
        assert f"{server.url} refused the connection: nothing listens there." in failing.message
        server.start()
        await kept.connected()


async def test_one_server_of_several_is_enough(start_nats: StartNats) -> None:
    dead, alive = start_nats(), start_nats()
    dead.kill()
    async with keeping() as kept:
        kept.keep(spec_of(dead.url, alive.url))
        await kept.connected()
        assert kept.told == [CONNECTION, CONNECTION]
        assert isinstance(await kept.links.settled(CONNECTION), Connected)


CREDENTIALS = {"auth": {"credentialsSecretRef": {"name": "user", "key": "user.creds"}}}
NKEY = {"auth": {"nkeySecretRef": {"name": "user", "key": "seed"}}}
PAIR = {"auth": {"userPasswordSecretRef": {"name": "user"}}}
AUTHORITY = {"tls": {"caSecretRef": {"name": "ca", "key": "ca.crt"}}}
CERTIFICATE = {"tls": {"clientCertificateSecretRef": {"name": "pair"}}}

UNUSABLE: list[tuple[dict[str, Any], Secrets, Reason, str]] = [
    (CREDENTIALS, {}, Reason.SECRET_NOT_FOUND, "Secret team/user does not exist. Create it, with key user.creds."),
    (CREDENTIALS, {"user": None}, Reason.SECRET_NOT_FOUND, "Secret team/user does not exist."),
    (CREDENTIALS, {"user": {"creds": b""}}, Reason.SECRET_INVALID, "has no key user.creds. It has: creds."),
    (CREDENTIALS, {"user": {}}, Reason.SECRET_INVALID, "has no key user.creds. It has: nothing."),
    (CREDENTIALS, {"user": {"user.creds": b"do-not-show"}}, Reason.SECRET_INVALID, "has no user JWT"),
    (CREDENTIALS, {"user": {"user.creds": b"\xff\xfe"}}, Reason.SECRET_INVALID, "is not text."),
    (NKEY, {"user": {"seed": b"do\nnot-show"}}, Reason.SECRET_INVALID, "should have one line"),
    (NKEY, {"user": {"seed": b"do-not-show"}}, Reason.SECRET_INVALID, "has a seed that is damaged"),
    (PAIR, {"user": {"username": b"me"}}, Reason.SECRET_INVALID, "has no key password. It has: username."),
    (AUTHORITY, {"ca": {"ca.crt": b"do-not-show"}}, Reason.SECRET_INVALID, "ca.crt of Secret team/ca is not a list of"),
    (AUTHORITY, {"ca": {"ca.crt": b" \n"}}, Reason.SECRET_INVALID, "ca.crt of Secret team/ca is empty."),
    (
        CERTIFICATE,
        {"pair": {"tls.crt": b"do-not-show", "tls.key": b"do-not-show"}},
        Reason.SECRET_INVALID,
        "tls.crt and tls.key of Secret team/pair are no certificate with its private key",
    ),
]


@pytest.mark.parametrize(("fields", "secrets", "reason", "sentence"), UNUSABLE)
def test_a_secret_that_is_of_no_use_is_named_with_its_key_and_never_shown(
    fields: dict[str, Any], secrets: Secrets, reason: Reason, sentence: str
) -> None:
    spec = spec_of("nats://nats:4222", **fields)
    with pytest.raises(MaterialError) as problem:
        material("team", spec, secrets)
    assert problem.value.reason is reason
    assert sentence in str(problem.value)
    assert "do-not-show" not in str(problem.value)
    assert secret_names(spec) == ({"user"} if "auth" in fields else {*secrets})


def test_a_key_that_belongs_to_another_certificate_is_refused() -> None:
    authority = Authority.new("one")
    mine, other = authority.client("me"), authority.client("other")
    spec = spec_of("nats://nats:4222", **CERTIFICATE)
    with pytest.raises(MaterialError, match="key values mismatch"):
        material("team", spec, {"pair": {"tls.crt": mine.pem, "tls.key": other.key_pem}})
    assert material("team", spec, {"pair": {"tls.crt": mine.pem, "tls.key": mine.key_pem}}).tls is not None


def test_what_a_link_is_made_from_shows_no_secret() -> None:
    made_from = material("team", spec_of("nats://n:4222", **PAIR), {"user": {"username": b"me", "password": b"hush"}})
    assert "hush" not in repr(made_from)
    assert made_from.user == "me"


def test_an_address_that_cannot_be_used_is_refused_and_not_tried_for_ever() -> None:
    with pytest.raises(MaterialError, match="is not the address of a server") as problem:
        material("team", spec_of("nats://nats:port"), {})
    assert problem.value.reason is Reason.INVALID


async def test_a_secret_that_is_missing_is_told_and_the_link_made_when_it_is_there(start_nats: StartNats) -> None:
    access = access_of("creds")
    server = start_nats(access=access)
    fields, secrets = login(access)
    async with keeping() as kept:
        kept.keep(spec_of(server.url, **fields), {"login": None})
        assert (await kept.failing()).reason is Reason.SECRET_NOT_FOUND
        kept.keep(spec_of(server.url, **fields), secrets)
        await kept.connected()
        kept.keep(spec_of(server.url, **fields), {"login": None})
        assert (await kept.failing()).reason is Reason.SECRET_NOT_FOUND
        assert kept.links.link(CONNECTION) is None
