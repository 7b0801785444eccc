"""The folders of the problems' packages."""

from dlsched.registry.layout import FOLDERS, MODEL
from import_graph import graph


def test_folders_of_a_problem_import_those_above() -> None:
    """In the order of `layout.FOLDERS`; the model stands with programs."""
    rank = {folder: i for i, folder in enumerate(FOLDERS)} | {MODEL: [*FOLDERS].index("programs")}
    parts = [[name.split(".") for name in edge] for edge in graph().edges]
    inside = [e for e in parts if e[0][:1] == e[1][:1] == ["problems"] and min(map(len, e)) > 2]
    upward = [e for e in inside if rank.get(e[0][2], 0) < rank.get(e[1][2], 0) and e[0][2] in rank]
    assert len(inside) > 500 and upward == []
