"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const COLOURS = ["c0", "c1", "c2", "c3", "c4", "c5", "c6"];
const TITLES = {plain: "plain", coupled: "coupled", modulo: "modulo"};
let shown = null, waiting = null, hidden = new Set();

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
function draw(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
function word(text) { return make("span", {class: `word ${text.split(" ")[0]}`}, text); }
function fill(id, ...children) { $(id).replaceChildren(...children); }
function plural(count, unit) { return `${count} ${unit}${count === 1 ? "" : "s"}`; }

// Ask for an answer: from the page itself, or from the server behind it.
async function ask(target, train, test) {
  if (waiting) waiting.abort();
  waiting = new AbortController();
  const key = data.answers[target] ?? data.answers[`regex:${target}`];
  if (key && key.train === train && key.test === test) return show(key);
  if (!data.live) return fail(`this page holds ${Object.keys(data.answers).length} targets; for others, run: lengthwise explore`);
  document.body.classList.add("waiting");
  try {
    const reply = await fetch(`answer?${new URLSearchParams({target, train, test})}`, {signal: waiting.signal});
    const found = await reply.json();
    if (found.error) fail(found.error); else show(found);
  } catch (error) {
    if (error.name === "AbortError") return;
    fail("no answer: the command that serves this page has ended; run lengthwise explore again");
  }
  document.body.classList.remove("waiting");
}
function fail(line) {
  $("problem").textContent = line;
  $("problem").hidden = false;
}

function show(found) {
  shown = found;
  hidden = new Set();
  $("problem").hidden = true;
  $("target").value = found.target.replace(/^regex:(?=.*[|*+?()[\]{}\\])/, "");
  $("train").value = found.train;
  $("test").value = found.test;
  for (const chip of $("chips").children) chip.setAttribute("aria-pressed", String(chip.value === found.target));
  history.replaceState(null, "", `#${new URLSearchParams({target: found.target, train: found.train, test: found.test})}`);
  const name = found.target.replace(/^regex:/, "");
  document.title = `${name} · lengthwise explore`;
  $("question").textContent = `${name}, trained to ${found.train}: right at ${found.test}?`;
  fill("word", word(found.best.word));
  $("chance").textContent = found.best.chance ? `at best ${found.best.chance}, with ${found.best.name}` : "by no position system";
  $("summary").textContent = found.summary;
  $("others").textContent = found.others && `Usual encodings: ${found.others}.`;
  fill("why", ...found.best.reasons.map(reason));
  fill("instead", ...better(found.instead));
  fill("rows", ...found.systems.map(row));
  $("basis").textContent = found.basis;
  $("shell").textContent = found.shell.join("\n");
  $("python").textContent = found.python.join("\n");
  $("needs").hidden = !found.examples.length;
  if (found.examples.length) {
    $("sparsity").textContent = found.sparsity;
    $("m").textContent = found.period;
    for (const [name, fate] of Object.entries(found.schemes)) {
      const panel = $(name), mark = {good: found.allowed.length ? "the id decides" : "stays the same", bad: "changes with length", open: ""}[fate.word];
      panel.querySelector(".fate").replaceChildren(...(mark ? [make("span", {class: `word ${fate.word}`}, mark)] : []));
      panel.querySelector(".says").textContent = fate.says;
    }
    $("length").max = found.examples.length - 1;
    $("length").value = found.start;
    toLength();
  }
  measured();
}
function reason(each) { return make("li", {}, make("b", {}, `${each.kind}: `), each.line); }
function better(instead) {
  return instead.flatMap((each, index) => [
    make("p", {}, make("b", {}, index ? "Or: " : "Instead: "), each.line),
    ...(each.command ? [make("pre", {class: "command"}, each.command)] : []),
  ]);
}

// The forecast of one system: its name, a word, a bar and a number; the reasons behind them unfold.
function row(system) {
  const bar = draw("svg", {class: `range ${system.word.split(" ")[0]}`, viewBox: "0 0 100 14", preserveAspectRatio: "none", "aria-hidden": "true"},
    draw("rect", {class: "all", x: 0, y: 5, width: 100, height: 4}));
  if (system.p !== null) {
    const [low, high] = system.interval.map(value => 100 * value);
    bar.append(draw("rect", {class: "span", x: low, y: 3, width: Math.max(.6, high - low), height: 8}));
    bar.append(draw("rect", {class: "p", x: Math.max(0, 100 * system.p - .6), y: 0, width: 1.2, height: 14}));
  }
  return make("details", {class: "system"},
    make("summary", {}, make("span", {class: "name"}, system.name), word(system.word),
      make("span", {class: "range-cell"}, bar), make("span", {class: "chance"}, system.chance || "–")),
    make("div", {class: "more"}, make("ul", {}, ...system.reasons.map(reason)), ...better(system.instead)));
}

// The example of one length, under three schemes of ids.
function toLength() {
  const one = shown.examples[$("length").value];
  $("length-now").textContent = one.length;
  // Commands show the example that is seen.
  for (const name of ["shell", "python"]) $(name).textContent = $(name).textContent.replace(/(--length |length=)\d+/, `$1${one.length}`);
  $("length").setAttribute("aria-valuetext", `length ${one.length}`);
  const most = Math.max(...one.scored.map(at => (one.parents[at] ?? []).length));
  const best = one.scored.filter(at => (one.parents[at] ?? []).length === most);
  $("token").max = Math.max(0, one.scored.length - 1);
  $("token").value = one.scored.indexOf(best[Math.floor(best.length / 2)]);
  const colours = shown.allowed.map((set, index) => [set, index]).filter(([, index]) => one.allowed.slice(0, -1).includes(index));
  fill("colours", ...(shown.allowed.length ? ["After this token may come: ", ...colours.map(([set, index]) =>
    make("span", {}, make("i", {class: "swatch", style: `background:var(--${COLOURS[index % 7]})`}), set.map(text => text === "<eos>" ? "the end" : text).join(" or ") || "nothing"))] : []));
  $("token-label").hidden = $("how-drawn").hidden = shown.allowed.length > 0;
  toToken();
}
function toToken() {
  const one = shown.examples[$("length").value], at = one.scored[$("token").value];
  const text = one.tokens[at];
  $("token-now").textContent = `${text} (${Number($("token").value) + 1} of ${one.scored.length})`;
  $("token").setAttribute("aria-valuetext", `${text}, token ${at}`);
  for (const name of Object.keys(TITLES)) panel(name, one, at);
}
function panel(name, one, at) {
  const parents = one.parents[at] ?? [], selectors = one.selectors[at] ?? [];
  const ids = one.ids[name].map(levels => levels[0]), least = Math.min(...ids);
  const names = one.tokens.map(text => text.replace(/[<>]/g, ""));
  const longest = Math.max(...names.map(text => text.length));
  const wide = Math.max(30, 9 * longest + 14), tall = 25, rows = new Map(), places = [];
  for (const id of ids) {
    rows.set(id, (rows.get(id) ?? 0) + 1);
    places.push([wide * (id - least + .5), rows.get(id) - 1]);
  }
  const depth = Math.max(...rows.values()), stacked = depth > 1;
  // Long columns are set closer together.
  const step = stacked ? Math.max(15, Math.min(tall + 19, 420 / depth)) : 0;
  const reach = Math.max(1, ...Object.entries(one.parents).flatMap(([to, from]) => from.map(p => Math.abs(ids[to] - ids[p]))));
  const top = stacked || shown.allowed.length ? 6 : 16 + Math.min(110, 16 + 8 * reach);
  const middle = place => [place[0], top + tall / 2 + step * place[1]];
  const height = top + tall + step * (depth - 1) + 22;
  const width = wide * (Math.max(...ids) - least + 1);
  const svg = draw("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img"});
  const arc = (from, kind) => {
    const [x, y] = middle(places[from.to]), [u, v] = middle(places[from.parent]);
    let path;
    if (!stacked) path = `M ${x} ${top - 2} C ${x} ${top - 10 - 110 * Math.abs(x - u) / (wide * reach)}, ${u} ${top - 10 - 110 * Math.abs(x - u) / (wide * reach)}, ${u} ${top - 2}`;
    else if (x === u) path = `M ${x} ${y} Q ${x + wide * .75} ${(y + v) / 2} ${u} ${v}`;
    else path = `M ${x} ${y} Q ${(x + u) / 2} ${(y + v) / 2 - 8} ${u} ${v}`;
    return draw("path", {class: `arc ${kind}`, d: path});
  };
  const all = Object.entries(one.parents).flatMap(([to, from]) => from.map(parent => ({to: Number(to), parent})));
  const faint = all.filter(each => each.to !== at);
  if (faint.length < 300) svg.append(...faint.map(each => arc(each, "")));
  svg.append(...selectors.map(parent => arc({to: at, parent}, "on chooses")), ...parents.map(parent => arc({to: at, parent}, "on")));
  const picked = new Set([...parents, ...selectors]), scored = new Set(one.scored);
  for (const [index, place] of places.entries()) {
    const [x, y] = middle(place), kinds = [];
    if (scored.has(index)) kinds.push("scored");
    if (shown.allowed.length === 0) {
      if (index === at - 1) kinds.push("at");
      if (picked.has(index)) kinds.push("pick");
      if (index === at) kinds.push("focus");
    }
    const high = Math.min(tall, stacked ? step - 2 : tall);
    const box = draw("rect", {class: "box", x: x - wide / 2 + 2, y: y - high / 2, width: wide - 4, height: high, rx: 5});
    if (shown.allowed.length && index < places.length - 1) box.style.cssText = `fill:color-mix(in srgb, var(--${COLOURS[one.allowed[index] % 7]}) 30%, var(--paper));stroke:var(--${COLOURS[one.allowed[index] % 7]})`;
    const text = draw("text", {class: "token", x, y: y + 4.5, "text-anchor": "middle"}, names[index]);
    const group = draw("g", {class: kinds.join(" "), "data-position": index}, box, text);
    if (scored.has(index) && !shown.allowed.length) group.addEventListener("click", () => { $("token").value = one.scored.indexOf(index); toToken(); });
    svg.append(group);
  }
  for (const id of rows.keys()) {
    svg.append(draw("text", {class: "id", x: wide * (id - least + .5), y: height - 6, "text-anchor": "middle"}, id));
  }
  const away = parents.map(parent => Math.abs(ids[at - 1] - ids[parent])).sort((a, b) => b - a);
  const caption = shown.allowed.length ? "" : parents.length === 0 ? "This token depends on no earlier one." :
    away.length > 8 ? `It needs ${plural(away.length, "token")}, the farthest ${plural(away[0], "id")} from where it is predicted.` :
    `What it needs is ${away.join(", ")} ${away.length === 1 && away[0] === 1 ? "id" : "ids"} from where it is predicted.`;
  svg.setAttribute("aria-label", `${TITLES[name]} ids: ${one.tokens.join(" ")}. ${caption}`);
  const part = $(name), scroll = part.querySelector(".scroll");
  scroll.replaceChildren(svg);
  part.querySelector("figcaption").textContent = caption;
  part.querySelector(".cue").hidden = scroll.scrollWidth <= scroll.clientWidth + 1;
}

