/** How answers and cards look: as plain text, and as coloured lines. */

import type { Card } from "./wire.ts";

export type Colour = "success" | "error" | "muted" | "dim" | "accent" | "warning";
export type Paint = (colour: Colour, text: string) => string;

const SIGNS: Record<string, Colour> = { "+": "success", "-": "error" };

/** A card as text: what changed, and the command that takes it back or tries again. */
export function cardText(card: Card, paint: Paint = (_colour, text) => text): string {
  const lines = [paint(card.state === "applied" ? "accent" : "warning", card.title || `Review ${card.state}`)];
  for (const line of card.diff) lines.push(signed(line.sign, line.text, paint));
  if (card.undo) lines.push(paint("dim", `Undo: ${card.undo}`));
  if (card.retry) lines.push(paint("dim", `Retry: ${card.retry}`));
  return lines.join("\n");
}

/** An answer with the lines of its diff in colour; with `most`, only so many lines and how many more there are. */
export function answerText(text: string, paint: Paint, most?: number): string {
  const lines = text.split("\n");
  const shown = most === undefined || lines.length <= most ? lines : lines.slice(0, most);
  const painted = shown.map((line) => {
    const colour = SIGNS[line.charAt(0)];
    return colour !== undefined && line.charAt(1) === " " ? paint(colour, line) : line;
  });
  const more = lines.length - shown.length;
  if (more > 0) painted.push(paint("dim", `… ${more} more lines`));
  return painted.join("\n");
}

function signed(sign: string, text: string, paint: Paint): string {
  const [first = "", ...rest] = text.split("\n");
  const lines = [`${sign} ${first}`, ...rest.map((line) => `  ${line}`)].join("\n");
  const colour = SIGNS[sign];
  return colour === undefined ? lines : paint(colour, lines);
}
