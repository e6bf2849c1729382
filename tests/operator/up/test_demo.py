"""`make demo`, with fewer orders, and a folder that is kept."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.testbed.run import ROOT

pytestmark = [pytest.mark.xdist_group("up"), pytest.mark.timeout(600), pytest.mark.full]


def test_demo_ends_with_every_order_in_its_place() -> None:
    with TemporaryDirectory(prefix="penstock-") as folder:
        command = [sys.executable, "examples/demo.py", "--orders", "3000", "--keep", folder]
        told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert told.returncode == 0, told.stdout + told.stderr
        assert "3,000 orders in, 2,997 in Parquet, 3 dead letters, 0 left: nothing is lost" in told.stdout
        assert list(Path(folder, "lake", "orders").glob("batch=*/*.parquet"))
