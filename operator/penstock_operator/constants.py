"""Names that Penstock is known by in a cluster. Knows nothing else; everything may use it."""

GROUP = "penstock.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"

CATEGORY = "penstock"
"""`kubectl get penstock` shows every kind of ours."""
