/**
 * One Python child: started, asked, given up. Every call ends by its deadline; nothing here throws or rejects.
 */

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync } from "node:fs";

import {
  type Answer,
  type CardEvent,
  type Data,
  decodeMessage,
  encodeRequest,
  LINE_BYTES_MAX,
  Lines,
  type Notice,
  type Progress,
} from "./wire.ts";

/** How long each kind of call may take, in milliseconds. */
export const DEADLINES = { hello: 5_000, turn: 1_000, tool: 10_000, exit: 200, complete: 300 };

/** A child that has left a request unanswered for this long is taken for stuck. */
const STUCK_MS = 15_000;
const DRAIN_MS = 100;
const STDERR_CHARS_KEPT = 2_000;

export type ChildEvent = Progress | CardEvent | Notice;

export interface Command {
  python: string;
  args: string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
}

/** No answer: the child is gone, or did not answer in time. `why` is for the user. */
export interface Silence {
  kind: "silence";
  late: boolean;
  why: string;
}

export type Reply = Answer | Silence;

interface Waiting {
  sent: number;
  settle: ((reply: Reply) => void) | null;
}

export class Child {
  /** Why it is gone; empty while it lives. */
  gone = "";
  private readonly process: ChildProcessWithoutNullStreams | null;
  private readonly lines = new Lines();
  private readonly waiting = new Map<number, Waiting>();
  private readonly onEvent: (event: ChildEvent) => void;
  private readonly onGone: () => void;
  private nextId = 1;
  private complaint = "";
  private closing = false;

  constructor(command: Command, onEvent: (event: ChildEvent) => void, onGone: () => void) {
    this.onEvent = onEvent;
    this.onGone = onGone;
    this.process = this.start(command);
  }

  get pid(): number | undefined {
    return this.process?.pid;
  }

  /** Whether a request that is past its deadline is still unanswered: to wait behind it would be to wait twice. */
  get behind(): boolean {
    return [...this.waiting.values()].some((each) => each.settle === null);
  }

  get stuck(): boolean {
    const now = performance.now();
    return [...this.waiting.values()].some((each) => each.settle === null && now - each.sent > STUCK_MS);
  }

  /** Ask, and have an answer or silence within `deadline` milliseconds. */
  ask(op: string, args: Data, deadline: number): Promise<Reply> {
    if (this.gone) return Promise.resolve({ kind: "silence", late: false, why: this.gone });
    const id = this.nextId++;
    const line = encodeRequest(id, op, args);
    if (Buffer.byteLength(line) > LINE_BYTES_MAX) {
      return Promise.resolve(tooLong(id, op));
    }
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        const late = this.waiting.get(id);
        if (late) late.settle = null;
        resolve({ kind: "silence", late: true, why: `it did not answer within ${deadline / 1_000} s` });
      }, deadline);
      this.waiting.set(id, {
        sent: performance.now(),
        settle: (reply) => {
          clearTimeout(timer);
          resolve(reply);
        },
      });
      this.write(line);
    });
  }

  /** End it: say goodbye, wait at most `deadline` milliseconds; a child that was stuck before is killed. */
  async close(deadline: number = DEADLINES.exit): Promise<void> {
    if (this.gone || this.process === null) return;
    const child = this.process;
    const behind = this.behind;
    this.closing = true;
    this.write(encodeRequest(this.nextId++, "bye", {}));
    try {
      child.stdin.end();
    } catch {
      // it is gone already
    }
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, deadline);
      child.once("exit", () => {
        clearTimeout(timer);
        resolve();
      });
    });
    // A child at work ends by itself at the end of its input; what it has accepted is durable either way.
    if (behind) this.kill();
    this.leave("the session is over");
  }

  kill(): void {
    try {
      this.process?.kill("SIGKILL");
    } catch {
      // it is gone already
    }
  }

  private start(command: Command): ChildProcessWithoutNullStreams | null {
    try {
      const child = spawn(command.python, command.args, {
        cwd: command.cwd,
        env: command.env,
        stdio: ["pipe", "pipe", "pipe"],
        windowsHide: true,
      });
      child.on("error", (error) => this.leave(notStarted(command, error)));
      child.on("exit", (code, signal) => this.exited(code, signal));
      child.stdin.on("error", () => undefined); // the exit says it
      child.stdout.on("error", () => undefined);
      child.stderr.on("error", () => undefined);
      child.stdout.on("data", (chunk: Buffer) => this.read(chunk));
      child.stderr.on("data", (chunk: Buffer) => {
        this.complaint = (this.complaint + chunk.toString("utf8")).slice(-STDERR_CHARS_KEPT);
      });
      unref(child); // an idle child never keeps Pi alive; while Pi waits for an answer, the deadline does
      return child;
    } catch (error) {
      this.gone = notStarted(command, error);
      queueMicrotask(() => this.onGone());
      return null;
    }
  }

  private write(line: string): void {
    try {
      this.process?.stdin.write(line);
    } catch {
      // its end was or will be said by the exit
    }
  }

  private read(chunk: Buffer): void {
    const lines = this.lines.push(chunk);
    if (lines === null) {
      this.kill();
      this.leave(`it sent a line of more than ${LINE_BYTES_MAX} bytes`);
      return;
    }
    for (const line of lines) this.take(line);
  }

  private take(line: string): void {
    const message = decodeMessage(line);
    if (message.kind === "unknown" || this.gone) return;
    if (message.kind !== "answer") {
      this.onEvent(message);
      return;
    }
    const waiting = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    waiting?.settle?.(message);
  }

  /** What it wrote last may still be in the pipe, which a grandchild can hold open: wait for it, but not long. */
  private exited(code: number | null, signal: string | null): void {
    const say = () => this.ended(code, signal);
    const timer = setTimeout(say, DRAIN_MS);
    this.process?.once("close", () => {
      clearTimeout(timer);
      say();
    });
  }

  private ended(code: number | null, signal: string | null): void {
    const last = this.complaint.trim().split("\n").at(-1) ?? "";
    const how = signal === null ? `it ended with status ${code}` : `it was ended by ${signal}`;
    this.leave(last ? `${how}: ${last}` : how);
  }

  private leave(why: string): void {
    if (this.gone) return;
    this.gone = why;
    for (const each of this.waiting.values()) each.settle?.({ kind: "silence", late: false, why });
    this.waiting.clear();
    if (!this.closing) this.onGone();
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function notStarted(command: Command, error: unknown): string {
  if (!existsSync(command.python)) return `there is no ${command.python}: run \`perdure install pi\` again`;
  if (!existsSync(command.cwd)) return `the session's folder ${command.cwd} is gone`;
  return `${command.python} could not be started: ${messageOf(error)}`;
}

function tooLong(id: number, op: string): Answer {
  return {
    kind: "answer",
    id,
    ok: false,
    text: `This ${op} is longer than the ${LINE_BYTES_MAX} bytes that Perdure takes at once; shorten it.`,
    data: {},
    code: "usage",
  };
}

function unref(child: ChildProcessWithoutNullStreams): void {
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) {
    (stream as unknown as { unref?: () => void }).unref?.();
  }
}
