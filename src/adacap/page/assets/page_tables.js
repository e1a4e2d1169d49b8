// Tables of a page: titles become buttons that sort, boxes keep the rows that match.
(() => {
  "use strict";
  const AdaPage = (window.AdaPage = window.AdaPage || {});

  AdaPage.data = (name) => JSON.parse(document.getElementById(`data-${name}`).textContent);

  // An element with properties and children; text stays text, whatever it holds.
  AdaPage.el = (tag, props = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(props)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  };

  // A number as text: fixed digits, or up to 4 significant ones; a dash where there is none.
  AdaPage.number = (value, digits) => {
    if (value === null || value === undefined || Number.isNaN(value)) return "–";
    if (digits !== undefined && digits !== null) return value.toFixed(digits);
    return String(Number(value.toPrecision(4)));
  };

  const { el } = AdaPage;
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

  function valueOf(row, column, kind) {
    const text = row.cells[column].dataset.value;
    if (text === undefined) return null;
    return kind === "number" ? Number(text) : text;
  }

  // Rows without a value come last in both directions.
  function sortRows(table, column, descending) {
    const kind = table.tHead.rows[0].cells[column].dataset.kind;
    const sign = descending ? -1 : 1;
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => [valueOf(row, column, kind), row]);
    keyed.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      return sign * (kind === "number" ? a - b : collator.compare(a, b));
    });
    body.append(...keyed.map(([, row]) => row));
    [...table.tHead.rows[0].cells].forEach((cell, index) => {
      const state = index !== column ? "none" : descending ? "descending" : "ascending";
      cell.setAttribute("aria-sort", state);
    });
  }

  function addSorting(table) {
    [...table.tHead.rows[0].cells].forEach((cell, column) => {
      const button = el("button", { type: "button", class: "sort" }, cell.textContent);
      button.addEventListener("click", () => {
        const first = cell.dataset.first === "descending" ? "descending" : "ascending";
        const now = cell.getAttribute("aria-sort");
        const next = now === "none" ? first : now === "ascending" ? "descending" : "ascending";
        sortRows(table, column, next === "descending");
      });
      cell.replaceChildren(button);
    });
  }

  function filterChoice(table, column, title) {
    const rows = [...table.tBodies[0].rows];
    const values = [...new Set(rows.map((row) => row.cells[column].textContent))];
    values.sort(collator.compare);
    const options = values.map((value) => el("option", { value }, value));
    const select = el("select", {}, el("option", { value: "" }, "all"), ...options);
    const keep = (row) => !select.value || row.cells[column].textContent === select.value;
    return { control: el("label", {}, title, select), input: select, keep };
  }

  function searchBox() {
    const input = el("input", { type: "search", placeholder: "part of a name", size: 16 });
    const keep = (row) => row.textContent.toLowerCase().includes(input.value.trim().toLowerCase());
    return { control: el("label", {}, "Search", input), input, keep };
  }

  function addFilters(table) {
    const heads = [...table.tHead.rows[0].cells];
    const filters = heads
      .map((cell, column) => [cell, column])
      .filter(([cell]) => cell.dataset.filter !== undefined)
      .map(([cell, column]) => filterChoice(table, column, cell.textContent));
    if (table.dataset.search !== undefined) filters.unshift(searchBox());
    if (!filters.length) return;
    const count = el("span", { class: "table-count", role: "status" });
    const apply = () => {
      const rows = [...table.tBodies[0].rows];
      for (const row of rows) row.hidden = !filters.every((filter) => filter.keep(row));
      const shown = rows.filter((row) => !row.hidden).length;
      count.textContent = shown === rows.length ? `${shown} rows` : `${shown} of ${rows.length} rows`;
    };
    for (const filter of filters) filter.input.addEventListener("input", apply);
    const tools = el("div", { class: "table-tools" }, ...filters.map((f) => f.control), count);
    table.closest(".table-box").prepend(tools);
    apply();
  }

  // Give a table that stands in the page its buttons and boxes.
  AdaPage.enhance = (table) => {
    addFilters(table);
    addSorting(table);
    const tall = table.tBodies[0].rows.length > 30; // then the titles stay while the rows move
    table.parentElement.classList.toggle("tall", tall);
    return table;
  };

  function meanings(columns) {
    const told = columns.filter((column) => column.help);
    return el("dl", { class: "meanings" }, ...told.map((column) =>
      el("div", {}, el("dt", {}, column.title), el("dd", {}, column.help))));
  }

  function makeCell(column, value) {
    const kind = column.kind || "text";
    const cell = el("td", { class: kind });
    const raw = value !== null && typeof value === "object" ? value.value : value;
    const missing = raw === null || raw === undefined || Number.isNaN(raw);
    if (!missing) cell.dataset.value = raw;
    if (value !== null && typeof value === "object") {
      if (value.class) cell.classList.add(value.class);
      if (value.title) cell.title = value.title;
      cell.append(value.node || value.text);
    } else {
      const number = typeof raw === "number";
      cell.append(number || missing ? AdaPage.number(raw, column.digits) : String(raw));
    }
    return cell;
  }

  // A new table. columns: [{title, kind, digits, help, first, filter}]; a value is a number, a
  // text, null, or {value, text | node, class, title}. order: [column, descending] as it is now.
  // explain: what each column means is written below the table too, for those without a pointer.
  AdaPage.table = ({ columns, rows, caption, search, order, label, explain }) => {
    const heads = columns.map((column, index) => {
      const sorted = !order || order[0] !== index ? "none" : order[1] ? "descending" : "ascending";
      const kind = column.kind || "text";
      const props = { scope: "col", "aria-sort": sorted, "data-kind": kind, class: kind };
      if (column.help) props.title = column.help;
      if (column.first) props["data-first"] = column.first;
      if (column.filter) props["data-filter"] = "";
      return el("th", props, column.title);
    });
    const body = rows.map((row) =>
      el("tr", {}, ...row.map((value, index) => makeCell(columns[index], value)))
    );
    const table = el(
      "table",
      { "data-sortable": "", "aria-label": label },
      caption ? el("caption", {}, caption) : null,
      el("thead", {}, el("tr", {}, ...heads)),
      el("tbody", {}, ...body)
    );
    if (search) table.dataset.search = "";
    const scroll = el("div", { class: "table-scroll", tabindex: 0 }, table);
    const box = el("div", { class: "table-box" }, scroll, explain ? meanings(columns) : null);
    AdaPage.enhance(table);
    return box;
  };

  document.querySelectorAll("table[data-sortable]").forEach(AdaPage.enhance);
})();
