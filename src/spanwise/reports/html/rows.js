"use strict";
// Buttons and a search field that filter the rows of a table, by kind and by text.
(() => {
  for (const group of document.querySelectorAll(".sifted")) {
    const table = group.querySelector("table");
    const buttons = [...group.querySelectorAll("button[data-only]")], field = group.querySelector("[data-search]");
    const rows = [...table.tBodies[0].rows];
    const show = () => {
      const kind = buttons.find((button) => button.getAttribute("aria-pressed") === "true")?.dataset.only || "";
      const wanted = (field?.value || "").toLowerCase();
      for (const row of rows) row.hidden = Boolean((kind && row.dataset.kind !== kind) || (wanted && !row.textContent.toLowerCase().includes(wanted)));
    };
    for (const button of buttons) {
      button.addEventListener("click", () => {
        for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
        show();
      });
    }
    field?.addEventListener("input", show);
  }
})();
