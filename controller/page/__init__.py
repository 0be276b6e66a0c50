"""What the page shows, as one JSON value: from the occupancy of a cluster and the pods that wait."""
