"""Traces: which claims arrive when, and for how long they stay. Read from files of several formats."""
