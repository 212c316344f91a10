// All tables at once, as a file or in the folder of corrections.

import { make, makeButton } from "/static/elements.js";
import { language, saidBy, text } from "/static/texts.js";

const KINDS = ["xlsx", "zip", "json", "csv"];

// post(address, body) -> Promise of the answer. counts() -> [saved, all] numbers of tables.
export function openOutputs({ post, counts }) {
  const dialog = make("dialog", { className: "work-dialog", ariaLabel: text("outputs"), lang: language().tag });
  const kind = make("select");
  kind.append(...KINDS.map((value) => make("option", { value, textContent: text(`output_${value}`) })));
  const [saved, all] = counts(), onlySaved = choice("which", "outputSaved", saved, saved > 0);
  const whole = choice("which", "outputAll", all, saved === 0);
  onlySaved.input.disabled = saved === 0;
  const crops = make("input", { type: "checkbox" }), status = make("p", { role: "status" }), found = make("p", { hidden: true });
  const begin = makeButton(text("outputMake"), "", write), close = makeButton(text("close"), "", () => dialog.close());
  begin.className = "main";
  const tools = make("div", { className: "tools" });
  tools.append(begin, close);
  dialog.append(
    make("h2", { textContent: text("outputs") }), onlySaved.label, whole.label,
    labelled(text("outputKind"), kind), labelled(text("outputCrops"), crops, true), tools, status, found);
  kind.addEventListener("change", () => { crops.disabled = !["xlsx", "zip"].includes(kind.value); });
  dialog.addEventListener("keydown", (event) => event.stopPropagation());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;

  async function write() {
    begin.disabled = true;
    found.hidden = true;
    say(text("outputMaking"));
    const wanted = {
      kind: kind.value, only_saved: onlySaved.input.checked, crops: crops.checked && !crops.disabled,
      language: language().tag.slice(0, 2),
    };
    try {
      const { name, n_tables: count, size } = await post("/outputs", wanted);
      say(text("outputMade", count, name, (size / 1024).toFixed(0)));
      const link = make("a", { href: `/outputs/${name}`, download: name, textContent: text("outputFetch", name) });
      found.replaceChildren(link, " ", makeButton(text("outputOpen"), "", openFolder));
      found.hidden = false;
      link.focus();
    } catch (error) {
      say(error);
    }
    begin.disabled = false;
  }

  async function openFolder() {
    try {
      await post("/outputs/open", {});
    } catch (error) {
      say(error);
    }
  }

  // A message, or an error.
  function say(what) {
    const isError = what instanceof Error, { words, tag } = isError ? saidBy(what) : { words: what, tag: language().tag };
    Object.assign(status, { textContent: words, lang: tag });
    status.classList.toggle("error", isError);
  }
}

function choice(name, key, count, checked) {
  const input = make("input", { type: "radio", name, checked });
  return { input, label: labelled(text(key, count), input, true) };
}

function labelled(words, input, isAfter = false) {
  const label = make("label"), named = make("span", { textContent: words });
  label.append(...(isAfter ? [input, named] : [named, input]));
  return label;
}
