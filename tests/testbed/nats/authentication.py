"""The ways in which a client proves to a nats-server who it is: both ends of each.

Each function makes an `Access` with secrets of its own, so that the client of one is refused by the server of another.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.testbed.nats.config import Fragment
from tests.testbed.nats.identity import Identity, credentials_file

ACCOUNT_NAME = "TESTS"


@dataclass(frozen=True)
class Login:
    """What one client needs to get in."""

    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of `nats.connect`."""
    options: tuple[str, ...] = ()
    """The same as options of the `nats` command line, for a person."""


@dataclass(frozen=True)
class Access:
    """Both ends of one way to log in."""

    server: Fragment
    client: Login
    system: Login | None
    """A login to the system account, from where the cluster is administered; there is none beside a token."""


def anonymous() -> Access:
    """Let everyone in."""
    users, system = _system_account()
    return Access(users, Login(), system)


def user_and_password() -> Access:
    user, password = f"user-{secrets.token_hex(4)}", secrets.token_urlsafe()
    users, system = _system_account()
    server = {**users, "authorization": {"users": [{"user": user, "password": password}]}}
    client = Login({"user": user, "password": password}, ("--user", user, "--password", password))
    return Access(server, client, system)


def token() -> Access:
    secret = secrets.token_urlsafe()
    client = Login({"token": secret}, ("--token", secret))
    return Access({"authorization": {"token": secret}}, client, system=None)  # the server refuses users beside a token


def nkey(folder: Path) -> Access:
    """Tell the server a public key; the client proves that it holds the private one, which is in a file."""
    identity = Identity.new_user()
    seed = folder / "user.nk"
    seed.touch(mode=0o600)
    seed.write_text(identity.seed)
    users, system = _system_account()
    server = {**users, "authorization": {"users": [{"nkey": identity.public_key}]}}
    return Access(server, Login({"nkeys_seed": str(seed)}, ("--nkey", str(seed))), system)


def creds(folder: Path) -> Access:
    """Trust an operator; it vouches for accounts, and those for their users, who show their JWT from a file."""
    server, account, system = trusted_accounts()
    return Access(server, user_of(account, folder / "user.creds"), user_of(system, folder / "system.creds"))


def trusted_accounts() -> tuple[Fragment, Identity, Identity]:
    """Return a server's side of it, and those who vouch for users: an account, and the system account."""
    operator, system, account = Identity.new_operator(), Identity.new_account(), Identity.new_account()
    server = {
        "operator": operator.sign_operator(system),
        "system_account": system.public_key,
        "resolver": "MEMORY",
        "resolver_preload": {
            system.public_key: operator.sign_account(system, "SYS", with_jetstream=False),
            account.public_key: operator.sign_account(account, ACCOUNT_NAME, with_jetstream=True),
        },
    }
    return server, account, system


def user_of(account: Identity, file: Path, *, expires_at: int | None = None) -> Login:
    """Make a user of an account; the file has what it logs in with."""
    user = Identity.new_user()
    file.touch(mode=0o600)
    file.write_text(credentials_file(account.sign_user(user, expires_at), user))
    return Login({"user_credentials": str(file)}, ("--creds", str(file)))


METHODS: Mapping[str, Callable[[Path], Access]] = {
    "anonymous": lambda _: anonymous(),
    "userpass": lambda _: user_and_password(),
    "token": lambda _: token(),
    "nkey": nkey,
    "creds": creds,
}
"""Every way to log in, by the name that the command line has for it; each may put files into the folder."""


def _system_account() -> tuple[dict[str, Any], Login]:
    user, password = "system", secrets.token_urlsafe()
    users = {"accounts": {"$SYS": {"users": [{"user": user, "password": password}]}}}
    return users, Login({"user": user, "password": password}, ("--user", user, "--password", password))
