"""The main job on a simulated node, step by step: from hardware to what a container gets."""
