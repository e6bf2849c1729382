"""The engine's machine: what happened goes in (events.py), what is to be done comes out (actions.py). Pure."""
