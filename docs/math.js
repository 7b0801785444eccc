// Typesets what pymdownx.arithmatex has marked, in the browser; the pages need no network.
document.querySelectorAll(".arithmatex").forEach((element) => {
  const source = element.textContent.trim();
  const display = source.startsWith("\\[");
  katex.render(source.slice(2, -2), element, { displayMode: display, throwOnError: false });
});
