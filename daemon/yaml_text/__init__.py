"""YAML: line by line where nothing is unusual, else with a parser."""
