"""Benchmarks: each module here is one, prints a table for people and, last, one line of JSON for machines.

Peers run in the same run on the same work. A peer that cannot be had is missing from the line, not guessed.
"""
