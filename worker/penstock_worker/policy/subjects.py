"""Where a user's code may have the engine publish: to streams, and not to servers, inboxes or other workers."""

RESERVED = ("$", "_INBOX", "penstock.worker.")
"""JetStream's API and acknowledgements, buckets, services; answers; orders to workers."""


def reserved(subject: str) -> str:
    """Return why nothing may be sent to a subject; nothing if it may."""
    if not f"{subject}.".startswith(RESERVED):
        return ""
    return f"{subject!r} is reserved: batch.send() publishes to no subject that begins with {', '.join(RESERVED)}."
