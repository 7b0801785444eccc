# ruff: noqa: E501 - planted code keeps its lines
"""`check_problem` finds planted defects; the problem is that of docs/add-a-problem.md.

Without a defect it passes: tests/test_docs.py.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import dlsched
from dlsched.testing import Finding, check_heuristic, check_problem, worst_case

PAGE = (Path(__file__).parents[2] / "docs" / "add-a-problem.md").read_text(encoding="utf-8")
FILES: dict[str, str] = dict(
    re.findall(r"^<!-- not run: file (\S+\.py) -->\n```\w+\n(.*?)^```", PAGE, re.M | re.S)
)
PACKAGE = "dlsched_admission"
SOLVE = "return solve_levels(instance, run, model)"
RELAX = "return relax_first_level(instance, run, model)"
GREEDY = """
    left, started = instance.gpus, []
    for job in instance.jobs:
        if job.gpus <= left and job.id != "n001":
            started.append(job.id)
            left -= job.gpus
    own = sum(job.weight for job in instance.jobs if job.id in started)
    from dlsched import Bound, Status
    bounds = [[Bound(own, "claimed", "milp")]]
    return Claim(solution={"started": started}, status=Status.OPTIMAL, bounds=bounds)
"""
DEFECTS: dict[str, tuple[str, str, str, str, str]] = {
    "no oracle": ("oracle", "def brute_force", "def enumerate_sets", "parts", "has no brute_force"),
    "the definition imports a picture": (
        "oracle", f"from {PACKAGE}.definition.check import check",
        f"from {PACKAGE}.definition.check import check\nfrom {PACKAGE}.pictures import draw",
        "layers", "definition/oracle.py: imports dlsched_admission.pictures.draw",
    ),
    "a start that is no method": (
        "dlsched_admission", "    package=__name__,", "    package=__name__,\n    starts=(Start('densest'),),",
        "methods", "there is no method 'densest', which PROBLEM names as starts; there are: milp, densest_first, lp (in dlsched_admission.exact, dlsched_admission.exact.bounds, dlsched_admission.heuristics)",
    ),
    "a misspelt variable": (
        "model", "def build(", "NAMEABLE = {'y': 'the job starts'}\n\n\ndef build(",
        "variant_rows", "NAMEABLE has y, the model's variables are ['x']",
    ),
    "no proof": ("exact", "Exact because", "Optimal, as", "methods", "no 'Exact because'"),
    "generator ignores the seed": (
        "generate", "    sizes, weights =", "    rng = np.random.default_rng(0)\n    sizes, weights =",
        "generator", "seeds 1 and 2 generate the same",
    ),
    "generator has no seed": (
        "generate", "    sizes, weights =", "    rng = np.random.default_rng()\n    sizes, weights =",
        "generator", "seed 1 generates two different",
    ),
    "a field is not written": (
        "schema", "weight: Amount = 1", "weight: Amount = Field(1, exclude=True)",
        "json", ".json loses something",
    ),
    "a derived array": (
        "schema", "    started: tuple[Id, ...]\n",
        "    started: tuple[Id, ...]\n\n    @schema.derived\n    def weights(self):\n        return np.ones(1)\n",
        "immutable", "these can be changed: Solution.weights",
    ),
    "label of another instance": (
        "heuristics", '{"started": started}', '{"started": started, "instance": "other"}',
        "labels", 'the solution is for "other"',
    ),
    "explain refuses what can be solved": (
        "check", '    return ""', '    return "too many jobs" if len(instance.jobs) > 2 else ""',
        "infeasible", "explain says 'too many jobs' of an instance that has a solution",
    ),
    "objective has another sense": ("model", "pyo.maximize", "pyo.minimize", "model_levels",
                                    "[('weight', 'min')]"),
    "model has one GPU less": ("model", "used, instance.gpus)", "used, instance.gpus - 1)",
                               "exact", "the optimum is"),
    "model excludes a solution": ("model", "used, instance.gpus)", "used, instance.gpus - 1)",
                                  "model_assign", "breaks gpus"),
    "model has another weight": ("model", "float(job.weight) *", "(1 + float(job.weight)) *",
                                 "model_assign", "checker finds"),
    "read finds too little": (
        "model", "return Solution(started=tuple(", "return Solution(started=() if instance.gpus > 4 else tuple(",
        "model_assign", "the checker finds 0",
    ),
    "heuristic takes too much": ("heuristics", "job.gpus <= left", "job.gpus <= left + 1",
                                 "heuristics", "densest_first: gpus at started"),
    "bound is too strong": (
        "bounds", RELAX, 'return Claim(status="no solution", bounds=[[Bound(0, "certified", "lp")]])',
        "bounds", "lp has the bounds",
    ),
    "result depends on names": ("exact", f"    {SOLVE}", GREEDY, "renaming", "milp finds weight"),
    "result depends on the order": ("exact", f"    {SOLVE}", GREEDY.replace('"n001"', '""'),
                                    "order", "milp finds weight"),
    "result differs from run to run": (
        "heuristics", '{"started": started}', '{"started": started[: CALLS.append(0) or len(CALLS) % 2]}',
        "deterministic", "['densest_first']",
    ),
    "a limit is called infeasible": (
        "exact", SOLVE, f'if run.stop_reason():\n        return Claim(status="infeasible")\n    {SOLVE}',
        "limits", "milp says infeasible",
    ),
    "a limit raises": (
        "exact", SOLVE, f'if run.stop_reason():\n        raise TimeoutError("stop")\n    {SOLVE}',
        "limits", "TimeoutError: stop",
    ),
    "the picture is not returned": ("draw", "    return ax", "    return None", "picture", "NoneType"),
}  # fmt: skip
"""By name: module, passage, what stands in its place, the check that fails, and its message."""
COUNT = itertools.count()
Install = Callable[..., str]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unshrunk: None) -> Install:
    """Return a function that installs the package, each time under another name."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(files: dict[str, str], entry: str = "") -> str:
        """Write the files, and what pip writes beside them; return the problem's name."""
        name = f"admission{next(COUNT)}"
        package = f"dlsched_{name}"
        points = f"[dlsched.problems]\n{entry or name} = {package}:PROBLEM\n"
        beside = {
            f"{package}-1.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n",
            f"{package}-1.dist-info/entry_points.txt": points,
        }
        own = {
            file.replace(PACKAGE, package): text.replace(PACKAGE, package)
            for file, text in files.items()
        }
        for file, text in (own | beside).items():
            path = tmp_path / name / file
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(text.replace('"admission"', f'"{name}"'), encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path / name)
        return name

    return write


