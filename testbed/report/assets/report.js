"use strict";
// Draws the plots from the data in the page. Text from a run only ever becomes text: textContent
// here, `plain` where Plotly would read tags.
(() => {
  const D = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const PARAMETERS = ["m", "hx", "hy", "hz", "Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Ixz"];
  const unitOf = (i) => (i === 0 ? "kg" : i < 4 ? "kg·m" : "kg·m²");
  const narrow = () => window.innerWidth < 760;
  const hidden = new Set();
  const series = D.series.map((s, id) => ({ ...s, id }));
  const shown = () => series.filter((s) => !hidden.has(s.id) && s.curves);

  // ---------------------------------------------------------------- numbers and text
  const decoded = new WeakMap();
  function numbers(packed) {
    if (!decoded.has(packed)) {
      const text = atob(packed.f4), bytes = new Uint8Array(text.length);
      for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
      decoded.set(packed, new Float32Array(bytes.buffer));
    }
    return decoded.get(packed);
  }
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const grouped = (x) => String(Math.round(x)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  const faint = (hex, alpha) => hex + Math.round(alpha * 255).toString(16).padStart(2, "0");
  function make(tag, text, attributes = {}) {
    const node = document.createElement(tag);
    if (text) node.textContent = text;
    for (const [k, v] of Object.entries(attributes)) node.setAttribute(k, v);
    return node;
  }

  // ---------------------------------------------------------------- plots, drawn when seen
  const CONFIG = { displaylogo: false, displayModeBar: narrow() ? false : "hover", responsive: true, showTips: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "resetCameraLastSave3d", "tableRotation", "sendDataToCloud"] };
  const plots = new Map();
  const observer = new IntersectionObserver((seen) => {
    for (const entry of seen) {
      const plot = plots.get(entry.target);
      if (!plot) continue;
      plot.visible = entry.isIntersecting;
      if (entry.isIntersecting && plot.stale) draw(entry.target);
    }
  }, { rootMargin: "500px" });

  function addPlot(parent, group, label, build) {
    const node = make("div", "", { class: "plot", role: "img", "aria-label": label });
    parent.append(node);
    return register(node, group, build);
  }
  function register(node, group, build) {
    plots.set(node, { group, build, stale: true, visible: false });
    observer.observe(node);
    return node;
  }
  function draw(node) {
    const plot = plots.get(node), { data, layout } = plot.build();
    plot.stale = false;
    return Plotly.react(node, data, layout, CONFIG).then(() => { node.dataset.drawn = "yes"; });
  }
  function refresh(group) {
    for (const [node, plot] of plots) {
      if (group && plot.group !== group) continue;
      plot.stale = true;
      if (plot.visible) draw(node);
    }
  }
  const drawAll = () => Promise.all([...plots.keys()].filter((n) => plots.get(n).stale).map(draw));
  function clear(parent) {
    for (const node of [...parent.children]) {
      observer.unobserve(node); plots.delete(node); Plotly.purge(node); node.remove();
    }
  }

  const AXIS = { gridcolor: "#eceff2", linecolor: "#c3cad2", zeroline: false, ticks: "outside", ticklen: 3, tickcolor: "#c3cad2", automargin: true,
    exponentformat: "power", tickfont: { size: 11, color: "#5b6670" } };
  function layoutOf(title, more = {}) {
    return { title: { text: title, font: { size: 13, color: "#1c2126" }, x: 0, xref: "paper", xanchor: "left", y: 0.99, yanchor: "top" },
      margin: { l: 46, r: 8, t: 26, b: 32 }, paper_bgcolor: "#fff", plot_bgcolor: "#fff", showlegend: false, hovermode: "closest",
      hoverlabel: { font: { size: 12 }, namelength: 40 }, dragmode: narrow() ? false : "zoom", font: { family: "system-ui, sans-serif" },
      ...more, xaxis: { ...AXIS, ...more.xaxis }, yaxis: { ...AXIS, ...more.yaxis } };
  }
  const begin = (runs) => Math.min(...runs.map((r) => r.start)), finish = (runs) => Math.max(...runs.map((r) => r.end));
  const START = begin(D.runs), END = finish(D.runs);
  function timeLayout(title, more = {}, runs = D.runs) {
    const last = finish(runs);
    const shapes = [], marked = new Set();
    for (const run of runs) for (const c of run.changes) {
      const key = `${c.at}/${c.until}`;
      if (marked.has(key)) continue;
      marked.add(key);
      const common = { xref: "x", yref: "paper", y0: 0, y1: 1, layer: "below" };
      if (c.until !== null) shapes.push({ ...common, type: "rect", x0: c.at, x1: Math.min(c.until, last), fillcolor: "#8a94a0", opacity: 0.1, line: { width: 0 } });
      shapes.push({ ...common, type: "line", x0: c.at, x1: c.at, line: { color: "#8a94a0", width: 1.5, dash: "dot" } });
    }
    return layoutOf(title, { ...more, shapes: [...shapes, ...(more.shapes || [])],
      xaxis: { range: [begin(runs), last], title: { text: "t (s)", font: { size: 11, color: "#5b6670" }, standoff: 2 }, ...more.xaxis } });
  }
  const line = (s, curve, more = {}) => ({ type: "scatter", mode: "lines", name: plain(s.label), x: numbers(curve.t), y: numbers(curve.y),
    line: { color: s.colour, width: 1.6, dash: s.dash }, hovertemplate: "%{y:.4g} at %{x:.4g} s", ...more });
  const DASHES = ["solid", "dash", "dashdot", "longdash"];
  const several = D.runs.length > 1;
  function black(run, name, curve, more = {}) {
    const label = several ? `${name} · ${D.runs[run].label}` : name;
    return { type: "scatter", mode: "lines", name: plain(label), x: numbers(curve.t), y: numbers(curve.y),
      line: { color: "#111", width: 1.4, dash: DASHES[run % 4] }, hovertemplate: "%{y:.4g} at %{x:.4g} s", ...more };
  }
  // A logarithmic axis for these traces: labels at powers of ten only, where there are two or more.
  function logAxis(data) {
    let low = Infinity, high = -Infinity;
    for (const trace of data) for (const v of trace.y) if (v > 0 && v < Infinity) { low = Math.min(low, v); high = Math.max(high, v); }
    const decades = Math.log10(high / low);
    return { type: "log", ...(decades >= 1.5 ? { dtick: Math.max(1, Math.ceil(decades / 7)) } : {}) };
  }

  // ---------------------------------------------------------------- chips and table
  for (const s of series) {
    const chip = make("label", "", { class: "chip" });
    const box = make("input", "", { type: "checkbox" });
    box.checked = true;
    box.addEventListener("change", () => { box.checked ? hidden.delete(s.id) : hidden.add(s.id); refresh(); showScene(); });
    const swatch = document.querySelector(`tr[data-series="${s.id}"] .swatch`).cloneNode(true);
    chip.append(box, swatch, make("span", s.label));
    if (s.failed) chip.append(make("em", "failed"));
    $("bar").append(chip);
  }
  const table = $("scores-table");
  table.tHead.querySelectorAll("button").forEach((button) => button.addEventListener("click", () => {
    const th = button.closest("th"), k = th.cellIndex, up = th.getAttribute("aria-sort") !== "ascending";
    table.tHead.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
    th.setAttribute("aria-sort", up ? "ascending" : "descending");
    const value = (row) => (k === 0 ? row.cells[0].textContent : row.cells[k].dataset.value === undefined ? null : +row.cells[k].dataset.value);
    const rows = [...table.tBodies[0].rows].sort((a, b) => {
      const x = value(a), y = value(b);
      if (x === null || y === null) return (x === null) - (y === null); // nothing to compare: last
      const order = k === 0 ? x.localeCompare(y) : x - y;
      return up ? order : -order;
    });
    table.tBodies[0].append(...rows);
  }));
  $("all-scores")?.addEventListener("change", (event) => table.classList.toggle("everything", event.target.checked));

  // ---------------------------------------------------------------- error over time
  const GROUPS = [["mass", "Mass error (kg)"], ["first_moment", "First-moment error (kg·m)"], ["inertia", "Inertia error (kg·m²)"],
    ["extra", "Error of friction and offsets (SI)"], ["validation", "Validation error (rms, units of the measurement)"]];
  const curveOf = (s, key) => (key === "validation" ? s.curves.validation : s.curves.errors?.[key]);
  for (const [key, title] of GROUPS) {
    if (!series.some((s) => s.curves && curveOf(s, key))) continue;
    addPlot($("error-plots"), "errors", title, () => {
      const data = shown().filter((s) => curveOf(s, key)).map((s) => line(s, curveOf(s, key)));
      D.runs.forEach((run, r) => { const b = run.curves.bound?.[key]; if (b) data.push(black(r, "best possible", b, { line: { color: "#111", width: 2.2, dash: DASHES[r % 4] } })); });
      return { data, layout: timeLayout(title, { yaxis: logAxis(data) }) };
    });
  }
  if (!$("error-plots").children.length) $("error-plots").append(make("p", "This run has no truth to compare with (a recorded log).", { class: "missing" }));
  const bounded = D.runs.some((run) => run.curves.bound);
  document.querySelectorAll(".if-bound").forEach((n) => { n.hidden = !bounded; });
  document.querySelectorAll(".if-no-bound").forEach((n) => {
    n.hidden = bounded;
    if (!n.textContent.trim()) n.textContent = "This run recorded no bound, so how far the estimators are from the best possible is not shown.";
  });

  // ---------------------------------------------------------------- parameters
  const EXTRA = "friction and offsets";
  const bodies = [...new Set(D.runs.flatMap((r) => [...r.bodies, ...(r.extra.length ? [EXTRA] : [])]))];
  for (const b of bodies) $("body").append(make("option", b, { value: b }));
  const banded = series.filter((s) => s.curves?.band);
  for (const [value, text] of [...banded.map((s) => [s.id, s.label]), ["all", "of all"], ["none", "none"]]) $("bands").append(make("option", text, { value }));
  if (!banded.length) { $("bands").replaceChildren(make("option", "none claimed", { value: "none" })); }
  function columnsOf(body) { // [title, run → column or −1]
    const names = body === EXTRA ? [...new Set(D.runs.flatMap((r) => r.extra))] : PARAMETERS;
    return names.map((name, i) => [body === EXTRA ? name : `${name} (${unitOf(i)})`, (run) => {
      const at = body === EXTRA ? run.extra.indexOf(name) : run.bodies.indexOf(body);
      return at < 0 ? -1 : body === EXTRA ? 10 * run.bodies.length + at : 10 * at + i;
    }]);
  }
  const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.max(0, Math.round(q * (sorted.length - 1))))];
  function parameterPlot(title, column) {
    const data = [], centre = [], claimed = [], all = [];
    const settled = START + 0.15 * (END - START);
    const middle = (t, y, into) => { // where a curve is most of the time, once it has settled
      const late = [];
      for (let i = 0; i < y.length; i++) if (Number.isFinite(y[i]) && t[i] >= settled) late.push(y[i]);
      late.sort((a, b) => a - b);
      if (late.length) into.push(quantile(late, 0.03), quantile(late, 0.97));
    };
    const chosen = $("bands").value;
    for (const s of shown()) {
      const c = column(D.runs[s.run]);
      if (c < 0) continue;
      const band = s.curves.band;
      if (band && (chosen === "all" || +chosen === s.id)) {
        const m = band.low.shape[1], part = (p) => numbers(p).subarray(c * m, (c + 1) * m), t = numbers(band.t);
        const edge = { type: "scatter", mode: "lines", x: t, line: { width: 0 }, hoverinfo: "skip" };
        middle(t, part(band.low), claimed);
        middle(t, part(band.high), claimed);
        data.push({ ...edge, y: part(band.low) }, { ...edge, y: part(band.high), fill: "tonexty", fillcolor: faint(s.colour, 0.14) });
      }
    }
    for (const s of shown()) {
      const c = column(D.runs[s.run]);
      if (c < 0) continue;
      const curve = s.curves.parameters[c], t = numbers(curve.t), y = numbers(curve.y);
      data.push(line(s, curve));
      for (const v of y) if (Number.isFinite(v)) all.push(v);
      middle(t, y, centre);
    }
    const truths = [];
    D.runs.forEach((run, r) => {
      const c = column(run), curve = c < 0 ? undefined : run.curves.truth?.[c];
      if (!curve) return;
      data.push(black(r, "truth", curve, { line: { color: "#111", width: 1.6, dash: DASHES[r % 4] } }));
      for (const v of numbers(curve.y)) if (Number.isFinite(v)) truths.push(v);
    });
    const yaxis = { nticks: 6 };
    let low = Math.min(...centre, ...truths), high = Math.max(...centre, ...truths);
    // Bands widen the view, but one far wider than all curves does not flatten them.
    const room = 1.5 * (high - low || 0.1 * Math.abs(high));
    low = Math.max(low - room, Math.min(low, ...claimed));
    high = Math.min(high + room, Math.max(high, ...claimed));
    if (!$("full-range").checked && Number.isFinite(low)) {
      const pad = 0.15 * (high - low) || 0.1 * Math.abs(high) || 1e-6;
      const out = (v) => v < low - pad || v > high + pad;
      if (all.some(out) || claimed.some(out)) { yaxis.range = [low - pad, high + pad]; $("cut").hidden = false; }
    }
    return { data, layout: timeLayout(plain(title), { yaxis }, D.runs.filter((run) => column(run) >= 0)) };
  }
  function showParameters() {
    clear($("parameter-plots"));
    $("cut").hidden = true;
    for (const [title, column] of columnsOf($("body").value)) {
      addPlot($("parameter-plots"), "parameters", `${$("body").value}: ${title} over time`, () => parameterPlot(title, column));
    }
  }
  $("body").addEventListener("change", showParameters);
  for (const id of ["bands", "full-range"]) $(id).addEventListener("change", () => { $("cut").hidden = true; refresh("parameters"); });
  if (bodies.length) showParameters();

  // ---------------------------------------------------------------- consistency, innovation, NEES
  if (series.some((s) => s.curves?.margin)) addPlot($("margin-plots"), "margin", "Consistency margin over time", () => {
    const zero = { type: "rect", xref: "paper", x0: 0, x1: 1, yref: "y", y0: -4, y1: 0, fillcolor: "#b3261e", opacity: 0.06, line: { width: 0 }, layer: "below" };
    const ys = shown().filter((s) => s.curves.margin).flatMap((s) => [...numbers(s.curves.margin.y)].filter(Number.isFinite));
    const low = Math.min(0, ...ys), high = Math.max(0, ...ys), pad = 0.06 * (high - low || 1);
    return { data: shown().filter((s) => s.curves.margin).map((s) => line(s, s.curves.margin)),
      layout: timeLayout("Margin of the worst body", { shapes: [zero], yaxis: { zeroline: true, zerolinecolor: "#b3261e", range: [low - pad, high + pad] } }) };
  });
  if (series.some((s) => s.curves?.innovation)) addPlot($("innovation-plots"), "innovation", "Innovation over time", () => {
    const data = [];
    for (const s of shown()) {
      const c = s.curves.innovation;
      if (!c) continue;
      const edge = { type: "scatter", mode: "lines", x: numbers(c.t), line: { width: 0 }, hoverinfo: "skip" };
      data.push({ ...edge, y: numbers(c.low).map((v) => (v > 0 ? v : NaN)) }, { ...edge, y: numbers(c.high), fill: "tonexty", fillcolor: faint(s.colour, 0.13) });
    }
    for (const s of shown()) if (s.curves.innovation) data.push(line(s, { t: s.curves.innovation.t, y: s.curves.innovation.rms }));
    return { data, layout: timeLayout("Norm of the innovation", { yaxis: logAxis(data) }) };
  });
  else $("innovation-plots").append(make("p", "No estimator of this run predicts its equations.", { class: "missing" }));
  if (series.some((s) => s.curves?.nees)) addPlot($("nees-plots"), "nees", "NEES over time", () => {
    const data = shown().filter((s) => s.curves.nees).map((s) => line(s, s.curves.nees)), shapes = [];
    const told = series.find((s) => s.curves?.nees && s.calibration?.expected)?.calibration;
    if (told) shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, yref: "y", y0: told.expected, y1: told.expected, line: { color: "#5b6670", width: 2 }, layer: "below" });
    return { data, layout: timeLayout("NEES", { shapes, yaxis: logAxis(data) }) };
  });
  else $("no-nees").hidden = false;

  // ---------------------------------------------------------------- time of an update
  const timed = series.filter((s) => s.curves?.times);
  if (timed.length) {
    addPlot($("timing-plots"), "timing", "Histogram of update times", () => {
      const data = shown().filter((s) => s.curves.times).map((s) => {
        const edges = numbers(s.curves.times.edges), share = numbers(s.curves.times.share), x = [], y = [];
        share.forEach((v, i) => { x.push(edges[i], edges[i + 1]); y.push(100 * v, 100 * v); });
        return { type: "scatter", mode: "lines", name: plain(s.label), x: [x[0], ...x, x[x.length - 1]], y: [0, ...y, 0], fill: "tozeroy",
          fillcolor: faint(s.colour, 0.14), line: { color: s.colour, width: 1.5, dash: s.dash, shape: "linear" }, hovertemplate: "%{y:.3g} % at %{x:.3g} µs" };
      });
      const limits = [...new Set(D.runs.map((r) => r.dt * 1e6))];
      const shapes = limits.map((x) => ({ type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, line: { color: "#b3261e", width: 2 } }));
      const annotations = limits.map((x) => ({ x: Math.log10(x), y: 1, yref: "paper", yanchor: "top", xanchor: "right", text: `deadline ${grouped(x)} µs`, showarrow: false,
        font: { color: "#b3261e", size: 12 }, bgcolor: "#ffffffcc", xshift: -3 }));
      return { data, layout: layoutOf("Share of updates (%)", { shapes, annotations, yaxis: { rangemode: "tozero" },
        xaxis: { type: "log", title: { text: "wall time of an update (µs)", font: { size: 11, color: "#5b6670" } } } }) };
    });
    const rows = $("timing-table"), head = rows.createTHead().insertRow();
    for (const text of ["estimator", "updates", "median", "99 % below", "longest", "deadline"]) head.append(make("th", text, { scope: "col" }));
    const body = rows.createTBody();
    for (const s of timed) {
      const row = body.insertRow(), c = s.curves.times;
      row.append(make("th", s.label, { scope: "row" }));
      for (const text of [c.updates, ...[c.p50, c.p99, c.max, D.runs[s.run].dt * 1e6].map((us) => `${us < 100 ? us.toPrecision(3) : grouped(us)} µs`)]) row.append(make("td", String(text)));
    }
  } else $("timing-plots").append(make("p", "No update was timed.", { class: "missing" }));

  // ---------------------------------------------------------------- excitation
  const modeOf = (curve) => (curve.t.shape[0] > 2 ? "lines" : "lines+markers"); // of one look no line
  const excited = D.runs.map((run, r) => [run, r]).filter(([run]) => run.curves.excitation);
  $("no-excitation").hidden = excited.length > 0;
  for (const [run, r] of excited) {
    const e = run.curves.excitation, tail = several ? ` · ${plain(run.label)}` : "";
    for (const [key, title] of [["total", "All data so far"], ["window", "The last second alone"]]) {
      if (!e[key]) continue;
      addPlot($("excitation-plots"), "excitation", title, () => {
        const data = e[key].map((curve, i) => {
          const share = e[key].length > 1 ? i / (e[key].length - 1) : 0;
          return { type: "scatter", mode: modeOf(curve), name: `eigenvalue ${i + 1}`, x: numbers(curve.t), y: numbers(curve.y).map((v) => (v > 0 ? v : NaN)),
            line: { width: 1.2, color: `hsl(${215 - 190 * share}, 70%, 42%)` }, hovertemplate: "%{y:.3g} at %{x:.4g} s" };
        });
        const most = (c) => numbers(c.y).reduce((a, b) => (b > a ? b : a), 0);
        const top = Math.max(10, ...e[key].map(most)), bottom = Math.max(1e-4, Math.min(0.3, ...e[key].map(most)));
        const one = { type: "line", xref: "paper", x0: 0, x1: 1, yref: "y", y0: 1, y1: 1, line: { color: "#111", width: 1.5 } };
        return { data, layout: timeLayout(`${title}: eigenvalues${tail}`, { shapes: [one], yaxis: { type: "log", dtick: 2, range: [Math.log10(bottom) - 0.5, Math.log10(top) + 0.3] } }) };
      });
    }
    const both = (what, title, axis) => addPlot($("excitation-plots"), "excitation", title, () => {
      const data = [["total", "all data so far", "#0072b2"], ["window", "last second", "#d55e00"]].filter(([key]) => e[`${key}_${what}`]).map(([key, name, colour]) => {
        const curve = e[`${key}_${what}`];
        return { type: "scatter", mode: modeOf(curve), name, x: numbers(curve.t), y: numbers(curve.y), line: { shape: "hv", width: 2, color: colour }, hovertemplate: "%{y:.3g} at %{x:.4g} s" };
      });
      const most = data.reduce((top, { y }) => y.reduce((a, b) => (b > a ? b : a), top), 1);
      return { data, layout: { ...timeLayout(title + tail, { yaxis: axis(most) }), showlegend: true, legend: { x: 1, y: 0.02, xanchor: "right", yanchor: "bottom", bgcolor: "#ffffffcc", font: { size: 11 } } } };
    });
    both("rank", `Identifiable directions of ${(e.total || e.window).length}`, () => ({ rangemode: "tozero", nticks: 6 }));
    both("kappa", "Condition number κ of these directions", (most) => ({ type: "log", dtick: 1, range: [-0.8, Math.max(1, Math.log10(most)) + 0.2] })); // room for the legend below 1
  }

  // ---------------------------------------------------------------- ellipsoids
  const sphere = (() => { // unit sphere as triangles
    const nu = 20, nv = 12, points = [], i = [], j = [], k = [];
    for (let v = 0; v <= nv; v++) for (let u = 0; u < nu; u++) {
      const a = (Math.PI * v) / nv, b = (2 * Math.PI * u) / nu;
      points.push([Math.sin(a) * Math.cos(b), Math.sin(a) * Math.sin(b), Math.cos(a)]);
    }
    for (let v = 0; v < nv; v++) for (let u = 0; u < nu; u++) {
      const p = v * nu + u, q = v * nu + ((u + 1) % nu);
      i.push(p, q); j.push(p + nu, p + nu); k.push(q, q + nu);
    }
    return { points, i, j, k };
  })();
  const rings = (() => { // great circles in the three principal planes, and four more
    const out = [], n = 40;
    for (let plane = 0; plane < 3; plane++) for (const h of [0, -0.6, 0.6]) {
      const ring = [], r = Math.sqrt(1 - h * h);
      for (let s = 0; s <= n; s++) {
        const a = (2 * Math.PI * s) / n, p = [0, 0, 0];
        p[plane] = h; p[(plane + 1) % 3] = r * Math.cos(a); p[(plane + 2) % 3] = r * Math.sin(a);
        ring.push(p);
      }
      out.push(ring);
    }
    return out;
  })();
  const EYE = { x: 0.98, y: 0.98, z: 0.5 };
  const scenes = D.runs.map((run, r) => r).filter((r) => D.runs[r].scene);
  const state = { frame: 0, timer: null };
  const sceneRun = () => D.runs[+$("scene-run").value];
  // x = p + R (c + a₀ u₀ + a₁ u₁ + a₂ u₂): shape and pose are rows of twelve numbers.
  function placer(shape, s, pose, q) {
    if (!Number.isFinite(shape[s])) return null;
    return (u) => {
      const x = [0, 1, 2].map((d) => shape[s + d] + u[0] * shape[s + 3 + d] + u[1] * shape[s + 6 + d] + u[2] * shape[s + 9 + d]);
      if (!pose) return [x[0] + q, x[1], x[2]];
      return [0, 1, 2].map((d) => pose[q + d] + pose[q + 3 + 3 * d] * x[0] + pose[q + 4 + 3 * d] * x[1] + pose[q + 5 + 3 * d] * x[2]);
    };
  }
  function place(scene, view, frame, body, array) {
    const n = scene.bodies.length, s = (frame * n + body) * 12;
    if (view >= 0) return placer(array, s, null, 0); // alone, in its own frame
    if (!scene.placed) return placer(array, s, null, body * scene.gap); // side by side
    return placer(array, s, numbers(scene.poses), (frame * n + body) * 12);
  }
  const largest = (array) => { let r = 0; for (let i = 0; i < array.length; i += 12) for (let a = 3; a < 12; a += 3) r = Math.max(r, Math.hypot(array[i + a], array[i + a + 1], array[i + a + 2]) || 0); return r; };
  function limits(scene, view) { // a cube that holds the truth over the whole run
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    const take = (p) => p.forEach((v, d) => { if (Number.isFinite(v)) { low[d] = Math.min(low[d], v); high[d] = Math.max(high[d], v); } });
    const truth = numbers(scene.truth), n = scene.bodies.length, m = scene.t.shape[0];
    for (let f = 0; f < m; f += Math.max(1, Math.floor(m / 30))) for (let b = 0; b < n; b++) {
      if (view >= 0 && b !== view) continue;
      const at = place(scene, view, f, b, truth);
      if (at) for (const u of [[1, 0, 0], [0, 1, 0], [0, 0, 1]]) { take(at(u)); take(at(u.map((x) => -x))); }
    }
    if (view < 0 && scene.placed) { const j = numbers(scene.joints); for (let i = 0; i < j.length; i += 3) take([j[i], j[i + 1], j[i + 2]]); }
    if (!Number.isFinite(low[0])) return [[-1, 1], [-1, 1], [-1, 1]];
    const half = (view >= 0 ? 0.8 : 0.55) * Math.max(...high.map((h, d) => h - low[d]), 1e-3);
    return low.map((l, d) => { const c = (l + high[d]) / 2; return [c - half, c + half]; });
  }
  function buildScene() {
    const run = sceneRun(), scene = run.scene, view = +$("view").value, f = state.frame, n = scene.bodies.length;
    if (!scene.gap) scene.gap = 2.4 * Math.max(largest(numbers(scene.truth)), 1e-3);
    const pick = [...Array(n).keys()].filter((b) => view < 0 || b === view);
    const mesh = { type: "mesh3d", x: [], y: [], z: [], i: [], j: [], k: [], color: "#a9b4bf", opacity: 0.55, flatshading: false, name: "truth", hoverinfo: "skip",
      lighting: { ambient: 0.6, diffuse: 0.7, specular: 0.15, roughness: 0.6 }, lightposition: { x: 1000, y: -1000, z: 2000 } };
    const truth = numbers(scene.truth);
    for (const b of pick) {
      const at = place(scene, view, f, b, truth);
      if (!at) continue;
      const base = mesh.x.length;
      for (const u of sphere.points) { const p = at(u); mesh.x.push(p[0]); mesh.y.push(p[1]); mesh.z.push(p[2]); }
      for (const key of ["i", "j", "k"]) for (const v of sphere[key]) mesh[key].push(base + v);
    }
    const key = `${$("scene-run").value}/${view}`;
    if (state.key !== key) { state.key = key; state.limits = limits(scene, view); }
    const outside = (trace) => ["x", "y", "z"].some((axis, d) => trace[axis].some((v) => v !== null && (v < state.limits[d][0] || v > state.limits[d][1])));
    const data = [mesh], missing = [];
    if (view < 0 && scene.placed) {
      const j = numbers(scene.joints), size = scene.joints.shape[1] * 3, bones = { type: "scatter3d", mode: "lines", x: [], y: [], z: [], line: { color: "#5b6670", width: 3 }, hoverinfo: "skip", name: "robot" };
      for (const pair of scene.bones) { for (const b of pair) { const o = f * size + 3 * b; bones.x.push(j[o]); bones.y.push(j[o + 1]); bones.z.push(j[o + 2]); } bones.x.push(null); bones.y.push(null); bones.z.push(null); }
      data.push(bones);
    }
    for (const s of series) {
      const estimate = D.runs[s.run] === run && scene.estimates[s.name];
      const trace = { type: "scatter3d", mode: "lines", x: [], y: [], z: [], line: { color: s.colour, width: 2.5 }, name: plain(s.label), hoverinfo: "name", visible: !hidden.has(s.id) };
      if (!estimate) continue;
      const array = numbers(estimate.shape), gone = [];
      for (const b of pick) {
        const at = place(scene, view, f, b, array);
        if (!at) { gone.push(scene.bodies[b]); continue; }
        for (const ring of rings) { for (const u of ring) { const p = at(u); trace.x.push(p[0]); trace.y.push(p[1]); trace.z.push(p[2]); } trace.x.push(null); trace.y.push(null); trace.z.push(null); }
      }
      if (!hidden.has(s.id) && gone.length) missing.push(f >= estimate.until ? `${s.label} had failed by then.` :
        `${s.label}: ${gone.length === pick.length && pick.length > 3 ? "every body" : gone.slice(0, 4).join(", ") + (gone.length > 4 ? ` and ${gone.length - 4} more` : "")} cannot exist as estimated, so nothing is drawn.`);
      if (!hidden.has(s.id) && outside(trace)) missing.push(`${s.label} is larger than the picture: it is cut off.`);
      data.push(trace);
    }
    const seconds = numbers(scene.t)[f];
    $("now").textContent = `${seconds.toFixed(2)} s`;
    $("impossible").textContent = missing.join(" ");
    const axis = (d, title) => ({ range: state.limits[d], title: { text: title, font: { size: 11 } }, backgroundcolor: "#fff", gridcolor: "#e6eaee", zerolinecolor: "#d5dade", showbackground: false, showspikes: false, nticks: 5, tickfont: { size: 10, color: "#5b6670" } });
    const layout = { margin: { l: 0, r: 0, t: 0, b: 0 }, showlegend: false, uirevision: key, paper_bgcolor: "#fff", font: { family: "system-ui, sans-serif" },
      scene: { aspectmode: "cube", uirevision: key, dragmode: "turntable", camera: { eye: EYE }, xaxis: axis(0, "x (m)"), yaxis: axis(1, "y (m)"), zaxis: axis(2, "z (m)") } };
    return { data, layout };
  }
  let waiting = false;
  function showScene() {
    if (!scenes.length || waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; refresh("scene"); });
  }
  function fillViews() {
    const scene = sceneRun().scene, many = scene.bodies.length > 1;
    $("view").replaceChildren();
    const options = scene.bodies.map((b, i) => [i, many || scene.placed ? `${b} alone` : b]);
    const together = [-1, scene.placed ? "on the robot" : "side by side"];
    for (const [value, text] of many ? [together, ...options] : scene.placed ? [...options, together] : options) $("view").append(make("option", text, { value }));
    $("time").max = scene.t.shape[0] - 1;
    $("time").value = state.frame = Math.min(state.frame, scene.t.shape[0] - 1);
  }
  function stop() { clearInterval(state.timer); state.timer = null; $("play").textContent = "Play"; }
  if (scenes.length) {
    for (const r of scenes) $("scene-run").append(make("option", D.runs[r].label, { value: r }));
    if (scenes.length < 2) $("scene-run").closest("label").hidden = true;
    state.frame = Math.max(...scenes.map((r) => D.runs[r].scene.t.shape[0])) - 1;
    fillViews();
    register($("scene-plot"), "scene", buildScene);
    $("scene-run").addEventListener("change", () => { fillViews(); showScene(); });
    $("view").addEventListener("change", showScene);
    $("time").addEventListener("input", () => { stop(); state.frame = +$("time").value; showScene(); });
    $("play").addEventListener("click", () => {
      if (state.timer) return stop();
      if (state.frame >= +$("time").max) state.frame = 0;
      $("play").textContent = "Pause";
      state.timer = setInterval(() => {
        if (state.frame >= +$("time").max) return stop();
        $("time").value = ++state.frame;
        showScene();
      }, 90);
    });
    const turn = (angle) => {
      const node = $("scene-plot"), eye = node._fullLayout?.scene?.camera?.eye || EYE;
      const c = Math.cos(angle), s = Math.sin(angle);
      if (node.dataset.drawn) Plotly.relayout(node, { "scene.camera.eye": { x: c * eye.x - s * eye.y, y: s * eye.x + c * eye.y, z: eye.z } });
    };
    $("left").addEventListener("click", () => turn(-Math.PI / 12));
    $("right").addEventListener("click", () => turn(Math.PI / 12));
  } else $("ellipsoids").hidden = true;
  window.addEventListener("beforeprint", drawAll);
  window.testbedReport = { drawAll, plots: () => [...plots.keys()] };
})();
