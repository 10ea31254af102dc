/** Commands and the tool: what a line or a call asks for, and what is said when it does not fit. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { COMMANDS, complete, HELP, parse } from "../../../../src/perdure/integrations/pi/commands.ts";
import { answerText, cardText } from "../../../../src/perdure/integrations/pi/show.ts";
import { PARAMETERS, type Params, request, subject } from "../../../../src/perdure/integrations/pi/tool.ts";
import type { Data } from "../../../../src/perdure/integrations/pi/wire.ts";

const ANSWERS: Record<string, Data> = {
  branches: { branches: [{ branch: "main" }, { branch: "trial" }, { other: 1 }, 7] },
  reviews: { jobs: [{ job: "J1", state: "dead" }] },
};
const ask = (op: string): Promise<Data> => Promise.resolve(ANSWERS[op] ?? {});

test("each spelling asks for its own request", () => {
  const cases: [string, unknown][] = [
    ["", { op: "status", args: {} }],
    ["status", { op: "status", args: {} }],
    [" show ", { op: "show", args: {} }],
    ["fork trial", { op: "fork", args: { name: "trial" } }],
    ["use  main", { op: "use", args: { name: "main" } }],
    ["review", { op: "review", args: {} }],
    ["review retry J1", { op: "retry", args: { job: "J1" } }],
    ["reviews", { op: "reviews", args: {} }],
    ["undo", { op: "undo", args: {} }],
    ["undo 12", { op: "undo", args: { revision: 12 } }],
    ["forget the deploy command", { op: "forget", args: { which: "the deploy command" } }],
    ["remember Use tabs.", { op: "remember", args: { text: "Use tabs." } }],
  ];
  for (const [line, expected] of cases) assert.deepEqual(parse(line), expected, line);
});

test("what does not fit is said, with what would", () => {
  assert.equal(parse("help"), HELP);
  assert.match(String(parse("shwo")), /There is no \/memory shwo\.\n\/memory status/);
  assert.match(String(parse("fork")), /Say how the copy is to be called/);
  assert.match(String(parse("undo -1")), /number of 1 or more/);
  assert.match(String(parse("pause now")), /takes no argument, and was given: now/);
});

test("help names every command once", () => {
  for (const { words } of COMMANDS) {
    assert.equal(HELP.split("\n").filter((line) => line.startsWith(`/memory ${words} `)).length >= 1, true, words);
  }
});

test("completion offers commands, then the values of their argument", async () => {
  assert.equal((await complete("", ask))?.length, COMMANDS.length);
  assert.deepEqual((await complete("rev", ask))?.map((item) => item.value), ["review retry ", "review", "reviews"]);
  assert.deepEqual((await complete("use ", ask))?.map((item) => item.value), ["use main", "use trial"]);
  assert.deepEqual((await complete("use t", ask))?.map((item) => item.value), ["use trial"]);
  assert.deepEqual((await complete("review retry ", ask))?.[0], {
    value: "review retry J1",
    label: "J1",
    description: "dead",
  });
  assert.equal(await complete("use x", ask), null);
  assert.equal(await complete("fork new", ask), null);
});

test("the tool sends only what its action takes", () => {
  const params: Params = { action: "recall", question: "deploy?", text: "x", limit: 3 };
  assert.deepEqual(request(params), { op: "recall", args: { question: "deploy?", limit: 3 } });
  assert.deepEqual(request({ action: "list" }), { op: "list", args: {} });
  assert.equal(request({ action: "replace", text: "x" }), "memory with action replace needs which.");
  assert.match(String(request({ action: "purge" as "list" })), /has no action purge; it has remember, recall/);
});

test("every parameter says which actions take it", () => {
  for (const [name, schema] of Object.entries(PARAMETERS.properties)) assert.ok(schema.description, name);
});

test("a call is named in one line", () => {
  assert.equal(subject({ action: "remember", key: "deploy", text: "make\nship" }), "deploy · make ship");
});

test("a card says what changed, and how to take it back or try again", () => {
  const card = { job: "J", state: "applied", reason: "", title: "Review changed memory", revision: 4, retry: "" };
  const diff = [{ sign: "-", text: "old" }, { sign: "+", text: "new\nand more" }];
  assert.equal(
    cardText({ ...card, diff, undo: "/memory undo 4" }),
    "Review changed memory\n- old\n+ new\n  and more\nUndo: /memory undo 4",
  );
  assert.equal(
    cardText({ ...card, state: "dead-lettered", title: "", diff: [], undo: "", retry: "/memory review retry J" }),
    "Review dead-lettered\nRetry: /memory review retry J",
  );
});

test("an answer is folded with the number of lines that are left", () => {
  const paint = (colour: string, text: string) => `<${colour}>${text}</>`;
  assert.equal(answerText("Done:\n- a\n+ b\nUndo", paint, 3), "Done:\n<error>- a</>\n<success>+ b</>\n<dim>… 1 more lines</>");
});
