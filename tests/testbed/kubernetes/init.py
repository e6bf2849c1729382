"""The first process of a node's namespaces: it keeps them, buries what is orphaned in them, and ends them with itself.

usage: unshare … --pid --fork --kill-child python init.py READY     (it makes the file READY once it stands)

When the first process of a process namespace ends, the kernel kills all others in it, and with the last of them the
namespaces go: mounts, network interfaces, everything. namespaces.py starts it.
"""

import signal
import sys
from pathlib import Path

signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ignored, orphans that end leave no zombie behind
signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # by default a first process does not hear it
Path(sys.argv[1]).touch()
while True:
    signal.pause()
