/** Commands for tests that Pi's RPC mode has no request for: `/tree-to ENTRY` and `/reload-all`. */

import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function helper(pi: ExtensionAPI): void {
  pi.registerCommand("tree-to", {
    handler: async (entry, ctx) => {
      await ctx.navigateTree(entry.trim(), { summarize: false });
      ctx.ui.notify("moved", "info");
    },
  });
  pi.registerCommand("reload-all", { handler: async (_line, ctx) => ctx.reload() });
}
