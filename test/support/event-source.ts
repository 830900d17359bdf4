// Listens to server-sent events, as a client program does.
import { expect } from "vitest";

export interface ServerEvent {
  readonly event: string;
  readonly id: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface EventListener extends AsyncDisposable {
  readonly events: readonly ServerEvent[];
  /** The newest id, also of messages without an event. */
  readonly lastId: () => string;
  /** Comments and field names, in order. */
  readonly lines: readonly string[];
  /** Resolves once the server has ended or broken the stream. */
  readonly ended: Promise<"ended" | "broken">;
  /** Waits for `count` events in all. */
  readonly until: (count: number) => Promise<readonly ServerEvent[]>;
}

/** On PostgreSQL, an event waits for transactions of other tests. */
const PATIENCE = { timeout: 50_000 };

/** Resolves once the stream is open and has sent its position. Rejects with any other answer. */
export async function listen(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<EventListener> {
  const leaving = new AbortController();
  const response = await fetch(url, { headers, signal: leaving.signal });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  const events: ServerEvent[] = [];
  const lines: string[] = [];
  let lastId = "";
  const ended = read();
  await expect.poll(() => lastId).not.toBe("");
  return {
    events,
    lines,
    ended,
    lastId: () => lastId,
    async until(count) {
      await expect.poll(() => events.length, PATIENCE).toBe(count);
      return events;
    },
    async [Symbol.asyncDispose]() {
      leaving.abort();
      await ended;
    },
  };

  async function read(): Promise<"ended" | "broken"> {
    let text = "";
    try {
      for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += part;
        const blocks = text.split("\n\n");
        text = blocks.pop() ?? "";
        blocks.forEach(take);
      }
      return "ended";
    } catch {
      return "broken";
    }
  }

  function take(block: string): void {
    const fields = new Map<string, string>();
    for (const line of block.split("\n")) {
      lines.push(line);
      const [name = "", value = ""] = line.split(/: (.*)/s);
      fields.set(name, value);
    }
    lastId = fields.get("id") ?? lastId;
    const data = fields.get("data");
    if (data !== undefined)
      events.push({ event: fields.get("event") ?? "message", id: lastId, data: JSON.parse(data) });
  }
}
