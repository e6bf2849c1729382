"""What engine and driver say to each other: batches as Arrow tables by Flight over a unix socket, and small records."""
