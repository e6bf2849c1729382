"""The local home: what a cluster would run, as processes on this machine. So far: an embedded NATS server."""
