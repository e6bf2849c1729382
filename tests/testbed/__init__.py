"""The real things that tests run against: NATS, Kubernetes, Spark, and the faults that befall them.

Knows how to fetch or build each of them, start it on loopback, reach it, break it and end it. Does not know Penstock,
but for the one trick that it shares with users' machines: a JRE from PyPI. Fixtures are in plugin.py; by hand it is
`python -m tests.testbed`.
"""
