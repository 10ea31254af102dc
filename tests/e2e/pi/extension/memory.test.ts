/** The memory of a session with a child that a test plays: deadlines, restarts, and what is said of them. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Child, type ChildEvent, type Command } from "../../../../src/perdure/integrations/pi/child.ts";
import type { Host } from "../../../../src/perdure/integrations/pi/host.ts";
import { Memory } from "../../../../src/perdure/integrations/pi/memory.ts";

const READY = 'if (asked.op === "hello") ok({ notice: null, branch: asked.branch ?? "main" });';

class FakeHost implements Host {
  mode = "tui" as const;
  cwd = process.cwd();
  session = "s1";
  file: string | null = "/nowhere/s1.jsonl";
  nested = false;
  path: string | null = null;
  said: string[] = [];
  kept: string[] = [];
  cards: string[] = [];
  statuses: string[] = [];
  leaf = () => "leaf";
  branch = () => this.path;
  keepBranch = (name: string) => void this.kept.push(name);
  say = (text: string) => void this.said.push(text);
  answer = () => undefined;
  card = (card: { title: string }) => void this.cards.push(card.title);
  status = (text: string) => void this.statuses.push(text);
}

/** A memory whose child is Node running `script`, which sees each request as `asked`. */
function memoryWith(script: string, host = new FakeHost()): { memory: Memory; host: FakeHost; starts: () => number } {
  const source = `
    const say = (message) => process.stdout.write(JSON.stringify(message) + "\\n");
    let kept = "";
    process.stdin.on("data", (chunk) => {
      const lines = (kept + chunk).split("\\n");
      kept = lines.pop();
      for (const line of lines) {
        const asked = JSON.parse(line);
        const ok = (data) => say({ id: asked.id, ok: true, text: asked.op, data });
        const no = (code, text) => say({ id: asked.id, ok: false, error: { code }, text });
        ${script}
      }
    });`;
  let starts = 0;
  const launch = (command: Command, onEvent: (event: ChildEvent) => void, onGone: () => void) => {
    starts += 1;
    return new Child({ ...command, args: ["-e", source] }, onEvent, onGone);
  };
  return { memory: new Memory(host, { python: process.execPath, release: "1" }, launch), host, starts: () => starts };
}

test("what was missing from the installation is said once, and every call has an answer", async () => {
  const host = new FakeHost();
  const memory = new Memory(host, "perdure.json cannot be read");
  memory.begin();
  assert.equal(await memory.turn("hi"), "");
  assert.match((await memory.ask("list", {})).text, /Memory is not available: perdure.json cannot be read\./);
  assert.equal(host.said.length, 1);
});

test("a Python that is not there is said once, with its path", async () => {
  const host = new FakeHost();
  const memory = new Memory(host, { python: "/nowhere/python", release: "1" });
  memory.begin();
  assert.equal(await memory.turn("hi"), "");
  assert.equal(await memory.turn("hi"), "");
  assert.deepEqual(host.said.length, 1);
  assert.match(host.said[0] ?? "", /there is no \/nowhere\/python: run `perdure install pi` again/);
});

test("a child that dies is started again for the next call, at most three times", async () => {
  const { memory, host, starts } = memoryWith(`${READY} else process.exit(7);`);
  memory.begin();
  for (let turn = 0; turn < 6; turn += 1) assert.equal(await memory.turn("hi"), "");
  assert.equal(starts(), 4);
  assert.equal(host.said.length, 1);
  assert.match(host.said[0] ?? "", /ended with status 7/);
  assert.match((await memory.ask("list", {})).text, /\/reload starts it again/);
});

test("memory that came back can be missed again", async () => {
  const { memory, host } = memoryWith(
    `${READY} else if (asked.op === "turn" && asked.prompt === "die") process.exit(7); else ok({ section: "S" });`,
  );
  memory.begin();
  assert.equal(await memory.turn("hi"), "S");
  for (const prompt of ["die", "hi", "die"]) await memory.turn(prompt);
  assert.equal(host.said.length, 2);
  await memory.close();
});

test("behind a late answer a turn does not wait a second time, and goes on when it has come", async () => {
  const { memory } = memoryWith(
    `${READY} else {
       (globalThis.seen ??= []).push(asked.prompt);
       const answer = () => { ok({ section: seen.join() }); say({ event: "progress", text: asked.prompt }); };
       setTimeout(answer, asked.prompt === "slow" ? 1_200 : 0);
     }`,
  );
  memory.begin();
  await memory.turn("hi");
  assert.equal(await memory.turn("slow"), "");
  assert.equal(await memory.turn("not asked"), "");
  while (memory.progress !== "slow") await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(await memory.turn("again"), "hi,slow,again");
  await memory.close();
});

