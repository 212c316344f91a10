// What else the picture may show: other grids that were found, and what other readings of the cells say.

import { drawLines } from "/static/alike.js";
import { make, makeButton } from "/static/elements.js";
import { LANGUAGE_CHANGED, language, saidBy, text } from "/static/texts.js";

const SVG = "http://www.w3.org/2000/svg";
const CROP = 34; // height of a cell's picture, px
const AROUND = 2; // px of the picture

// host: { ask(address), post(address, data), say(message or error), current(), idle(), changed(), focus() }
export function mountProposals(gridButton, readingButton, host) {
  const address = (part, of) => `/tables/${encodeURIComponent(of)}/${part}`;

  // Ask, which takes seconds; what comes too late, for another table, is nothing.
  async function ask(button, part) {
    const name = host.current();
    if (!name || button.ariaBusy === "true") return null;
    button.ariaBusy = "true";
    host.say(text("proposalsWait"));
    try {
      await host.idle();
      const found = await host.ask(address(part, name));
      if (name !== host.current()) return null;
      host.quiet();
      return { name, ...found };
    } catch (error) {
      host.say(error);
      return null;
    } finally {
      button.ariaBusy = "false";
    }
  }

  function open(title, about, content, tools) {
    const dialog = make("dialog", { className: "work-dialog proposals", ariaLabel: title, lang: language().tag });
    const said = make("p", { className: "error", role: "status" }), row = make("div", { className: "tools" });
    row.append(...tools, makeButton(text("close"), "", () => dialog.close()));
    dialog.append(make("h2", { textContent: title }), make("p", { textContent: about }), content, row, said);
    dialog.addEventListener("keydown", (event) => event.stopPropagation());
    dialog.addEventListener("close", () => { dialog.remove(); host.focus(); });
    document.body.append(dialog);
    dialog.showModal();
    return { dialog, said };
  }

  // One step, undone as one.
  async function take({ name, version }, step, { dialog, said }, message) {
    try {
      await host.post(address("do", name), { ...step, version, id: crypto.randomUUID() });
      dialog.close();
      host.say(message);
      await host.changed();
    } catch (error) {
      const { words, tag } = saidBy(error);
      Object.assign(said, { textContent: words, lang: tag });
    }
  }

  async function showGrids() {
    const found = await ask(gridButton, "grids");
    if (!found) return;
    if (!found.grids.length) return host.say(text(found.is_able ? "gridsNone" : "gridsUnable"));
    const list = make("ul", { className: "scroll previews", tabIndex: 0, ariaLabel: text("grids") });
    const opened = open(text("grids"), text("gridsAbout"), list, []);
    list.append(...found.grids.map(({ step, shape, n_changed: count, lines }) => {
      const item = make("li"), picture = make("div", { className: "preview" });
      const button = makeButton(text("gridTake"), "", () => take(found, step, opened, text("gridTaken")));
      const says = make("span", { textContent: ` ${shape.join(" × ")} · ${text("alikeCells", count)}` });
      picture.append(make("img", { src: address("picture", found.name), alt: "" }), drawLines(found.size, lines));
      picture.addEventListener("click", () => button.click());
      item.append(button, says, picture);
      return item;
    }));
    list.querySelector("button").focus();
  }

  async function showReadings() {
    const found = await ask(readingButton, "readings");
    if (!found) return;
    if (!found.cells.length) return host.say(text("readingsNone"));
    const table = make("table"), scroll = make("div", { className: "scroll" });
    const rows = found.cells.map((cell, at) => makeRow(found, cell, at));
    table.append(...rows.map(({ row }) => row));
    scroll.append(table);
    const use = makeButton(text("readingsTake"), "", () => {
      const readings = rows.map(({ chosen }) => chosen()).filter(Boolean);
      if (!readings.length) return opened.dialog.close();
      return take(found, { do: "set_readings", readings }, opened, text("readingsTaken", readings.length));
    });
    use.className = "main";
    const opened = open(text("readings"), text("readingsAbout", found.cells.length), scroll, [use]);
    table.querySelector("input").focus();
  }

  // A cell's picture, what stands there now, what else was read, and what a person types: one of them is chosen.
  function makeRow(found, { row, col, text: now, quad, readings }, at) {
    const line = make("tr"), picture = make("td"), choice = make("td"), fields = make("fieldset");
    fields.append(make("legend", { textContent: text("readingOf", row + 1, col + 1) }));
    const inputs = [now, ...readings.map((each) => each.text)].map((value, index) => {
      const label = make("label"), input = make("input", { type: "radio", name: `reading-${at}`, checked: !index });
      const said = make("span", { textContent: value || text("readingEmpty"), className: value ? "value" : "value empty", dir: "auto" });
      label.append(input, said, ...index ? [] : [make("small", { textContent: text("readingNow") })]);
      fields.append(label);
      return input;
    });
    // None of them is right: type it here.
    const label = make("label"), radio = make("input", { type: "radio", name: `reading-${at}`, ariaLabel: text("readingType") });
    const typed = make("textarea", { value: now, rows: now.split("\n").length, spellcheck: false, ariaLabel: text("readingType"), dir: "auto" });
    typed.addEventListener("input", () => { radio.checked = true; });
    label.append(radio, typed);
    fields.append(label);
    picture.append(drawCrop(address("picture", found.name), found.size, quad));
    choice.append(fields);
    line.append(picture, choice);
    const chosen = () => radio.checked ? { row, col, text: typed.value } : readings[inputs.findIndex((input) => input.checked) - 1]?.reading;
    return { row: line, chosen };
  }

  function speak() {
    gridButton.textContent = text("grids");
    gridButton.title = text("gridsHint");
    readingButton.textContent = text("readings");
    readingButton.title = text("readingsHint");
  }

  gridButton.addEventListener("click", showGrids);
  readingButton.addEventListener("click", showReadings);
  window.addEventListener(LANGUAGE_CHANGED, speak);
  speak();
}

// The part of a picture around the corners of a cell.
function drawCrop(address, [width, height], quad) {
  const xs = quad.filter((_, at) => at % 2 === 0), ys = quad.filter((_, at) => at % 2);
  const left = Math.min(...xs) - AROUND, top = Math.min(...ys) - AROUND;
  const across = Math.max(...xs) + AROUND - left, down = Math.max(...ys) + AROUND - top;
  const drawing = document.createElementNS(SVG, "svg"), image = document.createElementNS(SVG, "image");
  const scale = Math.max(1, Math.min(2, CROP / down));
  drawing.setAttribute("viewBox", [left, top, across, down].join(" "));
  drawing.setAttribute("width", across * scale);
  drawing.setAttribute("aria-hidden", "true");
  for (const [name, value] of Object.entries({ href: address, width, height })) image.setAttribute(name, value);
  drawing.append(image);
  return drawing;
}
