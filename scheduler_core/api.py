"""The public names of the core, for use as a library.

``from scheduler_core import api``; the packages behind it may change. Importing it loads the CEL engine;
code that only describes devices should import ``scheduler_core.model`` and
``scheduler_core.dialects.mixins``.

- read: ``decode_slice`` (composite), ``decode_v1_slice``, ``pools``, ``v1_pools``, ``decode_claim``,
  ``decode_class``, ``decode_allocated_claim``
- decide: ``allocate``, ``allocate_somewhere``, ``feasible_nodes`` on values; ``Engine`` for a cluster that
  is asked again and again, with ``FIRST_FIT`` or ``best_fit``; ``with_share_ids`` completes an answer
- explain: an ``Unallocatable`` carries ``Demand``, ``Obstacle``, ``Missing``, ``ConstraintValues`` and
  ``RequestOf`` values; ``first_fit_choices`` and ``best_fit_choices`` say why an ``Allocation`` has
  these devices
- count: ``Ledger``; judge declarations: ``matrix``, ``contradictions``
- write: ``encode_slice``, ``project``, ``encode_pool``
"""

from scheduler_core.base.errors import (
    CannotProject,
    CoreError,
    InvalidClaim,
    InvalidClass,
    InvalidInput,
    InvalidSlice,
    SelectorError,
)
from scheduler_core.base.features import Features
from scheduler_core.books.ledger import Ledger, Overdrawn
from scheduler_core.books.matrix import contradictions, matrix
from scheduler_core.codec.claims import decode_allocated_claim, decode_claim, decode_class
from scheduler_core.codec.composite import decode_slice
from scheduler_core.codec.composite_encoding import encode_slice
from scheduler_core.codec.v1 import decode_slice as decode_v1_slice
from scheduler_core.codec.v1 import encode_pool
from scheduler_core.codec.v1 import pools as v1_pools
from scheduler_core.comparison.best_fit_reasons import BestFitChoice, Rival, best_fit_choices
from scheduler_core.comparison.other_nodes import OtherNode, compare_nodes
from scheduler_core.comparison.remaining_parts import PartDifference
from scheduler_core.dialects.layout import Layout
from scheduler_core.dialects.mixins import flatten, pools
from scheduler_core.dialects.project import project
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.once import allocate, allocate_somewhere, feasible_nodes
from scheduler_core.engine.policy.policies import FIRST_FIT, best_fit
from scheduler_core.explain.first_fit_reasons import FirstFitChoice, demands, first_fit_choices
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.obstacles import Held, Missing, Obstacle
from scheduler_core.model.refusal import (
    Considered,
    ConstraintValues,
    Demand,
    RequestOf,
)
from scheduler_core.model.result import (
    Allocation,
    Answer,
    Cause,
    FeasibleNodes,
    Reason,
    Unallocatable,
    Undecided,
)
from scheduler_core.model.sentences import constraint_text, obstacle_text
from scheduler_core.rules.selectors import compile_selector
from scheduler_core.search.answer import with_share_ids
from scheduler_core.state.cluster_state import ClusterState

__all__ = [
    "FIRST_FIT",
    "Allocation",
    "Answer",
    "BestFitChoice",
    "CannotProject",
    "Cause",
    "Cluster",
    "ClusterState",
    "Considered",
    "ConstraintValues",
    "CoreError",
    "Demand",
    "Engine",
    "FeasibleNodes",
    "Features",
    "FirstFitChoice",
    "Held",
    "InvalidClaim",
    "InvalidClass",
    "InvalidInput",
    "InvalidSlice",
    "Layout",
    "Ledger",
    "Missing",
    "Node",
    "Obstacle",
    "OtherNode",
    "Overdrawn",
    "PartDifference",
    "Reason",
    "RequestOf",
    "Rival",
    "SelectorError",
    "Unallocatable",
    "Undecided",
    "allocate",
    "allocate_somewhere",
    "best_fit",
    "best_fit_choices",
    "compare_nodes",
    "compile_selector",
    "constraint_text",
    "contradictions",
    "decode_allocated_claim",
    "decode_claim",
    "decode_class",
    "decode_slice",
    "decode_v1_slice",
    "demands",
    "encode_pool",
    "encode_slice",
    "feasible_nodes",
    "first_fit_choices",
    "flatten",
    "matrix",
    "obstacle_text",
    "pools",
    "project",
    "v1_pools",
    "with_share_ids",
]
