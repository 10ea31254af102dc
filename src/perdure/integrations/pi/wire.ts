/**
 * The messages between this extension and its Python child, version 1: one JSON object a line.
 *
 * Nothing here starts a process or reads a clock. `docs/reference/pi-protocol.md` describes the wire, and the
 * golden messages in `protocol/golden/` are read by the tests of both sides.
 */

export const PROTOCOL = 1;

/** The longest line that either side takes, in bytes, without its line feed. */
export const LINE_BYTES_MAX = 4 * 1024 * 1024;

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Data = { [key: string]: Json };

export interface Answer {
  kind: "answer";
  id: number;
  ok: boolean;
  text: string;
  data: Data;
  /** Stable code of what went wrong, empty when nothing did. */
  code: string;
}

export interface Progress {
  kind: "progress";
  /** Empty when nothing is under way. */
  text: string;
}

export interface DiffLine {
  sign: string;
  text: string;
}

export interface Card {
  job: string;
  state: string;
  reason: string;
  title: string;
  diff: DiffLine[];
  revision: number | null;
  /** The command that takes the change back, empty when there is none. */
  undo: string;
  /** The command that reviews the same evidence again, empty when there is none. */
  retry: string;
}

export interface CardEvent {
  kind: "card";
  card: Card;
}

export interface Notice {
  kind: "notice";
  level: "info" | "warning";
  text: string;
}

/** An event of a later release, or a line that is not of this protocol: it is left alone. */
export interface Unknown {
  kind: "unknown";
}

export type Message = Answer | Progress | CardEvent | Notice | Unknown;

/** One request as a line. Lone surrogates, which no UTF-8 reader takes, become U+FFFD. */
export function encodeRequest(id: number, op: string, args: Data): string {
  return `${JSON.stringify({ id, op, ...args }, (_key, value) =>
    typeof value === "string" ? value.toWellFormed() : value,
  )}\n`;
}

/** Read one line of the child. Never throws: what cannot be read is `unknown`. */
export function decodeMessage(line: string): Message {
  let found: unknown;
  try {
    found = JSON.parse(line);
  } catch {
    return { kind: "unknown" };
  }
  if (!isData(found)) return { kind: "unknown" };
  if (typeof found.id === "number") return answerOf(found.id, found);
  switch (found.event) {
    case "progress":
      return { kind: "progress", text: shownOf(found.text) };
    case "notice":
      return {
        kind: "notice",
        level: found.level === "warning" ? "warning" : "info",
        text: shownOf(found.text),
      };
    case "card":
      return isData(found.card) ? { kind: "card", card: cardOf(found.card) } : { kind: "unknown" };
    default:
      return { kind: "unknown" };
  }
}

/** A card from what the child or the session file holds; what is absent is empty. */
export function cardOf(found: Data): Card {
  const lines = Array.isArray(found.diff) ? found.diff.filter(isData) : [];
  return {
    job: textOf(found.job),
    state: textOf(found.state),
    reason: textOf(found.reason),
    title: shownOf(found.title),
    diff: lines.map((line) => ({ sign: textOf(line.sign), text: shownOf(line.text) })),
    revision: typeof found.revision === "number" ? found.revision : null,
    undo: shownOf(found.undo),
    retry: shownOf(found.retry),
  };
}

/** Splits what comes from the child into lines, on LF only. */
export class Lines {
  private kept: Buffer[] = [];
  private size = 0;

  /** Whole lines that end in this chunk, or null once a line is longer than the protocol allows. */
  push(chunk: Buffer): string[] | null {
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      this.keep(chunk.subarray(start, end));
      if (this.size > LINE_BYTES_MAX) return null;
      lines.push(Buffer.concat(this.kept).toString("utf8"));
      this.kept = [];
      this.size = 0;
      start = end + 1;
    }
    this.keep(chunk.subarray(start));
    return this.size > LINE_BYTES_MAX ? null : lines;
  }

  private keep(part: Buffer): void {
    this.kept.push(part);
    this.size += part.length;
  }
}

export function isData(value: unknown): value is Data {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Text for a screen: without the characters that steer a terminal. */
function shownOf(value: unknown): string {
  return textOf(value).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}

function answerOf(id: number, found: Data): Answer {
  const error = isData(found.error) ? found.error : {};
  const ok = found.ok === true;
  const said = [textOf(error.message), textOf(error.advice)].filter(Boolean).join(" ");
  return {
    kind: "answer",
    id,
    ok,
    text: shownOf(found.text) || (ok ? "" : said),
    data: isData(found.data) ? found.data : {},
    code: ok ? "" : textOf(error.code) || "internal",
  };
}