test("a request that is longer than a line may be is refused here, and the child lives", async () => {
  const { memory } = memoryWith(`${READY} else ok({ section: "S" });`);
  memory.begin();
  const answer = await memory.ask("remember", { text: "x".repeat(5 * 1024 * 1024) });
  assert.equal(answer.ok, false);
  assert.match(answer.text, /longer than the 4194304 bytes/);
  assert.equal(await memory.turn("y".repeat(5 * 1024 * 1024)), "S");
  await memory.close();
});

test("a refused greeting stops the turns, and a command of the user greets again", async () => {
  const { memory, host, starts } = memoryWith('no("newer", "The home is newer.");');
  memory.begin();
  await memory.turn("hi");
  await memory.turn("hi");
  assert.equal(starts(), 1);
  assert.equal((await memory.ask("status", {})).text, "Memory is not available: The home is newer.");
  assert.equal(starts(), 2);
  assert.equal(host.said.length, 1);
});

test("the branch of the session's path is asked for, and a branch that is gone falls back", async () => {
  const host = new FakeHost();
  host.path = "trial";
  const { memory } = memoryWith(
    `if (asked.op === "hello" && asked.branch === "trial") no("not-found", "Branch trial is gone.");
     else ok({ section: "S", branch: asked.name });`,
    host,
  );
  memory.begin();
  assert.equal(await memory.turn("hi"), "S");
  assert.match(host.said[0] ?? "", /Branch trial is gone\. This session goes on with the selected branch/);
  await memory.close();
});

test("fork and use are kept in the session; a move in its tree follows them", async () => {
  const { memory, host, starts } = memoryWith(`${READY} else ok({ branch: asked.name, section: asked.op });`);
  memory.begin();
  await memory.ask("fork", { name: "trial" });
  await memory.ask("use", { name: "other" });
  assert.deepEqual(host.kept, ["trial", "other"]);
  host.path = "trial";
  await memory.moved();
  assert.deepEqual(host.kept, ["trial", "other"]);
  assert.equal(starts(), 1);
  host.path = null; // a place from before any branch was named: the default, which only a greeting gives
  await memory.moved();
  assert.equal(await memory.turn("hi"), "turn");
  assert.equal(starts(), 2);
  await memory.close();
});

test("a move to a branch that is gone is said", async () => {
  const { memory, host } = memoryWith(
    `${READY} else if (asked.op === "use") no("not-found", "No branch gone."); else ok({});`,
  );
  memory.begin();
  await memory.turn("hi");
  host.path = "gone";
  await memory.moved();
  assert.deepEqual(host.said, ["Perdure: No branch gone."]);
  await memory.close();
});

test("events are shown, and whoever waits for the end of a review is woken by it", async () => {
  const { memory, host } = memoryWith(
    `${READY} else if (asked.op === "review") {
       say({ event: "progress", text: "reviewing" });
       ok({});
       say({ event: "card", card: { title: "changed" } });
       setTimeout(() => say({ event: "progress", text: "" }), 50);
     } else ok({});`,
  );
  memory.begin();
  await memory.ask("review", {});
  assert.equal(await memory.quiet(5_000), true);
  assert.deepEqual(host.cards, ["changed"]);
  assert.deepEqual(host.statuses, ["reviewing", ""]);
  await memory.close();
});

test("evidence is never taken of a nested or an unsaved session", async () => {
  for (const change of [{ nested: true }, { file: null }]) {
    const host = Object.assign(new FakeHost(), change);
    const { memory } = memoryWith(
      `if (asked.op === "settled") process.exit(7); ${READY} else ok({ section: "S" });`,
      host,
    );
    memory.begin();
    await memory.turn("hi");
    memory.settled();
    assert.equal(await memory.turn("hi"), "S");
    await memory.close();
  }
});

test("a child that has left a call unanswered is killed at the end", async () => {
  const { memory } = memoryWith(`process.stdin.removeAllListeners("end"); setInterval(() => {}, 1000); ${READY}`);
  memory.begin();
  await memory.ask("list", {}, 50);
  const pid = memory.pid ?? 0;
  await memory.close();
  const lives = () => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  while (lives()) await new Promise((resolve) => setTimeout(resolve, 20));
});
