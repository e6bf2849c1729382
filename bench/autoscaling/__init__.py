"""A queue group in a cluster, simulated: messages, a consumer, pods and workers, and what decides how many there are.

Deterministic from a seed. Knows what scaling depends on, and nothing else of NATS, Kubernetes and Spark.
"""
