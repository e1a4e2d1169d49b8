// Drawings of the benchmark page, each from numbers made in report_numbers.js.
(() => {
  "use strict";
  const { AdaPage, AdaBench } = window;
  const { el, number, svg } = AdaPage;
  const percent = (value) => (Number.isNaN(value) ? "–" : `${(100 * value).toFixed(0)} %`);
  AdaBench.seconds = (value) => {
    if (value === null || Number.isNaN(value)) return "–";
    if (value >= 100) return value.toFixed(0);
    return value >= 1 ? value.toFixed(1) : String(Number(value.toPrecision(2)));
  };

  // The methods by rank, one per line; a bar joins those that cannot be told apart.
  AdaBench.drawRanks = (box, numbers, limit) => {
    const entries = numbers.entries.slice(0, limit);
    const groups = numbers.groups.filter(([first]) => first < entries.length);
    const [line, top, gap] = [22, 44, 9];
    const width = Math.max(300, box.clientWidth);
    const label = Math.min(170, 30 + 7 * Math.max(...entries.map(({ name }) => name.length)));
    const bars = groups.length * gap + 14;
    const [left, right] = [label, width - bars - 44];
    const ranks = entries.map(({ rank }) => rank);
    const [low, high] = [Math.min(...ranks), Math.max(...ranks)];
    const span = Math.max(high - low, numbers.difference, 1e-9);
    const x = (rank) => left + ((rank - low) / span) * Math.max(right - left, 60);
    const y = (i) => top + i * line;
    const height = y(entries.length - 1) + line;
    const drawing = svg("svg", {
      class: "ranks", width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `Mean ranks of ${entries.length} methods with the groups that do not differ`,
    });
    drawing.append(...scaleOf(x, low, numbers.difference));
    entries.forEach(({ name, rank }, i) => drawing.append(...rankLine(name, rank, x, y(i), left, label)));
    groups.forEach(([first, last], column) => {
      const at = Math.max(right, x(high)) + 50 + column * gap;
      const end = Math.min(last, entries.length - 1);
      drawing.append(svg("line", { class: "group", x1: at, x2: at, y1: y(first) - 7, y2: y(end) + 7 }));
    });
    const needed = Math.max(right, x(high)) + 50 + bars;
    drawing.setAttribute("width", needed);
    drawing.setAttribute("viewBox", `0 0 ${needed} ${height}`);
    box.replaceChildren(drawing);
  };

  // How long the critical difference is, on the scale of the ranks.
  function scaleOf(x, low, difference) {
    const [from, to, y] = [x(low), x(low + difference), 16];
    const bar = svg("path", { class: "scale", d: `M${from} ${y - 4}v8M${from} ${y}H${to}M${to} ${y - 4}v8` });
    return [bar, svg("text", { x: from, y: y - 6, class: "small" }, `critical difference ${difference.toFixed(2)}`)];
  }

  function rankLine(name, rank, x, y, left, label) {
    const short = name.length > label / 7 ? `${name.slice(0, Math.floor(label / 7) - 1)}…` : name;
    const text = svg("text", { x: left - 10, y: y + 4, "text-anchor": "end" }, short);
    text.append(svg("title", {}, name));
    return [
      text,
      svg("line", { class: "guide", x1: left - 4, x2: x(rank), y1: y, y2: y }),
      svg("circle", { class: "dot", cx: x(rank), cy: y, r: 4.5 }),
      svg("text", { x: x(rank) + 9, y: y + 4, class: "small" }, rank.toFixed(2)),
    ];
  }

  const colourOf = (theme, categories, name) =>
    theme.colours[Math.max(0, categories.indexOf(name)) % theme.colours.length];
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "hexagon"];

  // Time against score, a colour and a shape per category, and the front.
  AdaBench.drawTradeOff = (box, numbers, { label, greater, categories }, open) => {
    const make = (theme, narrow) => {
      const present = categories.filter((name) => numbers.points.some((p) => p.category === name));
      const traces = present.map((category) => {
        const points = numbers.points.filter((point) => point.category === category);
        const index = categories.indexOf(category);
        const shape = SYMBOLS[index % SYMBOLS.length];
        return {
          type: "scatter", mode: "markers", name: category || "other",
          x: points.map((p) => p.fit), y: points.map((p) => p.mean),
          customdata: points.map((p) => p.method),
          text: points.map((p) => p.name + (p.missing ? " †" : "")),
          hovertemplate: `%{text}<br>%{x:.3g} s, ${label} %{y:.4f}`,
          marker: {
            size: 10, color: colourOf(theme, categories, category),
            symbol: points.map((p) => (p.missing ? `${shape}-open` : shape)),
          },
        };
      });
      traces.unshift(frontOf(numbers.front, theme, greater, narrow));
      const xaxis = { type: "log", title: { text: "mean fit time, in seconds" } };
      return { data: traces, layout: { xaxis, yaxis: { title: { text: `mean test ${label}` } } } };
    };
    AdaPage.chart(box, make, open);
  };

  function frontOf(front, theme, greater, narrow) {
    return {
      type: "scatter", mode: narrow ? "lines" : "lines+text", name: "Pareto front", hoverinfo: "skip",
      x: front.map((p) => p.fit), y: front.map((p) => p.mean),
      text: front.map((p) => p.name),
      textposition: front.map((_, i) => (i === front.length - 1 ? "left" : "right"))
        .map((side) => `${greater ? "top" : "bottom"} ${side}`),
      line: { color: theme.muted, dash: "dot", width: 1.5, shape: "hv" }, cliponaxis: false,
    };
  }

  // How often the method of the line beats that of the column.
  AdaBench.drawWins = (box, rates, names) => {
    box.style.height = `${150 + 24 * names.length}px`;
    const make = (theme, narrow) => {
      const shown = names.map((name) => shorten(name, narrow ? 14 : 24));
      const many = narrow ? 8 : 18;
      const texts = rates.map((row) => row.map((rate) => (Number.isNaN(rate) ? "" : (100 * rate).toFixed(0))));
      const places = names.map((_, i) => i);
      const ticks = { tickvals: places, ticktext: shown, showgrid: false };
      return {
        data: [{
          type: "heatmap", x: places, y: places, z: rates.map((row) => row.map((rate) => (Number.isNaN(rate) ? null : rate))),
          zmin: 0, zmax: 1,
          colorscale: [[0, theme.colours[6]], [0.5, theme.panel], [1, theme.colours[0]]],
          text: texts, texttemplate: names.length <= many ? "%{text}" : "",
          customdata: rates.map((row, i) => row.map((_, j) => [names[i], names[j]])),
          hovertemplate: "%{customdata[0]} beats %{customdata[1]}<br>in %{text} % of the experiments",
          colorbar: { tickformat: ".0%", title: { text: "wins of the line" } },
        }],
        layout: {
          xaxis: { ...ticks, side: "top", tickangle: -60 }, yaxis: { ...ticks, autorange: "reversed" },
        },
      };
    };
    return AdaPage.chart(box, make);
  };

  const shorten = (name, length) => (name.length > length ? `${name.slice(0, length - 1)}…` : name);

  // Scores of the splits of a task, one line per method.
  AdaBench.drawTask = (box, detail, label) => {
    const entries = detail.entries.filter((entry) => !Number.isNaN(entry.mean)).slice(0, 25);
    box.style.height = `${80 + 20 * entries.length}px`;
    const places = entries.map((_, i) => i);
    const make = (theme, narrow) => {
      const texts = entries.map(({ name }) => shorten(name, narrow ? 16 : 28));
      const dots = entries.flatMap(({ scores }, i) =>
        scores.flatMap((score, s) => (Number.isNaN(score) ? [] : [[score, i, detail.splits[s]]]))
      );
      return {
        data: [
          {
            type: "scatter", mode: "markers", name: "split", x: dots.map(([score]) => score), y: dots.map(([, i]) => i),
            text: dots.map(([, i, split]) => `${entries[i].name}, split ${split}`),
            hovertemplate: `%{text}<br>${label} %{x:.4f}`,
            marker: { color: theme.colours[0], size: 7, opacity: 0.55 },
          },
          {
            type: "scatter", mode: "markers", name: "mean", x: entries.map((entry) => entry.mean), y: places,
            hoverinfo: "skip", marker: { symbol: "line", size: 8, color: theme.ink },
          },
        ],
        layout: {
          xaxis: { title: { text: `test ${label}` } },
          yaxis: { tickvals: places, ticktext: texts, autorange: "reversed", showgrid: false },
        },
      };
    };
    return AdaPage.chart(box, make);
  };

  AdaBench.percent = percent;
  AdaBench.facts = (pairs) =>
    el("dl", { class: "facts" }, ...pairs.map(([name, value]) =>
      el("div", {}, el("dt", {}, name), el("dd", {}, typeof value === "number" ? number(value) : String(value)))));
})();
