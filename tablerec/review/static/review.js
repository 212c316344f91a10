// The page of `tablerec review`: the list of tables, and the editor for the one that is open.

import { mount } from "/static/editor.js";

const $ = (id) => document.getElementById(id);
let editor = null, current = null, listing = { tables: [], problems: [], n_read: 0, n_inputs: 0 }, timer = 0;

async function ask(address, options = {}) {
  let reply;
  try {
    reply = await fetch(address, options);
  } catch {
    throw new Error("tablerec review no longer answers: start it again and reload. All steps so far are kept.");
  }
  const data = await reply.json();
  if (!reply.ok) throw Object.assign(new Error(data.error), { table: data.table });
  return data;
}

const address = (name, part = "") => `/tables/${encodeURIComponent(name)}${part}`;

async function openTable(name) {
  await editor?.idle();
  const state = await ask(address(name));
  editor?.destroy();
  current = name;
  location.hash = encodeURIComponent(name);
  $("title").textContent = `${state.source}${state.page > 1 ? `, page ${state.page}` : ""} · ${name}`;
  const links = [["workbook", "Workbook", `${name}.xlsx`], ["page", "HTML", `${name}.html`]].map(([part, text, file]) =>
    Object.assign(document.createElement("a"), { href: address(name, `/${part}`), textContent: text, download: file }));
  $("files").replaceChildren("As it is now: ", ...links);
  const send = async (step) => {
    const body = JSON.stringify(step);
    // So that a step is sent even while the page is being closed.
    const table = await ask(address(name, "/do"), {
      method: "POST", body, headers: { "Content-Type": "application/json" }, keepalive: body.length < 60000,
    });
    refresh();
    return table;
  };
  editor = mount($("editor"), { state, picture: address(name, "/picture"), send, next: openNext });
  showList();
  editor.focus();
}

function openNext() {
  const names = listing.tables.map((table) => table.name), here = names.indexOf(current);
  const order = [...listing.tables.slice(here + 1), ...listing.tables.slice(0, here + 1)];
  const next = order.find((table) => table.verdict === "open" && table.name !== current);
  if (next) openTable(next.name).catch(fail);
}

function fail(error) {
  $("progress").textContent = error.message;
}

async function refresh() {
  clearTimeout(timer);
  try {
    listing = await ask("/tables");
    showList();
    if (!current && listing.tables.length) {
      const wanted = decodeURIComponent(location.hash.slice(1));
      const known = listing.tables.find((table) => table.name === wanted) ?? listing.tables.find((table) => table.verdict === "open");
      // While pictures are read, the most doubtful one may still be to come: the first is as good.
      await openTable((known ?? listing.tables[0]).name);
    }
  } catch (error) {
    fail(error);
  }
  if (listing.n_read < listing.n_inputs) timer = setTimeout(refresh, 1000);
}

function showList() {
  const { tables, problems, n_read: read, n_inputs: inputs } = listing;
  const done = tables.filter((table) => table.verdict !== "open").length;
  const reading = read < inputs ? `reading: ${read} of ${inputs} files · ` : "";
  $("progress").textContent = `${reading}${done} of ${tables.length} tables done`;
  if (!tables.length && read >= inputs) $("title").textContent = "No table was found";
  $("problems").hidden = !problems.length;
  $("problems").replaceChildren(...problems.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
  const focused = document.activeElement?.dataset?.name;
  $("tables").replaceChildren(...tables.map(makeItem));
  if (focused) $("tables").querySelector(`[data-name="${CSS.escape(focused)}"]`)?.focus();
}

function makeItem(table) {
  const item = document.createElement("li"), button = document.createElement("button");
  button.type = "button";
  button.dataset.name = table.name;
  if (table.name === current) button.setAttribute("aria-current", "true");
  const grade = table.sureness < .5 ? "unlikely" : table.sureness < .8 ? "unsure" : "sure";
  const open = [`mark ${grade}`, `${Math.round(100 * table.sureness)} %`];
  const mark = { open, saved: ["mark done", "saved"], rejected: ["mark done", "no table"] }[table.verdict];
  const where = `${table.source}${table.page > 1 ? `, page ${table.page}` : ""}`;
  const changed = table.n_steps && table.verdict === "open" ? ", changed" : "";
  button.append(
    span("name", table.name), span(...mark), span("where", table.number ? where : `${where}: none found`),
    span("size", `${table.n_rows} × ${table.n_cols}${changed}`));
  button.addEventListener("click", () => openTable(table.name).catch(fail));
  item.append(button);
  return item;
}

const span = (className, text) => Object.assign(document.createElement("span"), { className, textContent: text });

window.addEventListener("hashchange", () => {
  const name = decodeURIComponent(location.hash.slice(1));
  if (name && name !== current) openTable(name).catch(fail);
});
refresh();
