"""NATS, as the operator uses it: links to JetStream accounts, kept for as long as they are declared."""
