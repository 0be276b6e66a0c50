"""B9: claims come and go on fleets of nodes, and policies are compared by what they refuse."""
