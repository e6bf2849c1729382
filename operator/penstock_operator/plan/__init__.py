"""Decisions: values in, values out. No I/O, and no clock but an argument."""
