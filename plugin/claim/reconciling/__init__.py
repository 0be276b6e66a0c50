"""Reconciling while the plugin runs: looks at records, machine, CDI folder and API server, and repairs."""
