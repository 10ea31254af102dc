/** Loaded after Perdure: writes how long an event was with it, a line of JSON for each, to PI_CLOCK_FILE. */

import { appendFileSync } from "node:fs";

import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

const BEGUN = Symbol.for("perdure.clock");

export default function after(pi: ExtensionAPI): void {
  const note = (event: { type: string }) => {
    const ms = performance.now() - ((globalThis as unknown as Record<symbol, number>)[BEGUN] ?? 0);
    appendFileSync(process.env.PI_CLOCK_FILE ?? "", `${JSON.stringify({ event: event.type, ms })}\n`);
  };
  pi.on("session_start", note);
  pi.on("before_agent_start", note);
}
