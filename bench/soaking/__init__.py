"""What the benchmark `soak` is made of: a worker that runs long, and what its processes have meanwhile."""
