"""The cost of an expression in upstream's units: an estimate for any device, and the cost of each call.

Both follow Kubernetes unit by unit: the API server refuses expressions by the estimate, and the cases of
conformance compare both figures. The cost bounds no evaluation here; ``cel.work`` does.
Source: cel-go ``checker/cost`` and ``interpreter/runtimecost``; apiserver ``pkg/cel/library/cost``.
"""

from typing import Final

CALL: Final = 1
LIST: Final = 10
MAP: Final = 30
TRAVERSAL: Final = 0.1  # per character of a string that is read once
PATTERN: Final = 0.25  # per character of a pattern, for each unit of the string it is applied to
