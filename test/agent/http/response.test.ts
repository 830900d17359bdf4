import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { expect, it, vi } from "vitest";
import { exchange } from "../../../src/agent/http/exchange.ts";
import type { CallFailure } from "../../../src/agent/http/failure.ts";
import { createResponseReceiver } from "../../../src/agent/http/response.ts";
import { newTrace } from "../../../src/agent/http/trace.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { createDeadline } from "../../../src/runtime/deadline.ts";
import { answering, startRawTarget } from "../../support/target-server.ts";
import { requestOf } from "../calling.ts";

const MIB = 1024 * 1024;
const GZIP = ["content-encoding", "gzip"].map((text) => Buffer.from(text));

it("a freed response receives and decodes nothing", () => {
  const trace = newTrace(requestOf("http://a.example/"), systemClock);
  const reported: (string | CallFailure)[] = [];
  const response = createResponseReceiver(trace, (failure) => reported.push(failure ?? "done"));
  const controller = {
    rawHeaders: GZIP,
    // Only a decoder would pause.
    pause: () => reported.push("pause"),
    resume: () => reported.push("resume"),
  };
  response.onResponseStart(controller, 200, {}, "OK");
  response.free();
  response.onResponseData(controller, randomBytes(MIB));
  response.end();
  expect(reported).toEqual([]);
  expect(trace).toMatchObject({ responseSize: 0, content: null });
});

it("a wait for a decoder that the call does not survive counts as the agent's", () => {
  let now = 0;
  const clock = { ...systemClock, monotonic: () => now };
  const trace = newTrace(requestOf("http://a.example/"), clock);
  const response = createResponseReceiver(trace, () => undefined);
  const controller = {
    rawHeaders: GZIP,
    pause: () => undefined,
    resume: () => undefined,
  };
  response.onResponseStart(controller, 200, {}, "OK");
  response.onResponseData(controller, gzipSync(randomBytes(2 * MIB)));
  now = 100;
  response.free();
  expect(trace.held).toBe(100);
});

it("the wait for a decoder counts as the agent's", async () => {
  const trace = newTrace(requestOf("http://a.example/"), systemClock);
  const response = createResponseReceiver(trace, () => undefined);
  const [paused, resumed] = [vi.fn(), Promise.withResolvers<void>()];
  const controller = {
    rawHeaders: GZIP,
    pause: paused,
    resume: resumed.resolve,
  };
  response.onResponseStart(controller, 200, {}, "OK");
  response.onResponseData(controller, gzipSync(randomBytes(2 * MIB)));
  expect(paused).toHaveBeenCalledOnce();
  await resumed.promise;
  expect(trace.held).toBeGreaterThan(0);
  response.free();
});

it("a deadline that passes while reading waits for the decoder is the agent's fault", async () => {
  // While the decoder writes the zeros, reading is ahead of it by more than it buffers.
  const body = Buffer.concat([gzipSync(Buffer.alloc(8 * MIB)), gzipSync(randomBytes(1.5 * MIB))]);
  const head = `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${body.length}\r\n\r\n`;
  await using target = await startRawTarget(answering(Buffer.concat([Buffer.from(head), body])));
  const over = new AbortController();
  const deadline = createDeadline(60_000, over.signal);
  const begun = newTrace(requestOf(target.url), systemClock);
  const monotonic = (): number => {
    // Next read after the first byte: when reading pauses.
    if (begun.phases.processing !== null) queueMicrotask(() => over.abort());
    return systemClock.monotonic();
  };
  const trace = { ...begun, clock: { ...systemClock, monotonic } };
  const socket = connect(target.port, "127.0.0.1");
  await expect(exchange(socket, trace, deadline)).rejects.toMatchObject({ code: "agent_error" });
  deadline.clear();
});
