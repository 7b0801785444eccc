# ruff: noqa: E501 - planted code keeps its lines
"""`check_problem` finds planted defects; the problem is that of docs/add-a-problem.md.

Without a defect it passes: tests/test_seventh_problem.py.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import dlsched
from dlsched import registry
from dlsched.registry import layout, lookup, names, registered
from dlsched.testing import check_problem
from dlsched.testing.transformations import renamed

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
        "oracle", "from dlsched_admission.definition.check import check",
        "from dlsched_admission.definition.check import check\nfrom dlsched_admission.pictures import draw",
        "layers", "definition/oracle.py: imports dlsched_admission.pictures.draw",
    ),
    "the definition imports a picture from two folders up": (
        "oracle", "from dlsched_admission.definition.check import check",
        "from dlsched_admission.definition.check import check\nfrom ..pictures import draw",
        "layers", "definition/oracle.py: imports dlsched_admission.pictures.draw",
    ),
    "the definition imports the model as a whole": (
        "oracle", "from dlsched_admission.definition.check import check",
        "from dlsched_admission.definition.check import check\nfrom .. import model",
        "layers", "definition/oracle.py: imports dlsched_admission.model",
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

Install = Callable[[dict[str, str]], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unshrunk: None) -> Iterator[Install]:
    """Return a function that makes the package importable; examples are not shrunk."""
    monkeypatch.setattr(registered, "METHODS", dict(registered.METHODS))
    entry = EntryPoint("admission", f"{PACKAGE}:PROBLEM", registry.PROBLEMS_GROUP)
    found = {registry.PROBLEMS_GROUP: [entry], registry.METHODS_GROUP: []}
    monkeypatch.setattr(names, "entry_points", lambda group: found[group])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(files: dict[str, str]) -> None:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(text, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)

    yield write
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
        del sys.modules[name]
    registry.problem.cache_clear()
    registered.load_methods.cache_clear()


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
    install(FILES | {file: text})
    found = check_problem("admission", checks=[name])
    assert [finding.kind for finding in found.findings] == [name]
    assert message in found.findings[0].message


def test_a_package_without_folders_is_found(install: Install) -> None:
    """The same modules may all be in the package itself."""
    folder = rf"{PACKAGE}([./])(?:{'|'.join(layout.FOLDERS)})[./](?!__init__)"
    flat = {
        re.sub(folder, rf"{PACKAGE}\1", name).replace("/__init__.py", ".py")
        if name.count("/") > 1
        else name: re.sub(folder, rf"{PACKAGE}\1", text)
        for name, text in FILES.items()
    }
    assert f"{PACKAGE}/exact.py" in flat and f"{PACKAGE}/bounds.py" in flat
    install(flat)
    found = check_problem("admission", checks=["parts", "layers", "methods", "generator", "proofs"])
    assert found.findings == []


def test_a_module_of_methods_that_nothing_imports_is_found(install: Install) -> None:
    """Methods are in exact and heuristics; a function elsewhere is registered by no one."""
    elsewhere = FILES[f"{PACKAGE}/heuristics/__init__.py"].replace("densest_first", "other_rule")
    install(FILES | {f"{PACKAGE}/structures/rules.py": elsewhere})
    (found,) = check_problem("admission", checks=["methods"]).findings
    assert found.message.startswith("not imported: structures/rules.py; methods are in")


def test_all_missing_modules_are_named_with_their_places(install: Install) -> None:
    """One run says what is to be written."""
    missing = (f"{PACKAGE}/definition/oracle.py", f"{PACKAGE}/pictures/draw.py")
    install({name: text for name, text in FILES.items() if name not in missing})
    (found,) = check_problem("admission", checks=["parts"]).findings
    assert f"no {PACKAGE}.pictures.draw, with draw; " in found.message
    assert f"no {PACKAGE}.definition.oracle, with brute_force" in found.message
    with pytest.raises(dlsched.OptionError, match=r"'draw': no dlsched_admission\.pictures\.draw"):
        registry.problem("admission").module("draw")


def test_a_module_in_two_places_is_found(install: Install) -> None:
    """The one in the package itself hides that of the folder."""
    install(FILES | {f"{PACKAGE}/oracle.py": FILES[f"{PACKAGE}/definition/oracle.py"]})
    (found,) = check_problem("admission", checks=["parts"]).findings
    assert found.message == f"{PACKAGE}.oracle hides {PACKAGE}.definition.oracle; remove one"


def test_a_problem_without_heuristics_skips_their_check(install: Install) -> None:
    """A check that had nothing to look at has not passed."""
    install({name: text for name, text in FILES.items() if "heuristics" not in name})
    assert check_problem("admission", checks=["heuristics"]).skipped == ["heuristics"]


def test_a_level_that_no_drawn_instance_shows_is_a_hint(install: Install) -> None:
    """What passes on instances without a choice is no evidence, and the report says so."""
    file = f"{PACKAGE}/instances/strategy.py"
    install(FILES | {file: FILES[file].replace("max_jobs: int = 6", "max_jobs: int = 0")})
    found = check_problem("admission", checks=["exact"], examples=3)
    assert found.passed == ["exact"]
    assert "none has two that differ first at weight" in str(found)


def test_a_hint_says_that_solutions_cannot_be_counted(install: Install) -> None:
    """Where the oracle's own list of solutions fails, no level is called invisible."""
    file = f"{PACKAGE}/definition/oracle.py"
    install(FILES | {file: f"{FILES[file]}\n\ndef solutions(instance):\n    raise KeyError('x')\n"})
    found = check_problem("admission", checks=["exact"], examples=3)
    assert found.passed == ["exact"]
    assert "could not be counted: KeyError" in str(found)


