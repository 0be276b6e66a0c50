"""An installed NVIDIA driver: its device nodes, libraries, settings and sockets."""
