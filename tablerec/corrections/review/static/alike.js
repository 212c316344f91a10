// What was mended in one table, for all that look like it; and tables that go on over several pages.

import { make, makeButton } from "/static/elements.js";
import { LANGUAGE_CHANGED, language, saidBy, text } from "/static/texts.js";

const WAIT = 700; // milliseconds without a step, before the others are looked through
const MENDS = new Set([
  "move_line", "divide", "extend", "insert", "remove_line", "remove", "merge", "split", "set_headers", "set_header", "replace_all",
  "undo", "redo", "restore",
]);
const SVG = "http://www.w3.org/2000/svg";

// host: { ask(address), post(address, data), say(message or error, buttons), open(name), changed(), focus() }
// button: shown while there is something to offer. line: where pages are joined.
export function mountAlike(button, line, host) {
  let name = null, offer = null, joinedOf = null, timer = 0;
  const address = (part, of = name) => `/tables/${encodeURIComponent(of)}/${part}`;

  // After a step on the table that is open; a text is each table's own, but for that of a head.
  function stepped(wanted, { do: kind, row }, heads) {
    if (MENDS.has(kind) || (kind === "set_text" && row < Math.max(heads, 1))) look(wanted);
  }

  function look(wanted, wait = WAIT) {
    clearTimeout(timer);
    if (wait === 0) joinedOf = null;
    if (wanted !== name) { offer = joinedOf = null; show(); line.hidden = true; }
    name = wanted;
    timer = setTimeout(async () => {
      try {
        const found = await host.ask(address("alike?quick=1", wanted));
        if (wanted !== name) return;
        offer = found;
        show();
        if (joinedOf === wanted) return;
        joinedOf = wanted;
        const joined = await host.ask(address("joined", wanted));
        if (wanted === name) showJoined(joined);
      } catch { /* the list says that the server is away */ }
    }, wait);
  }

  function show() {
    const count = offer?.tables.length ?? 0;
    button.hidden = !count && !offer?.is_cut;
    button.textContent = count ? text("alike", offer?.is_cut ? `${count}+` : count) : text("alikeAsk");
    button.title = text("alikeHint");
  }

  async function open() {
    try {
      if (offer.is_cut) offer = await host.ask(address("alike", offer.name));
    } catch (error) {
      return host.say(error);
    }
    if (!offer.tables.length) {
      show();
      return host.say(text("alikeNothing"));
    }
    const dialog = make("dialog", { className: "work-dialog alike", ariaLabel: text("alikeTitle"), lang: language().tag });
    const list = make("ul", { className: "scroll previews", tabIndex: 0, ariaLabel: text("alikeTitle") }), said = make("p", { className: "error", role: "status" });
    list.append(...offer.tables.map(makePreview));
    const begin = makeButton(text("alikeApply"), "", apply), tools = make("div", { className: "tools" });
    begin.className = "main";
    tools.append(begin, makeButton(text("alikeAll"), "", () => choose(true)), makeButton(text("alikeNone"), "", () => choose(false)), makeButton(text("close"), "", () => dialog.close()));
    dialog.append(
      make("h2", { textContent: text("alikeTitle") }), make("p", { textContent: text("alikeAbout", offer.n_steps, offer.name) }),
      ...offer.is_cut ? [make("p", { textContent: text("alikeCut") })] : [], list, tools, said);
    dialog.addEventListener("keydown", (event) => event.stopPropagation());
    dialog.addEventListener("close", () => { dialog.remove(); host.focus(); });
    document.body.append(dialog);
    dialog.showModal();

    function choose(isChosen) {
      for (const input of list.querySelectorAll("input")) input.checked = isChosen;
    }

    async function apply() {
      const names = [...list.querySelectorAll("input:checked")].map((input) => input.value);
      try {
        const { n_tables: count } = await host.post(address("alike", offer.name), { version: offer.version, names });
        dialog.close();
        host.say(text("alikeDone", count), [[text("alikeUndo"), undo]]);
        await host.changed();
        look(name, 0);
      } catch (error) {
        const { words, tag } = saidBy(error);
        Object.assign(said, { textContent: words, lang: tag });
      }
    }
  }

  async function undo() {
    try {
      const { n_tables: count } = await host.post("/alike/undo", {});
      host.say(text("alikeUndone", count));
      host.focus();
      await host.changed();
      look(name, 0);
    } catch (error) {
      host.say(error);
    }
  }

  function makePreview({ name: of, score, is_touched: isTouched, n_changed: count, before, after, size, lines, texts }) {
    const item = make("li"), label = make("label"), words = make("span");
    const changed = texts.slice(0, 4).map(([, , value]) => value).filter(Boolean).join(" · ");
    words.append(
      make("strong", { textContent: of }), ` ${text("alikeScore", Math.round(100 * score))} · ${text("alikeCells", count)}`,
      ` · ${before.join(" × ")} → ${after.join(" × ")}`, isTouched ? ` · ${text("alikeTouched")}` : "");
    label.append(make("input", { type: "checkbox", value: of, checked: !isTouched }), words);
    const picture = make("div", { className: "preview" });
    picture.append(make("img", { src: address("picture", of), alt: "", loading: "lazy" }), drawLines(size, lines));
    item.append(label, ...changed ? [make("q", { textContent: changed })] : [], picture);
    return item;
  }

  function showJoined({ group, next }) {
    const parts = [];
    if (group.length > 1) {
      const links = group.flatMap((each, at) => [at ? ", " : " ", each === name
        ? make("strong", { textContent: each }) : makeLink(each)]);
      parts.push(text("joinedAs", group.length), ...links, " ", makeButton(text("joinedPart"), "", () => order("part", {})));
    }
    if (next?.score > 0) {
      const [words, label] = [text("joinedNext", Math.round(100 * next.score)), text("joinedJoin")];
      parts.push(parts.length ? " · " : "", `${words} `, makeLink(next.name), " ", makeButton(label, "", () => order("join", { below: next.name })));
      if (next.score >= .6) parts.push(" ", makeButton(text("joinedAll"), text("joinedAllHint"), joinAll));
    }
    line.replaceChildren(...parts);
    line.hidden = !parts.length;
  }

  function makeLink(of) {
    const link = make("a", { href: `#${encodeURIComponent(of)}`, textContent: of });
    return link;
  }

  async function order(what, data) {
    try {
      showJoined(await host.post(address(what), data));
    } catch (error) {
      host.say(error);
    }
  }

  async function joinAll() {
    try {
      const { n_tables: count } = await host.post("/joined", {});
      host.say(text("joinedDone", count));
      look(name, 0);
    } catch (error) {
      host.say(error);
    }
  }

  button.addEventListener("click", open);
  window.addEventListener(LANGUAGE_CHANGED, () => { show(); if (name) look(name, 0); });
  show();
  line.hidden = true;
  return { look, stepped };
}

// The cells of a table over its picture.
export function drawLines([width, height], lines) {
  const drawing = document.createElementNS(SVG, "svg");
  drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
  drawing.setAttribute("aria-hidden", "true");
  for (const corners of lines) {
    const cell = document.createElementNS(SVG, "polygon");
    cell.setAttribute("points", corners.join(" "));
    drawing.append(cell);
  }
  return drawing;
}
