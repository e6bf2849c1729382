"""Pages of a worker's processes, fetched as a kubelet or Prometheus does."""

import urllib.error
import urllib.request

PATIENCE_SECONDS = 60.0


def fetched(place: str, path: str, *, seconds: float = PATIENCE_SECONDS) -> tuple[int, str]:
    """Return the status and what the page says."""
    try:
        with urllib.request.urlopen(f"http://{place}{path}", timeout=seconds) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read().decode()
