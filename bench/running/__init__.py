"""What `bench.pipeline` runs: our worker, and its peers, each with a Spark of its own."""
