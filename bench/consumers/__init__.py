"""Those who consume in `bench.consume`: each runs in a process of its own, on a consumer that is there already."""
