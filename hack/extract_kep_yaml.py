"""Cut the fenced YAML blocks out of a KEP's Markdown: extract_kep_yaml.py README.md OUT_DIR.

The blocks are the KEP's own examples, byte for byte; tests read them instead of a retelling.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

# What each block of KEP-4815 (first form: composite devices) is, in the order of the document.
NAMES = (
    "mig-claim",
    "tpu-claim-4x4",
    "mixins",
    "simple-partitions",
    "tpu-slice",
    "unrolled-gpu",
    "unrolled-partitions",
    "listing",
    "tpu-claim-2x4",
    "tpu-deployment",
)
_BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.DOTALL | re.MULTILINE)


def main() -> int:
    """Write one file per block, and say which document they came from."""
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    text = Path(sys.argv[1]).read_bytes()
    blocks = _BLOCK.findall(text.decode("utf-8", errors="replace"))
    if len(blocks) != len(NAMES):
        print(f"{sys.argv[1]}: {len(blocks)} YAML blocks, expected {len(NAMES)}", file=sys.stderr)
        return 1
    out = Path(sys.argv[2])
    for name, block in zip(NAMES, blocks, strict=True):
        (out / f"{name}.yaml").write_text(block)
    print(f"document sha256 {hashlib.sha256(text).hexdigest()}: {len(blocks)} blocks")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
