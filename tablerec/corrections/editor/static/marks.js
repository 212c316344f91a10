// What is doubtful about a cell, told apart: how it was read, and where it stands.

import { text } from "./texts.js";

// { text, structure }: the probability that it is right, or null where there is no doubt or a person settled it.
export function doubtsOf(state, cell) {
  const settled = cell.typed || cell.confirmed || state.verdict === "saved";
  const below = (value) => value !== null && value !== undefined && value < state.mark_below && !settled ? value : null;
  if (cell.text_confidence === undefined) return { text: below(cell.confidence), structure: null };
  return { text: below(cell.text_confidence), structure: below(cell.structure_confidence) };
}

export const isDoubtful = (state, cell) => Object.values(doubtsOf(state, cell)).some((value) => value !== null);

// What its marks say, in words: for a hint, and for its name.
export function saysOf(state, cell) {
  const doubts = doubtsOf(state, cell), says = [];
  if (cell.header) says.push(text(`kind_${cell.header}`));
  if (doubts.text !== null) says.push(text("doubtText", doubts.text.toFixed(2)));
  if (doubts.structure !== null) says.push(text("doubtStructure", doubts.structure.toFixed(2)));
  return says;
}

// Classes of the cell in the sheet.
export function classesOf(state, cell) {
  const doubts = doubtsOf(state, cell);
  return [
    cell.header && `header ${cell.header}`, isDoubtful(state, cell) && "doubtful", doubts.text !== null && "doubt-text",
    doubts.structure !== null && "doubt-structure", cell.inside && "holds",
  ].filter(Boolean).join(" ");
}
