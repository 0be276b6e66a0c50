"""Hand-made sysfs trees: each test says what is odd about its machine, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from campaign import show_progress

from agent.hardware.sysfs import Sysfs


def pytest_configure(config: pytest.Config) -> None:
    """Say how far a campaign is."""
    show_progress(config)


ROOT_PORT, UPSTREAM_PORT, DOWNSTREAM_PORT, ENDPOINT = 4, 5, 6, 0


def express_config(port_type: int, capability_at: int = 0x60) -> bytes:
    """A configuration space whose PCI Express capability comes second, after power management."""
    space = bytearray(256)
    space[0x06] = 0x10
    space[0x34] = 0x40
    space[0x40:0x42] = bytes([0x01, capability_at])
    space[capability_at : capability_at + 4] = bytes([0x10, 0x00, port_type << 4 | 0x02, 0x00])
    return bytes(space)


class Tree:
    """A sysfs that grows function by function."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.listing = root / "sys/bus/pci/devices"
        self.listing.mkdir(parents=True)

    @property
    def sysfs(self) -> Sysfs:
        return Sysfs(self.root)

    def folder(self, bdf: str) -> Path:
        return (self.listing / bdf).resolve()

    def function(self, path: str, *, config: bytes | None = None, **files: str) -> Path:
        """Add the function at ``path`` below /sys/devices, a ConnectX-6 unless ``files`` say otherwise."""
        folder = self.root / "sys/devices" / path
        folder.mkdir(parents=True, exist_ok=True)
        defaults = {"vendor": "0x15b3", "device": "0x101b", "class": "0x020000", "numa_node": "0"}
        for name, content in (defaults | files).items():
            self.write(folder / name, content)
        if config is not None:
            (folder / "config").write_bytes(config)
        (self.listing / folder.name).symlink_to(f"../../../devices/{path}")
        return folder

    def bridges(self, path: str, *port_types: int | None) -> None:
        """Add the bridges of ``path`` from the root down; None stands for one without ``config``."""
        root, *below = path.split("/")
        for depth, kind in enumerate(port_types):
            config = None if kind is None else express_config(kind)
            at = "/".join([root, *below[: depth + 1]])
            self.function(at, config=config, **{"class": "0x060400", "device": "0xc030"})

    def virtual_function(self, pf: str, index: int, path: str, **files: str) -> Path:
        folder = self.function(path, **{"device": "0x101c"} | files)
        (folder / "physfn").symlink_to(f"../{pf}")
        (self.folder(pf) / f"virtfn{index}").symlink_to(f"../{folder.name}")
        return folder

    def netdev(self, name: str, below: str, **files: str) -> Path:
        return self._interface("net", name, below, {"type": "1"} | files)

    def rdma_device(self, name: str, below: str, **files: str) -> Path:
        return self._interface("infiniband", name, below, files)

    def write(self, file: Path, content: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content + "\n")

    def _interface(self, kind: str, name: str, below: str, files: dict[str, str]) -> Path:
        folder = self.root / "sys/devices" / below / kind / name
        for file, content in files.items():
            self.write(folder / file, content)
        folder.mkdir(parents=True, exist_ok=True)
        listing = self.root / "sys/class" / kind
        listing.mkdir(parents=True, exist_ok=True)
        (listing / name).symlink_to(f"../../devices/{below}/{kind}/{name}")
        return folder


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)
