"""What the site adds to the pages in docs: README, cards, figures, notebooks and pictures.

The files stay where they are read on their own; here their links are turned to the site's pages.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

import charts
import drawings
import figure_charts
import measured
import notebook_pages
import snippets
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
HOMES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "models/README.md": "models/index.md",
    "models": "models/index.md",
    "instances/README.md": "instances.md",
    "instances": "instances.md",
    "benchmarks/README.md": "benchmarks.md",
    "benchmarks": "benchmarks.md",
}
"""Where a file of the repository is on the site, besides those in docs, models and figures."""
COPIED = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "models/README.md"]
TITLES = {"models": "Card", "figures": "Figures", "fields": "Fields"}
_PICTURE = re.compile(r'(?<==")docs/(?=pictures/)')
"""Where README's pictures are on the site, of elements that are not Markdown."""
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
_came_from: dict[str, str] = {}
_drawn: dict[str, str] = {}
"""Pages with what their blocks draw, by address."""


def on_files(files: Files, config: Any) -> Files:
    """Add the pages and pictures that are not in docs."""
    sources = [*COPIED, *_found("models/*.md"), *_found("benchmarks/figures/*.md")]
    for source in dict.fromkeys(sources):
        page = _on_site(source)
        assert page is not None
        _came_from[page] = source
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    for notebook in sorted(notebook_pages.FOLDER.glob("*.ipynb")):
        text, pictures = notebook_pages.page(notebook)
        files.append(File.generated(config, f"notebooks/{notebook.stem}.md", content=text))
        for name, picture in pictures.items():
            files.append(File.generated(config, f"pictures/{name}", content=picture))
    for page_file in list(files.documentation_pages()):
        ran = page_file.src_uri in _came_from or page_file.src_uri.startswith("notebooks/")
        written_here = (ROOT / "docs" / page_file.src_uri).is_file()
        text = page_file.content_string if written_here and not ran else ""
        if snippets.draws(text):
            _drawn[page_file.src_uri], drawn = snippets.illustrated(text, page_file.src_uri)
            for name, picture in drawn.items():
                files.append(File.generated(config, f"pictures/{name}", content=picture))
    for name, picture in drawings.all_pictures():
        files.append(File.generated(config, f"pictures/{name}.svg", content=picture))
    return files


def on_page_markdown(text: str, page: Any, **_: Any) -> str:
    """Turn links between files of the repository into links between pages, and add pictures."""
    address = page.file.src_uri
    source = _came_from.get(address, f"docs/{address}")
    text = _drawn.get(address, text)
    folder, name = posixpath.split(address)
    if folder in TITLES and name != "index.md" and f"problems/{name}" in _problem_pages():
        page.title = TITLES[folder]
        heading = f"{Path(name).stem.capitalize()}: {TITLES[folder].lower()}"
        page.meta["title"] = heading  # in search results and on the window
        text = re.sub(r"\A# .*", f"# {heading}", text)
    if folder == "figures" or address in ("instances.md", "claims.md"):
        page.meta["hide"] = ["toc"]  # its tables are wide
        if address != "claims.md":  # its cells are sentences
            text = figure_charts.right_aligned(text)
        if folder == "figures" or address == "claims.md":
            text = _with_first_picture(text, Path(name).stem)
        kinds = "claims" if name == "claims.md" else f"figures {Path(name).stem}"
        text = f'<div class="{kinds}" markdown="1">\n\n{text}\n\n</div>\n'
    if address == "index.md":
        page.meta["hide"] = ["navigation"]  # the bar above has all of it
        text = _PICTURE.sub("", text)
    if folder == "problems":
        page.title = "What it is"
        page.meta["title"] = text.partition("\n")[0].lstrip("# ")
        text = _with_charts(_with_picture(text, Path(name).stem), Path(name).stem)
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    parts[::2] = [_LINK.sub(lambda m: _relinked(m, source, address), part) for part in parts[::2]]
    return "".join(parts)


def _found(pattern: str) -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(pattern))


def _problem_pages() -> set[str]:
    return {str(path.relative_to(ROOT / "docs")) for path in ROOT.glob("docs/problems/*.md")}


def _on_site(source: str) -> str | None:
    """Return the page of a file of the repository."""
    if source in HOMES:
        return HOMES[source]
    if source.endswith(".ipynb"):
        return posixpath.relpath(source, "docs").removesuffix(".ipynb") + ".md"
    for folder, home in (("docs", ""), ("models", "models"), ("benchmarks/figures", "figures")):
        if source.startswith(f"{folder}/") and source.endswith(".md"):
            return posixpath.join(home, posixpath.relpath(source, folder))
    return None


def _relinked(match: re.Match[str], source: str, address: str) -> str:
    words, target = match.groups()
    path, mark, anchor = target.partition("#")
    if not path or "://" in path or path.startswith(("pictures/", "../pictures/")):
        return match[0]
    there = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    page = _on_site(there)
    if page is None:  # a file that is no page
        drawn = there.startswith("docs/pictures/")
        assert (ROOT / there).exists() or drawn, (source, target)
        if not there.startswith("docs/"):
            return words  # the site does not have it: its name is left, as text
        page = posixpath.relpath(there, "docs")
    here = posixpath.dirname(address) or "."
    return f"[{words}]({posixpath.relpath(page, here)}{mark}{anchor})"


def _with_picture(text: str, problem: str) -> str:
    """Put the picture of the paper's example before the first section."""
    head, mark, rest = text.partition("\n## ")
    picture = f"![An example of the paper, with its optimum](../pictures/{problem}.svg)"
    picture = f'<div class="plate" markdown="1">\n\n{picture}\n\n</div>'
    return f"{head}\n{picture}\n{mark}{rest}"


def _with_first_picture(text: str, name: str) -> str:
    """Put a picture of its first figures at the beginning of a page."""
    head, mark, rest = text.partition("\n## ")
    if name in measured.GAPS:
        chart = measured.gap_chart(name)
        shown = _shown(f"{name}-gap", f"{chart.title}: {chart.y} by {chart.x}")
        return f"{head}\n{shown}\n\n{charts.caption(chart)}\n{{ .caption }}\n{mark}{rest}"
    if name in figure_charts.names():
        words = figure_charts.title(name)
        shown = _shown(f"figures-{name}", words, "" if name == "claims" else "../")
        return f"{head}\n{shown}\n\n{words}.\n{{ .caption }}\n{mark}{rest}"
    return text


def _with_charts(text: str, problem: str) -> str:
    """Put the charts of gap and time by size before the decisions."""
    if problem not in measured.GAPS:
        return text
    head, mark, rest = text.partition("\n## Decisions")
    parts = ["\n## Gap and time against size\n"]
    for name, chart in measured.charts(problem):
        words = f"{chart.title}: {chart.y} by {chart.x}"
        parts.append(f"{_shown(f'{problem}-{name}', words)}\n")
        parts.append(f"{charts.caption(chart)}\n{{ .caption }}\n")
    parts.append(f"[All figures](../figures/{problem}.md), with machine and versions.\n")
    return head + "\n".join(parts) + mark + rest


def _shown(name: str, words: str, up: str = "../") -> str:
    """Return a chart in the version that suits the page's scheme.

    Parameters
    ----------
    up
        The way from the page to the folder of all pages.
    """
    return "".join(
        f"![{words}]({up}pictures/{name}-{scheme}.svg#only-{scheme})" for scheme in charts.SCHEMES
    )
