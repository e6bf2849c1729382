"""The engine: pulls, holds leases, settles, puts dead letters aside, reports. Knows nothing of Spark."""
