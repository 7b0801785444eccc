{
  const about = JSON.parse(document.getElementById("about-rows").textContent);
  const blocks = [...document.querySelectorAll("script.block")];
  const table = document.getElementById("all-runs"), place = document.querySelector(".pager .place");
  const search = document.querySelector(".pager input");
  const unpacked = new Map();
  let order = null, first = 0, sorted = null;

  async function unpack(number) {
    if (!unpacked.has(number)) {
      const bytes = Uint8Array.from(atob(blocks[number].textContent), c => c.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      unpacked.set(number, await new Response(stream).json());
    }
    return unpacked.get(number);
  }
  async function row(position) {
    return (await unpack(Math.floor(position / about.block)))[position % about.block];
  }
  async function all() {
    const parts = [];
    for (let number = 0; number < blocks.length; number++) parts.push(await unpack(number));
    return parts.flat();
  }
  const text = cell => Array.isArray(cell) ? cell[0] : cell;
  const key = cell => Array.isArray(cell) ? cell[1] : cell;

  async function show() {
    const count = order ? order.length : about.rows, lines = [];
    first = Math.max(0, Math.min(first, count - 1));
    for (let i = first; i < Math.min(first + about.shown, count); i++) {
      const line = document.createElement("tr");
      (await row(order ? order[i] : i)).forEach((cell, c) => {
        const made = line.insertCell();
        made.textContent = text(cell);
        made.dataset.key = key(cell);
        if (about.columns[c].numeric) made.className = "number";
        if (about.columns[c].wide) made.className = "wide";
      });
      lines.push(line);
    }
    table.tBodies[0].replaceChildren(...lines);
    const last = Math.min(first + about.shown, count);
    place.textContent = count ? `${first + 1} to ${last} of ${count}` : "none";
  }
  async function arrange() {
    const rows = await all(), words = search.value.toLowerCase();
    order = [...rows.keys()];
    if (words) order = order.filter(i => rows[i].some(c => String(text(c)).toLowerCase().includes(words)));
    if (sorted) {
      const { column, sign } = sorted, numeric = about.columns[column].numeric;
      const collator = new Intl.Collator("en", { numeric: true });
      order.sort((a, b) => {
        const x = key(rows[a][column]), y = key(rows[b][column]);
        if (x === "" || y === "") return (x === "") - (y === "");
        return sign * (numeric ? x - y : collator.compare(x, y));
      });
    }
    first = 0;
    await show();
  }
  const head = table.tHead.insertRow();
  about.columns.forEach((column, c) => {
    const cell = document.createElement("th"), button = document.createElement("button");
    cell.scope = "col";
    if (column.numeric) cell.className = "number";
    button.type = "button";
    button.className = "on-demand";
    button.textContent = column.name;
    button.addEventListener("click", () => {
      const down = cell.getAttribute("aria-sort") === "ascending";
      for (const other of head.cells) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      sorted = { column: c, sign: down ? -1 : 1 };
      arrange();
    });
    cell.append(button);
    head.append(cell);
  });
  document.querySelector(".pager .before").addEventListener("click", () => { first -= about.shown; show(); });
  document.querySelector(".pager .after").addEventListener("click", () => {
    if (first + about.shown < (order ? order.length : about.rows)) first += about.shown;
    show();
  });
  search.addEventListener("change", arrange);
  document.querySelector("#runs details").addEventListener("toggle", show, { once: true });
}
