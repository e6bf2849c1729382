"""The real things that tests run against: NATS, Kubernetes, Spark, and the faults that befall them.

Fixtures are in plugin.py; by hand it is `python -m tests.testbed`.
"""
