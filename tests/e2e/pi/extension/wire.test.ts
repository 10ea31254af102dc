/** The wire: what is written, and what is read of whatever comes. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { decodeMessage, encodeRequest, LINE_BYTES_MAX, Lines } from "../../../../src/perdure/integrations/pi/wire.ts";

test("a request is one line, whatever is in it", () => {
  const line = encodeRequest(7, "remember", { text: "two\nlines\u2028and\u2029more \ud800 lone" });
  assert.equal(line.indexOf("\n"), line.length - 1);
  assert.deepEqual(JSON.parse(line), {
    id: 7,
    op: "remember",
    text: "two\nlines\u2028and\u2029more \ufffd lone",
  });
});

test("an answer keeps its text, data and code", () => {
  const good = decodeMessage('{"id":1,"ok":true,"text":"done","data":{"a":1}}');
  assert.deepEqual(good, { kind: "answer", id: 1, ok: true, text: "done", data: { a: 1 }, code: "" });
  const bad = decodeMessage('{"id":2,"ok":false,"error":{"code":"locked","message":"Held.","advice":"Wait."},"text":""}');
  assert.deepEqual(bad, { kind: "answer", id: 2, ok: false, text: "Held. Wait.", data: {}, code: "locked" });
});

test("what is no message of this protocol is unknown, and nothing throws", () => {
  for (const line of ["", "x", "1", "null", "[]", "{}", '{"event":"later"}', '{"event":"card"}', '{"id":"1","ok":true}']) {
    assert.deepEqual(decodeMessage(line), { kind: "unknown" }, line);
  }
});

test("what steers a terminal is taken out of what is shown, and left in a section", () => {
  const section = "a\u001b[2Jb";
  const found = decodeMessage(JSON.stringify({ id: 1, ok: true, text: "a\u001b[2J\u009bb\tc\nd", data: { section } }));
  assert.deepEqual(found, { kind: "answer", id: 1, ok: true, text: "a[2Jb\tc\nd", data: { section }, code: "" });
});

test("absent or mistyped parts of a card are empty", () => {
  const found = decodeMessage('{"event":"card","card":{"title":3,"diff":[1,{"sign":"+","text":"a"},{"sign":"-"}],"revision":"2"}}');
  assert.deepEqual(found, {
    kind: "card",
    card: {
      job: "",
      state: "",
      reason: "",
      title: "",
      diff: [{ sign: "+", text: "a" }, { sign: "-", text: "" }],
      revision: null,
      undo: "",
      retry: "",
    },
  });
});

test("lines are cut at line feeds only, wherever the chunks end", () => {
  const bytes = Buffer.from('{"a":"ä\u2028"}\r\n\n{"b":1}\nrest');
  for (let size = 1; size <= bytes.length; size += 1) {
    const lines = new Lines();
    const found: string[] = [];
    for (let at = 0; at < bytes.length; at += size) found.push(...(lines.push(bytes.subarray(at, at + size)) ?? []));
    assert.deepEqual(found, ['{"a":"ä\u2028"}\r', "", '{"b":1}']);
  }
});

test("a line may be as long as the limit, and no longer", () => {
  const longest = Buffer.alloc(LINE_BYTES_MAX + 1, 0x78);
  longest[LINE_BYTES_MAX] = 10;
  assert.equal(new Lines().push(longest)?.[0]?.length, LINE_BYTES_MAX);
  assert.equal(new Lines().push(Buffer.alloc(LINE_BYTES_MAX + 1, 0x78)), null);
  assert.equal(new Lines().push(Buffer.concat([Buffer.alloc(1, 0x78), longest])), null);
});
