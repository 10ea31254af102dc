/**
 * Perdure for Pi: translates Pi's events, tool calls and commands into requests to a Python child.
 *
 * Nothing is decided here. No handler throws or waits without a deadline, so that Pi goes on whatever happens
 * to memory.
 */

import { readFileSync } from "node:fs";

import type { ExtensionAPI, ExtensionCommandContext, Theme } from "@earendil-works/pi-coding-agent";
import { Text } from "@earendil-works/pi-tui";

import { DEADLINES, messageOf } from "./child.ts";
import { type Completion, complete, parse } from "./commands.ts";
import type { Installed } from "./host.ts";
import { Memory } from "./memory.ts";
import { StatusPanel } from "./panel.ts";
import { CARD_ENTRY, PiHost } from "./pi_host.ts";
import { answerText, cardText, type Paint } from "./show.ts";
import { DESCRIPTION, GUIDELINES, PARAMETERS, type Params, request, SNIPPET, subject } from "./tool.ts";
import { cardOf, type Data, isData } from "./wire.ts";

const SECTION = "memory";
/** How long `/memory review` waits for the end where Pi would otherwise leave at once, in milliseconds. */
const REVIEW_MS = 300_000;
const ABORTED = "Stopped by the user. Whether it was done is not known: list before you try again.";
const LINES_FOLDED = 6;
/** Which process of Pi began: what it starts inherits this, and works for it. */
const OUTER = "PERDURE_PI_PROCESS";
/** Sessions of this process that are at work: one that starts meanwhile was started by one of them. */
const WORKING = Symbol.for("perdure.pi.working");

interface Session {
  memory: Memory;
  host: PiHost;
}

export default function perdure(pi: ExtensionAPI): void {
  try {
    register(pi);
  } catch (error) {
    console.error(`Perdure: memory is not available: ${messageOf(error)}`); // a throw would end Pi
  }
}

function register(pi: ExtensionAPI): void {
  const installed = readInstalled();
  let session: Session | null = null;

  pi.on("session_start", (_event, ctx) => {
    const before = session;
    session = null;
    void before?.memory.close();
    try {
      const host = new PiHost(pi, ctx, isNested());
      const memory = new Memory(host, installed);
      session = { memory, host };
      memory.begin();
    } catch (error) {
      console.error(`Perdure: memory is not available: ${messageOf(error)}`);
    }
  });

  pi.on("before_agent_start", async (event) => {
    if (session === null) return undefined;
    working().add(session.host.session);
    const section = await session.memory.turn(event.messageType === "user" ? event.prompt : "");
    const options = event.systemPromptOptions;
    if (isData(options?.sections) && options.forceSystemPrompt === undefined) {
      if (section) options.sections[SECTION] = section; // Pi makes the sections anew for every turn
      return undefined;
    }
    return section ? { systemPrompt: `${event.systemPrompt}\n\n${section}` } : undefined;
  });

  pi.on("agent_settled", (event) => {
    if (session === null) return;
    working().delete(session.host.session);
    if (!event.aborted) session.memory.settled();
  });

  pi.on("session_tree", async () => session?.memory.moved());
  pi.on("session_compact", () => session?.memory.compacted());

  pi.on("session_shutdown", async () => {
    const before = session;
    session = null;
    if (before === null) return;
    working().delete(before.host.session);
    await before.memory.close();
  });

  registerTool(pi, () => session);
  pi.registerCommand("memory", {
    description: "Lasting memory: status, show, why, remember, recall, forget, undo, branches, reviews",
    getArgumentCompletions: (prefix) => completions(prefix, session),
    handler: (line, ctx) => command(line, ctx, session),
  });
  pi.registerEntryRenderer(CARD_ENTRY, (entry, _options, theme) =>
    isData(entry.data) ? new Text(cardText(cardOf(entry.data), painter(theme)), 1, 0) : undefined,
  );
}

