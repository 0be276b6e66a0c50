"""The main job on a simulated node, station by station: from hardware to what a container gets."""
