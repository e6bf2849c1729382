"""Run seeds of the operator's simulation by hand, with the options of the client library's simulation."""

import sys

from tests.jetstream.simulation.__main__ import main
from tests.operator.simulation.run import run

if __name__ == "__main__":
    sys.exit(main(run, "tests.operator.simulation"))
