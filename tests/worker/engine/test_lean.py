"""The engine's process does not import pandas."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

MAKES_A_TABLE = """
import sys
from penstock_worker.engine.lean import do_without_pandas
do_without_pandas()
from penstock_worker.engine.rows import Rows, table
rows = Rows([b"orders.new"], [b"$JS.ACK"], [b"{}"], {}, [1], [1], [0])
print(table(rows, "ORDERS").num_rows, "pandas" in sys.modules)
"""


@pytest.mark.interpreter
def test_table_is_made_without_pandas_when_it_is_installed() -> None:
    assert find_spec("pandas") is not None
    made = subprocess.run([sys.executable, "-c", MAKES_A_TABLE], stdout=subprocess.PIPE, text=True, check=True)
    assert made.stdout == "1 False\n"
