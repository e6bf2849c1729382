"""The local home: what a cluster would run, as processes on this machine. `penstock up` is house.py."""
