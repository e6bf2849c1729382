"""By hand: `python -m tests.testbed spark`, until Ctrl-C."""

import click

from tests.testbed.by_hand import opened_run, wait_until_told
from tools.console import say, step


@click.command()
@click.option("--port", type=int, help="The port to serve on; without it, a free one.")
@click.option("--token", help="A token that clients must present.")
def spark(port: int | None, token: str | None) -> None:
    """Run a Spark Connect server on loopback."""
    from tests.testbed.spark.connect import ConnectServer  # noqa: PLC0415 - pyspark is slow to import

    with opened_run() as run:
        server = ConnectServer(run.new_folder("spark-connect"), port, token)
        with step("Spark Connect server"):
            server.start()
        say(f"pid {server.program.pid}, log {server.program.log}. Ctrl-C ends it. To use it from another shell:\n")
        click.echo(f"export SPARK_REMOTE='{server.url}{f'/;token={token}' if token else ''}'")
        wait_until_told()
