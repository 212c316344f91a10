// The page of `tablerec review`: the list of tables, and the editor for the one that is open.

import { mount } from "/static/editor.js";
import { make } from "/static/elements.js";
import { openFrame } from "/static/frame.js";
import { makeIcon } from "/static/icons.js";
import { showTheme } from "/static/memory.js";
import { isSmall } from "/static/queue.js";
import { LANGUAGE_CHANGED, language, makeError, saidBy, text } from "/static/texts.js";
import { mountWork } from "/static/work.js";

const ONLY_OPEN = "tablerec-only-open";
const $ = (id) => document.getElementById(id);
let editor = null, current = null, listing = null, timer = 0, refreshing = Promise.resolve();
const items = new Map(); // name of a table -> { says, item }

async function ask(address, options = {}) {
  let reply;
  try {
    reply = await fetch(address, options);
  } catch {
    throw makeError(text("gone"), { isAway: true });
  }
  const data = await reply.json();
  if (!reply.ok) throw Object.assign(new Error(data.error), { table: data.table, zh: data.error_zh, isAway: reply.status === 403 });
  return data;
}

const post = (address, body, options) => ask(address, {
  method: "POST", body, headers: { "Content-Type": "application/json" }, ...options,
});
const address = (name, part = "") => `/tables/${encodeURIComponent(name)}${part}`;
const known = (name) => listing.tables.find((table) => table.name === name);
// Of the address; one that was cut off in pasting is no name.
const wantedName = () => {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
};
const whereOf = ({ source, page }) => page > 1 ? text("page", source, page) : source;

async function openTable(name) {
  await editor?.idle();
  const before = current;
  current = name;
  const state = await ask(address(name)).catch((error) => {
    current = before;
    throw error;
  });
  if (current !== name) return; // meanwhile another one was chosen
  editor?.destroy();
  location.hash = encodeURIComponent(name);
  const send = async (step) => {
    const body = JSON.stringify(step);
    // So that a step is sent even while the page is being closed.
    const table = await post(address(name, step.do === "read" ? "/read" : "/do"), body, { keepalive: isSmall(body) });
    refresh();
    if (step.do === "save") work.saved();
    work.stepped(name, step, table.n_header_rows);
    return table;
  };
  editor = mount($("editor"), {
    state, picture: address(name, "/picture"), send, next: openNext, go: openBeside, frame: frameTable, page: document,
    refresh: () => ask(address(name)), proof: () => ask(address(name, "/proof")),
  });
  showTitle(state);
  work.look(name);
  showList();
  $("tables").querySelector('[aria-current="true"]')?.scrollIntoView({ block: "nearest" });
  editor.focus();
}

function showTitle({ name, source, page }) {
  $("title").textContent = `${whereOf({ source, page })} · ${name}`;
  const links = [["workbook", `${name}.xlsx`], ["html", `${name}.html`]].map(([kind, file]) =>
    make("a", { href: address(name, kind === "html" ? "/page" : "/workbook"), textContent: text(kind), download: file }));
  $("files").replaceChildren(text("asItIsNow"), " ", ...links);
}

function openNext() {
  const here = listing.tables.findIndex((table) => table.name === current);
  const order = [...listing.tables.slice(here + 1), ...listing.tables.slice(0, here + 1)];
  const next = order.find((table) => table.verdict === "open" && table.name !== current);
  if (next) openTable(next.name).catch(fail);
}

function openBeside(direction) {
  const shown = shownTables(), beside = shown[shown.findIndex((table) => table.name === current) + direction];
  if (beside) openTable(beside.name).catch(fail);
}

function frameTable() {
  const name = current, table = known(name);
  if (!table) return;
  const others = listing.tables.filter((each) => each.source === table.source && each.page === table.page
    && each.turn === table.turn && each.number && each.window && each.verdict !== "rejected").map((each) => each.window);
  const dialog = openFrame({
    picture: address(name, "/whole"), others,
    add: async (frame) => {
      const added = await post(address(name, "/add"), JSON.stringify(frame));
      await refresh();
      await openTable(added.name);
    },
  });
  dialog.addEventListener("close", () => editor?.focus());
}

function fail(error) {
  const { words, tag } = saidBy(error);
  Object.assign($("progress"), { textContent: words, lang: tag });
}

// Answers tell what has changed since the one before, so they come one after the other.
const refresh = () => refreshing = refreshing.then(fetchList);

async function fetchList() {
  clearTimeout(timer);
  try {
    const news = await ask(`/tables?since=${listing?.revision ?? ""}`);
    const isNew = news.is_whole || news.tables.length || JSON.stringify({ ...news, tables: [] }) !== JSON.stringify({ ...listing, tables: [] });
    listing = { ...news, tables: merged(news) };
    if (isNew) showList();
    if (!current && listing.tables.length) {
      const wanted = known(wantedName()) ?? listing.tables.find((table) => table.verdict === "open");
      // While pictures are read, the most doubtful one may still be to come: the first is as good.
      await openTable((wanted ?? listing.tables[0]).name);
    }
  } catch (error) {
    fail(error);
  }
  if (!listing || listing.n_read < listing.n_inputs) timer = setTimeout(refresh, 1000);
}

