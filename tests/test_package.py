"""What is shipped is complete, and says the same thing everywhere."""

import itertools
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import dlsched

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LINK = re.compile(r"\]\(([^)\s]+)\)|<(?:img|source|a)\b[^>]*? (?:src|srcset|href)=\"([^\"]+)\"")
CODE = re.compile(r"^```.*?^```$", re.M | re.S)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.slow
def test_wheel_brings_the_instances(wheel: Path, tmp_path: Path) -> None:
    """An unpacked wheel, away from the checkout, loads named instances and verifies solutions."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    for file in ("py.typed", "sweeps/report.html.jinja"):
        assert (tmp_path / "site" / "dlsched" / file).exists()
    code = (
        "import dlsched; from dlsched import library;"
        "assert library.root().name == '_instances', library.root();"
        "assert all(dlsched.verify(n, library.solution_file(n)) for n in dlsched.list_instances());"
        "print(len(dlsched.list_instances()))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "site")},
        check=True,
        capture_output=True,
        text=True,
    )
    assert int(run.stdout) == len(dlsched.list_instances())


def test_only_sources_are_tracked() -> None:
    """No cache and no file of an editor is tracked, and so none is in the source archive."""
    command = ["git", "ls-files"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no checkout")
    tracked = listed.stdout.splitlines()
    assert "pyproject.toml" in tracked
    parts = {part for file in tracked for part in file.split("/")}
    assert {part for part in parts if part.startswith(".")} == {".ci", ".github", ".gitignore"}
    odd = re.compile(r"__pycache__|.*(~|\.(bak|log|orig|pyc|pyo|rej|sqlite|swo|swp|tmp))", re.I)
    assert not [part for part in parts if odd.fullmatch(part)]


def links(text: str) -> list[str]:
    """Return the targets of a Markdown text's links and pictures, outside code."""
    return [one or other for one, other in LINK.findall(CODE.sub("", text))]


def test_links_on_a_package_index(wheel: Path) -> None:
    """In the wheel's description README's links are absolute, and lead to files that exist.

    Nothing else differs from README.md, code least of all.
    """
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        head, _, description = archive.read(name).decode().partition("\n\n")
    assert "Description-Content-Type: text/markdown" in head
    base = PROJECT["urls"]["Repository"]
    assert f"Project-URL: Repository, {base}" in head
    readme = (ROOT / "README.md").read_text()
    assert CODE.findall(description) == CODE.findall(readme)
    assert len(links(description)) == len(links(readme)) > 20
    pages, files = f"{base}/blob/main/", f"{base.replace('github', 'raw.githubusercontent')}/main/"
    for ours, theirs in zip(links(readme), links(description), strict=True):
        if re.match(r"https?://|#|mailto:", ours):
            assert theirs == ours
        else:
            assert theirs in (pages + ours, files + ours)
            assert (ROOT / ours.partition("#")[0]).exists()
    plain = description.replace(pages, "").replace(files, "")
    assert plain == readme.replace(pages, "").replace(files, "")


def test_one_address() -> None:
    """Every file that names the repository names the one in pyproject.toml."""
    repository = PROJECT["urls"]["Repository"]
    owner = repository.removeprefix("https://github.com/").partition("/")[0]
    texts = (".cff", ".html", ".md", ".py", ".toml", ".yaml", ".yml")
    folders = ("", ".github/**/", "docs/**/", "models/", "instances/", "benchmarks/", "src/**/")
    files = {f for folder in folders for f in ROOT.glob(f"{folder}*") if f.suffix in texts}
    address = re.compile(
        r"(?:github\.com|raw\.githubusercontent\.com)/([\w.-]+)/dlsched|([\w-]+)\.github\.io/dlsched"
    )
    named = {
        (str(file.relative_to(ROOT)), one or other)
        for file in files
        for one, other in address.findall(file.read_text(encoding="utf-8"))
    }
    assert {name for name, _ in named} >= {"pyproject.toml", "CITATION.cff"}
    assert [(name, found) for name, found in sorted(named) if found != owner] == []


def test_versions() -> None:
    """One version is named everywhere, and constraints.txt pins every package that is asked for."""
    assert "version" in PROJECT["dynamic"]  # that of names.py
    assert f'VERSION = "{dlsched.__version__}"' in (ROOT / "src/dlsched/names.py").read_text()
    assert f"version: {dlsched.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {dlsched.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    extras = itertools.chain(*PROJECT["optional-dependencies"].values())
    asked = [*PROJECT["dependencies"], *extras]
    names = {
        re.split(r">=|\[", line)[0].lower() for line in asked if not line.startswith("dlsched")
    }
    pinned = {line.split("==")[0].lower() for line in (ROOT / "constraints.txt").open()}
    assert names <= pinned


def test_fragments_go_into_the_changelog(tmp_path: Path) -> None:
    """What changes/ has is put above the releases that are in CHANGELOG.md, which stays."""
    pytest.importorskip("towncrier", reason="a tool for work on dlsched itself")
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "changes", tmp_path / "changes")
    (tmp_path / "changes" / "+spoon.added.md").write_text("There is a spoon.")
    command = [sys.executable, "-m", "towncrier", "build", "--version", "9.9.9", "--yes"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    before, after = (folder / "CHANGELOG.md" for folder in (ROOT, tmp_path))
    head, mark, rest = before.read_text().partition("<!-- towncrier release notes start -->\n")
    written = after.read_text()
    assert mark and written.startswith(head + mark) and written.endswith(rest)
    new = written.removeprefix(head + mark).removesuffix(rest)
    assert "## 9.9.9" in new and "\n- There is a spoon.\n" in new.partition("### Added\n")[2]
