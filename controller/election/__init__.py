"""Which of several controllers may write: one Lease, a pure state, and a thread around it.

The answers of the API server and the time go in; out comes what to do next, and until when this process may
write (docs/decisions/0060-election.md).
"""
