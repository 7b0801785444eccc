"""What the site adds to the pages in docs: README, cards, figures, notebooks and pictures.

The files stay where they are read on their own; here their links are turned to the site's pages.
"""

import posixpath
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import charts
import notebook_pages
import snippets
from mkdocs.structure.files import File, Files

from dlsched import registry

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
TITLES = {"models": "Card", "figures": "Figures", "api": "Fields and functions"}
_PICTURE = re.compile(r'(?<==")docs/(?=pictures/)')
"""Where README's pictures are on the site, of elements that are not Markdown."""
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
_came_from: dict[str, str] = {}
_drawn: dict[str, str] = {}
"""Pages with what their blocks draw, by address."""


def on_files(files: Files, config: Any) -> Files:
    """Add the pages and pictures that are not in docs."""

    def add(address: str, content: str | bytes) -> None:
        files.append(File.generated(config, address, content=content))

    found = [
        str(path.relative_to(ROOT))
        for pattern in ("models/*.md", "benchmarks/figures/*.md")
        for path in sorted(ROOT.glob(pattern))
    ]
    for page in list(files.documentation_pages()):
        if snippets.draws(page.content_string):
            _drawn[page.src_uri], drawn = snippets.illustrated(page.content_string, page.src_uri)
            for name, picture in drawn.items():
                add(f"pictures/{name}", picture)
    for source in dict.fromkeys([*COPIED, *found]):
        address = _on_site(source)
        assert address is not None
        _came_from[address] = source
        add(address, (ROOT / source).read_text(encoding="utf-8"))
    for notebook in sorted(notebook_pages.FOLDER.glob("*.ipynb")):
        text, pictures = notebook_pages.page(notebook)
        add(f"notebooks/{notebook.stem}.md", text)
        for name, picture in pictures.items():
            add(f"pictures/{name}", picture)
    for name, picture in charts.all_pictures():
        add(f"pictures/{name}.svg", picture)
    return files


def on_page_markdown(text: str, page: Any, **_: Any) -> str:
    """Turn links between files of the repository into links between pages, and add pictures."""
    address = page.file.src_uri
    source = _came_from.get(address, f"docs/{address}")
    text = _drawn.get(address, text)
    folder, file = posixpath.split(address)
    name = Path(file).stem
    if folder in TITLES and (ROOT / "docs" / "problems" / file).is_file():
        page.title = TITLES[folder]
        page.meta["title"] = f"{name.capitalize()}: {TITLES[folder].lower()}"
        text = re.sub(r"\A# .*", f"# {page.meta['title']}", text)
    if folder == "figures" or address in ("instances.md", "claims.md"):
        page.meta["hide"] = ["toc"]  # its tables are wide
        if name in charts.charted():
            note = charts.gap_note(name) if charts.has_gaps(name) else charts.title(name) + "."
            text = _pictured(text, f"figures-{name}", charts.title(name), note)
        kinds = "claims" if name == "claims" else f"figures {name}"
        text = f'<div class="{kinds}" markdown="1">\n\n{text}\n\n</div>\n'
    if folder == "api" and name in registry.BUILT_IN:
        text += _names(name)
    if address == "index.md":
        page.meta["hide"] = ["navigation"]  # the bar above has all of it
        text = _PICTURE.sub("", text)
    if folder == "problems":
        page.title = "What it is"
        page.meta["title"] = text.partition("\n")[0].lstrip("# ")
        text = _pictured(text, name, "An example of the paper, with its optimum")
        if charts.has_gaps(name):
            note = f"{charts.gap_note(name)} [All figures](../figures/{name}.md)."
            chart = _plate(f"figures-{name}", charts.title(name), note)
            head, mark, rest = text.partition("\n## Where it is in the code")
            text = f"{head}\n## Gap against size\n\n{chart}{mark}{rest}"
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    parts[::2] = [_LINK.sub(lambda m: _relinked(m, source, address), part) for part in parts[::2]]
    return "".join(parts)


def _names(problem: str) -> str:
    """Return what mkdocstrings describes of a problem: the fields of its files, and the rest."""
    package = f"dlsched.problems.{problem}"
    own = vars(import_module(f"{package}.definition.schema"))
    rest = [
        name
        for name in getattr(import_module(package), "__all__", ())
        if name not in {*own, "PROBLEM"}
    ]
    look = "show_root_heading: false, show_root_toc_entry: false"
    common = "inherited_members: [name, source, notes, instance, instance_sha256, method]"
    text = (
        f"\n::: {package}.definition.schema\n    options: {{{look}, heading_level: 2, {common}}}\n"
    )
    if rest:
        members = f"members: [{', '.join(rest)}]"
        text += f"\n## Functions and results\n\n::: {package}\n    options: {{{look}, {members}}}\n"
    return text


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
        assert (ROOT / there).exists() or there.startswith("docs/pictures/"), (source, target)
        if not there.startswith("docs/"):
            return words  # the site does not have it: its name is left, as text
        page = posixpath.relpath(there, "docs")
    here = posixpath.dirname(address) or "."
    return f"[{words}]({posixpath.relpath(page, here)}{mark}{anchor})"


def _plate(picture: str, words: str, note: str = "", up: str = "../") -> str:
    """Return a picture on a plate, with a note below it."""
    image = f'<div class="plate" markdown="1">\n\n![{words}]({up}pictures/{picture}.svg)\n\n</div>'
    return f"{image}\n\n{note}\n{{ .caption }}\n" if note else f"{image}\n"


def _pictured(text: str, picture: str, words: str, note: str = "") -> str:
    """Put a picture before a page's first section."""
    head, mark, rest = text.partition("\n## ")
    up = "" if picture == "figures-claims" else "../"
    return f"{head}\n{_plate(picture, words, note, up)}{mark}{rest}"
