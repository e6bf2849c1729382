"""Real NATS servers on loopback: one, a cluster, a leaf; every way to log in; and the faults that befall them."""
