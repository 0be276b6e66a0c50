"""What an expression costs: at most, before any device is seen; and on one device, while it is evaluated.

Both follow Kubernetes unit by unit, because the API server refuses expressions by the first figure and the
scheduler stops them by the second. Source: cel-go ``checker/cost`` and ``interpreter/runtimecost``;
apiserver ``pkg/cel/library/cost``.
"""

from typing import Final

CALL: Final = 1
LIST: Final = 10
MAP: Final = 30
TRAVERSAL: Final = 0.1  # per character of a string that is read once
PATTERN: Final = 0.25  # per character of a pattern, for each unit of the string it is applied to
