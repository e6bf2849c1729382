"""What `bench.pipeline` and `bench.latency` run: our worker, and its peers, each with a Spark of its own."""
