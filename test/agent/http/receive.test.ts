import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import type { CallFailure } from "../../../src/agent/http/failure.ts";
import { createReceiver } from "../../../src/agent/http/receive.ts";
import { newTrace } from "../../../src/agent/http/trace.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { requestOf } from "../calling.ts";

it("takes in and decodes nothing after it was freed", () => {
  const trace = newTrace(requestOf("http://a.example/"), systemClock);
  const heard: (string | CallFailure)[] = [];
  const receiver = createReceiver(trace, {
    onEnd: () => heard.push("end"),
    onDone: () => heard.push("done"),
    onFailure: (failure) => heard.push(failure),
  });
  const controller = {
    rawHeaders: ["content-encoding", "gzip"].map((text) => Buffer.from(text)),
    // More than a decoder takes at once.
    pause: () => heard.push("pause"),
    resume: () => heard.push("resume"),
  };
  receiver.head(controller, 200, "OK");
  receiver.free();
  receiver.data(controller, randomBytes(1024 * 1024));
  receiver.end();
  expect(heard).toEqual([]);
  expect(trace).toMatchObject({ responseSize: 0, content: null });
});
