"""The worker: an engine that pulls and settles, a driver that runs Spark. Knows no Kubernetes."""
