"""Every way to log in with every way to encrypt, from Secrets; and what is reported where it fails."""

from itertools import product
from typing import Any

import pytest

from penstock_operator.plan.connections import Connected
from penstock_operator.plan.reasons import Reason
from penstock_operator.services.links import Secrets
from penstock_operator.services.nats.material import MaterialError, material, secret_names
from tests.operator.links.linking import CONNECTION, Kept, encryption, login, quick_first, spec_of
from tests.testbed.certificates import Authority
from tests.testbed.nats.authentication import METHODS, Access
from tests.testbed.nats.encryption import WAYS, tls
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.run import current

NAMED = ["creds", "userpass", "token", "nkey"]
QUICK = [*zip(METHODS, WAYS, strict=True)]
WAYS_IN = [pair if pair in QUICK else pytest.param(*pair, marks=pytest.mark.full) for pair in product(METHODS, WAYS)]


def access_of(method: str) -> Access:
    return METHODS[method](current().new_folder(method))


@pytest.mark.interpreter
@pytest.mark.parametrize(("method", "encrypted"), WAYS_IN)
async def test_user_connects_with_each_encryption(
    start_nats: StartNats, kept: Kept, method: str, encrypted: str
) -> None:
    access, both_ends = access_of(method), WAYS[encrypted](current().new_folder("tls"))
    server = start_nats(access=access, encryption=both_ends)
    (fields, secrets), (tls_fields, tls_secrets) = login(access), encryption(both_ends) if both_ends else ({}, {})
    kept.keep(spec_of(server.url, **fields, **tls_fields), {**secrets, **tls_secrets})
    await kept.connected()


@pytest.mark.parametrize("method", quick_first(NAMED))
async def test_link_fails_while_its_secret_is_missing_or_wrong(start_nats: StartNats, kept: Kept, method: str) -> None:
    access = access_of(method)
    server = start_nats(access=access)
    (fields, right), (_, wrong) = login(access), login(access_of(method))
    spec = spec_of(server.url, **fields)
    for secrets, reason, said in (
        ({"login": None}, Reason.SECRET_NOT_FOUND, ""),
        (wrong, Reason.UNAUTHORIZED, f"{server.url} refused the connection: Authorization Violation."),
    ):
        kept.keep(spec, secrets)
        failing = await kept.failing_with(reason)
        assert said in failing.message
    kept.keep(spec, right)
    await kept.connected()
    kept.keep(spec, {"login": None})
    assert (await kept.failing()).reason is Reason.SECRET_NOT_FOUND
    assert kept.links.link(CONNECTION) is None


async def test_failure_of_tls_is_reported_with_the_field_that_solves_it(start_nats: StartNats, kept: Kept) -> None:
    encrypted = tls(current().new_folder("tls"), verify_clients=True)
    server = start_nats(encryption=encrypted)
    fields, secrets = encryption(encrypted)
    stranger = {"ca.crt": Authority.new("another").certificate.pem}
    kept.keep(spec_of(server.url, **fields), {**secrets, "authority": stranger})
    failing = await kept.failing_with(Reason.TLS_FAILED)
    assert "is not trusted" in failing.message
    assert "tls.caSecretRef" in failing.message
    assert "Tls(" not in failing.message
    del fields["tls"]["clientCertificateSecretRef"]
    kept.keep(spec_of(server.url, **fields), secrets)
    failing = await kept.failing_with(Reason.UNAUTHORIZED)
    assert "tls.clientCertificateSecretRef" in failing.message


async def test_one_server_of_several_is_enough(start_nats: StartNats, kept: Kept) -> None:
    dead, alive = start_nats(), start_nats()
    dead.kill()
    kept.keep(spec_of(dead.url, alive.url))
    await kept.connected()
    await kept.until(lambda: kept.told == [CONNECTION, CONNECTION], "connecting and connected are reported")
    assert isinstance(await kept.links.settled(CONNECTION), Connected)


CREDENTIALS = {"auth": {"credentialsSecretRef": {"name": "user", "key": "user.creds"}}}
NKEY = {"auth": {"nkeySecretRef": {"name": "user", "key": "seed"}}}
PAIR = {"auth": {"userPasswordSecretRef": {"name": "user"}}}
AUTHORITY = {"tls": {"caSecretRef": {"name": "ca", "key": "ca.crt"}}}
CERTIFICATE = {"tls": {"clientCertificateSecretRef": {"name": "pair"}}}

WRONG_PORT = {"servers": ["nats://nats:port"]}

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
    (WRONG_PORT, {}, Reason.INVALID, "is not the address of a server"),
]


def test_unusable_secret_or_address_is_named_and_no_secret_is_shown(subtests: pytest.Subtests) -> None:
    for fields, secrets, reason, sentence in UNUSABLE:
        with subtests.test(sentence):
            spec = spec_of("nats://nats:4222", **fields)
            with pytest.raises(MaterialError) as problem:
                material("team", spec, secrets)
            assert problem.value.reason is reason
            assert sentence in str(problem.value)
            assert "do-not-show" not in str(problem.value)
            assert secret_names(spec) == ({"user"} if "auth" in fields else {*secrets})


def test_key_of_another_certificate_is_refused() -> None:
    authority = Authority.new("one")
    mine, other = authority.client("me"), authority.client("other")
    spec = spec_of("nats://nats:4222", **CERTIFICATE)
    with pytest.raises(MaterialError, match="key values mismatch"):
        material("team", spec, {"pair": {"tls.crt": mine.pem, "tls.key": other.key_pem}})
    assert material("team", spec, {"pair": {"tls.crt": mine.pem, "tls.key": mine.key_pem}}).tls is not None


def test_material_of_a_link_shows_no_secret() -> None:
    made_from = material("team", spec_of("nats://n:4222", **PAIR), {"user": {"username": b"me", "password": b"hush"}})
    assert "hush" not in repr(made_from)
    assert made_from.user == "me"
