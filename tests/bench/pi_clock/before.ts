/** Loaded before Perdure: notes when an event comes to it. */

import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export const BEGUN = Symbol.for("perdure.clock");

export default function before(pi: ExtensionAPI): void {
  const note = () => {
    (globalThis as unknown as Record<symbol, number>)[BEGUN] = performance.now();
  };
  pi.on("session_start", note);
  pi.on("before_agent_start", note);
}
