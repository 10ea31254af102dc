/** The golden messages of the wire, which the tests of the Python child read too. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { COMMANDS, parse } from "../../../../src/perdure/integrations/pi/commands.ts";
import { cardText } from "../../../../src/perdure/integrations/pi/show.ts";
import { type Params, request } from "../../../../src/perdure/integrations/pi/tool.ts";
import { type Data, decodeMessage, encodeRequest, isData } from "../../../../src/perdure/integrations/pi/wire.ts";

const FOLDER = new URL("../../../../protocol/golden/pi-wire-1/", import.meta.url);
const SCHEMAS = new URL("../../../../protocol/schemas/", import.meta.url);

function golden(name: string): Data[] {
  const lines = readFileSync(new URL(`${name}.jsonl`, FOLDER), "utf8").split("\n").filter(Boolean);
  assert.ok(lines.length > 0);
  return lines.map((line) => JSON.parse(line) as Data);
}

/** The names that the schema of each operation takes. */
function known(): Map<string, string[]> {
  const schema = JSON.parse(readFileSync(new URL("pi-request.schema.json", SCHEMAS), "utf8"));
  const kinds = Object.values(schema.$defs) as { properties: Data & { op: { enum: string[] } } }[];
  return new Map(kinds.map((kind) => [kind.properties.op.enum[0] ?? "", Object.keys(kind.properties)]));
}

test("requests are written as they stand in the golden file", () => {
  for (const message of golden("requests")) {
    const { id, op, ...args } = message;
    assert.deepEqual(JSON.parse(encodeRequest(Number(id), String(op), args)), message);
  }
});

test("every command and every action asks for an operation of the wire, with its arguments", () => {
  const operations = known();
  const asked = COMMANDS.map(({ words, argument }) => parse(argument ? `${words} 1` : words));
  const full = { text: "t", key: "k", kind: "project", importance: "low", which: "w", question: "q", limit: 1 } as const;
  const more = { ...full, evidence: true, start: 0, if_new: true, relearn: true };
  for (const action of ["remember", "recall", "replace", "forget", "list"] as const) {
    asked.push(request({ action, ...more } as Params));
  }
  for (const each of asked) {
    assert.notEqual(typeof each, "string", String(each));
    const { op, args } = each as { op: string; args: Data };
    const names = operations.get(op);
    assert.ok(names, op);
    for (const name of Object.keys(args)) assert.ok(names.includes(name), `${op}: ${name}`);
  }
});

test("answers are read whole", () => {
  for (const message of golden("answers")) {
    const found = decodeMessage(JSON.stringify(message));
    assert.equal(found.kind, "answer");
    if (found.kind !== "answer") continue;
    assert.equal(found.id, message.id);
    assert.equal(found.ok, message.ok);
    assert.equal(found.text, message.text);
    assert.deepEqual(found.data, message.data ?? {});
    assert.equal(found.code, isData(message.error) ? message.error.code : "");
  }
});

test("events are read whole, and every card can be shown", () => {
  for (const message of golden("events")) {
    const found = decodeMessage(JSON.stringify(message));
    assert.equal(found.kind, message.event);
    if (found.kind === "card") {
      assert.deepEqual(found.card, message.card);
      assert.ok(cardText(found.card).startsWith(found.card.title));
      assert.ok(cardText(found.card).endsWith(found.card.undo || found.card.retry));
    } else if (found.kind === "progress" || found.kind === "notice") assert.equal(found.text, message.text);
  }
});
