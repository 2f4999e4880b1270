"""The wheel is built once and works where there is no checkout (docs/architecture.md)."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.source_tree import PACKAGES, ROOT

pytestmark = pytest.mark.slow

SHIPPED = {
    "mex_pipeline/py.typed",
    "mex_pipeline/store/ddl/0006_initial.sql",
    "mex_pipeline/store/ddl/0007_queue.sql",
    "mex_pipeline/_config/config.yaml",
    "mex_pipeline/_config/schema/en.yaml",
    "mex_pipeline/_config/schema/zh.yaml",
    "mex_pipeline/_config/prompts/en/repair.md",
    "mex_pipeline/_config/prompts/zh/01-task.md",
    "mex_workers/__main__.py",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy: the build must not find leftovers, nor leave any."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    ignored = shutil.ignore_patterns(".*", "__pycache__", "tests", "docs", "benchmarks", "dist", "build")
    shutil.copytree(ROOT, source, ignore=ignored)
    options = ["--no-isolation"] if find_spec("hatchling") and find_spec("editables") else []
    command = [sys.executable, "-m", "build", "--wheel", *options, "--outdir", str(folder), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder the wheel was installed into, without its dependencies."""
    target = tmp_path_factory.mktemp("target")
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--no-deps",
        "--no-index",
        "--quiet",
        "--target",
        str(target),
        str(wheel),
    ]
    subprocess.run(command, capture_output=True, text=True, check=True)
    return target


def ran(installed: Path, cwd: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run Python outside the checkout; `-S` leaves out what an editable installation adds to the path."""
    path = os.pathsep.join([str(installed), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    return subprocess.run(
        [sys.executable, "-S", *arguments],
        capture_output=True, text=True, encoding="utf-8", cwd=cwd, env=os.environ | {"PYTHONPATH": path}, check=True,
    )  # fmt: skip


def test_the_wheel_holds_what_is_needed_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert names >= SHIPPED
    assert {name.split("/")[0].split("-")[0] for name in names} == {"mex_pipeline", "mex_workers"}
    assert not [name for name in names if "test" in name or "__pycache__" in name]
    for package, folder in PACKAGES.items():
        modules = {f"{package}/{path.relative_to(folder)}" for path in folder.rglob("*.py")}
        assert names >= modules
    config = {f"mex_pipeline/_config/{path.relative_to(ROOT / 'config')}" for path in (ROOT / "config").rglob("*.*")}
    assert names >= config


def test_the_wheel_names_its_commands_and_takes_adapters(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (points,) = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
    text = archive.read(points).decode()
    assert "mex = mex_pipeline.cli.main:main" in text
    assert "mexp = mex_pipeline.cli.main:main" in text
    assert "mex-worker = mex_workers.__main__:main" in text
    (metadata,) = [name for name in archive.namelist() if name.endswith("METADATA")]
    assert "Requires-Python: >=3.11" in archive.read(metadata).decode()


def test_the_installed_program_starts_a_home_and_shows_a_profile(installed: Path, tmp_path: Path, home: Path) -> None:
    where = ran(
        installed,
        tmp_path,
        "-c",
        "import mex_pipeline, mex_workers; print(mex_pipeline.__file__, mex_workers.__file__)",
    )
    assert where.stdout.count(str(installed)) == 2
    ran(installed, tmp_path, "-m", "mex_pipeline", "init")
    assert {path.name for path in home.iterdir()} >= {"mex.db", "config.yaml", "schema.yaml"}
    ran(
        installed,
        tmp_path,
        "-m",
        "mex_pipeline",
        "add",
        "--topic",
        "work",
        "--sub-topic",
        "company",
        "--content",
        "远光软件",
    )
    assert "远光软件" in ran(installed, tmp_path, "-m", "mex_pipeline", "profile").stdout


def test_the_installed_program_extracts_with_the_rules(installed: Path, tmp_path: Path, home: Path) -> None:
    ran(installed, tmp_path, "-m", "mex_pipeline", "extract", "我对花生过敏。")
    assert "花生" in ran(installed, tmp_path, "-m", "mex_pipeline", "list").stdout
    assert home.is_dir()


def test_the_installed_worker_comes_up_and_leaves(installed: Path, tmp_path: Path, home: Path) -> None:
    ran(installed, tmp_path, "-m", "mex_workers", "--idle-exit", "1s")
    assert (home / "logs" / "worker.log").exists()
