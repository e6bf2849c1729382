"""The driver: owns the Spark session and calls the user's function. Knows nothing of NATS."""
