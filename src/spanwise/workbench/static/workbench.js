// Four verbs: send a form as GET and replace one region, send a form as JSON, listen to events, upload.
const body = document.body;

// ---- theme: follows the system until chosen; shared with the reports, which keep it under the same name
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
  if (own !== turn) return; // something else was asked for meanwhile, and its answer is the one to show
  const here = region();
  const there = page.querySelector(`[data-region="${here.dataset.region}"]`);
  if (!answer.ok || !there) { location.assign(address); return; }
  const focused = document.activeElement;
  const name = focused && focused.name ? `[name="${CSS.escape(focused.name)}"]${focused.type === "checkbox" ? `[value="${CSS.escape(focused.value)}"]` : ""}` : "";
  const sentence = focused?.closest("[data-sentence]")?.dataset.sentence;
  here.replaceWith(document.importNode(there, true));
  document.title = page.title;
  canonical();
  const among = sentence ? region().querySelector(`[data-sentence="${sentence}"]`) ?? region() : region();
  if (name) among.querySelector(name)?.focus();
  if (sentence && document.activeElement === body) among.focus(); // its form is closed now
  remembered();
}

// Equal views have equal addresses.
function canonical() {
  const address = region()?.dataset.address;
  if (address && address !== location.pathname + location.search) history.replaceState(null, "", address + location.hash);
  const exported = document.querySelector("[data-export]");
  if (exported) exported.href = `${location.pathname === "/" ? "/index" : location.pathname}.json${location.search}`;
}

function addressOf(form) {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value !== "") query.append(name, value);
  return `${form.action || location.pathname}`.split("?")[0] + (query.size ? `?${query}` : "");
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

// What somebody else changed meanwhile has been told: the next try is about that version.
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

// ---- events: new rows wait until the person asks for them; jobs show their progress at once
const live = document.querySelector("[data-live]");
const told = document.querySelector("[data-new]");
const folder = live.querySelector("[data-live-text]").textContent;
let fresh = 0, said = -Infinity, later = 0;
// In one line, and at most every ten seconds, so that nobody who listens to the page is interrupted often.
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
if (early?.files.length) upload([...early.files]); // chosen while the page was still being made
document.addEventListener("dragover", (event) => { if (event.target.closest?.("[data-drop]")) event.preventDefault(); });
document.addEventListener("drop", (event) => {
  if (!event.target.closest?.("[data-drop]")) return;
  event.preventDefault();
  upload([...event.dataTransfer.files]);
});

// ---- keys
document.querySelector("[data-show-keys]")?.addEventListener("click", () => document.querySelector("#keys").showModal());
document.addEventListener("keydown", (event) => {
  if (localStorage.getItem("keys") === "off" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea, button, summary, a")) return;
  const all = [...document.querySelectorAll("[data-sentence]")];
  const at = all.indexOf(document.activeElement.closest("[data-sentence]"));
  if (event.key === "j") all[Math.min(at + 1, all.length - 1)]?.focus();
  else if (event.key === "k") all[Math.max(at - 1, 0)]?.focus();
  else if (event.key === "n" && at >= 0) { const noting = all[at].querySelector(":scope > .noting"); noting.open = true; noting.querySelector("input[name=text]").focus(); event.preventDefault(); }
  else if (event.key === "g" && at >= 0) all[at].querySelector(":scope > .noting form").requestSubmit();
  else if (event.key === "?") { document.querySelector("#keys").showModal(); event.preventDefault(); }
  else if (event.key === "Enter" && at >= 0) location.assign(all[at].querySelector("a.source").href);
  else if (event.key === "/") { document.querySelector("input[type=search]")?.focus(); event.preventDefault(); }
});

canonical();
