"use strict";
// Draws heat maps and worst cells from the data in the page. Names only ever become text.
(() => {
  const D = JSON.parse(document.getElementById("data").textContent);
  const CONFIG = { displaylogo: false, displayModeBar: false, responsive: true, showTips: false };
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const SCALE = [[0, "#eef6f1"], [0.35, "#f7e3a1"], [0.7, "#e8955c"], [1, "#a3302a"]];
  function make(tag, text, attributes = {}) {
    const node = document.createElement(tag);
    if (text) node.textContent = text;
    for (const [k, v] of Object.entries(attributes)) node.setAttribute(k, v);
    return node;
  }
  function numbers(packed) {
    const text = atob(packed.f4), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return new Float32Array(bytes.buffer);
  }
  const waiting = new Map();
  const observer = new IntersectionObserver((seen) => {
    for (const entry of seen) {
      const build = waiting.get(entry.target);
      if (!entry.isIntersecting || !build) continue;
      waiting.delete(entry.target);
      build(entry.target);
    }
  }, { rootMargin: "600px" });
  function later(node, build) { waiting.set(node, build); observer.observe(node); }

  function heatMap(node, e) {
    const rows = e.rows.map((name, i) => (e.survived[i] ? "" : "✗ ") + plain(name));
    const trace = { type: "heatmap", x: e.columns, y: rows, z: e.shade, text: e.text, texttemplate: "%{text}", zmin: 0, zmax: 1,
      colorscale: SCALE, showscale: false, xgap: 2, ygap: 2, hovertemplate: "%{y}<br>%{x}: %{text}<extra></extra>", hoverongaps: false };
    const layout = { margin: { l: 10, r: 6, t: 26, b: 6 }, font: { family: "system-ui, sans-serif", size: 12 }, paper_bgcolor: "#fff", plot_bgcolor: "#f6f7f9",
      xaxis: { side: "top", fixedrange: true }, yaxis: { autorange: "reversed", automargin: true, fixedrange: true, tickfont: { size: 11 } } };
    Plotly.newPlot(node, [trace], layout, CONFIG);
  }
  function worst(node, w) {
    const traces = w.curves.map((c) => ({ type: "scatter", mode: "lines", name: plain(c.name), x: numbers(c.t), y: numbers(c.y),
      line: { color: c.colour, width: 1.6 }, hovertemplate: "%{y:.3g} % at %{x:.3g} s" }));
    const shapes = (w.changes || []).map((at) => ({ type: "line", xref: "x", yref: "paper", x0: at, x1: at, y0: 0, y1: 1, layer: "below",
      line: { color: "#8a94a0", width: 1.5, dash: "dot" } }));
    const axis = { gridcolor: "#eceff2", linecolor: "#c3cad2", zeroline: false, automargin: true, tickfont: { size: 11, color: "#5b6670" } };
    const layout = { margin: { l: 46, r: 8, t: 10, b: 34 }, paper_bgcolor: "#fff", plot_bgcolor: "#fff", shapes, font: { family: "system-ui, sans-serif", size: 12 },
      legend: { orientation: "h", y: 1.14 }, xaxis: { ...axis, title: { text: "t (s)" } },
      yaxis: { ...axis, type: "log", title: { text: "error (%)" }, exponentformat: "power" } };
    Plotly.newPlot(node, traces, layout, CONFIG);
  }

  const parent = document.getElementById("estimators");
  D.estimators.forEach((e, i) => {
    const section = make("section", "", { id: `e${i}` });
    section.append(make("h2", e.name));
    section.append(make("p", `Survived ${e.survived.filter(Boolean).length} of ${e.rows.length} cells; ✗ marks those it did not.`, { class: "hint" }));
    const map = make("div", "", { class: "plot", role: "img", "aria-label": `Heat map of ${e.name}` });
    map.style.height = `${60 + 24 * e.rows.length}px`;
    section.append(map);
    later(map, (node) => heatMap(node, e));
    section.append(make("h3", "Its two worst cells"));
    const grid = make("div", "", { class: "grid wide" });
    for (const w of e.worst) {
      const box = make("div");
      box.append(make("p", w.cell, { class: "label" }), make("p", w.words, { class: "note" }));
      if (w.curves.length) {
        const plot = make("div", "", { class: "plot", role: "img", "aria-label": `Errors over time on ${w.cell}` });
        plot.style.height = "260px";
        box.append(plot);
        later(plot, (node) => worst(node, w));
      } else box.append(make("p", w.why, { class: "missing" }));
      grid.append(box);
    }
    section.append(grid);
    parent.append(section);
  });
  window.drawAll = () => { for (const [node, build] of waiting) build(node); waiting.clear(); };
})();
