"""`penstock import`: manifests of what is there already, on a server or in manifests made for NACK.

Knows its options, how files are read, and how manifests are printed: remarks are comments in YAML, and all that was
left out is told on standard error. What becomes of what is decided in plan.importing.
"""

import asyncio
import json
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import yaml

from penstock_operator.cli.exit_codes import FAILED
from penstock_operator.cli.options import SERVER_URL, files_option
from penstock_operator.cli.output import LINE_WIDTH, say
from penstock_operator.local.documents import Document, DocumentError, read_documents
from penstock_operator.plan.importing import CommandLine, Imported, Imports, Where, from_nack, from_server
from penstock_operator.services.inventory import Account, InventoryError, read_inventory

STANDARD_INPUT = "-"
SUFFIXES = (".yaml", ".yml", ".json")

_output = click.option(
    "--output",
    "-o",
    "form",
    type=click.Choice(["yaml", "json"]),
    default="yaml",
    show_default=True,
    help="How the manifests are printed.",
)
_connection = click.option(
    "--connection", default="nats", show_default=True, metavar="NAME", help="What the Connection shall be called."
)


@click.group("import", invoke_without_command=True)
@click.option(
    "--server", "servers", multiple=True, metavar="URL", help="Where NATS is. Give all servers of a cluster, or one."
)
@click.option(
    "--creds",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A credentials file, as nsc writes it.",
)
@click.option("--domain", metavar="NAME", help="The JetStream domain.")
@click.option(
    "--stream", "streams", multiple=True, metavar="NAME", help="Only this stream. May be given more than once."
)
@click.option("--namespace", "-n", default="", metavar="NAMESPACE", help="The namespace to write into the manifests.")
@_connection
@_output
@click.pass_context
def import_(
    context: click.Context,
    *,
    servers: tuple[str, ...],
    creds: Path | None,
    domain: str | None,
    streams: tuple[str, ...],
    namespace: str,
    connection: str,
    form: str,
) -> None:
    """Print manifests of a server's streams and consumers, which `penstock plan` shows as no change.

    Each object keeps its name on the server. What servers and clients have made for themselves is left out, and said on
    standard error: ephemeral consumers, those that copy streams, and the streams of buckets, unless --stream names one.

    \b
    Examples:
      penstock import --server nats://127.0.0.1:4222 > manifests.yaml
      penstock import --server tls://nats.example:4222 --creds user.creds --stream ORDERS
      penstock import nack -f nack-manifests/
    """  # noqa: D301 - click wants the control character
    if context.invoked_subcommand is not None:
        return
    if not servers:
        raise click.UsageError(
            "Say which server: --server URL; or import NACK's manifests: penstock import nack -f PATH."
        )
    account = Account(servers=servers, credentials=creds, domain=domain)
    where = Where(
        servers=servers,
        credentials=str(creds or ""),
        domain=domain or "",
        connection=connection,
        namespace=namespace,
    )
    try:
        found = asyncio.run(read_inventory(account))
    except InventoryError as problem:
        raise click.ClickException(str(problem)) from problem
    show(from_server(found, where, streams), form)
    if set(streams) - {stream.name for stream in found}:
        context.exit(FAILED)


@import_.command
@files_option("A file or folder with NACK's manifests, or - for standard input. May be given more than once.")
@click.option(
    "--server",
    "servers",
    multiple=True,
    type=SERVER_URL,
    metavar="URL",
    help="What NACK's controller was told with -s: the servers of objects that name none.",
)
@click.option("--control-loop", is_flag=True, help="NACK's controller ran with --control-loop.")
@_connection
@_output
def nack(*, files: tuple[str, ...], servers: tuple[str, ...], control_loop: bool, connection: str, form: str) -> None:
    """Print our manifests for NACK's (jetstream.nats.io/v1beta2).

    What NACK does where its manifests are silent is said in ours, with a comment. What has no equivalent is said on
    standard error.

    \b
    Examples:
      penstock import nack -f nack-manifests/ --server nats://nats.nats:4222 > manifests.yaml
      kubectl get accounts,streams.jetstream,consumers.jetstream -A -o yaml | penstock import nack -f -
    """  # noqa: D301 - click wants the control character
    try:
        documents = [document.content for path in files for document in documents_of(path)]
    except (DocumentError, OSError) as problem:
        raise click.ClickException(str(problem)) from problem
    told = CommandLine(connection=connection, servers=servers, control_loop=control_loop)
    show(from_nack(documents, told), form)


def documents_of(path: str) -> Iterator[Document]:
    """Read a file, a folder of files, or standard input; what a List holds is taken out of it."""
    if path == STANDARD_INPUT:
        sources = [("standard input", sys.stdin.read())]
    elif Path(path).is_dir():
        files = sorted(file for file in Path(path).rglob("*") if file.suffix in SUFFIXES and file.is_file())
        sources = [(str(file), file.read_text()) for file in files]
    else:
        sources = [(path, Path(path).read_text())]
    for source, text in sources:
        for document in read_documents(source, text):
            yield from single(document)


def single(document: Document) -> Iterator[Document]:
    if not isinstance(document.content, dict):
        raise DocumentError(f"{document.place()}: This is not a manifest: it is no object.")
    is_list = document.content.get("kind") == "List" and isinstance(document.content.get("items"), list)
    if not is_list:
        yield document
        return
    for item in document.items():
        yield from single(item)


def show(imports: Imports, form: str) -> None:
    printers: dict[str, Callable[[Imports], None]] = {"yaml": show_yaml, "json": show_json}
    printers[form](imports)
    for sentence in imports.left_out:
        say(sentence)


def show_yaml(imports: Imports) -> None:
    click.echo("---\n".join(as_yaml(each) for each in imports.objects), nl=False)


def show_json(imports: Imports) -> None:
    """Print a List; JSON has no comments, so remarks go to standard error."""
    listed = {"apiVersion": "v1", "kind": "List", "items": [each.manifest for each in imports.objects]}
    click.echo(json.dumps(listed, indent=2, ensure_ascii=False))
    for each in imports.objects:
        for remark in each.remarks:
            say(f"{titled(each.manifest)}: {remark}")


def titled(manifest: Any) -> str:  # noqa: ANN401 - JSON
    metadata = manifest["metadata"]
    return f"{manifest['kind']} {'/'.join(metadata[part] for part in ('namespace', 'name') if metadata.get(part))}"


def as_yaml(each: Imported) -> str:
    comments = "".join(comment(remark) for remark in each.remarks)
    return comments + yaml.safe_dump(each.manifest, sort_keys=False, allow_unicode=True, width=LINE_WIDTH)


def comment(remark: str) -> str:
    """Write a remark as comments; it may quote what somebody wrote, so that nothing in it may end a line."""
    plain = "".join(letter if letter.isprintable() else " " for letter in remark)
    lines = textwrap.wrap(plain, LINE_WIDTH, initial_indent="# ", subsequent_indent="#   ", break_long_words=False)
    return "".join(f"{line}\n" for line in lines)
