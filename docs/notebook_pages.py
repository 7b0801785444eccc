"""Runs the notebooks in docs/notebooks, and turns them into pages of the site.

    python docs/notebook_pages.py      runs all of them and keeps their output in the files

A test runs them again and compares what they print. Not by mkdocs-jupyter, which needs thirteen
more packages (nbconvert, jupytext and theirs) for what `page` does.
"""

import base64
import re
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "notebooks"
SECONDS = 1200
"""The longest that a cell may take."""
_PICTURES = {"image/svg+xml": "svg", "image/png": "png"}
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")


def read(path: Path) -> Any:
    """Return a notebook."""
    import nbformat

    return nbformat.read(path, as_version=4)


def run(notebook: Any) -> Any:
    """Run a notebook from top to bottom in a fresh kernel, and return it with its output.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        If a cell raises.
    """
    from nbclient import NotebookClient

    with tempfile.TemporaryDirectory() as folder:  # what a cell leaves behind is gone
        NotebookClient(
            notebook,
            timeout=SECONDS,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
        ).execute()
    for cell in notebook.cells:
        cell.metadata.clear()  # it has the times of the run
    notebook.metadata.pop("widgets", None)
    notebook.metadata.get("language_info", {}).pop("version", None)
    return notebook


def printed(notebook: Any) -> list[list[str]]:
    """Return what each code cell prints or returns as text, and the kinds of its other output."""
    return [
        [_text(output) for output in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def _text(output: Any) -> str:
    if output.output_type == "stream":
        return str(output.text)
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    kinds = ", ".join(sorted(set(output.data) - {"text/plain"}))
    return f"{_ADDRESS.sub('0x...', output.data.get('text/plain', ''))} [{kinds}]"


def page(path: Path) -> tuple[str, dict[str, bytes]]:
    """Return a notebook as Markdown, and its pictures by name."""
    parts, pictures = [], dict[str, bytes]()
    for number, cell in enumerate(read(path).cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for i, output in enumerate(cell.outputs):
            parts.append(_shown(output, f"{path.stem}-{number}-{i}", pictures))
    note = (
        f'<a href="{path.name}" download>The notebook</a> runs after '
        "`pip install 'dlsched[notebook]'`."
    )
    head, _, rest = "\n\n".join(parts).partition("\n\n")
    return f"{head}\n\n{note}\n\n{rest}\n", pictures


def _shown(output: Any, name: str, pictures: dict[str, bytes]) -> str:
    """Return Markdown of an output: HTML as it is, a picture as a file, text as a block."""
    if output.output_type == "stream":
        return _block(output.text)
    data = output.data
    for kind, ending in _PICTURES.items():
        if kind in data:
            raw = data[kind]
            binary = raw.encode() if ending == "svg" else base64.b64decode(raw)
            pictures[f"{name}.{ending}"] = binary
            picture = f"![Output](../pictures/{name}.{ending})"
            return f'<div class="plate" markdown="1">\n\n{picture}\n\n</div>'
    if "text/html" in data:
        return f'<div class="output">\n{data["text/html"]}\n</div>'
    return _block(data["text/plain"])


def _block(text: str) -> str:
    return f"```{{ .text .output }}\n{text.rstrip()}\n```"


def main() -> None:
    """Run all notebooks and write them."""
    import nbformat

    for path in sorted(FOLDER.glob("*.ipynb")):
        nbformat.write(run(read(path)), path)
        print(path.name)


if __name__ == "__main__":
    main()
