"""The operator and the command line: the same decisions carried out in Kubernetes or on a laptop. Knows no Spark."""
