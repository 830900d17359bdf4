// Sending spans to a collector, which may refuse them.
import { expect, it } from "vitest";
import { Registry } from "../../src/runtime/metrics.ts";
import { createTracing } from "../../src/runtime/tracing.ts";
import type { SpanFacts } from "../../src/runtime/tracing.ts";
import { startCollector } from "../support/collector.ts";
import { startTarget } from "../support/target-server.ts";
import { captureLog } from "./log-lines.ts";

const SPAN: SpanFacts = {
  traceId: "0af7651916cd43dd8448eb211c80319c",
  spanId: "b7ad6b7169203331",
  parentId: "00f067aa0ba902b7",
  name: "dns",
  kind: "internal",
  start: 1_790_856_000_000.25,
  end: 1_790_856_000_001.5,
  attributes: { text: "a", count: 2, none: null },
  isFailed: false,
};

function tracingTo(url: string, headers: Readonly<Record<string, string>> = {}) {
  const { log, lines } = captureLog("info");
  const registry = new Registry();
  const tracing = createTracing({ url, headers, resource: { "service.name": "x" }, log, registry });
  const count = async (name: string): Promise<string | undefined> =>
    new RegExp(`^sonde_tracing_${name}_spans_total (\\d+)`, "m").exec(
      await registry.metrics(),
    )?.[1];
  return { tracing, lines, count };
}

it("sends waiting spans when closed, with their ids, times, attributes and headers", async () => {
  await using collector = await startCollector();
  const { tracing, count } = tracingTo(`${collector.target.url}/v1/traces`, { authorization: "k" });
  tracing.add([SPAN]);
  await tracing.close();
  const { traceId, spanId, name } = SPAN;
  expect(collector.spans()).toMatchObject([
    {
      traceId,
      spanId,
      parentSpanId: SPAN.parentId,
      name,
      start: SPAN.start,
      end: SPAN.end,
      attributes: { text: "a" },
      resource: { "service.name": "x" },
    },
  ]);
  expect(Object.keys(collector.spans()[0]?.attributes ?? {})).toEqual(["text", "count"]);
  const [request] = collector.target.requests;
  expect([request?.url, request?.headers.authorization]).toEqual(["/v1/traces", "k"]);
  expect(await count("sent")).toBe("1");
});

it("counts what is refused, and logs the beginning and the end of an outage", async () => {
  let status = 400;
  await using target = await startTarget((_, response) => response.writeHead(status).end("{}"));
  const { tracing, lines, count } = tracingTo(`${target.url}/v1/traces`);
  tracing.add([SPAN, SPAN]);
  await expect.poll(() => count("dropped")).toBe("2");
  tracing.add([SPAN]);
  await expect.poll(() => count("dropped")).toBe("3");
  status = 200;
  tracing.add([SPAN]);
  await tracing.close();
  expect(await count("sent")).toBe("1");
  expect(lines().map(({ level, msg, collector }) => [level, msg, collector])).toEqual([
    ["warn", "cannot export spans; dropping them", target.url],
    ["info", "exporting spans again", target.url],
  ]);
});

it("drops spans beyond the limit of its queue", async () => {
  await using collector = await startCollector();
  const { tracing, count } = tracingTo(`${collector.target.url}/v1/traces`);
  for (let n = 0; n < 10; n += 1) tracing.add(Array.from({ length: 1000 }, () => SPAN));
  expect(await count("dropped")).toBe("2000");
  await tracing.close();
  expect(await count("sent")).toBe("8000");
});