def test_the_card_s_missing_rows_are_named(install: Install, tmp_path: Path) -> None:
    """With how a row looks, and what the model has not."""
    install(FILES)
    card = tmp_path / "card.md"
    rows = "| component | kind | meaning |\n|---|---|---|\n| `x` | Var | starts |\n"
    card.write_text(rows)
    (found,) = check_problem("admission", checks=["card"], card=str(card)).findings
    assert found.message.startswith(
        "the card has no row for `JOBS` Set, `gpus` Constraint, `weight`"
    )
    others = "| `JOBS` | Set | |\n| `gpus` | Constraint | |\n| `weight` | Objective | |\n"
    card.write_text(f"{rows}{others}| `y` | Var | no more |\n")
    (found,) = check_problem("admission", checks=["card"], card=card).findings
    assert found.message == "the card has rows for `y` Var, which the model has not"


def test_an_exception_is_shown_with_its_instance(install: Install) -> None:
    """Also where a problem's own code raises."""
    file = f"{PACKAGE}/exact/__init__.py"
    install(FILES | {file: FILES[file].replace(SOLVE, "return instance.jobs[0]")})
    (found,) = check_problem("admission", checks=["exact"]).findings
    assert "IndexError" in found.message and found.instance is not None


def test_a_reference_may_be_called_kind(install: Install) -> None:
    """Ids are replaced in every field but those of fixed words."""
    file = f"{PACKAGE}/definition/schema.py"
    fields = "    kind: Id | None = None\n    size: Literal['a', 'b'] | None = None\n"
    install(
        FILES
        | {
            file: FILES[file].replace(
                "    weight: Amount = 1\n", f"{fields}    weight: Amount = 1\n"
            )
        }
    )
    job = {"id": "a", "gpus": 1, "kind": "a", "size": "a"}
    made = registry.problem("admission").instance(name="a", gpus=1, jobs=[job])
    other = renamed(made)
    assert (other.name, other.jobs[0].kind, other.jobs[0].size) == ("a", other.jobs[0].id, "a")
    assert other.jobs[0].id != "a"


def test_the_name_of_the_entry_point_is_the_problem_s(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message has both names."""
    install(FILES)
    entry = EntryPoint("other", f"{PACKAGE}:PROBLEM", registry.PROBLEMS_GROUP)
    monkeypatch.setattr(names, "entries", lambda group: [entry])
    monkeypatch.setattr(lookup, "entries", lambda group: [entry])
    with pytest.raises(dlsched.OptionError, match="of that name; its name is 'admission'"):
        registry.problem("other")