function merged({ is_whole: isWhole, tables }) {
  if (isWhole) return tables;
  if (!tables.length) return listing.tables;
  const changed = new Set(tables.map(({ name }) => name));
  return [...listing.tables.filter(({ name }) => !changed.has(name)), ...tables].sort(byDoubt);
}

// As the server sorts them: pages without a table last, else the most doubtful first.
const byDoubt = (a, b) => !a.number - !b.number || a.sureness - b.sureness || (a.name < b.name ? -1 : 1);

// All, or those that are open; what is being corrected stays.
function shownTables() {
  return listing.tables.filter((table) => !$("only-open").checked || table.verdict === "open" || table.name === current);
}

function showList() {
  const { tables, problems, n_read: read, n_inputs: inputs, folder } = listing;
  const done = tables.filter((table) => table.verdict !== "open").length, isRead = read >= inputs;
  const counted = isRead && done && done === tables.length ? text("allDone", done, folder) : text("done", done, tables.length);
  $("progress").lang = language().tag;
  $("progress").textContent = isRead ? counted : `${text("reading", read, inputs)} · ${counted}`;
  $("bar").max = Math.max(tables.length, 1);
  $("bar").value = done;
  if (!tables.length) $("title").textContent = text(isRead ? "none" : "waiting");
  $("problems").hidden = !problems.length;
  $("problems").replaceChildren(...problems.map((problem) => make("li", { textContent: problem, lang: "en" })));
  const focused = document.activeElement?.dataset?.name;
  place($("tables"), shownTables().map(itemOf));
  if (focused && document.activeElement?.dataset?.name !== focused) $("tables").querySelector(`[data-name="${CSS.escape(focused)}"]`)?.focus();
}

// An item stays as it is until what it says has changed: there may be thousands.
function itemOf(table) {
  const says = JSON.stringify([table, table.name === current, language().tag]), before = items.get(table.name);
  if (before?.says === says) return before.item;
  const item = makeItem(table);
  before?.item.replaceWith(item);
  items.set(table.name, { says, item });
  return item;
}

// Only what is not in its place is moved.
function place(list, wanted) {
  let next = list.firstChild;
  for (const item of wanted) {
    if (item === next) next = next.nextSibling;
    else list.insertBefore(item, next);
  }
  while (next) {
    const rest = next.nextSibling;
    next.remove();
    next = rest;
  }
}

function makeItem(table) {
  const item = make("li"), button = make("button", { type: "button" });
  button.dataset.name = table.name;
  if (table.name === current) button.setAttribute("aria-current", "true");
  const grade = table.sureness < .5 ? "unlikely" : table.sureness < .8 ? "unsure" : "sure";
  const mark = {
    open: [`mark ${grade}`, `${Math.round(100 * table.sureness)}%`, text("sureness")],
    saved: ["mark done", text("saved")], rejected: ["mark done", text("rejected")],
  }[table.verdict];
  const isChanged = table.n_steps && table.verdict === "open", where = whereOf(table);
  const isNone = !table.number && table.verdict === "open" && !table.n_steps; // nothing to be sure of, and no size
  button.append(
    span("name", table.name), span(...(isNone ? ["mark", text("noneFound"), text("noneFoundHint")] : mark)), span("where", where),
    span("size", isNone ? "" : text(isChanged ? "changed" : "size", table.n_rows, table.n_cols)));
  button.addEventListener("click", () => {
    toggleList(false);
    openTable(table.name).catch(fail);
  });
  item.append(button);
  return item;
}

const span = (className, textContent, title = "") => make("span", { className, textContent, title });

// In a narrow window the list lies over the table, once it is asked for.
function toggleList(isOpen) {
  $("list").classList.toggle("open", isOpen);
  $("list-button").ariaExpanded = String(isOpen);
  if (isOpen) ($("tables").querySelector('[aria-current="true"]') ?? $("only-open")).focus();
}

function speak() {
  document.documentElement.lang = language().tag;
  $("list").ariaLabel = text("tables");
  $("list-button").replaceChildren(makeIcon("list"), text("listTables"));
  $("problems").ariaLabel = text("problems");
  $("bar").ariaLabel = text("progress");
  $("only-open-text").textContent = text("onlyOpen");
  $("title").textContent = text("waiting");
  if (listing) showList();
  if (current && known(current)) showTitle(known(current));
}

$("list-button").addEventListener("click", () => toggleList(!$("list").classList.contains("open")));
$("list").addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !$("list").classList.contains("open")) return;
  toggleList(false);
  $("list-button").focus();
});
window.addEventListener("hashchange", () => {
  const name = wantedName();
  if (name && name !== current) openTable(name).catch(fail);
});
$("only-open").checked = localStorage.getItem(ONLY_OPEN) === "yes";
$("only-open").addEventListener("change", () => {
  localStorage.setItem(ONLY_OPEN, $("only-open").checked ? "yes" : "no");
  showList();
});
window.addEventListener(LANGUAGE_CHANGED, speak);
showTheme();
speak();
const work = mountWork($("work"), $("note"), $("joined"), {
  ask, post: (where, data) => post(where, JSON.stringify(data)), listing: () => listing, current: () => current, refresh,
  open: (name) => openTable(name).catch(fail), focus: () => editor?.focus(),
  idle: async () => editor?.idle(),
  changed: async () => {
    if (current) editor.update(await ask(address(current)));
    await refresh();
  },
});
refresh();
