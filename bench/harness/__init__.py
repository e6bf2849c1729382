"""What benchmarks share: where they run, what they run on, and how they say what came out. Not a benchmark itself."""
