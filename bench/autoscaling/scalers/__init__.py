"""What decides how many workers there are: ours, KEDA with Kubernetes' HPA, and Numaflow's rater."""