def finding_of(name: str, check: str, **options: object) -> Finding:
    """Return the one finding of a check, with the package's name as on the page."""
    (found,) = check_problem(name, checks=[check], **options).findings  # type: ignore[arg-type]
    assert found.kind == check
    return Finding(check, found.message.replace(f"dlsched_{name}", PACKAGE), found.instance)


@pytest.mark.parametrize("defect", DEFECTS)
def test_defects_are_found(install: Install, defect: str) -> None:
    """The check fails, and its message names the defect."""
    module, passage, planted, name, message = DEFECTS[defect]
    endings = (f"/{module}.py", f"{module}/__init__.py")
    file = next(f for f in FILES if f.endswith(endings))
    assert FILES[file].count(passage) == 1
    text = FILES[file].replace(passage, planted)
    if module == "bounds":
        text = text.replace("\nfrom dlsched", "\nfrom dlsched import Bound\nfrom dlsched", 1)
    if "Start(" in planted:
        text = text.replace("import Problem", "import Problem, Start")
    if module == "schema":
        text = text.replace(
            "import model_validator", "import Field, model_validator\nimport numpy as np"
        )
    if "CALLS" in planted:
        text = text.replace("\n\n\n", "\n\nCALLS: list[int] = []\n\n\n", 1)
    assert message in finding_of(install(FILES | {file: text}), name).message


def test_a_package_without_folders_is_found(install: Install) -> None:
    """The same modules may all be in the package itself."""
    names = {name.split("/")[1] for name in FILES if name.count("/") > 1}
    folder = rf"{PACKAGE}([./])(?:{'|'.join(names)})[./](?!__init__)"
    flat = {
        re.sub(folder, rf"{PACKAGE}\1", name).replace("/__init__.py", ".py")
        if name.count("/") > 1
        else name: re.sub(folder, rf"{PACKAGE}\1", text)
        for name, text in FILES.items()
    }
    assert f"{PACKAGE}/exact.py" in flat and f"{PACKAGE}/bounds.py" in flat
    checks = ["parts", "layers", "methods", "generator", "proofs"]
    assert check_problem(install(flat), checks=checks).passed == checks


def test_a_module_of_methods_that_nothing_imports_is_found(install: Install) -> None:
    """Methods are in exact and heuristics; a function elsewhere is registered by no one."""
    elsewhere = FILES[f"{PACKAGE}/heuristics/__init__.py"].replace("densest_first", "other_rule")
    name = install(FILES | {f"{PACKAGE}/structures/rules.py": elsewhere})
    said = finding_of(name, "methods").message
    assert said.startswith("not imported: structures/rules.py; methods are in")


