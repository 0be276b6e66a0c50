"""A running cluster as its controller sees it, asked the controller's own questions."""
