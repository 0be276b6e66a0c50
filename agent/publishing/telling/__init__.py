"""Tells people what is published in another way than they expect: log, metrics, events on the Node."""
