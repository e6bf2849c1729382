"""The operator in Kubernetes: kopf tells what happened, and the layers below act. Only this package knows kopf."""
