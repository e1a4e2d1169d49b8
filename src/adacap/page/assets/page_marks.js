// What charts are drawn with: lines, points, bars and cells, each as elements of SVG.
(() => {
  "use strict";
  const AdaPage = (window.AdaPage = window.AdaPage || {});
  const { el, format, fill, toPixel } = AdaPage;
  const NAMESPACE = "http://www.w3.org/2000/svg";
  const DASHES = { dot: "2 4", dash: "7 5", solid: null };
  const VIRIDIS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];

  AdaPage.svg = (tag, props = {}, ...children) => {
    const element = document.createElementNS(NAMESPACE, tag);
    for (const [name, value] of Object.entries(props)) {
      if (value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  };
  const { svg } = AdaPage;
  const each = (value, i) => (Array.isArray(value) ? value[i] : value);
  const usable = (value) => value !== null && value !== undefined && !Number.isNaN(value);

  // Points of a trace: values, places on the screen, and what the pointer reads there.
  AdaPage.points = (trace, x, y) =>
    trace.x.flatMap((value, i) => {
      const other = trace.y[i];
      if (!usable(value) || !usable(other)) return [{ gap: true }];
      const at = { x: value, y: other, i, px: toPixel(x, value), py: toPixel(y, other) };
      at.text = each(trace.text, i);
      at.customdata = trace.customdata ? trace.customdata[i] : undefined;
      return Number.isFinite(at.px) && Number.isFinite(at.py) ? [at] : [{ gap: true }];
    });

  AdaPage.tipOf = (trace, point) =>
    trace.hovertemplate
      ? fill(trace.hovertemplate, point)
      : [...(trace.name ? [trace.name] : []), `${format(point.x, ".5g")}, ${format(point.y, ".5g")}`];

  function pathOf(points, shape) {
    let [text, pen, last] = ["", false, null];
    for (const point of points) {
      if (point.gap) pen = false;
      else {
        const corner = pen && shape === "hv" ? `L${point.px.toFixed(1)} ${last.py.toFixed(1)}` : "";
        text += `${corner}${pen ? "L" : "M"}${point.px.toFixed(1)} ${point.py.toFixed(1)}`;
        [pen, last] = [true, point];
      }
    }
    return text;
  }

  const SHAPES = {
    circle: (r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`,
    square: (r) => `M${-r} ${-r}h${2 * r}v${2 * r}h${-2 * r}Z`,
    diamond: (r) => `M0 ${-1.3 * r}L${1.3 * r} 0L0 ${1.3 * r}L${-1.3 * r} 0Z`,
    "triangle-up": (r) => `M0 ${-1.2 * r}L${1.1 * r} ${0.8 * r}H${-1.1 * r}Z`,
    cross: (r) => `M${-r} ${-r / 3}h${(2 * r) / 3}v${(-2 * r) / 3}h${(2 * r) / 3}v${(2 * r) / 3}h${(2 * r) / 3}v${(2 * r) / 3}h${(-2 * r) / 3}v${(2 * r) / 3}h${(-2 * r) / 3}v${(-2 * r) / 3}h${(-2 * r) / 3}Z`,
    "triangle-down": (r) => `M0 ${1.2 * r}L${1.1 * r} ${-0.8 * r}H${-1.1 * r}Z`,
    hexagon: (r) => `M${-r} 0L${-r / 2} ${-r}H${r / 2}L${r} 0L${r / 2} ${r}H${-r / 2}Z`,
    line: (r) => `M0 ${-1.3 * r}V${1.3 * r}`,
  };

  AdaPage.symbol = (name, radius, colour, place = {}) => {
    const open = name.endsWith("-open") || name === "line";
    const shape = SHAPES[name.replace("-open", "")] || SHAPES.circle;
    const paint = open ? { fill: "none", stroke: colour, "stroke-width": 2 } : { fill: colour };
    return svg("path", { d: shape(radius), ...paint, ...place });
  };

  function drawArea(trace, points) {
    return svg("path", { d: `${pathOf(points)}Z`, fill: trace.fillcolor || "var(--grid)", stroke: "none" });
  }
  function drawLine(trace, points, colour) {
    const { width = 2, dash = "solid", shape } = trace.line || {};
    return svg("path", {
      d: pathOf(points, shape), fill: "none", stroke: colour, "stroke-width": width,
      "stroke-dasharray": DASHES[dash], "stroke-linejoin": "round", opacity: trace.opacity,
    });
  }
  function drawMarkers(trace, points, colour) {
    const { size = 6, symbol = "circle", opacity } = trace.marker || {};
    const group = svg("g", { class: "points", opacity });
    for (const point of points) {
      if (point.gap) continue;
      const place = { transform: `translate(${point.px.toFixed(1)} ${point.py.toFixed(1)})` };
      group.append(AdaPage.symbol(each(symbol, point.i), each(size, point.i) / 2, colour, place));
    }
    return group;
  }
  function drawTexts(trace, points) {
    const group = svg("g", { class: "texts" });
    for (const point of points) {
      if (point.gap || !point.text) continue;
      const [side, align] = (each(trace.textposition, point.i) || "top center").split(" ");
      const [dx, anchor] = { left: [-8, "end"], right: [8, "start"], center: [0, "middle"] }[align || "center"];
      const dy = { top: -10, bottom: 18, middle: 4 }[side];
      group.append(svg("text", { x: point.px + dx, y: point.py + dy, "text-anchor": anchor }, point.text));
    }
    return group;
  }
  function drawErrors(trace, points, x, y) {
    const group = svg("g", { class: "errors" });
    for (const [name, scale] of [["error_x", x], ["error_y", y]]) {
      const errors = trace[name] && trace[name].array;
      for (const point of errors ? points : []) {
        if (point.gap || !usable(errors[point.i])) continue;
        const value = name === "error_x" ? point.x : point.y;
        const ends = [value - errors[point.i], value + errors[point.i]].map((end) => toPixel(scale, end));
        if (!ends.every(Number.isFinite)) continue;
        const [a, b] = ends;
        const d = name === "error_x"
          ? `M${a} ${point.py}H${b}M${a} ${point.py - 3}v6M${b} ${point.py - 3}v6`
          : `M${point.px} ${a}V${b}M${point.px - 3} ${a}h6M${point.px - 3} ${b}h6`;
        group.append(svg("path", { d, fill: "none", stroke: "var(--muted)" }));
      }
    }
    return group;
  }

  AdaPage.drawScatter = (trace, colour, x, y) => {
    const points = AdaPage.points(trace, x, y);
    const mode = trace.mode || "lines+markers";
    const parts = [];
    if (trace.fill === "toself") parts.push(drawArea(trace, points));
    else if (mode.includes("lines")) parts.push(drawLine(trace, points, colour));
    parts.push(drawErrors(trace, points, x, y));
    if (mode.includes("markers")) parts.push(drawMarkers(trace, points, colour));
    if (mode.includes("text")) parts.push(drawTexts(trace, points));
    const hits = trace.hoverinfo === "skip" ? [] : points.filter((point) => !point.gap);
    return { parts, hits: hits.map((point) => ({ ...point, trace, colour })) };
  };

  // Bars from 0, lying (orientation "h") or standing; width is a share of the place they have.
  // [place, count]: which of so many bars that stand side by side these are.
  AdaPage.drawBars = (trace, colour, x, y, gap, [place, count]) => {
    const lying = trace.orientation === "h";
    const points = AdaPage.points(trace, x, y);
    const [along, across] = lying ? [x, y] : [y, x];
    const unit = Math.abs((across.ends[1] - across.ends[0]) / (across.range[1] - across.range[0]));
    const thick = Math.max(1, trace.width ? unit * trace.width - 1 : (unit * (1 - gap)) / count);
    const shift = trace.width ? 0 : thick * (place - (count - 1) / 2);
    for (const point of points) point[lying ? "py" : "px"] += shift;
    const zero = toPixel(along, 0);
    const group = svg("g", { class: "points" });
    const texts = svg("g", { class: "texts" });
    for (const point of points) {
      if (point.gap) continue;
      const [low, high] = [zero, lying ? point.px : point.py].sort((a, b) => a - b);
      const box = lying
        ? { x: low, width: Math.max(0.5, high - low), y: point.py - thick / 2, height: thick }
        : { y: low, height: Math.max(0.5, high - low), x: point.px - thick / 2, width: thick };
      group.append(svg("rect", { ...box, fill: colour, rx: 2, opacity: each((trace.marker || {}).opacity, point.i) }));
      if (trace.textposition === "outside" && point.text) {
        const outside = point.px + 6 + 7 * String(point.text).length < Math.max(...along.ends) + 14;
        const place = outside ? { x: point.px + 6 } : { x: point.px - 6, "text-anchor": "end" };
        texts.append(svg("text", { ...place, y: point.py + 4 }, point.text));
      }
    }
    const hits = points.filter((point) => !point.gap).map((point) => ({ ...point, trace, colour, bar: lying ? "y" : "x" }));
    return { parts: [group, drawErrors(trace, points, x, y), texts], hits };
  };

  function mix(scale, share) {
    const at = scale.findIndex(([stop]) => stop >= share - 1e-12);
    if (at <= 0) return scale[Math.max(0, at)][1];
    const [[low, from], [high, to]] = [scale[at - 1], scale[at]];
    const part = (100 * (share - low)) / (high - low);
    return `color-mix(in srgb, ${to} ${part.toFixed(0)}%, ${from})`;
  }
  function viridis(share) {
    const place = Math.min(1, Math.max(0, share)) * (VIRIDIS.length - 1);
    const [k, part] = [Math.min(VIRIDIS.length - 2, Math.floor(place)), place - Math.min(VIRIDIS.length - 2, Math.floor(place))];
    return VIRIDIS[k].map((from, i) => Math.round(from + part * (VIRIDIS[k + 1][i] - from)));
  }

  // A picture of many cells, one pixel each; the browser makes them larger.
  function drawPicture(shares, box) {
    const canvas = el("canvas", { width: shares[0].length, height: shares.length });
    const context = canvas.getContext("2d");
    const image = context.createImageData(canvas.width, canvas.height);
    shares.flat().forEach((share, i) => image.data.set([...viridis(share), 255], 4 * i));
    context.putImageData(image, 0, 0);
    return svg("image", {
      href: canvas.toDataURL(), ...box, preserveAspectRatio: "none", style: "image-rendering: pixelated",
    });
  }

  AdaPage.drawCells = (trace, x, y) => {
    const { z, zmin = 0, zmax = 1, colorscale } = trace;
    const [ys, xs] = [trace.y || z.map((_, i) => i), trace.x || z[0].map((_, j) => j)];
    const share = (value) => (value - zmin) / (zmax - zmin);
    const middle = (names, scale, k) => toPixel(scale, names[k]);
    const [wide, high] = [[xs, x], [ys, y]].map(([names, scale]) => Math.abs(scale.ends[1] - scale.ends[0]) / names.length);
    const hits = z.flatMap((row, i) => row.flatMap((value, j) => (value === null ? [] : [{
      x: xs[j], y: ys[i], z: value, i: i * row.length + j, trace, cell: [wide, high],
      px: middle(xs, x, j), py: middle(ys, y, i),
      text: trace.text ? trace.text[i][j] : undefined, customdata: trace.customdata ? trace.customdata[i][j] : undefined,
    }])));
    if (!Array.isArray(colorscale)) {
      const box = { x: Math.min(...x.ends), y: Math.min(...y.ends), width: wide * xs.length, height: high * ys.length };
      return { parts: [drawPicture(z.map((row) => row.map(share)), box)], hits };
    }
    const group = svg("g", { class: "cells" });
    for (const hit of hits) {
      const part = share(hit.z);
      group.append(svg("rect", {
        x: hit.px - wide / 2 + 0.5, y: hit.py - high / 2 + 0.5, width: Math.max(0.5, wide - 1), height: Math.max(0.5, high - 1),
        style: `fill: ${mix(colorscale, part)}`,
      }));
      const strong = colorscale.length === 3 ? Math.abs(part - 0.5) > 0.32 : part > 0.55;
      if (trace.texttemplate && wide > 16) {
        const label = svg("text", { x: hit.px, y: hit.py + 4, "text-anchor": "middle" }, String(hit.text));
        if (strong) label.setAttribute("style", "fill: var(--bg)");
        group.append(label);
      }
    }
    return { parts: [group], hits };
  };

  // How colours of cells are to be read: a strip from the least to the most.
  AdaPage.colourStrip = ({ colorbar, colorscale, zmin = 0, zmax = 1 }) => {
    const stops = Array.isArray(colorscale)
      ? colorscale.map(([at, colour]) => `${colour} ${100 * at}%`)
      : VIRIDIS.map((rgb, i) => `rgb(${rgb.join(",")}) ${25 * i}%`);
    const strip = el("span", { class: "strip" });
    strip.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
    const spec = colorbar.tickformat;
    const title = colorbar.title ? `${colorbar.title.text}: ` : "";
    return el("span", { class: "key" }, `${title}${format(zmin, spec)}`, strip, format(zmax, spec));
  };
})();
