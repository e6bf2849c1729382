"""Run benchmarks: `python -m bench` runs all, `python -m bench NAME` one.

Knows which there are: the modules of this package, each with a `main()`. Does not know what they measure.
"""

import importlib
import pkgutil
import sys
from pathlib import Path


def main(chosen: list[str]) -> int:
    there = [
        module.name
        for module in pkgutil.iter_modules([str(Path(__file__).parent)])
        if not module.ispkg and module.name != "__main__"
    ]
    unknown = set(chosen) - set(there)
    if unknown:
        known = ", ".join(there) or "none yet; each comes with the part that it measures"
        print(f"There is no benchmark named {', '.join(sorted(unknown))}. There are: {known}.", file=sys.stderr)
        return 2
    if not there:
        print("There is no benchmark yet: each comes with the part that it measures.", file=sys.stderr)
    for name in chosen or there:
        importlib.import_module(f"bench.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
