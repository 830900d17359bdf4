// Sends spans to the operator's collector, by OTLP over HTTP. The only file that loads
// OpenTelemetry, itself loaded only if tracing is on. When the collector does not answer, spans are
// dropped and counted, and the outage is logged at its start and end.
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from "@opentelemetry/api";
import type { Context } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { SpanExporter } from "@opentelemetry/sdk-trace";
import type { Logger } from "./logger.ts";
import { Counter } from "./metrics.ts";
import type { Registry } from "./metrics.ts";

/** A span that has ended. */
export interface SpanFacts {
  /** 32 and 16 hex digits. */
  readonly traceId: string;
  readonly spanId: string;
  /** Undefined for the root of its trace. */
  readonly parentId: string | undefined;
  readonly name: string;
  readonly kind: keyof typeof KINDS;
  /** Epoch milliseconds, with fractions. */
  readonly start: number;
  readonly end: number;
  /** Null and undefined ones are omitted. */
  readonly attributes: Readonly<Record<string, string | number | boolean | null | undefined>>;
  readonly isFailed: boolean;
}

export interface TracingOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The attributes of the process, sent with every span. */
  readonly resource: Readonly<Record<string, string>>;
  readonly log: Logger;
  readonly registry: Registry;
}

export type Tracing = ReturnType<typeof createTracing>;

const KINDS = {
  internal: SpanKind.INTERNAL,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

/** About 8 MB. */
const MAX_WAITING_SPANS = 8192;
const SPANS_A_REQUEST = 512;
const SEND_EVERY_MS = 1000;
const REQUEST_TIMEOUT_MS = 5000;
const LAST_FLUSH_MS = 3000;

export function createTracing(options: TracingOptions) {
  const { dropped, sent } = createCounters(options.registry);
  let waiting = 0;
  const exporter = createExporter(options, (count, isTaken) => {
    waiting -= count;
    (isTaken ? sent : dropped).inc(count);
  });
  const tracer = createTracer(options.resource, exporter);
  return {
    /** Never throws, and never waits. */
    add(spans: readonly SpanFacts[]): void {
      if (waiting + spans.length > MAX_WAITING_SPANS) {
        dropped.inc(spans.length);
        return;
      }
      waiting += spans.length;
      for (const span of spans) {
        const started = tracer.startSpan(span);
        if (span.isFailed) started.setStatus({ code: SpanStatusCode.ERROR });
        started.end(Math.max(span.start, span.end));
      }
    },
    /** Sends the waiting spans; gives up after 3 s. */
    async close(): Promise<void> {
      const overdue = Promise.withResolvers<void>();
      const timer = setTimeout(overdue.resolve, LAST_FLUSH_MS);
      await Promise.race([tracer.shutdown(), overdue.promise]);
      clearTimeout(timer);
      if (waiting > 0) dropped.inc(waiting);
    },
  };
}

const createCounters = (registry: Registry) => ({
  dropped: new Counter({
    name: "sonde_tracing_dropped_spans_total",
    help: "Spans dropped: rejected by the collector, or no room in the queue.",
    registers: [registry],
  }),
  sent: new Counter({
    name: "sonde_tracing_sent_spans_total",
    help: "Spans accepted by the collector.",
    registers: [registry],
  }),
});

/** Calls `settled` with the number of spans accepted or lost. */
function createExporter(
  { url, headers, log }: TracingOptions,
  settled: (count: number, isTaken: boolean) => void,
): SpanExporter {
  const exporter = new OTLPTraceExporter({
    url,
    headers: { ...headers },
    timeoutMillis: REQUEST_TIMEOUT_MS,
  });
  const noteOutage = createOutageLog(log, url);
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        settled(spans.length, result.error === undefined);
        noteOutage(result.error);
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}

function createTracer(resource: TracingOptions["resource"], exporter: SpanExporter) {
  let ids = { traceId: "", spanId: "" };
  const provider = new TracerProvider({
    resource: resourceFromAttributes(resource),
    // Gives each span its own ids: `startSpan` asks for them before it returns.
    idGenerator: { generateTraceId: () => ids.traceId, generateSpanId: () => ids.spanId },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: MAX_WAITING_SPANS,
        maxExportBatchSize: SPANS_A_REQUEST,
        scheduledDelayMillis: SEND_EVERY_MS,
      }),
    ],
  });
  const tracer = provider.getTracer("sonde");
  return {
    startSpan(span: SpanFacts) {
      const { traceId, spanId, name, start: startTime } = span;
      ids = { traceId, spanId };
      const options = { kind: KINDS[span.kind], startTime, attributes: present(span.attributes) };
      return tracer.startSpan(name, options, contextOf(span));
    },
    shutdown: () => provider.shutdown().catch(() => undefined),
  };
}

const present = (attributes: SpanFacts["attributes"]) =>
  Object.fromEntries(
    Object.entries(attributes).flatMap(([key, value]) => (value == null ? [] : [[key, value]])),
  );

function contextOf({ traceId, parentId }: SpanFacts): Context {
  if (parentId === undefined) return ROOT_CONTEXT;
  const traceFlags = TraceFlags.SAMPLED;
  const parent = { traceId, spanId: parentId, traceFlags, isRemote: true };
  return trace.setSpanContext(ROOT_CONTEXT, parent);
}

/** Logs the beginning and the end of an outage. */
function createOutageLog(log: Logger, url: string) {
  const collector = new URL(url).origin;
  let isOutage = false;
  return (err: Error | undefined): void => {
    if (err && !isOutage) log.warn({ err, collector }, "cannot export spans; dropping them");
    if (!err && isOutage) log.info({ collector }, "exporting spans again");
    isOutage = err !== undefined;
  };
}
