"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const values = JSON.parse(byId("looked-up").textContent);
  const delta = byId("delta");
  const distance = byId("distance");
  // Everything is looked up: the numbers were computed, and rounded up, when the page was written.
  const show = () => {
    const i = Number(delta.value);
    const j = Number(distance.value);
    byId("answer-delta").textContent = values.deltas[i];
    byId("answer-confidence").textContent = values.confidences[i];
    byId("answer-distance").textContent = values.distances[j];
    byId("answer-bound").textContent = values.bounds[i][j];
    delta.setAttribute("aria-valuetext", `${values.deltas[i]}, at most ${values.bounds[i][j]}`);
  };
  delta.addEventListener("input", show);
  distance.addEventListener("input", show);
  byId("controls").hidden = false;
  show();
})();
