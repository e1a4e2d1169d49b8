// Charts of a page: a description in the words of plotly (traces and axes), drawn as SVG in the
// colours of the page. Scatter, bar and heatmap traces; the pointer or a finger reads the values.
(() => {
  "use strict";
  const AdaPage = (window.AdaPage = window.AdaPage || {});
  const { el, svg, format, toPixel } = AdaPage;
  const charts = new Map(); // from the element to what makes its description, and who is told of clicks
  const pen = el("canvas").getContext("2d");
  const NAMES = ["bg", "panel", "ink", "muted", "line", "grid", "accent", "soft"];
  // Colours by name: they change with the scheme of the page without drawing anew.
  const THEME = {
    colours: Array.from({ length: 12 }, (_, i) => `var(--c${i + 1})`),
    ...Object.fromEntries(NAMES.map((name) => [name, `var(--${name})`])),
  };
  AdaPage.theme = () => THEME;

  const widthOf = (text, size) => {
    pen.font = `${size}px system-ui, sans-serif`;
    return pen.measureText(text).width;
  };
  const axisOf = (trace, letter) => trace[`${letter}axis`] || letter;
  const axisKey = (name) => `${name[0]}axis${name.slice(1)}`;

  // -- scales

  function columnsOf(trace, letter) {
    if (trace.type === "heatmap") {
      const places = letter === "x" ? trace.z[0] : trace.z;
      return [trace[letter] || places.map((_, i) => i)];
    }
    const errors = (trace[`error_${letter}`] || {}).array;
    if (!errors) return [trace[letter]];
    return [trace[letter].map((value, i) => value - errors[i]), trace[letter].map((value, i) => value + errors[i])];
  }

  function scaleOf(name, data, layout, size) {
    const [letter, axis] = [name[0], layout[axisKey(name)] || {}];
    const own = data.filter((trace) => axisOf(trace, letter) === name);
    const along = (trace) => (trace.orientation === "h" ? "x" : "y");
    const bars = own.filter((trace) => trace.type === "bar");
    const marks = {
      zero: bars.some((trace) => along(trace) === letter),
      half: own.some((trace) => trace.type === "heatmap") || bars.some((trace) => along(trace) !== letter && !trace.width),
    };
    const values = AdaPage.axisValues(axis, own.flatMap((trace) => columnsOf(trace, letter)));
    const [from, to] = axis.domain || [0, 1];
    const few = ((to - from) * size) / (letter === "x" ? 85 : 45);
    const scale = AdaPage.scale(axis, values, marks, Math.min(8, Math.max(2, few)));
    if (axis.autorange === "reversed") scale.range = [...scale.range].reverse();
    return Object.assign(scale, { name, axis, letter });
  }

  // -- room for ticks and titles

  function margins(scales, font, narrow) {
    const longest = (scale) => Math.max(0, ...scale.ticks.map(({ text }) => widthOf(text, font)));
    const found = { left: 14, right: 14, top: 22, bottom: 12 };
    for (const scale of scales) {
      const title = scale.axis.title && scale.axis.title.text ? font + 10 : 0;
      if (scale.letter === "y") {
        const most = narrow ? 130 : 240;
        const side = scale.axis.side === "right" ? "right" : "left";
        found[side] = Math.max(found[side], Math.min(most, longest(scale)) + 14 + title);
      } else if (scale.axis.side === "top") {
        found.top = Math.max(found.top, Math.min(130, 0.9 * longest(scale)) + 18);
      } else found.bottom = Math.max(found.bottom, font + 14 + title);
    }
    return found;
  }

  function place(scales, { width, height }, room) {
    for (const scale of scales) {
      const [from, to] = scale.axis.domain || [0, 1];
      const wide = width - room.left - room.right;
      const high = height - room.top - room.bottom;
      scale.ends = scale.letter === "x"
        ? [room.left + from * wide, room.left + to * wide]
        : [height - room.bottom - from * high, height - room.bottom - to * high];
    }
  }

  // Cells stay square where the description says so.
  function square(x, y) {
    if (!y.axis.scaleanchor) return;
    const side = Math.min(Math.abs(x.ends[1] - x.ends[0]), Math.abs(y.ends[1] - y.ends[0]));
    for (const scale of [x, y]) {
      const [a, b] = scale.ends;
      const [middle, sign] = [(a + b) / 2, Math.sign(b - a)];
      scale.ends = [middle - (sign * side) / 2, middle + (sign * side) / 2];
    }
  }

  // -- axes

  const cut = (text, font, most) => {
    let short = text;
    while (short.length > 3 && widthOf(short, font) > most) short = short.slice(0, -2);
    return short === text ? text : `${short}…`;
  };

  function drawX(scale, [low, high], font) {
    const top = scale.axis.side === "top";
    const [edge, group] = [top ? low : high, svg("g", { class: "axis" })];
    const places = scale.ticks.map(({ at, text }) => [toPixel(scale, at), text]).sort((a, b) => a[0] - b[0]);
    let free = -Infinity; // where the next label may begin: none runs into another
    for (const [x, text] of places) {
      if (scale.axis.showgrid !== false) group.append(svg("line", { class: "grid", x1: x, x2: x, y1: low, y2: high }));
      const turned = top && { transform: `rotate(${scale.axis.tickangle || -60} ${x} ${edge - 8})`, "text-anchor": "start" };
      const props = { x, y: top ? edge - 8 : edge + font + 5, "text-anchor": "middle", ...turned };
      const half = widthOf(text, font) / 2;
      if (!top && x - half < free) continue;
      free = x + half + 4;
      group.append(svg("text", props, top ? cut(text, font, 120) : text));
    }
    const middle = (scale.ends[0] + scale.ends[1]) / 2;
    const title = (scale.axis.title || {}).text;
    if (title) group.append(svg("text", { class: "title", x: middle, y: edge + 2 * font + 12, "text-anchor": "middle" }, title));
    return group;
  }

  function drawY(scale, [low, high], font, most) {
    const right = scale.axis.side === "right";
    const [edge, group] = [right ? high : low, svg("g", { class: "axis" })];
    for (const { at, text } of scale.ticks) {
      const y = toPixel(scale, at);
      if (scale.axis.showgrid !== false && !right) group.append(svg("line", { class: "grid", x1: low, x2: high, y1: y, y2: y }));
      const label = svg("text", { x: edge + (right ? 7 : -7), y: y + font / 3, "text-anchor": right ? "start" : "end" }, cut(text, font, most));
      label.append(svg("title", {}, text));
      group.append(label);
    }
    const title = (scale.axis.title || {}).text;
    if (title) {
      const [x, y] = [right ? edge + most + 24 : edge - most - 16, (scale.ends[0] + scale.ends[1]) / 2];
      group.append(svg("text", { class: "title", x, y, "text-anchor": "middle", transform: `rotate(-90 ${x} ${y})` }, title));
    }
    return group;
  }

  function drawAxes(scales, font, narrow) {
    const xs = scales.filter((scale) => scale.letter === "x");
    const ys = scales.filter((scale) => scale.letter === "y");
    const [left, right] = [Math.min(...xs.flatMap((s) => s.ends)), Math.max(...xs.flatMap((s) => s.ends))];
    const [top, bottom] = [Math.min(...ys.flatMap((s) => s.ends)), Math.max(...ys.flatMap((s) => s.ends))];
    const longest = (scale) => Math.min(narrow ? 130 : 240, Math.max(0, ...scale.ticks.map(({ text }) => widthOf(text, font))));
    return [
      ...xs.map((scale) => drawX(scale, [top, bottom], font)),
      ...ys.map((scale) => drawY(scale, [left, right], font, longest(scale))),
    ];
  }

  // -- marks that are no data

  function drawShapes({ shapes = [], annotations = [] }, x, y) {
    const group = svg("g", { class: "marks" });
    const at = (scale, value, paper) => (paper ? scale.ends[0] + value * (scale.ends[1] - scale.ends[0]) : toPixel(scale, value));
    for (const shape of shapes) {
      const ends = ["0", "1"].map((k) => [at(x, shape[`x${k}`], shape.xref === "paper"), at(y, shape[`y${k}`], shape.yref === "paper")]);
      group.append(svg("line", { x1: ends[0][0], y1: ends[0][1], x2: ends[1][0], y2: ends[1][1], class: "mark" }));
    }
    for (const note of annotations) {
      const [left, right] = [Math.min(...x.ends), Math.max(...x.ends)];
      const px = at(x, note.x, note.xref === "paper");
      const anchor = px > left + 0.8 * (right - left) ? "end" : px < left + 0.2 * (right - left) ? "start" : "middle";
      group.append(svg("text", { x: px, y: at(y, note.y, note.yref === "paper") - 6, "text-anchor": anchor }, note.text));
    }
    return group;
  }

  // -- legend

  function swatch(trace, colour) {
    const mode = trace.type === "bar" ? "bar" : trace.mode || "lines";
    const drawing = svg("svg", { width: 24, height: 12, "aria-hidden": "true" });
    if (mode === "bar") drawing.append(svg("rect", { x: 4, y: 1, width: 16, height: 10, rx: 2, fill: colour }));
    else if (trace.fill) drawing.append(svg("rect", { x: 2, y: 1, width: 20, height: 10, fill: trace.fillcolor }));
    else if (mode.includes("lines")) {
      const dash = { dot: "2 4", dash: "7 5" }[(trace.line || {}).dash];
      drawing.append(svg("path", { d: "M1 6H23", stroke: colour, "stroke-width": 2, "stroke-dasharray": dash }));
    }
    if (mode.includes("markers")) {
      const symbol = (trace.marker || {}).symbol || "circle";
      const name = Array.isArray(symbol) ? (symbol[0] || "circle").replace("-open", "") : symbol;
      drawing.append(AdaPage.symbol(name, 4, colour, { transform: "translate(12 6)" }));
    }
    return drawing;
  }

  function legendOf(data, layout, colours) {
    const shown = data.map((trace, i) => [trace, colours[i]]).filter(([trace]) => trace.showlegend !== false && trace.name);
    const keys = data.filter((trace) => trace.colorbar && trace.showscale !== false).map(AdaPage.colourStrip);
    const few = layout.showlegend === false || shown.length < 2;
    const entries = few ? [] : shown.map(([trace, colour]) => el("span", { class: "key" }, swatch(trace, colour), trace.name));
    return el("div", { class: "legend" }, ...entries, ...keys);
  }

  // -- the pointer

  const distance = (hit, x, y) => {
    if (hit.cell) return Math.abs(hit.px - x) <= hit.cell[0] / 2 && Math.abs(hit.py - y) <= hit.cell[1] / 2 ? 0 : Infinity;
    if (hit.bar) return Math.abs(hit.bar === "y" ? hit.py - y : hit.px - x);
    return Math.hypot(hit.px - x, hit.py - y);
  };

  function nearest(hits, x, y, reach = 28) {
    let [found, least] = [null, reach];
    for (const hit of hits) {
      const far = distance(hit, x, y);
      if (far < least) [found, least] = [hit, far];
    }
    return found;
  }

  // One point per trace, those at the place of the pointer along x.
  function unified(hits, x, title) {
    const near = hits.reduce((best, hit) => (!best || Math.abs(hit.px - x) < Math.abs(best.px - x) ? hit : best), null);
    if (!near) return null;
    const seen = new Map();
    for (const hit of hits) {
      const key = hit.trace;
      if (Math.abs(hit.px - near.px) < 0.5 && !seen.has(key)) seen.set(key, hit);
    }
    const lines = [...seen.values()].map((hit) => `${hit.trace.name}: ${format(hit.y, ".4g")}`);
    return { ...near, lines: [`${title} ${format(near.x)}`, ...lines] };
  }

  function listen(element, drawing, hits, layout, pick) {
    const tip = el("div", { class: "chart-tip", hidden: "", role: "status" });
    const ring = svg("circle", { class: "ring", r: 7, visibility: "hidden" });
    drawing.append(ring);
    const title = ((layout.xaxis || {}).title || {}).text || "";
    const find = (event) => {
      const box = drawing.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left, event.clientY - box.top];
      return layout.hovermode === "x unified" ? unified(hits, x, title) : nearest(hits, x, y);
    };
    const hide = () => {
      tip.hidden = true;
      ring.setAttribute("visibility", "hidden");
    };
    drawing.addEventListener("pointermove", (event) => {
      const hit = find(event);
      if (!hit) return hide();
      const lines = hit.lines || AdaPage.tipOf(hit.trace, hit);
      tip.replaceChildren(...lines.map((line) => el("div", {}, line)));
      tip.hidden = false;
      const left = Math.min(Math.max(4, hit.px + 12), element.clientWidth - tip.offsetWidth - 4);
      const top = drawing.offsetTop + hit.py - tip.offsetHeight - 12;
      tip.style.left = `${left}px`;
      tip.style.top = `${top < 0 ? drawing.offsetTop + hit.py + 14 : top}px`;
      ring.setAttribute("cx", hit.px);
      ring.setAttribute("cy", hit.py);
      ring.setAttribute("visibility", hit.cell || hit.bar ? "hidden" : "visible");
    });
    drawing.addEventListener("pointerleave", hide);
    if (pick) {
      drawing.addEventListener("click", (event) => {
        const hit = find(event);
        if (hit && hit.customdata !== undefined) pick(hit.customdata);
      });
    }
    return tip;
  }

  // -- all of it

  function drawTraces(data, colours, scales, layout) {
    const order = data.map((_, i) => i).sort((a, b) => (data[a].zorder || 0) - (data[b].zorder || 0));
    const bars = data.filter((trace) => trace.type === "bar" && !trace.width); // side by side
    const found = { loose: [], clipped: [], hits: [] };
    for (const i of order) {
      const trace = data[i];
      const [x, y] = ["x", "y"].map((letter) => scales.get(axisOf(trace, letter)));
      const drawn =
        trace.type === "heatmap" ? AdaPage.drawCells(trace, x, y)
        : trace.type === "bar" ? AdaPage.drawBars(trace, colours[i], x, y, layout.bargap ?? 0.25, [bars.indexOf(trace), bars.length])
        : AdaPage.drawScatter(trace, colours[i], x, y);
      (trace.cliponaxis === false ? found.loose : found.clipped).push(...drawn.parts);
      found.hits.push(...drawn.hits);
    }
    return found;
  }

  function coloursOf(data) {
    let next = 0;
    return data.map((trace) => {
      const own = (trace.line || {}).color || (trace.marker || {}).color;
      return own || THEME.colours[next++ % THEME.colours.length];
    });
  }

  let count = 0;
  function clip(drawing, xs, ys) {
    const name = `clip-${(count += 1)}`;
    const box = [xs, ys].map((scales) => scales.flatMap((scale) => scale.ends));
    const [x, y] = box.map((ends) => Math.min(...ends));
    const [width, height] = box.map((ends, k) => Math.max(...ends) - [x, y][k]);
    const area = svg("rect", { x: x - 1, y: y - 1, width: width + 2, height: height + 2 });
    drawing.append(svg("clipPath", { id: name }, area));
    return svg("g", { "clip-path": `url(#${name})` });
  }

  function draw(element) {
    const { make, pick } = charts.get(element);
    const width = element.clientWidth;
    if (!width) return; // not shown yet: the observer asks again
    const narrow = width < 560;
    const font = narrow ? 11 : 12.5;
    const { data, layout = {} } = make(THEME, narrow);
    const colours = coloursOf(data);
    const legend = legendOf(data, layout, colours);
    element.replaceChildren(legend);
    const size = { width, height: Math.max(120, element.clientHeight - legend.offsetHeight) };
    const names = [...new Set(["x", "y", ...data.flatMap((trace) => [axisOf(trace, "x"), axisOf(trace, "y")])])];
    const scales = new Map(names.map((name) => [name, scaleOf(name, data, layout, name[0] === "x" ? width : size.height)]));
    const all = [...scales.values()];
    place(all, size, margins(all, font, narrow));
    square(scales.get("x"), scales.get("y"));
    const drawing = svg("svg", { class: "chart-svg", ...size, viewBox: `0 0 ${size.width} ${size.height}`, "font-size": font });
    drawing.append(...drawAxes(all, font, narrow));
    const inside = clip(drawing, all.filter((s) => s.letter === "x"), all.filter((s) => s.letter === "y"));
    const { loose, clipped, hits } = drawTraces(data, colours, scales, layout);
    inside.append(...clipped);
    drawing.append(inside, ...loose, drawShapes(layout, scales.get("x"), scales.get("y")));
    element.append(drawing, listen(element, drawing, hits, layout, pick));
  }

  const resized = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) {
      const chart = charts.get(target);
      if (chart && Math.round(contentRect.width) !== chart.width) {
        chart.width = Math.round(contentRect.width);
        draw(target);
      }
    }
  });

  // make(theme, narrow) gives {data, layout}; pick is told the customdata of a point that is chosen.
  AdaPage.chart = (element, make, pick = null) => {
    charts.set(element, { make, pick, width: Math.round(element.clientWidth) });
    draw(element);
    resized.observe(element);
  };
  AdaPage.forget = (element) => {
    if (charts.delete(element)) resized.unobserve(element);
  };

  const printing = (on) => () => document.documentElement.toggleAttribute("data-print", on); // paper is light
  window.addEventListener("beforeprint", printing(true));
  window.addEventListener("afterprint", printing(false));

  for (const element of document.querySelectorAll("[data-chart]")) {
    const figure = AdaPage.data(element.dataset.chart);
    AdaPage.chart(element, () => figure);
  }
})();
