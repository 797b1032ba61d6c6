// Progressive enhancement: submit forms and replace one region of the page, send JSON, show events, upload files.
const body = document.body;

// ---- theme: follows the system until one is chosen; stored under the same key as in reports
const THEMES = ["auto", "dark", "light"];
function setTheme(name) {
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  document.querySelector("[data-theme-button]").textContent = `Theme: ${name}`;
  localStorage.setItem("spanwise-theme", name);
}
const chosenTheme = () => THEMES.indexOf(localStorage.getItem("spanwise-theme"));
setTheme(THEMES[Math.max(chosenTheme(), 0)]);
document.querySelector("[data-theme-button]").addEventListener("click", () => setTheme(THEMES[(chosenTheme() + 1) % 3]));

const region = () => document.querySelector("[data-region]");

let turn = 0;
async function replace(address, push) {
  if (!region()) { location.assign(address); return; }
  const own = ++turn;
  if (push) history.pushState(null, "", address);
  const answer = await fetch(address, { headers: { accept: "text/html" } });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (own !== turn) return; // a newer request has replaced this one
  const here = region();
  const there = page.querySelector(`[data-region="${here.dataset.region}"]`);
  if (!answer.ok || !there) { location.assign(address); return; }
  const focused = document.activeElement;
  const name = focused && focused.name ? `[name="${CSS.escape(focused.name)}"]${focused.type === "checkbox" ? `[value="${CSS.escape(focused.value)}"]` : ""}` : "";
  const sentence = focused?.closest("[data-sentence]")?.dataset.sentence;
  const folds = ".columns > summary, .facets summary";
  const opened = new Set([...here.querySelectorAll(folds)].filter((one) => one.parentElement.open).map((one) => one.textContent));
  const chosen = new Set([...here.querySelectorAll('[name="r"]:checked')].map((one) => one.value));
  here.replaceWith(document.importNode(there, true));
  for (const one of region().querySelectorAll(folds)) if (opened.has(one.textContent)) one.parentElement.open = true;
  for (const one of region().querySelectorAll('[name="r"]')) one.checked = chosen.has(one.value);
  document.title = page.title;
  canonical();
  settled();
  const among = sentence ? region().querySelector(`[data-sentence="${sentence}"]`) ?? region() : region();
  if (name) among.querySelector(name)?.focus();
  if (sentence && document.activeElement === body) among.focus(); // the form that had the focus is closed now
  remembered();
}

// Show the canonical address of the view, so that equal views have equal addresses.
function canonical() {
  const address = region()?.dataset.address;
  if (address && address !== location.pathname + location.search) history.replaceState(null, "", address + location.hash);
  const exported = document.querySelector("[data-export]");
  if (exported) exported.href = `${location.pathname === "/" ? "/index" : location.pathname}.json${location.search}`;
}

function addressOf(form) {
  const query = new URLSearchParams();
  const lists = new Map([...form.querySelectorAll("[data-list]")].map((one) => [one.querySelector("input")?.name, one.dataset.list]));
  for (const [name, value] of new FormData(form)) if (value !== "" && !lists.has(name)) query.append(name, value);
  for (const [name, usual] of lists) { // join several values into one parameter; omit it if it equals the default
    const chosen = new FormData(form).getAll(name).join(",");
    if (chosen && chosen !== usual) query.append(name, chosen);
  }
  return `${form.action || location.pathname}`.split("?")[0] + (query.size ? `?${query}`.replaceAll("%2C", ",") : "");
}

function valuesOf(form) {
  const values = {};
  for (const field of form.elements) {
    if (!field.name || field.value === "") continue;
    if (field.dataset.mention !== undefined) {
      const [start, end] = field.value.split(" ").map(Number);
      Object.assign(values, { start, end, label: field.selectedOptions[0].dataset.label });
    } else if (field.dataset.type === "number") values[field.name] = Number(field.value);
    else if (field.dataset.type === "list") values[field.name] = [field.value];
    else values[field.name] = field.value;
  }
  return values;
}

async function send(form) {
  const method = form.dataset.method;
  const options = { method, headers: {} };
  if (method !== "DELETE") {
    options.headers["content-type"] = "application/json";
    options.body = JSON.stringify(valuesOf(form));
  }
  if (form.dataset.version) options.headers["if-match"] = `"${form.dataset.version}"`;
  const answer = await fetch(form.dataset.api, options);
  if (answer.ok) {
    if (form.dataset.then) location.assign(form.dataset.then);
    else if (form.closest(".builder") && form.dataset.api.endsWith("/slices")) location.assign(`${location.pathname.split("/slices")[0]}/slices/${(await answer.json()).slug}`);
    else await replace(location.href, false);
    return;
  }
  const told = answer.headers.get("content-type")?.includes("json") ? (await answer.json()).detail : await answer.text();
  form.querySelector('[role="alert"]').textContent = answer.status === 412 && await caughtUp(form) ? `${told.split("\n")[0]} What you typed is still here: press again to replace theirs.` : told;
}

