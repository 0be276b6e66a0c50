"""What is stuck on one node: facts of its files, its machine and its plugin, and the findings in them."""
