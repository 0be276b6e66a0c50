"""Pods with devices come and go while parts of their cluster are killed: is anything double, or left over?

In goes a cluster of the launcher's with Tangram and its controller; out comes a report.
"""
