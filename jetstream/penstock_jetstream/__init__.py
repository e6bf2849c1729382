"""JetStream for machines that move a lot of messages. Knows NATS; no Kubernetes, no Spark, no Arrow."""
