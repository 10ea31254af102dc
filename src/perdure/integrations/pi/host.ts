/** What the memory of a session needs of Pi, so that it can be tested without Pi. */

import type { Card } from "./wire.ts";

export type Mode = "tui" | "rpc" | "json" | "print";
export type Level = "info" | "warning" | "error";

/** None of these throws: a session that Pi has replaced swallows what is said to it. */
export interface Host {
  readonly mode: Mode;
  readonly cwd: string;
  readonly session: string;
  /** null for a session that is not saved. */
  readonly file: string | null;
  /** Whether this session works for another agent: it reads memory, and is never evidence. */
  readonly nested: boolean;
  leaf(): string | null;
  /** The memory branch that the session's own path names, or null. */
  branch(): string | null;
  keepBranch(name: string): void;
  say(text: string, level: Level): void;
  /** The answer to a command of the user. */
  answer(command: string, text: string, ok: boolean): void;
  card(card: Card): void;
  status(text: string): void;
}

/** What the installer wrote beside this file. */
export interface Installed {
  python: string;
  release: string;
}
