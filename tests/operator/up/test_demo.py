"""`make demo`, as a stranger runs it: smaller, and with a folder to look into."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.testbed.run import ROOT

pytestmark = [pytest.mark.xdist_group("up"), pytest.mark.timeout(600)]


def test_the_demo_ends_with_every_order_where_it_belongs() -> None:
    with TemporaryDirectory(prefix="penstock-") as folder:
        command = [sys.executable, "examples/demo.py", "--orders", "3000", "--keep", folder]
        told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert told.returncode == 0, told.stdout + told.stderr
        assert "3,000 orders in, 2,997 in Parquet, 3 dead letters, 0 left: nothing is lost" in told.stdout
        assert list(Path(folder, "lake", "orders").glob("batch=*/*.parquet"))
