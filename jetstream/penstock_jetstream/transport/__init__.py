"""The connection: sockets, TLS, credentials, reconnecting; and the event loop's clock and chance.

Carries out what core decides. Knows frames, not what JetStream means by them.
"""
