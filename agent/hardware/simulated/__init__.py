"""A whole machine without hardware: GPUs that refuse as hardware does, and a tree that real readers read.

One YAML file describes it, one directory holds it. Programs, tests and demos use the names below; the
rest is how it is done.
"""

from agent.hardware.simulated.errors import (
    InvalidFault,
    InvalidNodeFile,
    NoMachine,
    SimulationError,
    UnknownNode,
)
from agent.hardware.simulated.faults import Call, Fail, Fault, Held, Kill, Lost, Moment, Slow, parse_fault
from agent.hardware.simulated.gpus import SimulatedGpus
from agent.hardware.simulated.library import load_node, node_text, parse_node, shipped_nodes
from agent.hardware.simulated.machine import SimulatedMachine
from agent.hardware.simulated.node import NodeFile

__all__ = [
    "Call",
    "Fail",
    "Fault",
    "Held",
    "InvalidFault",
    "InvalidNodeFile",
    "Kill",
    "Lost",
    "Moment",
    "NoMachine",
    "NodeFile",
    "SimulatedGpus",
    "SimulatedMachine",
    "SimulationError",
    "Slow",
    "UnknownNode",
    "load_node",
    "node_text",
    "parse_fault",
    "parse_node",
    "shipped_nodes",
]
