"""What `mex doctor` asks of the home itself: who may read it, and on what it lies (product A2, P1)."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mex_pipeline.paths import PRIVATE_FILE, PRIVATE_FOLDER

_SYNCED_NAMES = (
    "mobile documents", "com~apple~clouddocs", "icloud drive", "cloudstorage", "dropbox", "onedrive", "google drive",
    "googledrive", "my drive", "nutstore", "坚果云", "我的坚果云", "baidusyncdisk", "syncthing",
)  # fmt: skip
"""Beginnings of folder names, small letters: iCloud, Dropbox, OneDrive, Google Drive, Nutstore and the like."""

_SYNCED_MARKS = (".stfolder", ".dropbox", ".dropbox.cache", ".nutstore")
_NETWORK = frozenset(
    {
        "nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "afs", "9p", "ceph", "glusterfs", "lustre", "davfs", "fuse.sshfs",
        "fuse.rclone", "fuse.davfs2", "fuse.gvfsd-fuse", "fuse.glusterfs", "fuse.s3fs", "fuse.juicefs",
    }
)  # fmt: skip
"""File systems of other machines: SQLite's WAL needs shared memory, which they do not have."""

_MOUNTS = Path("/proc/mounts")


def synced_by(home: Path) -> str | None:
    """Return the folder that some program keeps in step with other machines and in which the home lies, or None."""
    for folder in (home, *home.parents):
        name = folder.name.casefold()
        if any(name.startswith(one) for one in _SYNCED_NAMES) or any((folder / one).exists() for one in _SYNCED_MARKS):
            return str(folder)
    return None


def network_of(home: Path, mounts: str | None = None) -> str | None:
    """Return the type of the network file system the home lies on, or None; `mounts` is in the form of /proc/mounts."""
    if mounts is None:
        try:
            mounts = _MOUNTS.read_text(encoding="utf-8", errors="replace")
        except OSError:  # no Linux
            return None
    found = ("", "")
    for line in mounts.splitlines():
        parts = line.split()
        if len(parts) > 2:
            point = Path(_unescaped(parts[1]))
            # A later line hides an earlier one of the same place.
            if (point == home or point in home.parents) and len(str(point)) >= len(found[0]):
                found = (str(point), parts[2])
    return found[1] if found[1] in _NETWORK else None


def _unescaped(point: str) -> str:
    """The kernel writes blanks in four characters."""
    for code, sign in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        point = point.replace(code, sign)
    return point


def loose(root: Path) -> Iterator[tuple[Path, int, int]]:
    """Yield (path, its mode, the mode it should have) of everything in the home that others may read or write."""
    if os.name == "nt":
        return
    for path in (root, *sorted(root.rglob("*"))):
        with suppress(OSError):  # a file that went meanwhile
            found = path.lstat()
            is_folder = stat.S_ISDIR(found.st_mode)
            if (is_folder or stat.S_ISREG(found.st_mode)) and found.st_mode & 0o077:
                yield path, stat.S_IMODE(found.st_mode), PRIVATE_FOLDER if is_folder else PRIVATE_FILE


def tighten(root: Path) -> int:
    """Make what `loose` yields private; returns how many modes were changed."""
    changed = 0
    for path, _, mode in list(loose(root)):
        with suppress(OSError):
            path.chmod(mode)
            changed += 1
    return changed
