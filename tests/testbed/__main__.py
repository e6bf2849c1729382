"""The testbed by hand: `python -m tests.testbed COMMAND`. Each command's module says what it starts."""

import click

from tests.testbed.kubernetes.command import control_plane, node
from tests.testbed.nats.command import nats
from tests.testbed.spark.command import spark


@click.group()
def main() -> None:
    """Start a real thing that the tests run against; it ends on Ctrl-C, and nothing of it stays."""


main.add_command(control_plane)
main.add_command(node)
main.add_command(spark)
main.add_command(nats)

if __name__ == "__main__":
    main()
