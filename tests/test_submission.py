"""Solutions sent in for shipped instances: verdicts, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import dlsched
from calls import data, refusal, run
from dlsched.api.submission import check_submission
from dlsched.problems import library
from dlsched.run import Run
from dlsched.schema import Instance, Solution

NAME = "reclaiming-520-52"


def test_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worse solution, a better one and one that violates something have their verdicts."""
    sent = dlsched.solve(NAME, "scf").solution
    assert sent is not None
    found = check_submission(sent)
    assert found.verdict == "worse" and found.report.feasible and not found.closes
    poor = found.best_known.map(lambda value: value + 1000)
    monkeypatch.setattr(library, "best_objective", lambda digest: poor)
    assert check_submission(sent).verdict == "improves"
    sent = json.loads(dlsched.solve(NAME).solution.model_dump_json())
    sent |= {"dlsched": 1, "returned": sent["returned"][:-1]}
    found = check_submission(sent)
    assert found.verdict == "infeasible" and found.report.violations


@pytest.mark.parametrize(("kind", "excess"), [("certified", 1), ("claimed", 1e-8)])
def test_beating_the_bound_is_an_alarm(
    monkeypatch: pytest.MonkeyPatch, kind: str, excess: float
) -> None:
    """However little a solution is better than a recorded bound, also one that is only claimed."""
    bounds = library.best_bounds(dlsched.load(NAME).sha256)
    raised = bounds.map(lambda b: b and b._replace(value=b.value + excess, kind=kind))
    monkeypatch.setattr(library, "best_bounds", lambda digest: raised)
    with pytest.raises(dlsched.SolverDisagreement, match="beats the library's bound"):
        check_submission(library.solution_file(NAME))


def test_command(tmp_path: Path) -> None:
    """The command says the verdict by level; infeasible is status 1, what is not shipped 2."""
    file = library.solution_file(NAME)
    assert f"equals the best known solution of {NAME}" in run("submit-check", file).stdout
    said = data("submit-check", file)
    assert (said["verdict"], said["closes"], said["violations"]) == ("equals", True, [])
    sent = dlsched.load_solution(file).to_data()
    (tmp_path / "bad.json").write_text(json.dumps(sent | {"returned": []}))
    assert "is no solution" in run("submit-check", tmp_path / "bad.json", status=1).stdout
    made = dlsched.generate("reclaiming", servers=4)
    dlsched.save(dlsched.solve(made).solution, tmp_path / "s.json")
    said = refusal("submit-check", tmp_path / "s.json")
    assert "instance: is of" in said and "dlsched list instances" in said


OPEN = "reclaiming-open-100-scattered"
CREDIT = {"by": "A. Author, B|*Author*", "date": "2026-12-01"}
CREDIT["reference"] = "https://doi.org/10.1/x"


def test_credit_is_optional(tmp_path: Path) -> None:
    """A solution has no credit, or one that survives a file; objective and digest ignore it."""
    sent = dlsched.load_solution(library.solution_file(NAME))
    assert sent.credit is None and "credit" not in sent.to_data()
    credited = dlsched.load_solution(sent.to_data() | {"credit": CREDIT})
    dlsched.save(credited, tmp_path / "c.sol.json")
    back = dlsched.load_solution(tmp_path / "c.sol.json")
    assert back == credited and back.to_data()["credit"] == CREDIT
    assert dlsched.verify(NAME, back).objective == dlsched.verify(NAME, sent).objective


@pytest.mark.parametrize(
    ("credit", "words"),
    [
        ({"by": "A", "date": "2026-02-30"}, "credit.date: .* not in the calendar"),
        ({"by": "A", "date": 20261201}, "credit.date: 20261201 is not a date"),
        ({"by": "", "date": "2026-12-01"}, "credit.by: is an empty string"),
        ({"by": "A" * 201, "date": "2026-12-01"}, "credit.by: has more than 200 characters"),
        ({"date": "2026-12-01"}, "credit.by: is missing"),
        ({"by": "A", "date": "2026-12-01", "mail": "x"}, "credit.mail: is an unknown field"),
        ("A. Author", "credit: is not an object"),
    ],
)
def test_a_credit_that_cannot_be_used(credit: object, words: str) -> None:
    """A credit with a flaw is refused, with the field and the remedy."""
    data = dlsched.load_solution(library.solution_file(NAME)).to_data()
    with pytest.raises(dlsched.InstanceError, match=words):
        dlsched.load_solution(data | {"credit": credit})


