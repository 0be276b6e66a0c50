"""Events about objects: one for what happens again, and a fair part for each namespace."""
