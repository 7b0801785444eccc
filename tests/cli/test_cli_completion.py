"""What the shell offers while a command line is typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlsched.cli import app

LINES = {
    "dlsched solve lyra-f": ["lyra-fig5", "lyra-fig6", "lyra-fig6-loan"],
    "dlsched solve lyra-fig5 -m gpu": ["gpu_fraction"],
    "dlsched compare lyra-fig5 -m m": ["milp"],
    "dlsched simulate synthetic-1 -p muri": ["muri_l", "muri_s"],
    "dlsched simulate sample-p": ["sample-philly", "sample-pai"],
    "dlsched generate pla": ["placement"],
    "dlsched show dis": ["dispatch"],
    "dlsched list -p reclai": ["reclaiming"],
    "dlsched verify mine": ["mine.json"],
    "dlsched generate elastic --format tire": ["tiresias"],
}
"""A line, and what is offered first for its last word."""


@pytest.mark.parametrize("line", LINES)
def test_names_are_completed(
    line: str, workdir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Problems, methods of the instance on the line, instances, files, policies and traces."""
    (workdir / "mine.json").write_text("{}")
    words = line.split()
    monkeypatch.setenv("_DLSCHED_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    with pytest.raises(SystemExit) as stopped:
        app(prog_name="dlsched")
    assert stopped.value.code == 0
    offered = capsys.readouterr().out.split()
    assert offered[: len(LINES[line])] == LINES[line]
    assert all(name.startswith(words[-1]) for name in offered)
