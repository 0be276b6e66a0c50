"""Run while the image is built: takes the bits off that make a program run as its owner.

Nothing in the image needs them: no program of ours starts another one as somebody else. Whoever got into a
container would find su, mount and passwd there. Mounted file systems are left alone.
"""

import os
import stat
import sys
from collections.abc import Iterator

_BITS = stat.S_ISUID | stat.S_ISGID


def programs_with_bits(root: str) -> Iterator[str]:
    """Yield the regular files below a folder that have such a bit."""
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not os.path.ismount(os.path.join(folder, name))]
        for name in files:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISREG(mode) and mode & _BITS:
                yield path


def main(root: str) -> None:
    """Take the bits off, and end the build where one stays."""
    for path in programs_with_bits(root):
        os.chmod(path, stat.S_IMODE(os.lstat(path).st_mode) & ~_BITS)
    left = list(programs_with_bits(root))
    if left:
        sys.exit(f"build the image: {', '.join(left)}: the setuid and setgid bits cannot be taken off")


if __name__ == "__main__":
    main("/")
    os.unlink(__file__)
