// Scales of charts: from values to places on the screen, with ticks that people like to read.
(() => {
  "use strict";
  const AdaPage = (window.AdaPage = window.AdaPage || {});
  const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

  // A number as people write it: so many significant digits, an exponent where it is far off.
  function plainNumber(value, digits = 6) {
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e9)) return String(Number(value.toPrecision(digits)).toExponential());
    return value.toLocaleString("en", { maximumSignificantDigits: digits });
  }

  // By a format such as ".4g", ".1f", ".0%"; text stays as it is, nothing becomes a dash.
  AdaPage.format = (value, spec = "") => {
    if (value === null || value === undefined || Number.isNaN(value)) return "–";
    if (typeof value !== "number") return String(value);
    const [, digits, kind] = /^\.(\d+)([gf%])$/.exec(spec) || [];
    const text =
      kind === "f" ? value.toFixed(Number(digits))
      : kind === "%" ? `${(100 * value).toFixed(Number(digits))} %`
      : plainNumber(value, kind === "g" ? Number(digits) : 6);
    return text.replace("-", "−");
  };

  // Text with %{name:format} in it, for one point; lines are divided by <br>.
  AdaPage.fill = (template, point) =>
    template.replace(/<extra>.*?<\/extra>/g, "").split("<br>").map((line) =>
      line.replace(/%\{(\w+)(?:\[(\d+)\])?(?::([^}]*))?\}/g, (_, name, index, spec) =>
        AdaPage.format(index === undefined ? point[name] : point[name][Number(index)], spec)
      )
    );

  function step(span, count) {
    const rough = span / Math.max(1, count);
    const power = 10 ** Math.floor(Math.log10(rough));
    return power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  }

  function linearTicks([low, high], count) {
    if (!(high > low)) return [low];
    const size = step(high - low, count);
    const first = Math.ceil(low / size - 1e-9);
    const last = Math.floor(high / size + 1e-9);
    return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * size).toPrecision(12)));
  }

  function logTicks([low, high], count) {
    const decades = [];
    for (let k = Math.ceil(low - 1e-9); k <= high + 1e-9; k += 1) decades.push(k);
    if (decades.length >= 3) {
      const every = Math.ceil(decades.length / Math.max(2, count));
      return decades.filter((k) => k % every === 0).map((k) => 10 ** k);
    }
    const found = [];
    for (let k = Math.floor(low); k <= high; k += 1) {
      for (const factor of [1, 2, 5]) {
        const place = k + Math.log10(factor);
        if (place >= low - 1e-9 && place <= high + 1e-9) found.push(factor * 10 ** k);
      }
    }
    return found.length > 1 ? found : linearTicks([10 ** low, 10 ** high], count);
  }

  // What an axis has to show: numbers as they are, or the places of names.
  AdaPage.axisValues = (axis, columns) => {
    const all = columns.flat().filter((value) => value !== null && value !== undefined);
    const named = axis.type === "category" || all.some((value) => typeof value === "string");
    if (!named) return { place: Number, values: all.filter(isNumber) };
    const names = [...new Set(all.map(String))];
    const at = new Map(names.map((name, i) => [name, i]));
    return { names, place: (value) => at.get(String(value)), values: names.map((_, i) => i) };
  };

  function paddedRange(axis, values, { zero, half }) {
    const log = axis.type === "log";
    const usable = log ? values.filter((value) => value > 0).map(Math.log10) : values;
    let [low, high] = [Math.min(...usable), Math.max(...usable)];
    if (!usable.length) [low, high] = [0, 1];
    if (half) return [low - 0.5, high + 0.5];
    if (!log && (zero || axis.rangemode === "tozero")) [low, high] = [Math.min(0, low), Math.max(0, high)];
    if (low === high) [low, high] = log ? [low - 0.5, high + 0.5] : [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
    const pad = 0.04 * (high - low);
    const tight = !log && (zero || axis.rangemode === "tozero");
    return [tight && low === 0 ? 0 : low - pad, tight && high === 0 ? 0 : high + pad];
  }

  // marks: {zero: bars start at 0, half: cells and bars reach half a place beyond their middle}
  AdaPage.scale = (axis, { names, place, values }, marks, count) => {
    const log = axis.type === "log";
    const range = axis.range || paddedRange(axis, values, marks);
    const inner = (value) => (log ? Math.log10(value) : place(value));
    let ticks = axis.tickvals || (names ? values : log ? logTicks(range, count) : linearTicks(range, count));
    if (!axis.tickvals && !names) ticks = ticks.filter((t) => inner(t) >= range[0] - 1e-9 && inner(t) <= range[1] + 1e-9);
    const texts = axis.ticktext || (names || ticks).map((tick) => AdaPage.format(tick));
    if (names && !axis.ticktext) ticks = names;
    if (axis.showticklabels === false) [ticks, texts.length] = [[], 0];
    return { log, range, inner, names, ticks: ticks.map((at, i) => ({ at, text: texts[i] })), ends: [0, 1] };
  };

  // The place of a value between the ends of the scale, in pixels.
  AdaPage.toPixel = (scale, value) => {
    const [low, high] = scale.range;
    return scale.ends[0] + ((scale.inner(value) - low) / (high - low)) * (scale.ends[1] - scale.ends[0]);
  };
})();
