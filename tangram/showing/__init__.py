"""``tangram show``, behind its options: of a node, of files and clusters. It loads what is asked for."""
