// Charts of a page: drawn in its colours, again when those change and before printing.
(() => {
  "use strict";
  const AdaPage = (window.AdaPage = window.AdaPage || {});
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const charts = new Map(); // from the element to what makes its data and layout

  AdaPage.theme = () => {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(`--${name}`).trim();
    const colours = Array.from({ length: 12 }, (_, i) => read(`c${i + 1}`));
    const names = ["bg", "panel", "ink", "muted", "line", "grid", "accent", "soft"];
    return { colours, ...Object.fromEntries(names.map((name) => [name, read(name)])) };
  };

  function themed(layout, theme, narrow) {
    const axis = {
      gridcolor: theme.grid, zerolinecolor: theme.line, linecolor: theme.line,
      tickcolor: theme.line, automargin: true,
    };
    const base = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", colorway: theme.colours,
      font: { color: theme.ink, family: "system-ui, sans-serif", size: narrow ? 11 : 13 },
      margin: { l: 50, r: 16, t: layout.title ? 48 : 12, b: 44 },
      legend: { orientation: "h", y: -0.18, x: 0 },
      hoverlabel: { bgcolor: theme.panel, bordercolor: theme.line, font: { color: theme.ink } },
      dragmode: narrow ? false : "zoom", // on a phone a finger on the chart scrolls the page
      modebar: { bgcolor: "rgba(0,0,0,0)", color: theme.muted, activecolor: theme.ink },
      autosize: true,
    };
    const merged = { ...base, ...layout, font: { ...base.font, ...layout.font } };
    const axes = new Set(["xaxis", "yaxis", ...Object.keys(layout)]);
    for (const name of axes) {
      if (/^[xy]axis\d*$/.test(name)) merged[name] = { ...axis, ...layout[name] };
    }
    return merged;
  }

  function draw(element) {
    const theme = AdaPage.theme();
    const narrow = element.clientWidth < 560;
    const { data, layout } = charts.get(element)(theme, narrow);
    const config = {
      responsive: true, displaylogo: false, displayModeBar: narrow ? false : "hover",
      // No button that would send the data anywhere.
      plotlyServerURL: "", showSendToCloud: false,
      modeBarButtonsToRemove: ["sendChartToCloud", "sendDataToCloud", "select2d", "lasso2d"],
    };
    return window.Plotly.react(element, data, themed(layout || {}, theme, narrow), config);
  }

  // make(theme, narrow) gives {data, layout}. Returns the promise of the drawn element.
  AdaPage.chart = (element, make) => {
    charts.set(element, make);
    return draw(element);
  };

  AdaPage.forget = (element) => {
    if (charts.delete(element)) window.Plotly.purge(element);
  };

  AdaPage.onTheme = []; // what else is drawn in colours of the page
  AdaPage.redraw = () => {
    for (const element of charts.keys()) draw(element);
    for (const listener of AdaPage.onTheme) listener();
  };

  dark.addEventListener("change", AdaPage.redraw);
  const printing = (on) => {
    document.documentElement.toggleAttribute("data-print", on); // paper is light
    AdaPage.redraw();
  };
  window.addEventListener("beforeprint", () => printing(true));
  window.addEventListener("afterprint", () => printing(false));

  for (const element of document.querySelectorAll("[data-chart]")) {
    const figure = AdaPage.data(element.dataset.chart);
    AdaPage.chart(element, () => structuredClone(figure));
  }
})();
