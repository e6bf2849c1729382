"""Real Spark: one classic JVM per test session, with executors in its threads or in processes, and a Connect server."""
