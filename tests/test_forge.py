"""The workflows and forms in .github: they parse, and agree with Makefile and pyproject.toml."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from dlsched.cli import COMMANDS

yaml = pytest.importorskip("yaml", reason="it comes with the site's builder, an optional extra")

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted(
    f for f in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if f.name != "config.yml"
)
PYTHONS = [
    topic.rpartition(" ")[2]
    for topic in PROJECT["classifiers"]
    if re.fullmatch(r"Programming Language :: Python :: \d+\.\d+", topic)
]


def jobs() -> dict[str, Any]:
    """Return the jobs of all workflows by name."""
    return {
        name: job
        for file in WORKFLOWS
        for name, job in yaml.safe_load(file.read_text())["jobs"].items()
    }


def commands(job: dict[str, Any]) -> str:
    """Return the shell commands of a job."""
    return "\n".join(step["run"] for step in job["steps"] if "run" in step)


def pythons(job: dict[str, Any]) -> list[str]:
    """Return the versions of Python that a job runs with."""
    (asked,) = (
        step["with"]["python-version"]
        for step in job["steps"]
        if step.get("uses", "").startswith("actions/setup-python")
    )
    assert isinstance(asked, str), "3.10 without quotes would be the number 3.1"
    return list(job["strategy"]["matrix"]["python"]) if "matrix" in asked else [asked]


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_a_workflow_has_what_a_forge_needs(file: Path) -> None:
    """It has a name, events, and jobs with a machine, a time limit and steps; it may only read.

    Actions are named by their digests, with the version beside it.
    """
    data = yaml.safe_load(file.read_text())
    assert data["name"] == file.stem
    events = {"push", "pull_request", "workflow_dispatch"}
    assert (events if file.stem != "release" else {"push"}) <= set(data[True])  # "on" in YAML 1.1
    assert data["permissions"] == {"contents": "read"}
    for job in data["jobs"].values():
        if "uses" in job:  # the jobs of another workflow
            assert (ROOT / job["uses"]).is_file()
            continue
        assert job["runs-on"] and job["timeout-minutes"] and job["steps"]
        assert all(("run" in step) != ("uses" in step) for step in job["steps"])
    pinned = re.findall(r"- uses: \S+@[0-9a-f]{40}  # v[\d.]+$", file.read_text(), re.M)
    others = re.findall(r"^ {8}uses: \S+@[0-9a-f]{40}  # v[\d.]+$", file.read_text(), re.M)
    assert len(pinned) + len(others) == file.read_text().count("uses: ") - (
        "uses: ./" in file.read_text()
    )


def test_a_release_is_what_its_tag_says() -> None:
    """It is published only after tests and wheels, by a job that stores no token."""
    found = yaml.safe_load((WORKFLOWS[0].parent / "release.yml").read_text())
    assert found[True] == {"push": {"tags": ["v*"]}}
    publish = found["jobs"]["publish"]
    assert publish["needs"] == ["tests", "wheels"]
    assert publish["permissions"] == {"id-token": "write"}
    assert "make release-check" in commands(found["jobs"]["version"])
    assert "workflow_call" in yaml.safe_load((WORKFLOWS[0].parent / "wheels.yml").read_text())[True]


def test_every_make_target_exists() -> None:
    """What the workflows, forms and guides make is a target of the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    text = "\n".join(commands(job) for job in jobs().values() if "steps" in job)
    asked = set(re.findall(r"\bmake ([a-z-]+)", text))
    assert asked >= {"test", "test-all", "lowest", "newest", "docs", "dist"}
    for guide in (ROOT / "CONTRIBUTING.md", ROOT / ".github" / "PULL_REQUEST_TEMPLATE.md"):
        asked |= set(re.findall(r"`make ([a-z-]+)`", guide.read_text()))
    assert asked <= targets


def test_pythons_are_those_of_the_project() -> None:
    """The tests run on every version of the classifiers, the lowest versions on the lowest."""
    found = jobs()
    assert pythons(found["test"]) == PYTHONS
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    assert pythons(found["lowest"]) == PYTHONS[:1]
    others = {p for job in found.values() if "setup-python" in str(job) for p in pythons(job)}
    assert others <= set(PYTHONS)


def test_the_public_checker_is_the_documented_one() -> None:
    """The checker of certificates has one commit in the workflow and on the page of proofs."""
    steps = [step["with"] for step in jobs()["certificates"]["steps"] if "with" in step]
    (checker,) = (step for step in steps if "repository" in step)
    page = (ROOT / "docs" / "proofs.md").read_text()
    assert all(checker[field] in page for field in ("repository", "ref"))


def test_only_the_main_branch_is_deployed() -> None:
    """One job may write pages; it waits for the build and is for the main branch alone."""
    writing = {name: job for name, job in jobs().items() if "permissions" in job}
    assert set(writing) == {"deploy", "publish"}
    deploy = writing["deploy"]
    assert deploy["needs"] == "build"
    assert "github.ref == 'refs/heads/main'" in deploy["if"]
    assert deploy["permissions"] == {"pages": "write", "id-token": "write"}


def test_commands_in_forms_exist() -> None:
    """What forms and guides ask to run is a command of dlsched."""
    guides = [ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md", *FORMS]
    guides.append(ROOT / ".github" / "PULL_REQUEST_TEMPLATE.md")
    text = "\n".join(guide.read_text() for guide in guides)
    asked = set(re.findall(r"\bdlsched ([a-z-]+)(?=`|$| [A-Z]{2}| -| \S+\.json)", text, re.M))
    assert {"doctor", "verify", "show"} <= asked
    assert asked <= set(COMMANDS)
