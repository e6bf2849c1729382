"""Run one peer: `python -m bench.running.peers NAME FACTS`; reads lines of JSON, does what each asks for, answers each.

What is asked is a method of the peer's, under "do", with its arguments beside it. Ends when nobody asks any more.
"""

import importlib
import json
import sys


def main(name: str, facts: str) -> None:
    peer = importlib.import_module(f"bench.running.peers.{name}").Peer(**json.loads(facts))
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(getattr(peer, asked.pop("do"))(**asked)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
