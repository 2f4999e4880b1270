"""`mex doctor` on the place of the home: synced folders, network file systems, modes (product A2)."""

import stat
from pathlib import Path

import pytest

from mex_pipeline.services import doctor_home
from tests.support.program import mex


def place(home: Path) -> dict[str, str]:
    """Status and findings of the check of the place."""
    checks = mex("doctor", "--json", MEX_HOME=str(home)).json["checks"]
    (found,) = [one for one in checks if one["name"] == "home"]
    return {"status": found["status"], "told": " ".join(item["message"] for item in found["items"])}


@pytest.mark.parametrize(
    ("folders", "mark"),
    [
        (["Dropbox"], None), (["OneDrive - Firma"], None), (["Library", "Mobile Documents"], None),
        (["Google Drive"], None), (["坚果云"], None), (["Nutstore Files"], None), (["Sync"], ".stfolder"),
        (["Library", "CloudStorage", "GoogleDrive-a@b"], None),
    ],
)  # fmt: skip
def test_a_home_that_is_kept_in_step_with_other_machines_is_a_warning(
    tmp_path: Path, folders: list[str], mark: str | None
) -> None:
    parent = tmp_path.joinpath(*folders)
    parent.mkdir(parents=True)
    if mark:
        (parent / mark).mkdir()
    found = place(parent / "mex")
    assert found["status"] == "warning"
    assert str(tmp_path / folders[0]) in found["told"]


def test_a_folder_that_is_only_called_alike_is_none(tmp_path: Path) -> None:
    for name in ("my-dropbox", "notes"):
        (tmp_path / name).mkdir()
        assert doctor_home.synced_by(tmp_path / name) is None


@pytest.mark.parametrize(
    ("home", "kind"),
    [
        ("/home/me/.mex", None), ("/net/home/me/.mex", "nfs4"), ("/net/home", "nfs4"), ("/net", None),
        ("/net/home/local/.mex", None), ("/mnt/my share/.mex", "cifs"), ("/netz/.mex", None),
    ],
)  # fmt: skip
def test_a_network_file_system_is_found_by_the_longest_mount_point(home: str, kind: str | None) -> None:
    mounts = (
        "/dev/sda / ext4 rw 0 0\nserver:/x /net/home nfs4 rw 0 0\n/dev/sdb /net/home/local ext4 rw 0 0\n"
        "//srv/share /mnt/my\\040share cifs rw 0 0\n"
    )
    assert doctor_home.network_of(Path(home), mounts) == kind


def test_modes_of_links_and_of_what_is_outside_are_left_alone(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("x")
    outside.chmod(0o644)
    root = tmp_path / "root"
    root.mkdir(mode=0o700)
    (root / "link").symlink_to(outside)
    assert doctor_home.tighten(root) == 0
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644
