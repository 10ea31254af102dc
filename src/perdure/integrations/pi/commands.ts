/** The commands under /memory: how they are written, completed and asked. */

import type { Data } from "./wire.ts";

export interface Request {
  op: string;
  args: Data;
}

interface Spelling {
  words: string;
  argument: string;
  says: string;
  request: (argument: string) => Request | string;
}

const plain = (op: string) => (argument: string): Request | string =>
  argument ? `It takes no argument, and was given: ${argument}` : { op, args: {} };

const named = (op: string, name: string, what: string) => (argument: string): Request | string =>
  argument ? { op, args: { [name]: argument } } : `Say ${what}.`;

/** Longer spellings stand before their beginnings. */
export const COMMANDS: Spelling[] = [
  { words: "status", argument: "", says: "where this session stands", request: plain("status") },
  { words: "show", argument: "", says: "the memory of this branch", request: plain("show") },
  { words: "why", argument: "", says: "what the last turn was given, and why", request: plain("why") },
  { words: "remember", argument: "TEXT", says: "store a fact", request: named("remember", "text", "what to remember") },
  { words: "recall", argument: "QUESTION", says: "ask memory", request: named("recall", "question", "what you want to know") },
  { words: "forget", argument: "WHICH", says: "remove an entry", request: named("forget", "which", "which entry: its id, its key, or a part of its text") },
  { words: "undo", argument: "[REVISION]", says: "take a change back", request: undo },
  { words: "branches", argument: "", says: "the branches of memory", request: plain("branches") },
  { words: "fork", argument: "NAME", says: "copy this branch and use the copy", request: named("fork", "name", "how the copy is to be called") },
  { words: "use", argument: "NAME", says: "use another branch in this session", request: named("use", "name", "which branch to use") },
  { words: "review retry", argument: "JOB", says: "review the same evidence again", request: named("retry", "job", "which review: /memory reviews lists them") },
  { words: "review", argument: "", says: "review what is waiting, now", request: plain("review") },
  { words: "reviews", argument: "", says: "what became of the reviews", request: plain("reviews") },
  { words: "inbox", argument: "", says: "what reviews have to tell", request: plain("inbox") },
  { words: "pause", argument: "", says: "capture nothing from now on", request: plain("pause") },
  { words: "resume", argument: "", says: "capture again", request: plain("resume") },
];

export const HELP = COMMANDS.map(
  (each) => `/memory ${`${each.words} ${each.argument}`.trimEnd().padEnd(18)} ${each.says}`,
).join("\n");

/** The request that a line asks for, or what is wrong with it; an empty line asks for the status. */
export function parse(line: string): Request | string {
  const said = line.trim();
  if (said === "") return { op: "status", args: {} };
  if (said === "help") return HELP;
  const found = COMMANDS.find((each) => said === each.words || said.startsWith(`${each.words} `));
  if (found === undefined) return `There is no /memory ${said.split(/\s/)[0]}.\n${HELP}`;
  const asked = found.request(said.slice(found.words.length).trim());
  return typeof asked === "string" ? `/memory ${found.words}: ${asked}` : asked;
}

export interface Completion {
  value: string;
  label: string;
  description?: string;
}

/** The requests whose answers hold the values of an argument. */
export type Ask = (op: string) => Promise<Data>;

/** Completions for what stands behind "/memory ", or null. */
export async function complete(prefix: string, ask: Ask): Promise<Completion[] | null> {
  const line = prefix.trimStart();
  const found = COMMANDS.find((each) => each.argument && line.startsWith(`${each.words} `));
  const items =
    found === undefined
      ? COMMANDS.map((each) => ({
          value: each.argument ? `${each.words} ` : each.words,
          label: each.words,
          description: each.says,
        }))
      : (await values(found.words, ask)).map((each) => ({ ...each, value: `${found.words} ${each.value}` }));
  const fitting = items.filter((item) => item.value.startsWith(line));
  return fitting.length > 0 ? fitting : null;
}

async function values(words: string, ask: Ask): Promise<Completion[]> {
  switch (words) {
    case "use":
      return rows(await ask("branches"), "branches", "branch", "");
    case "review retry":
      return rows(await ask("reviews"), "jobs", "job", "state");
    case "forget":
      return rows(await ask("list"), "entries", "id", "text");
    default:
      return [];
  }
}

function rows(data: Data, list: string, value: string, description: string): Completion[] {
  const found = data[list];
  if (!Array.isArray(found)) return [];
  return found.flatMap((row) => {
    if (typeof row !== "object" || row === null || Array.isArray(row)) return [];
    const name = row[value];
    const said = row[description];
    if (typeof name !== "string") return [];
    return [{ value: name, label: name, ...(typeof said === "string" ? { description: said } : {}) }];
  });
}

function undo(argument: string): Request | string {
  if (argument === "") return { op: "undo", args: {} };
  const revision = Number(argument);
  if (Number.isInteger(revision) && revision > 0) return { op: "undo", args: { revision } };
  return `A revision is a number of 1 or more, and this is none: ${argument}`;
}