function registerTool(pi: ExtensionAPI, current: () => Session | null): void {
  pi.registerTool({
    name: "memory",
    label: "Memory",
    description: DESCRIPTION,
    promptSnippet: SNIPPET,
    promptGuidelines: GUIDELINES,
    parameters: PARAMETERS,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
    executionMode: "sequential",
    execute: async (_callId, params, signal) => {
      const asked = request(params as Params);
      if (typeof asked === "string") return result(asked, { code: "usage" }, true);
      const memory = current()?.memory;
      if (memory === undefined) return result("Memory is not available in this session.", { code: "unavailable" }, true);
      const answer = await Promise.race([memory.ask(asked.op, asked.args), aborted(signal)]);
      if (answer === null) return result(ABORTED, { code: "aborted" }, true);
      const details = { action: asked.op, ...(answer.ok ? {} : { code: answer.code }), data: answer.data };
      return result(answer.text, details, !answer.ok);
    },
    renderCall: (args, theme) => {
      const params = args as Partial<Params>;
      const name = theme.fg("toolTitle", theme.bold("memory"));
      return new Text(`${name} ${theme.fg("accent", params.action ?? "")} ${theme.fg("dim", subject(params))}`, 0, 0);
    },
    renderResult: (found, options, theme, context) => {
      const first = found.content[0];
      const said = first?.type === "text" ? first.text : "";
      if (context.isError) return new Text(theme.fg("error", said), 0, 0);
      return new Text(answerText(said, painter(theme), options.expanded ? undefined : LINES_FOLDED), 0, 0);
    },
  });
}

/** Settles, with null, once the user stops the run. */
function aborted(signal: AbortSignal | undefined): Promise<null> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve(null);
    else signal?.addEventListener("abort", () => resolve(null), { once: true });
  });
}

function result(text: string, details: Data, isError: boolean) {
  return { content: [{ type: "text" as const, text }], details, ...(isError ? { isError } : {}) };
}

async function command(line: string, ctx: ExtensionCommandContext, session: Session | null): Promise<void> {
  if (session === null) return;
  const { memory, host } = session;
  try {
    const asked = parse(line);
    if (typeof asked === "string") {
      host.answer(line, asked, line.trim() === "help");
      return;
    }
    const answer = await memory.ask(asked.op, asked.args);
    if (asked.op === "status" && answer.ok && ctx.mode === "tui") {
      await panel(ctx, answer.text, async () => (await memory.ask("status", {})).text);
      return;
    }
    host.answer(line, answer.text, answer.ok);
    // Print and JSON mode end with the command, and a review would be left to the next session.
    if (asked.op === "review" && answer.ok && !ctx.hasUI && !(await memory.quiet(REVIEW_MS))) {
      host.say("Perdure: the review goes on; the next session in this project tells how it ended.", "warning");
    }
  } catch (error) {
    host.say(`Perdure: /memory ${line}: ${messageOf(error)}`, "error");
  }
}

async function panel(ctx: ExtensionCommandContext, first: string, ask: () => Promise<string>): Promise<void> {
  await ctx.ui.custom<void>(
    (tui, theme, _keys, done) => new StatusPanel(theme, first, ask, () => tui.requestRender(), () => done()),
  );
}

async function completions(prefix: string, session: Session | null): Promise<Completion[] | null> {
  if (session === null) return null;
  try {
    return await complete(prefix, async (op) => (await session.memory.ask(op, {}, DEADLINES.complete)).data);
  } catch {
    return null;
  }
}

/** Whether this session was started by another session that has memory, in this process or in one above it. */
function isNested(): boolean {
  const outer = process.env[OUTER];
  if (outer === undefined) process.env[OUTER] = String(process.pid);
  return (outer !== undefined && outer !== String(process.pid)) || working().size > 0;
}

function working(): Set<string> {
  const shared = globalThis as unknown as Record<symbol, Set<string> | undefined>;
  return (shared[WORKING] ??= new Set());
}

/** What the installer wrote beside this file, or what is wrong with it. */
function readInstalled(): Installed | string {
  const again = "run `perdure install pi` again";
  try {
    const found: unknown = JSON.parse(readFileSync(new URL("perdure.json", import.meta.url), "utf8"));
    if (isData(found) && typeof found.python === "string" && typeof found.release === "string") {
      return { python: found.python, release: found.release };
    }
    return `perdure.json in the extension's folder does not name python and release: ${again}`;
  } catch (error) {
    return `perdure.json in the extension's folder cannot be read (${messageOf(error)}): ${again}`;
  }
}

function painter(theme: Theme): Paint {
  return (colour, text) => theme.fg(colour, text);
}
