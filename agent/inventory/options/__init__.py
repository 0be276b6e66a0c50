"""Options that say what a node offers: the same for agent, plugin and commands."""