// Accuracy against length as a multiple of the training length, a line a setting.
function measured() {
  const curves = shown.curves, drawn = curves.filter(curve => curve.points.length);
  $("table").hidden = !curves.length;
  $("measured-says").textContent = curves.length === 0 ? "This target was not measured: the forecast rests on similar ones." :
    `${plural(curves.length, "setting")} of it ${curves.length === 1 ? "was" : "were"} trained; ${drawn.length || "none"} fitted${drawn.length ? ` and ${drawn.length === 1 ? "has" : "have"} a line: the median of the seeds that fit, on the hardest strings of each length.` : "."}`;
  const count = new Map();
  for (const curve of drawn) count.set(curve.system, (count.get(curve.system) ?? 0) + 1);
  const systems = [...count.keys()].sort((a, b) => count.get(b) - count.get(a));
  const looks = new Map(drawn.map(curve => [curve.system, curve.look]));
  fill("curve-key", ...systems.map(system => {
    const key = make("button", {type: "button", "aria-pressed": String(!hidden.has(system))}, make("span", {style: `color:var(--${looks.get(system).colour});margin-right:5px`}, looks.get(system).sign), system);
    key.addEventListener("click", () => { if (!hidden.delete(system)) hidden.add(system); measured(); });
    return key;
  }));
  fill("cells", ...curves.map(curve => {
    const last = curve.points.at(-1);
    const where = last ? `${last[1].toFixed(2)} at ${last[2] === last[3] ? last[2] : `${last[2]}–${last[3]}`}` : "–";
    return make("tr", {}, make("td", {}, curve.label, make("small", {}, curve.system)), make("td", {class: "l"}, `${curve.study}, ${curve.commit.slice(0, 7)}`),
      make("td", {}, curve.train), make("td", {}, `${curve.fitted} of ${curve.seeds}`), make("td", {}, where));
  }));
  if (!drawn.length) return fill("chart");
  const xs = drawn.flatMap(curve => curve.points.map(point => point[0]));
  const low = Math.min(1, ...xs), high = Math.max(2, ...xs), wide = Math.max(320, Math.min(860, $("measured").clientWidth)), tall = 300, left = 38, bottom = 40;
  const x = value => left + (wide - left - 20) * Math.log(value / low) / Math.log(high / low);
  const y = value => 12 + (tall - bottom - 12) * (1 - value);
  const svg = draw("svg", {viewBox: `0 0 ${wide} ${tall}`, role: "img", "aria-label": "Accuracy against length, as in the table below"},
    draw("rect", {class: "trained", x: left, y: 12, width: x(1) - left, height: tall - bottom - 12}));
  for (const value of [0, .25, .5, .75, 1]) svg.append(draw("line", {x1: left, x2: wide - 20, y1: y(value), y2: y(value)}), draw("text", {x: left - 8, y: y(value) + 4, "text-anchor": "end"}, value));
  for (const value of [.25, .5, 1, 2, 5, 10, 20, 50, 100].filter(value => value >= low && value <= high)) svg.append(draw("text", {x: x(value), y: tall - bottom + 20, "text-anchor": "middle"}, `${value}×`));
  svg.append(draw("line", {class: "limit", x1: x(1), x2: x(1), y1: 6, y2: tall - bottom}), draw("text", {x: (left + wide) / 2, y: tall - 4, "text-anchor": "middle"}, "length ÷ longest training length"));
  for (const curve of drawn) {
    if (hidden.has(curve.system)) continue;
    const {colour, sign, dashes} = curve.look;
    svg.append(draw("polyline", {points: curve.points.map(point => `${x(point[0])},${y(point[1])}`).join(" "), style: `stroke:var(--${colour})`, "stroke-dasharray": dashes}));
    for (const [at, value, first, last] of curve.points) {
      const where = first === last ? first : `${first}–${last}`;
      svg.append(draw("text", {x: x(at), y: y(value) + 4, "text-anchor": "middle", style: `fill:var(--${colour});font-size:10px`}, sign,
        draw("title", {}, `${curve.label}: ${value.toFixed(3)} at ${where}, trained to ${curve.train}; ${curve.fitted} of ${curve.seeds} seeds fit; ${curve.study}`)));
    }
  }
  fill("chart", svg);
}

$("form").addEventListener("submit", event => {
  event.preventDefault();
  ask($("target").value.trim(), Number($("train").value), Number($("test").value));
});
$("chips").addEventListener("click", event => {
  if (event.target.value) ask(event.target.value, Number($("train").value), Number($("test").value));
});
$("length").addEventListener("input", toLength);
$("token").addEventListener("input", toToken);
addEventListener("resize", () => { if (shown?.examples.length) toToken(); if (shown) measured(); });
function fromAddress() {
  const asked = new URLSearchParams(location.hash.slice(1)), first = data.answers[data.first];
  ask(asked.get("target") || first.target, Number(asked.get("train") || first.train), Number(asked.get("test") || first.test));
}
addEventListener("hashchange", fromAddress);
fromAddress();
