"""A real Kubernetes: a control plane alone (etcd and an API server), a whole node, or the cluster that a user brings.

Tests use the fixtures (fixtures.py); by hand it is `python -m tests.testbed control-plane` and `… node`.
"""
