import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { expect, it, vi } from "vitest";
import type { CallFailure } from "../../../src/agent/http/failure.ts";
import { createResponseReceiver } from "../../../src/agent/http/response.ts";
import { newTrace } from "../../../src/agent/http/trace.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { requestOf } from "../calling.ts";

it("a freed response receives and decodes nothing", () => {
  const trace = newTrace(requestOf("http://a.example/"), systemClock);
  const reported: (string | CallFailure)[] = [];
  const response = createResponseReceiver(trace, (failure) => reported.push(failure ?? "done"));
  const controller = {
    rawHeaders: ["content-encoding", "gzip"].map((text) => Buffer.from(text)),
    // Only a decoder would pause.
    pause: () => reported.push("pause"),
    resume: () => reported.push("resume"),
  };
  response.onResponseStart(controller, 200, {}, "OK");
  response.free();
  response.onResponseData(controller, randomBytes(1024 * 1024));
  response.end();
  expect(reported).toEqual([]);
  expect(trace).toMatchObject({ responseSize: 0, content: null });
});

it("the wait for a decoder counts as the agent's", async () => {
  const trace = newTrace(requestOf("http://a.example/"), systemClock);
  const response = createResponseReceiver(trace, () => undefined);
  const [paused, resumed] = [vi.fn(), Promise.withResolvers<void>()];
  const controller = {
    rawHeaders: ["content-encoding", "gzip"].map((text) => Buffer.from(text)),
    pause: paused,
    resume: resumed.resolve,
  };
  response.onResponseStart(controller, 200, {}, "OK");
  response.onResponseData(controller, gzipSync(randomBytes(2 * 1024 * 1024)));
  expect(paused).toHaveBeenCalledOnce();
  await resumed.promise;
  expect(trace.held).toBeGreaterThan(0);
  response.free();
});
