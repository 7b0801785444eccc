"""The Job of Kubernetes in the tutorial: its fields, and its command where a pod would run it."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from calls import FIG5, suite_text
from sweeps import merged

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "cluster"
SPEC_FIELDS = {
    "completionMode", "completions", "parallelism", "backoffLimitPerIndex", "maxFailedIndexes",
    "podFailurePolicy", "template",
}  # fmt: skip
"""Of a Job of batch/v1 (https://kubernetes.io/docs/reference/kubernetes-api), those used here."""


@pytest.fixture
def job() -> dict[str, Any]:
    """Give the manifest."""
    yaml = pytest.importorskip("yaml")
    claim, manifest = yaml.safe_load_all((FOLDER / "job.yaml").read_text())
    assert claim["kind"] == "PersistentVolumeClaim"
    return dict(manifest)


@pytest.mark.parametrize("version", ["1.28", "1.31", "1.34", "1.37"])
def test_manifest_is_valid(version: str) -> None:
    """As Kubernetes itself describes its objects in a version, and without fields of others."""
    validate = pytest.importorskip("kubernetes_validate")
    yaml = pytest.importorskip("yaml")
    for document in yaml.safe_load_all((FOLDER / "job.yaml").read_text()):
        validate.validate(document, version, strict=True)


def test_manifest(job: dict[str, Any]) -> None:
    """It is an indexed Job whose pods mount the volume, with limits that the shard reads."""
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    spec = job["spec"]
    assert spec.keys() <= SPEC_FIELDS and spec["completionMode"] == "Indexed"
    assert spec["maxFailedIndexes"] <= spec["completions"] == spec["parallelism"]
    pod = spec["template"]["spec"]
    assert pod["restartPolicy"] == "Never"  # as backoffLimitPerIndex and podFailurePolicy require
    (container,) = pod["containers"]
    assert container["resources"]["limits"].keys() == {"cpu", "memory"}
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}
    (argument,) = container["args"]
    assert argument.startswith("exec dlsched ") and f"/{spec['completions']}" in argument
    # The image has the wheel with extras that there are, and starts dlsched.
    text = (FOLDER / "Containerfile").read_text()
    extras = text.partition(".whl)[")[2].partition("]")[0].split(",")
    project = tomllib.loads((FOLDER.parents[1] / "pyproject.toml").read_text())["project"]
    assert set(extras) <= set(project["optional-dependencies"]) and "dlsched" in project["scripts"]
    assert text.rstrip().endswith('ENTRYPOINT ["dlsched"]')


@pytest.mark.slow
def test_command_of_the_pods(job: dict[str, Any], workdir: Path) -> None:
    """The pods' command, with the index that Kubernetes sets, makes all shards of a sweep."""
    (workdir / "s.toml").write_text(suite_text(FIG5, "lyra", "random; seeds = [0, 1, 2]"))
    (container,) = job["spec"]["template"]["spec"]["containers"]
    (command,) = container["args"]
    for old, new in (
        ("/results/", f"{workdir}/"),
        ("dlsched bench", f"{sys.executable} -m dlsched bench"),
        (f"/{job['spec']['completions']}", "/2"),
    ):
        assert old in command
        command = command.replace(old, new)
    for index in range(2):
        environment = os.environ | {"JOB_COMPLETION_INDEX": str(index)}
        subprocess.run([*container["command"], command], env=environment, check=True)
    assert merged("r") == (4, 4, 0, 0, 0)
