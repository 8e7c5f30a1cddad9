"use strict";
const tip = document.createElement("div");
tip.id = "tip";
tip.hidden = true;
document.body.append(tip);
for (const title of document.querySelectorAll("svg use > title")) {
  const point = title.parentElement;
  point.dataset.tip = title.textContent;
  point.setAttribute("aria-label", title.textContent);
  title.remove();
}
function nearest(event) {
  const svg = event.target instanceof Element ? event.target.closest("svg") : null;
  let best = null, least = 24;
  for (const point of svg ? svg.querySelectorAll("[data-tip]") : []) {
    const box = point.getBoundingClientRect();
    const apart = Math.hypot(box.x + box.width / 2 - event.clientX, box.y + box.height / 2 - event.clientY);
    if (apart < least) { best = point; least = apart; }
  }
  return best;
}
function show(event) {
  const point = nearest(event);
  tip.hidden = !point;
  if (!point) return;
  tip.textContent = point.dataset.tip;
  const box = point.getBoundingClientRect();
  tip.style.left = Math.max(8, Math.min(box.x + 14, innerWidth - tip.offsetWidth - 8)) + "px";
  tip.style.top = Math.max(8, box.y - tip.offsetHeight - 8) + "px";
}
document.addEventListener("pointermove", show);
document.addEventListener("pointerdown", show);
document.addEventListener("scroll", () => { tip.hidden = true; }, true);
