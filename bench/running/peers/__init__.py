"""The peers: each runs in a process of its own with a JVM of its own, and does what is asked line by line."""
