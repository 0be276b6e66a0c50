"""The policy of a fleet's nodes: read strictly, resolved for one node, and in effect device by device."""