def test_missing_and_doubled_modules_are_named_with_their_places(install: Install) -> None:
    """One run says what is to be written, or removed."""
    missing = (f"{PACKAGE}/definition/oracle.py", f"{PACKAGE}/pictures/draw.py")
    name = install({name: text for name, text in FILES.items() if name not in missing})
    said = finding_of(name, "parts").message
    assert f"no {PACKAGE}.pictures.draw, with draw; " in said
    assert f"no {PACKAGE}.definition.oracle, with brute_force" in said
    twice = FILES | {f"{PACKAGE}/oracle.py": FILES[f"{PACKAGE}/definition/oracle.py"]}
    said = finding_of(install(twice), "parts").message
    assert said == f"{PACKAGE}.oracle hides {PACKAGE}.definition.oracle; remove one"


def test_a_problem_without_heuristics_skips_their_check(install: Install) -> None:
    """A check that had nothing to look at has not passed."""
    name = install({name: text for name, text in FILES.items() if "heuristics" not in name})
    assert check_problem(name, checks=["heuristics"]).skipped == ["heuristics"]


@pytest.mark.parametrize(
    ("file", "old", "new", "hint"),
    [
        ("instances/strategy", "max_jobs: int = 6", "max_jobs: int = 0",
         "none has two that differ first at weight"),
        ("definition/oracle", "\n\n\ndef brute_force",
         "\n\n\ndef solutions(instance):\n    raise KeyError('x')\n\n\ndef brute_force",
         "could not be counted: KeyError"),
    ],
)  # fmt: skip
def test_what_the_drawn_instances_cannot_show_is_a_hint(
    install: Install, file: str, old: str, new: str, hint: str
) -> None:
    """What passes on instances without a choice is no evidence, and the report says so."""
    path = f"{PACKAGE}/{file}.py"
    assert old in FILES[path]
    name = install(FILES | {path: FILES[path].replace(old, new)})
    found = check_problem(name, checks=["exact"], examples=3)
    assert found.passed == ["exact"] and hint in str(found)


def test_the_card_s_missing_rows_are_named(install: Install, tmp_path: Path) -> None:
    """With how a row looks, and what the model has not."""
    name, card = install(FILES), tmp_path / "card.md"
    rows = "| component | kind | meaning |\n|---|---|---|\n| `x` | Var | starts |\n"
    card.write_text(rows)
    said = finding_of(name, "card", card=str(card)).message
    assert said.startswith("the card has no row for `JOBS` Set, `gpus` Constraint, `weight`")
    others = "| `JOBS` | Set | |\n| `gpus` | Constraint | |\n| `weight` | Objective | |\n"
    card.write_text(f"{rows}{others}| `y` | Var | no more |\n")
    said = finding_of(name, "card", card=card).message
    assert said == "the card has rows for `y` Var, which the model has not"


def test_an_exception_is_shown_with_its_instance(install: Install) -> None:
    """Also where a problem's own code raises."""
    file = f"{PACKAGE}/exact/__init__.py"
    name = install(FILES | {file: FILES[file].replace(SOLVE, "return instance.jobs[0]")})
    found = finding_of(name, "exact")
    assert "IndexError" in found.message and found.instance is not None


def test_the_name_of_the_entry_point_is_the_problem_s(install: Install) -> None:
    """The message has both names."""
    name = install(FILES, entry="misnamed")
    with pytest.raises(dlsched.OptionError, match=f"of that name; its name is '{name}'"):
        check_problem("misnamed")


def test_unknown_problems_and_missing_modules(install: Install) -> None:
    """A problem that does not exist, or has no strategy or oracle, is one clear error."""

    def without(module: str) -> str:
        return install({name: text for name, text in FILES.items() if module not in name})

    undrawn, unenumerated = without("strategy"), without("oracle")
    for search in (check_heuristic, worst_case):
        with pytest.raises(dlsched.UnknownName, match="no problem is called 'reclaimin'"):
            search("reclaimin", "lyra")  # type: ignore[operator]
        with pytest.raises(dlsched.OptionError, match=r"no strategy for .*; pass one as"):
            search(undrawn, "densest_first")  # type: ignore[operator]
        with pytest.raises(dlsched.OptionError, match="no oracle for"):
            search(unenumerated, "densest_first")  # type: ignore[operator]
    with pytest.raises(dlsched.OptionError, match="pass oracle=False"):
        check_heuristic(unenumerated, "densest_first")
