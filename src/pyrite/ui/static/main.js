// Which view is shown; asks once a second whether there is anything new.
import { get, of, Refused } from "./api.js";
import { h, tag } from "./dom.js";
import { VIEWS, TABS } from "./views.js";

const content = document.getElementById("content");
let shown = { hash: null, version: null };
let drawing = 0;

// The token came by the address; from now on a cookie has it.
if (new URLSearchParams(location.search).has("token")) {
  history.replaceState(null, "", `/${location.hash}`);
}

function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [app, view, ...rest] = path.split("/").map(decodeURIComponent);
  return { app, view: view || "overview", rest, query: new URLSearchParams(query || "") };
}

async function draw(isNews) {
  const mine = ++drawing;
  const where = place();
  if (!isNews) content.setAttribute("aria-busy", "true");
  let view;
  try {
    if (!where.app) {
      const runs = await get("applications");
      if (runs.length === 1) { location.replace(`#/${encodeURIComponent(runs[0].id)}/overview`); return; }
      view = VIEWS.runs(runs);
      frame(null, where, null);
    } else {
      const state = await get(of(where.app, "state"));
      const show = VIEWS[where.view];
      view = show ? await show(where) : h("p", null, "There is no such view.");
      if (mine !== drawing) return;
      frame(state, where, view.dataset ? view.dataset.errors : null);
      shown.version = state.version;
      shown.state = state.state;
    }
  } catch (error) {
    if (mine !== drawing) return;
    const text = error instanceof Refused ? error.message : `The page's program can't be reached: ${error.message}`;
    view = h("p", { class: "failure", role: "alert" }, text);
  }
  if (mine !== drawing) return;
  put(view, isNews && shown.hash === location.hash);
  shown.hash = location.hash;
  content.removeAttribute("aria-busy");
}

// News keep the place: focus, what is open, and how far one has scrolled.
function put(view, keeps) {
  const focus = document.activeElement;
  const focused = content.contains(focus) ? focus.id || focus.getAttribute("href") : null;
  const open = new Set([...content.querySelectorAll("details[open]")].map((each) => each.id));
  const scrolled = window.scrollY;
  content.replaceChildren(view);
  if (!keeps) { window.scrollTo(0, 0); return; }
  for (const each of content.querySelectorAll("details")) each.open = open.has(each.id);
  if (focused) {
    const again = [...content.querySelectorAll("a, button, select, [id]")]
      .find((each) => each.id === focused || each.getAttribute("href") === focused);
    if (again) again.focus({ preventScroll: true });
  }
  window.scrollTo(0, scrolled);
}

function frame(state, where, errors) {
  const name = document.getElementById("run-name");
  const label = document.getElementById("run-state");
  const problem = document.getElementById("problem");
  const tabs = document.getElementById("tabs");
  name.textContent = state ? state.name : "";
  label.replaceChildren(state ? tag(state.state) : "");
  problem.hidden = !(state && state.problem);
  problem.textContent = state && state.problem ? state.problem : "";
  document.title = state ? `${state.name} · Pyrite` : "Pyrite";
  const app = where.app && encodeURIComponent(where.app);
  const wanted = state ? TABS : [];
  tabs.replaceChildren(...wanted.map(([view, title, also]) => {
    const here = view === where.view || (also || []).includes(where.view);
    return h("a", { href: `#/${app}/${view}`, "aria-current": here ? "page" : null }, title);
  }), ...(state ? [h("a", { href: "#/runs" }, "All runs")] : []));
}

async function look() {
  const { app } = place();
  // What is being marked would be lost with the next picture.
  const marks = !document.getSelection().isCollapsed;
  if (!app || marks || document.hidden || shown.hash !== location.hash) return;
  try {
    const state = await get(of(app, "state"));
    if (state.version !== shown.version || state.state !== shown.state) await draw(true);
  } catch { /* The program may have ended: what is shown stays. */
    const label = document.getElementById("run-state");
    if (shown.state === "running") label.replaceChildren(tag("not reachable", "bad"));
  }
}

function allRuns() {
  return get("applications").then((runs) => put(VIEWS.runs(runs), false));
}

window.addEventListener("hashchange", () => {
  if (location.hash === "#/runs") { frame(null, {}, null); allRuns(); return; }
  if (location.hash === "#content") return;
  draw(false);
});
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  content.focus();
});
document.addEventListener("keydown", (event) => {
  const typed = event.target.matches("input, select, textarea");
  if (typed || event.ctrlKey || event.altKey || event.metaKey || !/^[0-9]$/.test(event.key)) return;
  const tab = TABS[(Number(event.key) + 9) % 10];
  const { app } = place();
  if (app && app !== "runs" && tab) location.hash = `#/${encodeURIComponent(app)}/${tab[0]}`;
});

const root = document.documentElement;
function theme(name) {
  if (name) root.dataset.theme = name;
}
try { theme(localStorage.getItem("pyrite-theme")); } catch { /* Storage may be forbidden. */ }
document.getElementById("theme").addEventListener("click", () => {
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  theme(dark ? "light" : "dark");
  try { localStorage.setItem("pyrite-theme", root.dataset.theme); } catch { /* Then it is forgotten. */ }
});

setInterval(look, 1000);
if (location.hash === "#/runs") allRuns(); else draw(false);
