// What is doubtful about a cell, told apart: how it was read, and where it stands.

import { text } from "./texts.js";

// { text, structure }: how doubtful it is, as a number to be shown, or null where it is not or a person settled it. By
// what proves and doubts the table, where that is known; else by how sure the reader and the detector are.
export function doubtsOf({ state, proof }, cell) {
  if (state.verdict === "saved") return { text: null, structure: null };
  const known = proof?.doubtsOf(cell);
  if (known) return known;
  const settled = cell.typed || cell.confirmed;
  const below = (value) => value !== null && value !== undefined && value < state.mark_below && !settled ? value : null;
  if (cell.text_confidence === undefined) return { text: below(cell.confidence), structure: null };
  return { text: below(cell.text_confidence), structure: below(cell.structure_confidence) };
}

// Words that are in no cell; on a page where no table was found yet, that would be all of them.
export const wordsOf = (state) => state.number === 0 && state.cells.length === 1 ? [] : state.words ?? [];

export const isDoubtful = (editor, cell) => Object.values(doubtsOf(editor, cell)).some((value) => value !== null);

// What its marks say, in words: for a hint, and for its name.
export function saysOf(editor, cell) {
  const doubts = doubtsOf(editor, cell), says = [];
  if (cell.header) says.push(text(`kind_${cell.header}`));
  if (editor.proof?.isKnown && editor.state.verdict !== "saved") return [...says, ...editor.proof.saysOf(cell)];
  if (doubts.text !== null) says.push(text("doubtText", doubts.text.toFixed(2)));
  if (doubts.structure !== null) says.push(text("doubtStructure", doubts.structure.toFixed(2)));
  return says;
}

// Classes of the cell in the sheet.
export function classesOf(editor, cell) {
  const doubts = doubtsOf(editor, cell);
  return [
    cell.header && `header ${cell.header}`, isDoubtful(editor, cell) && "doubtful", doubts.text !== null && "doubt-text",
    doubts.structure !== null && "doubt-structure", cell.inside && "holds",
  ].filter(Boolean).join(" ");
}
