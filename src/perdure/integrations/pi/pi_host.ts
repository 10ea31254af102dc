/** Pi as the memory of a session sees it: where it stands, and how to tell its user something. */

import { writeSync } from "node:fs";

import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";

import type { Host, Level, Mode } from "./host.ts";
import { cardText } from "./show.ts";
import type { Card, Data } from "./wire.ts";

export const BRANCH_ENTRY = "perdure-branch";
export const CARD_ENTRY = "perdure-card";
export const ANSWER_ENTRY = "perdure-answer";
const STATUS_KEY = "perdure";
const STDOUT = 1;
const STDOUT_TRIES = 100;

export class PiHost implements Host {
  readonly mode: Mode;
  readonly cwd: string;
  readonly session: string;
  readonly file: string | null;
  readonly nested: boolean;
  private readonly pi: ExtensionAPI;
  private readonly ctx: ExtensionContext;

  constructor(pi: ExtensionAPI, ctx: ExtensionContext, nested: boolean) {
    this.pi = pi;
    this.ctx = ctx;
    this.mode = ctx.mode;
    this.cwd = ctx.cwd;
    this.session = ctx.sessionManager.getSessionId();
    this.file = ctx.sessionManager.getSessionFile() ?? null;
    this.nested = nested;
  }

  leaf(): string | null {
    return quietly(() => this.ctx.sessionManager.getLeafId(), null);
  }

  branch(): string | null {
    return quietly(() => branchOf(this.ctx.sessionManager.getBranch()), null);
  }

  keepBranch(branch: string): void {
    quietly(() => this.pi.appendEntry(BRANCH_ENTRY, { branch }), undefined);
  }

  say(text: string, level: Level): void {
    quietly(() => {
      if (this.ctx.hasUI) this.ctx.ui.notify(text, level);
      else if (level !== "info") console.error(text);
    }, undefined);
  }

  answer(command: string, text: string, ok: boolean): void {
    quietly(() => {
      if (this.ctx.hasUI) this.ctx.ui.notify(text, ok ? "info" : "warning");
      else if (this.mode === "json") this.pi.appendEntry(ANSWER_ENTRY, { command, text, ok });
      else if (ok) toStdout(`${text}\n`);
      else console.error(text);
    }, undefined);
  }

  /** An entry of the session, which never enters the model's context; where there is no screen, also as text. */
  card(card: Card): void {
    quietly(() => this.pi.appendEntry(CARD_ENTRY, card), undefined);
    quietly(() => {
      if (this.mode === "rpc") this.ctx.ui.notify(cardText(card), card.retry ? "warning" : "info");
      else if (this.mode === "print") console.error(cardText(card));
    }, undefined);
  }

  status(text: string): void {
    quietly(() => this.ctx.ui.setStatus(STATUS_KEY, text ? `memory: ${text}` : undefined), undefined);
  }
}

/** The branch that the last entry of ours on this path names. */
export function branchOf(entries: readonly { type: string }[]): string | null {
  for (const entry of entries.toReversed() as (Data & { type: string })[]) {
    if (entry.type !== "custom" || entry.customType !== BRANCH_ENTRY) continue;
    const data = entry.data;
    if (typeof data !== "object" || data === null || Array.isArray(data)) continue;
    if (typeof data.branch === "string") return data.branch;
  }
  return null;
}

/** Pi throws when a session that it has replaced is touched: nobody is left there to be told. */
function quietly<Result>(act: () => Result, otherwise: Result): Result {
  try {
    return act();
  } catch {
    return otherwise;
  }
}

/** In print mode Pi sends everything but the model's answer to standard error; this is an answer too. */
function toStdout(text: string): void {
  let rest = Buffer.from(text, "utf8");
  for (let tries = 0; rest.length > 0 && tries < STDOUT_TRIES; tries += 1) {
    try {
      rest = rest.subarray(writeSync(STDOUT, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10); // a full pipe: let its reader go on
    }
  }
}
