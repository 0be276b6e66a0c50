"""The ``tangram`` command: reads input, calls the packages and prints. It makes no decisions itself."""
