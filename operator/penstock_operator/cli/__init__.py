"""The command line. Its commands parse and print; what they do is done by the layers below.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 differences found. Data goes to standard
output, all else to standard error.
"""

from penstock_operator.cli.main import main

__all__ = ["main"]
