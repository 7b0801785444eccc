"""Which file system a folder is on: home folders of clusters are on one over the network."""

from __future__ import annotations

from pathlib import Path

MOUNTS = Path("/proc/self/mounts")
NETWORK = (
    *("nfs", "cifs", "smb", "afs", "lustre", "gpfs", "beegfs", "ceph", "glusterfs", "fhgfs"),
    *("fuse.", "9p", "wekafs", "panfs", "orangefs", "pvfs"),
)
"""How the names of file systems begin that other machines may write to."""


def is_on_network(folder: Path, mounts: Path = MOUNTS) -> bool:
    """Whether a folder, or where it would be made, is on a file system over the network.

    On systems that do not list their mounts the answer is no.
    """
    try:
        lines = mounts.read_text().splitlines()
    except OSError:
        return False
    kind_at = {}
    for line in lines:
        _, place, kind, *_ = line.split(" ")
        kind_at[Path(place.encode().decode("unicode_escape"))] = kind  # blanks are written \\040
    for above in (folder.resolve(), *folder.resolve().parents):
        if above in kind_at:
            return kind_at[above].startswith(NETWORK)
    return False