def test_a_start_leaves_no_credit(tmp_path: Path) -> None:
    """What a method makes of a credited start is the method's, even if it is the same."""
    data = dlsched.load_solution(library.solution_file(NAME)).to_data() | {"credit": CREDIT}

    def same(instance: Instance, run: Run) -> Solution:
        assert run.start is not None
        return run.start

    assert dlsched.solve(NAME, same, start=data).solution.credit is None


def test_command_adds_a_credit(tmp_path: Path) -> None:
    """--by and -o write the solution with a credit and its instance's labels, else unchanged."""
    plain = dlsched.load_solution(library.solution_file(NAME)).to_data()
    del plain["instance_sha256"]
    (tmp_path / "a.sol.json").write_text(json.dumps(plain))
    out = tmp_path / "b.sol.json"
    flags = [word for name, text in CREDIT.items() for word in (f"--{name}", text)]
    whole = ["submit-check", tmp_path / "a.sol.json", *flags, "-o", out]
    assert f"written to {out}" in run(*whole).stdout
    digest = {"instance_sha256": dlsched.load(NAME).sha256}
    assert json.loads(out.read_text()) == plain | digest | {"credit": CREDIT}
    assert data(*whole)["credit"] == data("submit-check", out)["credit"] == CREDIT


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--by A", "--by needs -o"),
        ("--date 2026-12-01 -o b.sol.json", "say who, with --by"),
        ("--by A --date tomorrow -o b.sol.json", 'date: "tomorrow" is not a date'),
        ("-o b.sol.json", "credit: is missing; say who found it"),
        ("--by A -o b.txt", "must end in .sol.json"),
    ],
)
def test_command_wants_a_whole_credit(flags: str, words: str, workdir: Path) -> None:
    """A name without a file, a date without a name, and no credit at all are unusable."""
    assert words in refusal("submit-check", library.solution_file(NAME), *flags.split())
    assert not list(workdir.iterdir())


@pytest.fixture
def small_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a library of one open instance whose best known solution is recorded as a worse one."""
    line = json.loads(json.dumps(library.index()[OPEN]))
    line["objective"]["preempted"]["value"] += 1
    folder = tmp_path / "library"
    for file in (library.instance_file(OPEN), library.solution_file(OPEN)):
        copy = folder / file.relative_to(library.root())
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    (folder / "index.json").write_text(json.dumps({"instances": [line]}))
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "instances")
    monkeypatch.setattr(library, "root", lambda: folder)
    library.reload()
    yield folder
    monkeypatch.undo()
    library.reload()


def test_a_better_solution_is_taken_with_its_credit(small_library: Path, tmp_path: Path) -> None:
    """File, index and page say who found it; the second to send the same is refused."""
    accept, page = import_module("accept"), import_module("page")
    found_by = library.index()[OPEN]["proof"]["method"]
    assert f"| {found_by} | dlsched |" in page.text()
    data = dlsched.load_solution(library.solution_file(OPEN)).to_data() | {"method": "by-hand"}
    (tmp_path / "plain.sol.json").write_text(json.dumps(data))
    with pytest.raises(dlsched.InstanceError, match="credit: is missing"):
        accept.accept(tmp_path / "plain.sol.json")
    (tmp_path / "sent.sol.json").write_text(json.dumps(data | {"credit": CREDIT}))
    found = accept.accept(tmp_path / "sent.sol.json")
    line = library.index()[OPEN]
    assert (found.verdict, line["credit"]) == ("improves", CREDIT)
    assert line["objective"]["preempted"] == {"value": found.report.objective.preempted}
    assert line["proof"] == {"method": "by-hand", "solver": None, "status": "feasible"}
    assert dlsched.load_solution(library.solution_file(OPEN)).credit.by == CREDIT["by"]
    by = r"[A. Author, B\|\*Author\*](https://doi.org/10.1/x), 2026-12-01"
    assert f"| by-hand | {by} |" in page.text()
    with pytest.raises(dlsched.OptionError, match="equals; only a better solution"):
        accept.accept(tmp_path / "sent.sol.json")


def test_a_credit_stays_until_a_better_solution(small_library: Path) -> None:
    """A line of the index that is made again keeps the credit for the same objective."""
    make = import_module("make")
    line = library.index()[OPEN]
    line["credit"] = CREDIT
    instance, digest = dlsched.load(OPEN), line["sha256"]
    best, bounds = library.best_objective(digest), library.best_bounds(digest)
    file = make.HERE / line["file"]
    same = make.index_line("open", instance, file, False, best, bounds, line["proof"])
    assert same["credit"] == CREDIT
    better = best.map(lambda value: value - 1)
    other = make.index_line("open", instance, file, False, better, bounds, line["proof"])
    assert "credit" not in other