// After a conflict, take the current version, so that submitting again replaces it.
async function caughtUp(form) {
  const [, listed, number] = form.dataset.api.match(/^(.*)\/(\d+)$/) ?? [];
  if (!listed) return false;
  const now = (await (await fetch(listed)).json()).find((one) => one.id === Number(number));
  if (now) form.dataset.version = now.version;
  return Boolean(now);
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.api) { event.preventDefault(); send(form); }
  else if (form.dataset.get !== undefined) { event.preventDefault(); replace(addressOf(form), true); }
  else if (form.dataset.local !== undefined) event.preventDefault();
});
document.addEventListener("change", (event) => {
  const field = event.target;
  if (field.dataset.remember !== undefined) localStorage.setItem("by", field.value);
  if (field.dataset.keys !== undefined) localStorage.setItem("keys", field.checked ? "on" : "off");
  if (field.dataset.files !== undefined) upload([...field.files]);
  const form = field.closest("form[data-get]");
  if (form) replace(addressOf(form), true);
});
addEventListener("popstate", () => replace(location.href, false));

function remembered() {
  for (const field of document.querySelectorAll("[data-remember]")) if (!field.value) field.value = localStorage.getItem("by") ?? "";
  for (const field of document.querySelectorAll("[data-keys]")) field.checked = localStorage.getItem("keys") !== "off";
}
remembered();

document.querySelector("[data-copy]")?.addEventListener("click", async (event) => {
  await navigator.clipboard?.writeText(location.href);
  event.target.textContent = "Copied";
});

// ---- after a region was inserted: fetch its slow parts and fit it to the width of the page
function settled() {
  fetchLater();
  wrap();
  for (const one of document.querySelectorAll(".scroll")) { // focusable only if there is something to scroll
    if (one.scrollWidth > one.clientWidth + 1) one.tabIndex = 0;
    else one.removeAttribute("tabindex");
  }
  choose();
}

// Slow parts are requested after the rest is shown.
async function fetchLater() {
  for (const one of document.querySelectorAll("[data-later]")) {
    const address = one.dataset.later;
    delete one.dataset.later;
    const answer = await fetch(address, { headers: { accept: "text/html" } });
    if (answer.status === 503) { // still being computed: try again later
      one.dataset.later = address;
      setTimeout(() => one.isConnected && fetchLater(), 1000 * Number(answer.headers.get("retry-after") || 2));
      return;
    }
    const part = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-tested]");
    if (answer.ok && part && one.isConnected) one.replaceWith(document.importNode(part, true));
    else one.textContent = "The test failed; reload the page to try again.";
  }
}

// Sentences that are wider than the page are wrapped, as in reports.
const whole = new WeakMap();
function wrap() {
  const all = [...document.querySelectorAll(".sentence .scroll")];
  for (const one of all) {
    if (!whole.has(one)) whole.set(one, one.firstElementChild);
    else if (one.childElementCount > 1) one.replaceChildren(whole.get(one));
  }
  const wide = all.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => {
    const cells = [...whole.get(one).rows[0].cells].map((cell) => cell.offsetWidth);
    return [one, cells, one.clientWidth];
  });
  for (const [one, [name, ...cells], wanted] of wide) {
    for (const room of [wanted, wanted - 30, wanted - 80]) { // a label may be wider than the words above it
      const lines = [];
      let first = 0, width = name;
      cells.forEach((cell, at) => {
        if (width + cell > room && at > first) { lines.push([first, at]); first = at; width = name; }
        width += cell;
      });
      lines.push([first, cells.length]);
      one.replaceChildren(...lines.map(([from, to]) => part(whole.get(one), from, to)));
      if (one.scrollWidth <= one.clientWidth + 1) break;
    }
  }
}
function part(table, from, to) {
  const made = table.cloneNode(false);
  const rows = made.createTBody();
  let marked = false;
  for (const row of table.rows) {
    const one = document.createElement("tr");
    let at = 0, own = false;
    for (const cell of row.cells) {
      if (cell.tagName === "TH") { one.append(cell.cloneNode(true)); continue; }
      const [start, end] = [Math.max(at, from), Math.min(at + cell.colSpan, to)];
      if (start < end) {
        const piece = cell.cloneNode(true);
        piece.colSpan = end - start;
        piece.classList.toggle("from", at < from && piece.childElementCount > 0);
        piece.classList.toggle("on", at + cell.colSpan > to && piece.childElementCount > 0);
        own ||= piece.childElementCount > 0;
        one.append(piece);
      }
      at += cell.colSpan;
    }
    marked ||= own;
    if (own || !rows.rows.length || row.cells[0].textContent) rows.append(one);
  }
  if (!marked) while (rows.rows.length > 1) rows.deleteRow(1); // there are no marks in this line
  return made;
}
let narrower = 0;
addEventListener("resize", () => { cancelAnimationFrame(narrower); narrower = requestAnimationFrame(settled); });

