"""The times that consume and fetch have in common."""

HEARTBEATS_MISSED = 2
"""So many times the heartbeat must pass in silence (C-50)."""
ANSWER_GRACE_SECONDS = 1.0
"""The server says when a request expires. It is written off this much later, if that was lost on its way (C-02)."""
OVERSLEPT_SECONDS = 1.0
"""A timer that is later than this tells of our own sleep (a blocked loop, a closed lid), and nothing of the server."""
STRAGGLERS_SECONDS = 1.0
"""A cluster may send a status before the request's last messages (they wait for a quorum): so long they may come."""
