import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { DEFAULT_BEHAVIOUR } from "../../../src/model/behaviour.ts";
import { isSelfConnection } from "../../../src/agent/http/dial.ts";
import { parseEgressAllow } from "../../../src/net/egress.ts";
import { createHttpCaller } from "../../../src/agent/http/http-call.ts";
import { endTrace, newTrace, timingOf } from "../../../src/agent/http/trace.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { startBlackHole } from "../../support/black-hole.ts";
import { createCertificates } from "../../support/certificates.ts";
import { freePort } from "../../support/free-port.ts";
import { answering, silent, startRawTarget, startTarget } from "../../support/target-server.ts";
import { startThreadTarget } from "../../support/thread-target.ts";
import { undisturbed } from "../../support/undisturbed.ts";
import { call, codeOf, requestOf, statusOf, timingOfCall } from "../calling.ts";

const MIB = 1024 * 1024;
const EMPTY = gzipSync("");
const certificates = createCertificates();

describe("the phases of a call", () => {
  it("are all measured over https to a name", async () => {
    await using target = await startTarget(undefined, {
      tls: certificates.good,
    });
    const outcome = await call(`https://localhost:${target.port}/`, {
      ca: certificates.authority.cert,
    });
    expect(outcome).toMatchObject({ result: "COMPLETE", message: null });
    const { total, uncertainty: _, ...phases } = timingOfCall(outcome);
    for (const [phase, ms] of Object.entries(phases)) expect(ms, phase).toBeGreaterThan(0);
    const sum = Object.values(phases).reduce<number>((a, b) => a + (b ?? 0), 0);
    expect(sum).toBeLessThanOrEqual((total ?? 0) + 0.01);
  });

  it("end with the last byte of a body that does not decode", async () => {
    let [now, answered] = [0, false];
    await using target = await startTarget((_, response) => {
      answered = true;
      response.writeHead(200, { "content-encoding": "gzip", "content-length": 4 }).end("text");
    });
    const busy = (): number => {
      if (answered) now = 5000; // from here on, the agent decodes
      return 0;
    };
    const caller = createHttpCaller({
      clock: { ...systemClock, monotonic: () => now, busy },
      egress: parseEgressAllow(["127.0.0.1"]),
    });
    const outcome = await caller.call(requestOf(target.url), DEFAULT_BEHAVIOUR);
    expect(outcome.message).toBe("malformed_response: the body is not valid gzip");
    expect(timingOfCall(outcome)).toMatchObject({ download: 0, total: 0 });
  });

  it("leave out the lookup of an address and the handshake of plain http", async () => {
    await using target = await startTarget();
    const timing = timingOfCall(await call(target.url));
    expect(timing).toMatchObject({ dns: null, handshake: null });
    expect(Object.values(timing).filter((ms) => ms === null)).toHaveLength(2);
  });

  it("end with the phase that failed", async () => {
    await using target = await startRawTarget((socket) => socket.resetAndDestroy());
    const outcome = await call(target.url);
    expect(timingOfCall(outcome)).toMatchObject({
      processing: null,
      download: null,
      total: expect.any(Number) as number,
    });
  });

  it("count a slow answer as processing and a slow body as download", async () => {
    await using target = await startTarget((_, response) => {
      setTimeout(() => {
        response.write("first");
        setTimeout(() => response.end("last"), 100);
      }, 100);
    });
    const outcome = await undisturbed(() => call(target.url));
    const timing = timingOfCall(outcome);
    expect(timing.processing).toBeGreaterThan(60);
    expect(timing.download).toBeGreaterThan(60);
    expect(timing.upload).toBeLessThan(60);
  });

  it("count a body that the target reads slowly as upload", async () => {
    await using target = await startRawTarget((socket) => {
      socket.pause();
      setTimeout(() => socket.resume(), 500);
      let size = 0;
      socket.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > 24 * MIB) socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
      });
    });
    const outcome = await call(target.url, {
      request: { method: "POST", body: "x".repeat(24 * MIB) },
    });
    expect(outcome.result).toBe("COMPLETE");
    expect(timingOfCall(outcome).upload).toBeGreaterThan(300);
  });
});

