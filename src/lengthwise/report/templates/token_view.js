"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const panel = document.getElementById("panel");
let shown = null, kept = null;

function colour(nats) {
  const share = Math.min(Math.abs(nats) / data.scale, 1);
  return "rgb(var(--" + (nats >= 0 ? "hot" : "cold") + ") / " + share.toFixed(3) + ")";
}
function visible(text) { return text === "" ? "·" : text.replace(/\n/g, "⏎").replace(/\t/g, "⇥").replace(/ {5,}/g, run => "␣×" + run.length).replace(/ /g, "␣"); }
function signed(nats) { return (nats < 0 ? "−" : "+") + Math.abs(nats).toFixed(2); }
function element(tag, text) { const made = document.createElement(tag); if (text !== undefined) made.textContent = text; return made; }
function row(table, tag, cells) { const line = element("tr"); for (const cell of cells) line.append(cell instanceof Node ? cell : element(tag, cell)); table.append(line); }
function tokenCell(text) { const cell = element("td"); cell.append(element("code", visible(text))); return cell; }

function clear(text) {
  text.classList.remove("on");
  for (const span of text.querySelectorAll(":scope > span")) {
    span.classList.remove("recent", "block", "here");
    span.style.background = "";
    if (span.dataset.target !== undefined) span.setAttribute("aria-pressed", "false");
  }
}
function show(span) {
  const text = span.parentElement, passage = data.passages[text.dataset.passage], target = passage.targets[span.dataset.target];
  if (shown && shown.parentElement !== text) clear(shown.parentElement);
  clear(text);
  text.classList.add("on");
  const spans = text.querySelectorAll(":scope > span");
  for (let i = Math.max(0, target.at - data.recent); i < target.at; i++) spans[i].classList.add("recent");
  for (const [i, nats] of target.influence) { spans[i].classList.add("block"); spans[i].style.background = colour(nats); }
  for (const other of text.querySelectorAll(".t")) other.tabIndex = -1;
  span.classList.add("here"); span.setAttribute("aria-pressed", "true"); span.tabIndex = 0;
  shown = span;
  describe(passage, target);
}
function describe(passage, target) {
  panel.replaceChildren();
  const head = element("h2", "Token "); head.append(element("code", visible(passage.tokens[target.at])));
  const losses = element("table");
  row(losses, "th", ["visible", "loss in nats"]);
  row(losses, "td", ["last " + data.recent, target.short.toFixed(2)]);
  row(losses, "td", ["all " + data.context, target.long.toFixed(2)]);
  row(losses, "td", ["gained by the block", signed(target.short - target.long)]);
  const best = element("table");
  row(best, "th", ["token of the block", "tokens back", "nats"]);
  for (const [i, nats] of [...target.influence].sort((a, b) => b[1] - a[1]).slice(0, 7))
    row(best, "td", [tokenCell(passage.tokens[i]), String(target.at - i), signed(nats)]);
  panel.append(head, losses, best);
}
function targetOf(node) { return node instanceof Element ? node.closest(".t") : null; }
document.addEventListener("pointerover", event => {
  const span = targetOf(event.target);
  if (span && event.pointerType !== "touch") show(span);
  else if (!span && kept && shown !== kept && kept.parentElement === shown.parentElement) show(kept);
});
document.addEventListener("focusin", event => { const span = targetOf(event.target); if (span) show(span); });
document.addEventListener("click", event => {
  const span = targetOf(event.target);
  if (span) { kept = kept === span ? null : span; show(span); }
});
document.addEventListener("keydown", event => {
  const span = targetOf(event.target);
  if (!span) return;
  const all = [...span.parentElement.querySelectorAll(".t")], here = all.indexOf(span);
  const next = { ArrowRight: here + 1, ArrowLeft: here - 1, ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: all.length - 1 }[event.key];
  if (next !== undefined && all[next]) { kept = null; all[next].focus(); event.preventDefault(); }
  if (event.key === "Enter" || event.key === " ") { kept = kept === span ? null : span; event.preventDefault(); }
});
function firstOf(text) {
  const passage = data.passages[text.dataset.passage];
  // The target that gains most is the one worth seeing first.
  let best = 0;
  passage.targets.forEach((target, i) => { const top = passage.targets[best]; if (target.short - target.long > top.short - top.long) best = i; });
  return text.querySelector('[data-target="' + best + '"]');
}
function open(index) {
  for (const text of document.querySelectorAll(".text")) text.hidden = text.dataset.passage !== String(index);
  kept = null;
  const first = firstOf(document.getElementById("text-" + index));
  if (first) show(first);
}
const choice = document.getElementById("passage");
if (choice) choice.addEventListener("change", () => open(choice.value));
open(0);
