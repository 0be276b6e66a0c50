"""Draws values: pure functions that return rich renderables and print nothing."""