// ---- the results selected for comparison
function choose() {
  const said = document.querySelector("[data-chosen]");
  if (!said) return;
  const names = [...document.querySelectorAll('[name="r"]:checked')].map((one) => one.dataset.system);
  said.textContent = names.length > 2 ? `${names.length} chosen; the first two are compared` : names.length === 1 ? `${names[0]} and …` : names.join(" and ");
}
document.addEventListener("change", choose);
document.addEventListener("reset", () => setTimeout(choose));

// ---- notes: the page has one template of the fields, which is copied into each form that is opened
function noting(one) {
  const form = one.querySelector("form"), fields = document.querySelector("#note-fields");
  if (fields && !form.elements.text) { form.append(fields.content.cloneNode(true)); remembered(); }
  return form;
}
document.addEventListener("toggle", (event) => { if (event.target.open && event.target.dataset.note !== undefined) noting(event.target); }, true);

// ---- events: new results are shown on request, progress of jobs at once
const live = document.querySelector("[data-live]");
const told = document.querySelector("[data-new]");
const folder = live.querySelector("[data-live-text]").textContent;
let fresh = 0, said = -Infinity, later = 0;
// Announce at most every ten seconds, so that screen readers are not interrupted too often.
function announce() {
  if (!fresh) return;
  const wait = said + 10000 - performance.now();
  if (wait > 0) { later ||= setTimeout(() => { later = 0; announce(); }, wait); return; }
  said = performance.now();
  const button = document.createElement("button");
  button.textContent = `${fresh} new result${fresh === 1 ? "" : "s"}: show`;
  button.addEventListener("click", () => { fresh = 0; told.replaceChildren(); replace(location.href, false); });
  told.replaceChildren(button);
}
const source = new EventSource(`/api/v1/events?after=${body.dataset.event}`);
source.addEventListener("open", () => { live.classList.remove("stopped"); live.querySelector("[data-live-text]").textContent = folder; });
source.addEventListener("error", () => { live.classList.add("stopped"); live.querySelector("[data-live-text]").textContent = "stopped"; });
source.addEventListener("result", (event) => {
  const { gold } = JSON.parse(event.data);
  if (gold && body.dataset.gold && gold !== body.dataset.gold) return;
  if (region()?.dataset.region === "golds") { replace(location.href, false); return; }
  fresh += 1;
  announce();
});
source.addEventListener("document", () => { if (["golds", "board"].includes(region()?.dataset.region)) replace(location.href, false); });
source.addEventListener("job", () => { if (region()?.dataset.region === "jobs") replace(location.href, false); });

// ---- uploads
async function upload(files) {
  const drop = document.querySelector("[data-drop]");
  for (const file of files) {
    const query = new URLSearchParams({ name: file.name, system: file.name.split(".")[0] });
    for (const field of drop.querySelectorAll("[data-option]")) if (field.value) query.set(field.dataset.option, field.value);
    const answer = await fetch(`${drop.dataset.drop}?${query}`, { method: "PUT", body: file });
    const alert = drop.querySelector('[role="alert"]');
    alert.textContent = answer.ok ? "" : answer.headers.get("content-type")?.includes("json") ? (await answer.json()).detail : await answer.text();
  }
  replace(location.href, false);
}
const early = document.querySelector("[data-files]");
if (early?.files.length) upload([...early.files]); // chosen before this script ran
document.addEventListener("dragover", (event) => { if (event.target.closest?.("[data-drop]")) event.preventDefault(); });
document.addEventListener("drop", (event) => {
  if (!event.target.closest?.("[data-drop]")) return;
  event.preventDefault();
  upload([...event.dataTransfer.files]);
});

// ---- keyboard shortcuts
document.querySelector("[data-show-keys]")?.addEventListener("click", () => document.querySelector("#keys").showModal());
document.addEventListener("keydown", (event) => {
  if (localStorage.getItem("keys") === "off" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea, button, summary, a")) return;
  const all = [...document.querySelectorAll("[data-sentence]")];
  const at = all.indexOf(document.activeElement.closest("[data-sentence]"));
  if (event.key === "j") all[Math.min(at + 1, all.length - 1)]?.focus();
  else if (event.key === "k") all[Math.max(at - 1, 0)]?.focus();
  else if (event.key === "n" && at >= 0) { const note = all[at].querySelector(":scope > .noting"); note.open = true; noting(note).elements.text.focus(); event.preventDefault(); }
  else if (event.key === "g" && at >= 0) noting(all[at].querySelector(":scope > .noting")).requestSubmit();
  else if (event.key === "?") { document.querySelector("#keys").showModal(); event.preventDefault(); }
  else if (event.key === "Enter" && at >= 0) location.assign(all[at].querySelector("a.source").href);
  else if (event.key === "/") { document.querySelector("input[type=search]")?.focus(); event.preventDefault(); }
});

canonical();
settled();