/** Occupies this thread. */
function work(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** The thread sleeps in a later turn of the event loop, and so notes this work before. */
async function workAndSleep(ms: number): Promise<void> {
  work(ms);
  await delay(1);
}

describe("the uncertainty of a call", () => {
  it("covers the time that the agent's thread was busy", async () => {
    await using target = await startTarget((_, response) => {
      work(50);
      response.end();
    });
    const { total, uncertainty } = timingOfCall(await call(target.url));
    expect(uncertainty).toBeGreaterThanOrEqual(50);
    expect(uncertainty).toBeLessThanOrEqual(total ?? 0);
  });

  it("leaves out the wait for the target", async () => {
    await using target = await startTarget((_, response) => {
      setTimeout(() => response.end(), 300);
    });
    const { total, uncertainty } = timingOfCall(await undisturbed(() => call(target.url)));
    expect(total).toBeGreaterThanOrEqual(299);
    expect(uncertainty).toBeLessThan(200);
  });

  it.each([
    { does: "leaves out", arrives: "after", answerMs: 700, workMs: 300, least: 0, most: 200 },
    { does: "covers", arrives: "during", answerMs: 100, workMs: 300, least: 150, most: 1000 },
  ])("$does other work if the answer arrives $arrives it", async (row) => {
    const { total, uncertainty } = await undisturbed(
      async () => {
        await using target = await startThreadTarget(row);
        target.on("request", () => work(row.workMs));
        return timingOfCall(await call(`http://${target.authority}/`));
      },
      { plannedMs: row.workMs, toleratedMs: 100 },
    );
    expect(total).toBeGreaterThanOrEqual(Math.max(row.answerMs, row.workMs) - 1);
    expect(uncertainty).toBeGreaterThanOrEqual(row.least);
    expect(uncertainty).toBeLessThan(row.most);
  });

  it.each([
    { does: "leaves out", bytes: 1, bodyMs: 1200, least: 0, most: 500 },
    { does: "covers", bytes: 2 * MIB, bodyMs: 1200, least: 700, most: 1500 },
  ])("$does other work while a response of $bytes bytes arrives", async (row) => {
    const { download, uncertainty } = await undisturbed(
      async () => {
        await using target = await startThreadTarget(row);
        target.on("request", () => setTimeout(() => void workAndSleep(700), 200));
        return timingOfCall(await call(`http://${target.authority}/`));
      },
      { plannedMs: 700, toleratedMs: 100 },
    );
    expect(download).toBeGreaterThanOrEqual(row.bodyMs - 100);
    expect(uncertainty).toBeGreaterThanOrEqual(row.least);
    expect(uncertainty).toBeLessThan(row.most);
  });

  it("covers other work that the end of a response waited for", async () => {
    const { uncertainty } = await undisturbed(
      async () => {
        await using target = await startThreadTarget({ bodyMs: 300 });
        target.on("request", () => setTimeout(() => work(600), 100));
        return timingOfCall(await call(`http://${target.authority}/`));
      },
      { plannedMs: 600, toleratedMs: 100 },
    );
    expect(uncertainty).toBeGreaterThanOrEqual(400);
  });

  it("covers other work while a target that has begun to answer awaits the request", async () => {
    const request = { method: "POST", body: "x".repeat(24 * MIB) };
    const { uncertainty } = await undisturbed(
      async () => {
        await using target = await startThreadTarget({ bodyMs: 1200 });
        target.on("request", () => setTimeout(() => void workAndSleep(700), 100));
        return timingOfCall(await call(`http://${target.authority}/`, { request }));
      },
      // It takes a while to send the body, too.
      { plannedMs: 700, toleratedMs: 300 },
    );
    expect(uncertainty).toBeGreaterThanOrEqual(600);
  });

  it("leaves out other work while it connects", async () => {
    const { tcp, uncertainty } = await undisturbed(
      async () => {
        await using hole = await startBlackHole();
        const calling = call(`http://127.0.0.1:${hole.port}/`);
        await delay(50); // until the first SYN is lost; Linux repeats it after a second
        hole.open();
        await workAndSleep(500);
        return timingOfCall(await calling);
      },
      { plannedMs: 500, toleratedMs: 100 },
    );
    expect(tcp).toBeGreaterThan(600);
    expect(uncertainty).toBeLessThan(400);
  });

  it.each([
    { does: "leaves out", handshake: "ends after it", handshakeMs: 700, least: 0, most: 200 },
    { does: "covers", handshake: "could end before", handshakeMs: 200, least: 150, most: 1000 },
    {
      does: "covers",
      handshake: "has two round trips, as in TLS 1.2",
      tls: { maxVersion: "TLSv1.2" as const },
      handshakeMs: 700,
      least: 300,
      most: 1000,
    },
    {
      does: "covers",
      handshake: "has two round trips, because of its group",
      tls: { ecdhCurve: "P-256" },
      handshakeMs: 700,
      least: 300,
      most: 1000,
    },
  ])("$does other work if the handshake $handshake", async ({ tls, handshakeMs, least, most }) => {
    const { handshake, uncertainty } = await undisturbed(
      async () => {
        await using target = await startThreadTarget({
          tls: { ...certificates.good, ...tls },
          handshakeMs,
        });
        // Once this thread has connected, too.
        target.on("connection", () => setTimeout(() => void workAndSleep(300), 100));
        const ca = certificates.authority.cert;
        return timingOfCall(await call(`https://${target.authority}/`, { ca }));
      },
      { plannedMs: 300, toleratedMs: 100 },
    );
    expect(handshake).toBeGreaterThanOrEqual(Math.max(handshakeMs, 400) - 100);
    expect(uncertainty).toBeGreaterThanOrEqual(least);
    expect(uncertainty).toBeLessThan(most);
  });

  it("covers the decoding of a redirect's body, which another thread does", () => {
    let now = 0;
    const clock = { ...systemClock, monotonic: () => now, busy: () => now / 10 };
    const request = requestOf("http://a.example/");
    const hop = newTrace(request, clock);
    endTrace(hop);
    now = 100;
    const last = newTrace(request, clock, hop);
    endTrace(last);
    expect(timingOf(last, hop)).toMatchObject({ total: 100, uncertainty: 100 });
    expect(timingOf(last)).toMatchObject({ total: 0, uncertainty: 0 });
  });

  it("covers the redirects, each of which has its own", async () => {
    await using target = await startTarget(({ url }, response) => {
      work(20);
      response.writeHead(url === "/" ? 302 : 200, { location: "/next" }).end();
    });
    const outcome = await call(target.url);
    const [hop] = outcome.hops;
    expect(hop && timingOf(hop).uncertainty).toBeGreaterThanOrEqual(20);
    expect(timingOfCall(outcome).uncertainty).toBeGreaterThanOrEqual(40);
  });
});

describe("the result of a call", () => {
  it.each([
    [200, "COMPLETE"],
    [204, "COMPLETE"],
    [300, "HTTP_REDIRECT_ERROR"],
    [304, "HTTP_REDIRECT_ERROR"],
    [400, "HTTP_CLIENT_ERROR"],
    [404, "HTTP_CLIENT_ERROR"],
    [429, "HTTP_CLIENT_ERROR"],
    [500, "HTTP_SERVER_ERROR"],
    [503, "HTTP_SERVER_ERROR"],
    [599, "HTTP_SERVER_ERROR"],
  ])("of status %i is %s", async (status, result) => {
    await using target = await startTarget((_, response) => {
      response.writeHead(status).end();
    });
    const outcome = await call(target.url);
    expect(outcome.result).toBe(result);
    expect(statusOf(outcome)).toBe(status);
  });

  it("reports what was sent and received", async () => {
    await using target = await startTarget((_, response) => {
      response.writeHead(200, "Fine", { "X-Thing": "1" }).end("0123456789");
    });
    const { last } = await call(target.url, {
      request: { method: "POST", body: "grüße" },
    });
    expect(last).toMatchObject({
      destIp: "127.0.0.1",
      sourceIp: "127.0.0.1",
      requestSize: 7,
      responseSize: 10,
      response: { status_code: 200, status_string: "Fine" },
    });
    expect(last.response?.headers).toContainEqual({
      key: "X-Thing",
      value: "1",
    });
    expect(target.requests[0]).toMatchObject({ method: "POST", body: "grüße" });
  });
});

describe("the request on the wire", () => {
  it.each([
    ["GET", null, []],
    ["DELETE", null, []],
    ["POST", null, ["content-length: 0"]],
    ["POST", "grüße", ["content-length: 7"]],
    ["GET", "body", ["content-length: 4"]],
    ["BREW", null, []],
  ])("matches what was built: %s with the body %j", async (method, body, framing) => {
    let received = "";
    await using target = await startRawTarget((socket) => {
      socket.on("data", (chunk: Buffer) => {
        received += chunk.toString("latin1");
        socket.end("HTTP/1.1 204 No Content\r\n\r\n");
      });
    });
    await call(`${target.url}//a?b=%20`, {
      request: {
        method,
        body,
        headers: [
          { key: "X-One", value: "ü" },
          { key: "x-ONE", value: "" },
          { key: "traceparent", value: "given" },
          { key: "Host", value: "virtual.example" },
        ],
      },
    });
    expect(received.split("\r\n")).toEqual([
      `${method} //a?b=%20 HTTP/1.1`,
      "host: virtual.example",
      "connection: close",
      "User-Agent: Sonde/1.2.3",
      "Accept: */*",
      "Sonde-Run: result",
      "X-One: Ã¼",
      "x-ONE: ",
      "traceparent: given",
      ...framing,
      "",
      Buffer.from(body ?? "").toString("latin1"),
    ]);
  });
});

it("recognizes a socket that TCP connected to itself", async () => {
  const end = { port: await freePort(), host: "127.0.0.1" };
  const itself = connect({
    ...end,
    localPort: end.port,
    localAddress: end.host,
  });
  await once(itself, "connect");
  expect(isSelfConnection(itself)).toBe(true);
  itself.destroy();

  await using target = await startTarget();
  const other = connect(target.port, "127.0.0.1");
  await once(other, "connect");
  expect(isSelfConnection(other)).toBe(false);
  other.destroy();
});

describe("a connection", () => {
  it("is fresh for each call and closed after it", async () => {
    await using target = await startTarget();
    for (let made = 1; made <= 3; made += 1) {
      await call(target.url);
      expect(target.connections()).toBe(made);
    }
    await expect.poll(() => target.open()).toBe(0);
  });

  it("is closed when the call fails", async () => {
    await using target = await startRawTarget(silent);
    const took = await undisturbed(async () => {
      await call(target.url, { behaviour: { timeoutMs: 50 } });
      const ended = performance.now();
      await expect.poll(() => target.open(), { interval: 5 }).toBe(0);
      return performance.now() - ended;
    });
    expect(took).toBeLessThan(200);
  });
});

describe("an agent whose thread stalls beyond the deadline", () => {
  it.each([
    ["the answer", ""],
    ["the encoded answer", "content-encoding: gzip\r\n"],
  ])("accepts %s that arrived in time", async (_, coding) => {
    const head = `HTTP/1.1 200 OK\r\n${coding}content-length: ${EMPTY.length}\r\n\r\n`;
    await using target = await startRawTarget((socket) => {
      socket.once("data", () => {
        socket.write(Buffer.concat([Buffer.from(head), EMPTY]));
        // Node now runs timers first, then reads from sockets.
        setImmediate(() => work(300));
      });
    });
    const outcome = await undisturbed(() => call(target.url, { behaviour: { timeoutMs: 200 } }), {
      plannedMs: 300,
      toleratedMs: 100,
    });
    expect(outcome.message).toBeNull();
    expect(timingOfCall(outcome).uncertainty).toBeGreaterThan(200);
  });
});

describe("a target", () => {
  it.each([
    ["closes before it answers", (s) => s.end(), "reset"],
    ["resets the connection", (s) => s.resetAndDestroy(), "reset"],
    ["speaks no HTTP", answering("SSH-2.0-OpenSSH_9.2\r\n"), "malformed_response"],
    ["answers with HTTP/0.9", answering("<html>hello</html>"), "malformed_response"],
    [
      "stops within the body",
      answering("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"),
      "reset",
    ],
    [
      "stops within a chunk",
      answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"),
      "reset",
    ],
    [
      "stops within the body as announced",
      answering("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 10\r\n\r\nabc"),
      "reset",
    ],
    [
      "stops within a chunk as announced",
      answering(
        "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
      ),
      "reset",
    ],
    [
      "resets the connection within a body of no length",
      (s) => {
        s.once("data", () => s.write("HTTP/1.1 200 OK\r\n\r\nabc", () => s.resetAndDestroy()));
      },
      "reset",
    ],
  ] satisfies [string, Parameters<typeof startRawTarget>[0], string][])(
    "that %s is a connection error",
    async (_, onConnection, code) => {
      await using target = await startRawTarget(onConnection);
      const outcome = await call(target.url);
      expect(outcome.result).toBe("CONNECTION_ERROR");
      expect(codeOf(outcome)).toBe(code);
      expect(timingOfCall(outcome).download).toBeNull();
      expect(target.connections()).toBe(1);
    },
  );

  it("that does not listen is a connection error", async () => {
    const nobody = `127.0.0.1:${await freePort()}`;
    const outcome = await call(`http://${nobody}`);
    expect(outcome).toMatchObject({
      result: "CONNECTION_ERROR",
      message: `connect_refused: ${nobody} refused the connection`,
    });
    expect(timingOfCall(outcome)).toMatchObject({
      tcp: null,
      total: expect.any(Number) as number,
    });
  });

  it("with port 0 is not called", async () => {
    expect(await call("http://127.0.0.1:0/")).toMatchObject({
      result: "UNABLE_TO_RUN",
      message: "request_invalid: port 0 cannot be called",
    });
  });

  it("with a body over 10 MiB is cut off", async () => {
    await using target = await startTarget((_, response) => {
      const more = (): void => {
        while (response.write(Buffer.alloc(64 * 1024)));
        response.once("drain", more);
      };
      more();
    });
    const outcome = await call(target.url);
    expect(codeOf(outcome)).toBe("too_large");
    expect(outcome.last.responseSize).toBe(10 * MIB);
    expect(statusOf(outcome)).toBe(200);
    await expect.poll(() => target.open()).toBe(0);
  });

  it("with a body of exactly 10 MiB is complete", async () => {
    await using target = await startTarget((_, response) => {
      response.end(Buffer.alloc(10 * MIB));
    });
    const outcome = await call(target.url);
    expect(outcome.result).toBe("COMPLETE");
    expect(outcome.last.responseSize).toBe(10 * MIB);
  });
});

describe("the deadline", () => {
  const ok = "HTTP/1.1 200 OK\r\n";
  const dribble = (text: string) => (socket: Socket) => {
    let at = 0;
    const timer = setInterval(() => {
      socket.write(text.charAt(at) || "x");
      at += 1;
    }, 10);
    socket.once("close", () => clearInterval(timer));
    socket.resume();
  };

  it.each([
    ["says nothing", silent, null, null],
    ["sends its headers byte by byte", dribble(`${ok}X-Long: `), expect.any(Number), null],
    [
      "sends its body byte by byte",
      (s) => {
        s.write(`${ok}\r\n`);
        dribble("")(s);
      },
      expect.any(Number),
      200,
    ],
    [
      "stalls within its body",
      answering(`${ok}Content-Length: 10\r\n\r\nabc`, { close: false }),
      expect.any(Number),
      200,
    ],
  ] satisfies [string, Parameters<typeof startRawTarget>[0], unknown, number | null][])(
    "ends a call to a target that %s",
    async (_, onConnection, processing, status) => {
      await using target = await startRawTarget(onConnection);
      const outcome = await undisturbed(() => call(target.url, { behaviour: { timeoutMs: 300 } }));
      expect(outcome.result).toBe("CONNECTION_ERROR");
      expect(codeOf(outcome)).toBe("timeout");
      expect(statusOf(outcome) ?? null).toBe(status);
      const { total, ...phases } = timingOfCall(outcome);
      expect(phases).toMatchObject({ processing, download: null });
      expect(total).toBeGreaterThan(295);
      expect(total).toBeLessThan(400);
      await expect.poll(() => target.open()).toBe(0);
    },
  );

  it("ends a call to a target that does not read the whole request", async () => {
    await using target = await startRawTarget((socket) => void socket.pause());
    const request = { method: "POST", body: "x".repeat(24 * MIB) };
    const outcome = await undisturbed(
      () => call(target.url, { request, behaviour: { timeoutMs: 1000 } }),
      { toleratedMs: 300 }, // it takes a while to send what the system buffers
    );
    expect(outcome.message).toBe("timeout: the request was not sent in time");
    expect(timingOfCall(outcome).upload).toBeNull();
  });

  it("ends a call whose connection is not accepted", async () => {
    await using hole = await startBlackHole();
    const url = `http://127.0.0.1:${hole.port}/`;
    const outcome = await undisturbed(() => call(url, { behaviour: { timeoutMs: 300 } }));
    expect(outcome.message).toBe(`connect_timeout: 127.0.0.1:${hole.port} did not answer`);
    const { total, tcp } = timingOfCall(outcome);
    expect(tcp).toBeNull();
    expect(total).toBeLessThan(400);
  });

  it("lets a cancelled call end at once, without an outcome", async () => {
    await using target = await startRawTarget(silent);
    const caller = createHttpCaller({
      clock: systemClock,
      egress: parseEgressAllow(["127.0.0.1"]),
      uplinkCheck: [target.authority],
    });
    const cancel = new AbortController();
    const request = requestOf(target.url);
    const calling = caller.call(request, DEFAULT_BEHAVIOUR, cancel.signal);
    await expect.poll(() => target.open()).toBe(1);
    cancel.abort(new Error("the agent stops"));
    await expect(calling).rejects.toThrow("the agent stops");
    await expect.poll(() => target.open()).toBe(0);
    expect(target.connections()).toBe(1);
  });

  // These use a clock of their own, so that a stall of the tests does not count.
  it.each([
    ["50 ms", 0, 30_050, "CONNECTION_ERROR", /^reset: /],
    ["700 ms", 0, 30_700, "AGENT_ERROR", /^agent_error: .* 700 ms after/],
    ["700 ms", 30_000, 700, "AGENT_ERROR", /^agent_error: .* 700 ms after/],
  ])(
    "noticed %s late, after hops of %i and %i ms, yields %s",
    async (_, first, second, result, message) => {
      let now = 0;
      await using target = await startTarget(({ url, socket }, response) => {
        now += url === "/" ? first : second;
        if (url === "/") response.writeHead(302, { location: "/next" }).end();
        else socket.destroy();
      });
      const caller = createHttpCaller({
        clock: { ...systemClock, monotonic: () => now },
        egress: parseEgressAllow(["127.0.0.1"]),
      });
      const outcome = await caller.call(requestOf(target.url), DEFAULT_BEHAVIOUR);
      expect(outcome.hops).toHaveLength(1);
      expect(outcome.result).toBe(result);
      expect(outcome.message).toMatch(message);
    },
  );

  it("noticed late because the agent stalled yields AGENT_ERROR", async () => {
    await using target = await startRawTarget(silent);
    const calling = call(target.url, { behaviour: { timeoutMs: 100 } });
    const until = performance.now() + 100 + 700;
    while (performance.now() < until);
    const outcome = await calling;
    expect(outcome.result).toBe("AGENT_ERROR");
    expect(outcome.message).toMatch(/^agent_error: the agent stalled/);
  });

  it("ends a call whose TLS handshake stalls", async () => {
    await using target = await startRawTarget(silent);
    const url = `https://127.0.0.1:${target.port}`;
    const outcome = await undisturbed(() => call(url, { behaviour: { timeoutMs: 200 } }));
    expect(outcome.message).toBe("timeout: the TLS handshake did not complete in time");
    expect(timingOfCall(outcome)).toMatchObject({
      tcp: expect.any(Number) as number,
      handshake: null,
      upload: null,
    });
    expect(timingOfCall(outcome).total).toBeLessThan(450);
  });
});
