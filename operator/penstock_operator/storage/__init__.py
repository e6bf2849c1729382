"""The Kubernetes API: what is asked of it, and what its answers mean. Knows no kopf."""
