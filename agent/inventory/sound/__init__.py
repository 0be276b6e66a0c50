"""What a machine tells and no API server would take: it is left out and told, and the rest is published."""
