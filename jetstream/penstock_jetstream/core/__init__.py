"""Every decision of the protocol: events and times in, actions out. No socket, clock, task, logger or chance."""
