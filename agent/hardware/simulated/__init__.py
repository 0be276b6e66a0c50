"""A simulated machine: GPUs that fail as hardware does, and a tree of files for the real readers.

One YAML file describes the machine, one directory holds it. Programs, tests and demos use the names below;
everything else is implementation.
"""

from agent.hardware.simulated.errors import (
    InvalidFault,
    InvalidNodeFile,
    NoMachine,
    SimulationError,
    UnknownNode,
)
from agent.hardware.simulated.fault_text import parse_fault, parse_injected
from agent.hardware.simulated.faults import (
    Answered,
    Call,
    Fail,
    Fault,
    Held,
    Injected,
    Kill,
    Lost,
    Moment,
    NicFault,
    NicTrouble,
    NoFabricManager,
    NvmlFunction,
    ProfilesNeedMig,
    Slow,
    WrongAnswer,
)
from agent.hardware.simulated.gpu_troubles.faults import GpuTrouble, GpuTroubleKind, Raised
from agent.hardware.simulated.gpus import SimulatedGpus
from agent.hardware.simulated.library import load_node, node_text, parse_node, shipped_nodes
from agent.hardware.simulated.machine import SimulatedMachine
from agent.hardware.simulated.node import NodeFile

__all__ = [
    "Answered",
    "Call",
    "Fail",
    "Fault",
    "GpuTrouble",
    "GpuTroubleKind",
    "Held",
    "Injected",
    "InvalidFault",
    "InvalidNodeFile",
    "Kill",
    "Lost",
    "Moment",
    "NicFault",
    "NicTrouble",
    "NoFabricManager",
    "NoMachine",
    "NodeFile",
    "NvmlFunction",
    "ProfilesNeedMig",
    "Raised",
    "SimulatedGpus",
    "SimulatedMachine",
    "SimulationError",
    "Slow",
    "UnknownNode",
    "WrongAnswer",
    "load_node",
    "node_text",
    "parse_fault",
    "parse_injected",
    "parse_node",
    "shipped_nodes",
]
