"use strict";
// Draws the charts from the data in the page, each when it comes into view.
(() => {
  const charts = JSON.parse(document.getElementById("data").textContent);
  const CONFIG = { displaylogo: false, responsive: true, showTips: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d"] };
  const AXIS = { gridcolor: "#eceff2", linecolor: "#c3cad2", zeroline: false, ticks: "outside", ticklen: 3, tickcolor: "#c3cad2", automargin: true,
    tickfont: { size: 11, color: "#5b6670" } };
  const make = (tag, text, attributes = {}) => {
    const node = document.createElement(tag);
    node.textContent = text;
    for (const [k, v] of Object.entries(attributes)) node.setAttribute(k, v);
    return node;
  };
  // Labels of a logarithmic axis at powers of ten only, where there are two or more.
  function decades(chart, key, own) {
    if (own.type !== "log") return {};
    const letter = key[0], name = key.replace("axis", "");
    let low = Infinity, high = 0;
    for (const trace of chart.data) {
      if ((trace[`${letter}axis`] || letter) !== name) continue;
      for (const v of trace[letter]) if (v > 0) { low = Math.min(low, v); high = Math.max(high, v); }
    }
    const span = Math.log10(high / low);
    return span >= 1.5 ? { dtick: Math.max(1, Math.ceil(span / 6)) } : {};
  }
  function layoutOf(chart) {
    const layout = { margin: { l: 54, r: 12, t: chart.layout.showlegend === false ? 24 : 46, b: 40 }, paper_bgcolor: "#fff", plot_bgcolor: "#fff", hovermode: "closest", height: chart.height,
      showlegend: true, legend: { orientation: "h", x: 0, y: 1, yref: "container", yanchor: "top" },
      font: { family: "system-ui, sans-serif", color: "#1c2126" }, dragmode: window.innerWidth < 760 ? false : "zoom", ...chart.layout };
    for (const key of ["xaxis", "yaxis", ...Object.keys(chart.layout)]) {
      if (!/^[xy]axis\d*$/.test(key)) continue;
      const own = chart.layout[key] || {};
      layout[key] = { ...AXIS, ...own, ...decades(chart, key, own), ...(own.title ? { title: { ...own.title, font: { size: 11, color: "#5b6670" }, standoff: 4 } } : {}) };
    }
    return layout;
  }
  const waiting = new Map();
  const draw = (node) => {
    const chart = waiting.get(node);
    if (!chart) return Promise.resolve();
    waiting.delete(node);
    return Plotly.newPlot(node, chart.data, layoutOf(chart), CONFIG).then(() => { node.dataset.drawn = "yes"; });
  };
  const observer = new IntersectionObserver((seen) => {
    for (const entry of seen) if (entry.isIntersecting) draw(entry.target);
  }, { rootMargin: "500px" });
  for (const chart of charts) {
    const figure = make("figure", ""), caption = make("figcaption", "");
    caption.append(make("h3", chart.title), make("p", chart.caption, { class: "hint" }));
    const plot = make("div", "", { role: "img", "aria-label": chart.title, style: `min-height: ${chart.height}px` });
    figure.append(caption, plot);
    document.getElementById("charts").append(figure);
    waiting.set(plot, chart);
    observer.observe(plot);
  }
  window.addEventListener("beforeprint", () => [...waiting.keys()].forEach(draw));
})();
