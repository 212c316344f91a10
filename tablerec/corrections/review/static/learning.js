// What the detector learns from saved tables: its progress, what was gained, and what it would change in open ones.

import { make, makeButton } from "/static/elements.js";
import { LANGUAGE_CHANGED, language, saidBy, text } from "/static/texts.js";

const POLL = 2000; // milliseconds

// host: { ask(address), post(address, data), say(message or error), open(name), changed(), focus() }
export function mountLearning(button, host) {
  let view = null, dialog = null, timer = 0, toldRun = null;

  async function look() {
    clearTimeout(timer);
    try {
      take(await host.ask("/learning"));
    } catch { /* the list says that the server is away */ }
    if (view?.doing || dialog) timer = setTimeout(look, POLL);
  }

  function take(next) {
    const before = view;
    view = next;
    if (before?.doing && !view.doing && toldRun !== view.run && view.gain.saved) {
      toldRun = view.run;
      host.say(text(view.is_withheld ? "learnWithheldShort" : "learnDone", ...figures(view.gain.saved)));
    }
    if (view.problem && view.problem !== before?.problem) host.say(Object.assign(new Error(view.problem), { zh: view.problem_zh }));
    show();
    if (dialog && JSON.stringify(before) !== JSON.stringify(view)) fill();
  }

  async function order(name, more = {}) {
    try {
      const answer = await host.post("/learning", { do: name, ...more });
      take(answer);
      if (answer.n_tables !== null) host.say(text(name === "apply" ? "learnApplied" : "learnTakenBack", answer.n_tables));
      if (["apply", "take_back"].includes(name)) await host.changed();
      look();
    } catch (error) {
      host.say(error);
      if (dialog) dialog.querySelector(".said").textContent = saidBy(error).words;
    }
  }

  function show() {
    const percent = Math.round(100 * (view?.progress ?? 0));
    const { doing, is_paused: isPaused, changes } = view ?? {};
    button.textContent = doing ? text(`learn_${doing}`, percent) : isPaused ? text("learnPaused") : changes?.length ? text("learnChanges", changes.length) : text("learn");
    button.title = text("learnHint");
    button.lang = language().tag;
  }

  // Shares of cells before and after, in percent.
  function figures({ before, after }) {
    return [before, after].map(({ n_cells: all, n_cells_right: right }) => (100 * right / Math.max(all, 1)).toFixed(1));
  }

  function open() {
    dialog = make("dialog", { className: "work-dialog learning", ariaLabel: text("learn"), lang: language().tag });
    dialog.addEventListener("keydown", (event) => event.stopPropagation());
    dialog.addEventListener("close", () => {
      dialog.remove();
      dialog = null;
      host.focus();
    });
    document.body.append(dialog);
    fill();
    dialog.showModal();
    look();
  }

  function fill() {
    const focused = document.activeElement?.dataset?.order;
    const unchosen = new Set([...dialog.querySelectorAll("tbody input:not(:checked)")].map((input) => input.value));
    const buttons = make("div", { className: "tools" }), said = make("p", { className: "said error", role: "status" });
    said.lang = "en";
    buttons.append(...commands().map(([name, action, isMain]) => {
      const made = makeButton(text(`learnDo_${name}`), "", action);
      made.dataset.order = name;
      if (isMain) made.className = "main";
      return made;
    }), makeButton(text("close"), "", () => dialog.close()));
    dialog.replaceChildren(make("h2", { textContent: text("learn") }), ...describe(), ...showChanges(unchosen), buttons, said);
    if (view?.problem) said.textContent = view.problem;
    dialog.querySelector(`[data-order="${focused}"]`)?.focus();
  }

  function commands() {
    if (!view) return [];
    const found = [];
    if (view.doing) found.push(["stop", () => order("stop")]);
    else {
      if (view.changes?.length) found.push(["apply", () => order("apply", { names: chosen() }), true], ["dismiss", () => order("dismiss")]);
      else if (view.gain.saved && !view.is_withheld) found.push(["read_anew", () => order("read_anew"), true]);
      if (view.n_saved >= view.fewest) found.push([view.is_paused ? "goOn" : "start", () => order("start")]);
      if (view.is_withheld) found.push(["use_anyway", () => order("use_anyway")]);
      if (view.can_take_back) found.push(["take_back", () => order("take_back")]);
    }
    return found;
  }

  const chosen = () => [...dialog.querySelectorAll("tbody input:checked")].map((input) => input.value);

  function describe() {
    if (!view) return [];
    const parts = [make("p", { textContent: text(view.after ? "learnAbout" : "learnAboutAsked", view.n_saved, view.n_new, view.after, view.fewest) })];
    if (view.doing) {
      const percent = Math.round(100 * view.progress), left = view.minutes_left;
      parts.push(
        make("p", { role: "status", textContent: text(`learn_${view.doing}`, percent) + (left === null ? "" : ` · ${text("learnLeft", left.toFixed(0))}`) }),
        make("progress", { max: 1, value: view.progress, ariaLabel: text("learn") }));
    } else if (view.is_paused) parts.push(make("p", { textContent: text("learnPausedLong") }));
    if (view.gain.saved) parts.push(showGain());
    if (view.is_withheld) parts.push(make("p", { className: "error", textContent: text("learnWithheld") }));
    if (view.changes && !view.changes.length) parts.push(make("p", { textContent: text("learnNothing") }));
    return parts;
  }

  function showGain() {
    const rows = ["saved", "held_out"].map((kind) => {
      const { before, after } = view.gain[kind], row = make("tr"), [cellsBefore, cellsAfter] = figures(view.gain[kind]);
      row.append(
        make("th", { scope: "row", textContent: text(`learn_${kind}`, before.n_tables) }),
        make("td", { textContent: `${cellsBefore}% → ${cellsAfter}%` }),
        make("td", { textContent: `${before.n_right} → ${after.n_right}` }));
      return row;
    });
    return makeTable(["learnTables", "learnCellsRight", "learnTablesRight"].map((key) => text(key)), rows);
  }

  function showChanges(unchosen) {
    if (!view?.changes?.length) return [];
    const rows = view.changes.map(({ name, n_changed: count, before, after }) => {
      const row = make("tr"), head = make("th", { scope: "row" }), label = make("label");
      label.append(make("input", { type: "checkbox", value: name, checked: !unchosen.has(name) }), make("span", { textContent: name }));
      head.append(label);
      const sure = ([, , share]) => share === null ? "?" : `${Math.round(100 * share)}%`;
      row.append(
        head, make("td", { textContent: String(count) }),
        make("td", { textContent: `${before[0]} × ${before[1]} → ${after[0]} × ${after[1]}` }),
        make("td", { textContent: `${sure(before)} → ${sure(after)}` }));
      return row;
    });
    const box = make("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: text("learnWould") });
    box.append(makeTable(["learnTable", "learnCells", "learnShape", "learnSure"].map((key) => text(key)), rows));
    return [make("p", { textContent: text("learnWould") }), box];
  }

  button.addEventListener("click", open);
  window.addEventListener(LANGUAGE_CHANGED, () => { show(); dialog?.close(); });
  show();
  look();
  return { look };
}

export function makeTable(heads, rows) {
  const table = make("table"), head = make("thead"), first = make("tr"), body = make("tbody");
  first.append(...heads.map((textContent) => make("th", { scope: "col", textContent })));
  head.append(first);
  body.append(...rows);
  table.append(head, body);
  return table;
}
