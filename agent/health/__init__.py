"""The health of devices, judged: what is wrong, how bad it is, which devices it concerns, what heals it.

Agent and plugin use the same functions on the same state, so they never say different things.
"""
