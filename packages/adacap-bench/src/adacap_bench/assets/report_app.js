// The benchmark page at work: filters at the top, everything below follows them.
(() => {
  "use strict";
  const { AdaPage, AdaBench } = window;
  const { el, number } = AdaPage;
  const data = AdaPage.data("benchmark");
  const at = (name) => document.getElementById(name);
  const categories = [...new Set(data.methods.map((method) => method.category))].sort();
  const kindsPresent = [...new Set(data.tasks.map((task) => task.kind))];
  const state = { metric: null, kind: null, size: "all", task: "", easy: false, hidden: new Set(), gaps: "mark", top: 15 };
  let table = null;

  const KIND_LABELS = {
    regression: "Regression", classification: "Classification", binary: "Binary classes", multiclass: "Multiclass",
  };
  const SIZE_LABELS = {
    all: "all sizes", lt300: "below 300 rows", lt1000: "below 1000 rows", ge1000: "1000 rows and more", ge5000: "5000 rows and more",
  };

  function kindChoices() {
    const classes = ["binary", "multiclass"].filter((kind) => kindsPresent.includes(kind));
    const all = classes.length > 1 ? ["classification", ...classes] : classes;
    return [...(kindsPresent.includes("regression") ? ["regression"] : []), ...all];
  }
  const metricsOf = (kind) =>
    data.metrics.filter((metric) => metric.kinds.some((name) => AdaBench.kindsOf(kind).includes(name)));

  function choice(name, label, options, change) {
    const select = el("select", { id: `choose-${name}` });
    select.addEventListener("change", () => { change(select.value); update(); });
    fill(select, options);
    return el("div", { class: "control" }, el("label", { for: select.id }, label), select);
  }
  function fill(select, options) {
    select.replaceChildren(...options.map(([value, text]) => el("option", { value }, text)));
  }

  function setKind(kind) {
    state.kind = kind;
    const metrics = metricsOf(kind);
    fill(at("choose-metric"), metrics.map((metric) => [metric.name, metric.label]));
    state.metric = metrics.length ? metrics[0].name : null;
    state.task = "";
    const tasks = data.tasks.filter((task) => AdaBench.kindsOf(kind).includes(task.kind));
    fill(at("choose-task"), [["", `all ${tasks.length} tasks`], ...tasks.map((task) => [task.key, taskLabel(task)])]);
  }
  const taskLabel = (task) => (task.name && task.name !== task.key ? `${task.key}: ${task.name}` : task.key);

  function categoryBoxes() {
    const boxes = categories.map((category) => {
      const input = el("input", { type: "checkbox", checked: "", "data-category": category });
      input.addEventListener("change", () => {
        state.hidden[input.checked ? "delete" : "add"](category);
        update();
      });
      return el("label", { class: "chip" }, input, category || "other");
    });
    const all = (on) => () => {
      for (const box of boxes) box.querySelector("input").checked = on;
      state.hidden = new Set(on ? [] : categories);
      update();
    };
    const button = (text, on) => el("button", { type: "button", onclick: all(on) }, text);
    return el("fieldset", {}, el("legend", {}, "Categories"), ...boxes, button("all", true), button("none", false));
  }

  function buildControls() {
    const kind = choice("kind", "Tasks", kindChoices().map((k) => [k, KIND_LABELS[k]]), setKind);
    const metric = choice("metric", "Metric", [], (value) => { state.metric = value; });
    const size = choice("size", "Training rows", Object.keys(AdaBench.SIZES).map((s) => [s, SIZE_LABELS[s]]), (value) => { state.size = value; });
    const task = choice("task", "Task", [], (value) => { state.task = value; });
    const easy = choice("easy", "Experiments", [["", "all"], ["easy", `best error below ${data.limit}`]], (value) => { state.easy = value === "easy"; });
    const gaps = choice("gaps", "Missing results", [["mark", "mark the method †"], ["experiments", "leave the experiment out"]], (value) => { state.gaps = value; });
    const top = choice("top", "Figures show", [[10, "10 best"], [15, "15 best"], [25, "25 best"], [1000, "all methods"]], (value) => { state.top = Number(value); });
    at("controls").append(kind, metric, size, task, easy, gaps, top, categoryBoxes());
    at("choose-top").value = "15";
    setKind(kindChoices()[0]);
  }

  const link = (text, open) => el("button", { type: "button", class: "link", onclick: open }, text);
  const methodLink = (method, mark = "") => {
    const { name } = data.methods[method];
    return { value: name, node: el("span", {}, link(name, () => openMethod(method)), mark) };
  };
  const taskLink = (task) => {
    const { key } = data.tasks[task];
    return { value: key, node: link(key, () => openTask(task)), title: data.tasks[task].name };
  };

  const COLUMNS = [
    { title: "Method" }, { title: "Category" },
    { key: "mean", digits: 4, help: "mean test score over the experiments" },
    { title: "± s.e.", key: "se", digits: 4, help: "standard error of that mean, the differences between tasks included" },
    { title: "P90", key: "p90", percent: true, help: "share of experiments with a score within 90 % of the best one" },
    { title: "P95", key: "p95", percent: true, help: "share of experiments with a score within 95 % of the best one" },
    { title: "PMA", key: "pma", percent: true, help: "mean ratio to the best score" },
    { title: "Rank", key: "taskRank", digits: 2, best: "min", help: "mean place over the tasks, among methods without gaps; 1 is best. The figure of ranks below shows the same numbers" },
    { title: "Top 1", key: "top1", percent: true, help: "share of experiments won; ties divide the point" },
    { title: "Fit (s)", key: "fit", time: true, help: "mean time of fit, in seconds" },
    { key: "relative", time: true, help: "mean time of fit as a multiple of that method's, on the same experiments" },
    { title: "Longest (s)", key: "longest", time: true, help: "longest fit, in seconds" },
    { title: "Results", key: "n", digits: 0, help: "experiments with a result" },
  ];
  const titleOf = (column) => {
    if (column.title) return column.title;
    if (column.key === "mean") return `Mean ${table.label}`;
    const name = AdaBench.referenceName(table, data);
    return name === null ? "Fit time" : `Fit ÷ ${name}`;
  };

  function bestOf(board, column) {
    if (!column.key || column.time || column.key === "se" || column.key === "n") return NaN;
    const whole = board.filter((row) => !row.missing);
    const values = whole.map((row) => row[column.key]).filter((value) => !Number.isNaN(value));
    const low = column.key === "mean" ? !table.greater : column.best === "min";
    return values.length ? (low ? Math.min(...values) : Math.max(...values)) : NaN;
  }

  function drawLeaderboard(board) {
    const best = COLUMNS.map((column) => bestOf(board, column));
    const cell = (row, column, j) => {
      const value = row[column.key];
      const text = column.percent ? AdaBench.percent(value) : column.time ? AdaBench.seconds(value) : number(value, column.digits);
      return { value, text, class: value === best[j] && !row.missing ? "best" : "" };
    };
    const rows = board.map((row) => [
      methodLink(row.method, row.missing ? " †" : ""), row.category,
      ...COLUMNS.slice(2).map((column, j) => cell(row, column, j + 2)),
    ]);
    const columns = COLUMNS.map((column) => {
      const up = column.percent || (column.key === "mean" && table.greater);
      return { ...column, title: titleOf(column), kind: column.key ? "number" : "text", first: up ? "descending" : "ascending" };
    });
    const order = board.some((row) => row.missing) ? null : [2, table.greater]; // gaps come last
    at("board").replaceChildren(AdaPage.table({ columns, rows, order, search: true, explain: true, label: "Leaderboard" }));
  }

  function summary(board) {
    const tasks = new Set(table.experiments.map(([task]) => task)).size;
    const gaps = board.filter((row) => row.missing).length;
    const seeds = Math.max(1, ...table.seeds.flat().filter((value) => !Number.isNaN(value)));
    return `${board.length} methods on ${table.experiments.length} experiments of ${tasks} ${tasks === 1 ? "task" : "tasks"}.` +
      (gaps ? ` † ${gaps} ${gaps === 1 ? "method lacks" : "methods lack"} some results: averaged over those it has, not ranked.` : "") +
      (seeds > 1 ? ` Up to ${seeds} seeds of a cell are averaged.` : "");
  }

  function drawRankSection() {
    const numbers = AdaBench.criticalDifference(table, data);
    const note = at("ranks-note");
    if (!numbers) {
      at("ranks").replaceChildren();
      note.textContent = "Two methods and two tasks without gaps are needed.";
      return;
    }
    AdaBench.drawRanks(at("ranks"), numbers, state.top);
    const p = numbers.p < 0.001 ? "p < 0.001" : `p = ${numbers.p.toFixed(3)}`;
    const few = numbers.difference >= numbers.k - 1
      ? ` So few ${numbers.unit} cannot tell any two of ${numbers.k} methods apart.` : "";
    note.textContent = `Mean ranks of ${numbers.k} methods without gaps over ${numbers.n} ${numbers.unit}; Friedman's test: ${p}. ` +
      `Methods joined by a bar are not told apart at the 5 % level (Nemenyi, critical difference ${numbers.difference.toFixed(2)}): ` +
      `that does not show them to be equal.${few}`;
  }

  function drawTasks() {
    const rows = [...new Set(table.experiments.map(([task]) => task))].map((task) => {
      const { entries, splits } = AdaBench.taskDetail(table, data, task);
      const whole = entries.filter((entry) => !entry.missing);
      const middle = whole.length ? whole[Math.floor(whole.length / 2)].mean : NaN;
      const { name, n, p, kind } = data.tasks[task];
      const best = whole.length ? methodLink(whole[0].method) : null;
      return [taskLink(task), name, kind, n, p, splits.length, best, whole.length ? whole[0].mean : NaN, middle];
    });
    const columns = [
      { title: "Task" }, { title: "Name", kind: "long" }, { title: "Kind" }, { title: "Rows", kind: "number", digits: 0, help: "training rows" },
      { title: "Features", kind: "number", digits: 0, help: "columns as methods see them" }, { title: "Splits", kind: "number", digits: 0, help: "train/test splits" },
      { title: "Best method", help: "of the best mean over the splits, among those without gaps" },
      { title: `Best ${table.label}`, kind: "number", digits: 4, help: "its mean over the splits" },
      { title: `Median ${table.label}`, kind: "number", digits: 4, help: "the middle one of the methods' means" },
    ];
    at("task-table").replaceChildren(AdaPage.table({ columns, rows, search: true, explain: true, label: "Table of tasks" }));
  }

  function drawFigures(board) {
    drawRankSection();
    const numbers = AdaBench.tradeOff(board, table.greater);
    AdaBench.drawTradeOff(at("trade-off"), numbers, { label: table.label, greater: table.greater, categories }, openMethod);
    const shown = [...board].sort((a, b) => (a.missing > 0) - (b.missing > 0) || a.taskRank - b.taskRank).slice(0, state.top);
    AdaBench.drawWins(at("wins"), AdaBench.winRates(table, shown.map((row) => row.method)), shown.map((row) => row.name));
  }

  function update() {
    at("choose-easy").disabled = data.metrics.find((metric) => metric.name === state.metric).greater;
    table = AdaBench.select(data, state);
    const empty = !table.experiments.length || !table.methods.length;
    for (const part of document.querySelectorAll("[data-follows]")) part.hidden = empty;
    at("nothing").hidden = !empty;
    if (empty) { at("summary").textContent = ""; return; }
    const ranks = AdaBench.taskRanks(table);
    const board = AdaBench.leaderboard(table, data).map((row) => ({ ...row, taskRank: ranks.get(row.method) ?? NaN }));
    at("summary").textContent = summary(board);
    drawLeaderboard(board);
    drawFigures(board);
    drawTasks();
  }

  // The dialog with the scores of a task or a method.
  const dialog = at("detail");
  function show(title, subtitle, ...parts) {
    const old = dialog.querySelector(".plot");
    if (old) AdaPage.forget(old);
    at("detail-title").textContent = title;
    at("detail-body").replaceChildren(el("p", { class: "subtitle" }, subtitle), ...parts);
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
  }
  const splitColumns = (splits) =>
    splits.map((split) => ({ title: `Split ${split}`, kind: "number", digits: 4, first: table.greater ? "descending" : "ascending" }));

  function openTask(task) {
    const detail = AdaBench.taskDetail(table, data, task);
    const { key, name, kind, n, p } = detail.task;
    const rows = detail.entries.map((entry) => [
      methodLink(entry.method, entry.missing ? " †" : ""), entry.category, entry.mean, { value: entry.fit, text: AdaBench.seconds(entry.fit) }, ...entry.scores,
    ]);
    const columns = [{ title: "Method" }, { title: "Category" }, { title: "Mean", kind: "number", digits: 4 }, { title: "Fit (s)", kind: "number" }, ...splitColumns(detail.splits)];
    const plot = el("div", { class: "plot", role: "img", "aria-label": `Scores of each method on ${key}` });
    const facts = AdaBench.facts([["kind", kind], ["training rows", n === null ? "unknown" : n], ["features", p === null ? "unknown" : p], ["splits", detail.splits.length]]);
    show(key, name, facts, plot, AdaPage.table({ columns, rows, order: detail.entries.some((entry) => entry.missing) ? null : [2, table.greater], search: true, label: `Scores on ${key}` }));
    AdaBench.drawTask(plot, detail, table.label);
  }

  function openMethod(method) {
    const detail = AdaBench.methodDetail(table, data, method);
    const rows = detail.rows.map(({ task, own, place, of, best, splits }) => {
      const scores = detail.splits.map((split) => (splits.includes(split) ? own.scores[splits.indexOf(split)] : NaN));
      const seen = !own.missing;
      return [taskLink(task), own.mean, { value: seen ? place : null, text: seen ? `${place} of ${of}` : "–" }, best.mean, methodLink(best.method), { value: own.fit, text: AdaBench.seconds(own.fit) }, ...scores];
    });
    const columns = [
      { title: "Task" }, { title: `Mean ${table.label}`, kind: "number", digits: 4 }, { title: "Place", kind: "number" },
      { title: "Best", kind: "number", digits: 4 }, { title: "By" }, { title: "Fit (s)", kind: "number" }, ...splitColumns(detail.splits),
    ];
    const { name, category } = detail.method;
    const wins = detail.rows.filter((row) => row.place === 1 && !row.own.missing).length;
    const facts = AdaBench.facts([["category", category || "–"], ["tasks", detail.rows.length], ["best on", `${wins} ${wins === 1 ? "task" : "tasks"}`]]);
    show(name, `Test ${table.label} under the present filters`, facts, AdaPage.table({ columns, rows, search: true, label: `Scores of ${name}` }));
  }

  at("detail-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  if (data.metrics.length) {
    buildControls();
    update();
    let timer = 0;
    window.addEventListener("resize", () => {
      clearTimeout(timer);
      timer = setTimeout(drawRankSection, 150);
    });
  }
})();
