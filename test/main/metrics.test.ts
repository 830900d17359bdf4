// The metrics of running processes, embedded and split, as Prometheus reads them.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { httpClient } from "../support/client.ts";
import type { Client } from "../support/client.ts";
import { startSonde } from "../support/process.ts";
import type { SondeProcess } from "../support/process.ts";
import { findProgram } from "../support/programs.ts";
import { startService } from "../support/service.ts";
import type { TestService } from "../support/service.ts";
import { startTarget } from "../support/target-server.ts";
import type { HttpTarget } from "../support/target-server.ts";

const KEY = "k".repeat(32);
const OPEN = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
const FAULTLESS = { status: 0, said: "" };

const request = async (sonde: SondeProcess, accept = "text/plain"): Promise<Response> =>
  fetch(`${await sonde.ops()}/metrics`, { headers: { accept } });

const scrape = async (sonde: SondeProcess): Promise<string> => (await request(sonde)).text();

function checkMetrics(text: string) {
  const promtool = findProgram("promtool") ?? "promtool";
  const options = { input: text, encoding: "utf8" } as const;
  const { status, stdout, stderr } = spawnSync(promtool, ["check", "metrics"], options);
  return { status, said: stdout + stderr };
}

/** Returns the lines of a metric, without its name. */
const samplesOf = (text: string, name: string): string[] =>
  text
    .split("\n")
    .flatMap((line) => (/^\w+/.exec(line)?.[0] === name ? line.slice(name.length) : []));

const typesIn = (text: string): string[] =>
  [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => `${name} ${type}`);

/** Returns the metrics of docs/metrics.md, except those that every Node program has. */
const documented = (): string[] =>
  [...readFileSync("docs/metrics.md", "utf8").matchAll(/^\| `(\w+)` +\| (\w+) +\|/gm)].map(
    ([, name, type]) => `${name} ${type}`,
  );

const isOurs = (type: string): boolean => /^(?:sonde|probe)_/.test(type);

describe("the metrics of the embedded service", () => {
  let target: HttpTarget;
  let sonde: SondeProcess;
  let client: Client;
  const create = async (name: string, path: string, tags: readonly string[] = []) => {
    const { id } = await client.send<{ readonly id: string }>("POST", "/calls/", {
      meta: { name, tags },
      request: { method: "GET", url: `${target.url}${path}` },
    });
    return id;
  };
  const run = async (id: string): Promise<void> => {
    await client.send("POST", `/calls/${id}/run?wait=30`, {});
  };
  const eventually = (check: (text: string) => void) =>
    vi.waitFor(async () => check(await scrape(sonde)), { timeout: 60_000, interval: 500 });

  beforeAll(async () => {
    target = await startTarget((incoming, response) => {
      response.statusCode = incoming.url?.startsWith("/broken") ? 500 : 200;
      response.end("ok");
    });
    sonde = startSonde(["serve"], {
      env: {
        SONDE_BOOTSTRAP_KEY: KEY,
        SONDE_EGRESS_ALLOW: target.authority,
        SONDE_CALL_METRICS_MAX: "2",
        SONDE_AGENT_CONCURRENCY: "10",
        SONDE_AGENT_THREADS: "4",
      },
    });
    await sonde.ready();
    client = httpClient(await sonde.api(), KEY);
  });
  afterAll(async () => {
    await sonde[Symbol.asyncDispose]();
    await target[Symbol.asyncDispose]();
  });

  it("are the same in both formats, as the client accepts them", async () => {
    const plain = await request(sonde);
    const open = await request(sonde, OPEN);
    expect(plain.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(open.headers.get("content-type")).toMatch(/^application\/openmetrics-text; version=1/);
    const [text, openText] = [await plain.text(), await open.text()];
    expect(checkMetrics(text)).toEqual(FAULTLESS);
    expect(openText.endsWith("\n# EOF\n")).toBe(true);
    const counters = typesIn(text).filter((type) => type.endsWith(" counter"));
    expect(counters).toContain("sonde_scheduler_runs_total counter");
    expect(typesIn(openText)).toEqual(
      typesIn(text).map((type) => type.replace(/_total counter$/, " counter")),
    );
    expect(samplesOf(openText, "sonde_scheduler_runs_total")).toEqual([" 0"]);
    const recorded = samplesOf(text, "sonde_aggregator_results_total");
    expect(recorded, "before the first result").toContain('{outcome="recorded"} 0');
  });

  it("show that all agents together have the places of SONDE_AGENT_CONCURRENCY", async () => {
    expect(samplesOf(await scrape(sonde), "sonde_agent_capacity_runs")).toEqual([" 10"]);
  });

  it("show each call that did not opt out, without its secrets, and each phase that happened", async () => {
    const name = 'Search "ä\\ö"';
    const [passing, failing] = [
      await create(name, "/?key=secret"),
      await create("Broken", "/broken"),
    ];
    await run(await create("Shy", "/", ["apimetrics:NoMetrics"]));
    await run(passing);
    await run(failing);
    const labels = `{call_id="${passing}",call_name="Search \\"ä\\\\ö\\"",location="local"`;
    await eventually((text) => {
      expect(samplesOf(text, "probe_success")).toHaveLength(2);
      expect(samplesOf(text, "probe_success")).toContain(`${labels}} 1`);
      expect(checkMetrics(text)).toEqual(FAULTLESS);
    });
    const text = await scrape(sonde);
    expect(samplesOf(text, "probe_http_status_code")).toContain(`${labels}} 200`);
    expect(samplesOf(text, "probe_runs_total")).toContain(`${labels},result="pass"} 1`);
    expect(samplesOf(text, "probe_runs_total")).toContain(`${labels},result="fail"} 0`);
    expect(samplesOf(text, "probe_latency_seconds_count")).toContain(`${labels}} 1`);
    const phases = samplesOf(text, "probe_http_duration_seconds").filter((line) =>
      line.startsWith(labels),
    );
    // An address needs no lookup, and http no handshake.
    expect(phases.map((line) => /phase="(\w+)"/.exec(line)?.[1])).toEqual([
      "connect",
      "upload",
      "processing",
      "transfer",
    ]);
    expect(text).not.toContain("secret");
    expect(text).not.toContain("Shy");
    expect(text).not.toContain(target.authority);
  });

  it("are limited to the oldest calls, and follow renames and deletions", async () => {
    const [first, second] = samplesOf(await scrape(sonde), "probe_success").map(
      (line) => /call_id="(\w+)"/.exec(line)?.[1] ?? "",
    );
    await run(await create("Third", "/"));
    await run(second ?? "");
    await eventually((text) => {
      expect(samplesOf(text, "sonde_aggregator_unlisted_calls")).toEqual([" 1"]);
      expect(samplesOf(text, "probe_runs_total").join("\n")).toMatch(/result="fail"} 2|pass"} 2/);
    });
    const path = `/calls/${first}/`;
    const { id: _, ...call } = await client.send<{ readonly id: string; readonly meta: object }>(
      "GET",
      path,
    );
    await client.send("POST", path, { ...call, meta: { ...call.meta, name: "New" } });
    await client.send("DELETE", `/calls/${second}/`);
    await eventually((text) => {
      const calls = samplesOf(text, "probe_success").map(
        (line) => /call_name="([^"]+)"/.exec(line)?.[1],
      );
      expect(calls).toEqual(["New"]);
    });
  });
});

describe("the metrics of the split service", () => {
  const ROLES = ["api", "scheduler", "aggregator", "agent"] as const;
  const processes = new Map<string, SondeProcess>();
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ deployments: 5 });
    for (const role of ROLES) processes.set(role, service.start(role));
    await Promise.all([...processes.values()].map((each) => each.ready()));
    await service.completes();
  });
  afterAll(() => service[Symbol.asyncDispose]());
  const scrapeOf = (role: (typeof ROLES)[number]): Promise<string> =>
    scrape(processes.get(role) as SondeProcess);

  it("pass promtool in every role", async () => {
    for (const role of ROLES) expect(checkMetrics(await scrapeOf(role)), role).toEqual(FAULTLESS);
  });

  it("are those that docs/metrics.md names", async () => {
    const types = (await Promise.all(ROLES.map(scrapeOf))).flatMap(typesIn).filter(isOurs);
    expect([...new Set(types)].toSorted()).toEqual(documented().toSorted());
  });

  it("agree on the whole system, in each process of the hub", async () => {
    for (const role of ["api", "scheduler", "aggregator"] as const)
      await vi.waitFor(
        async () => {
          const text = await scrapeOf(role);
          expect(samplesOf(text, "sonde_agents")).toContain('{location="local",state="online"} 1');
          expect(samplesOf(text, "sonde_database_up")).toEqual([" 1"]);
          expect(samplesOf(text, "sonde_nats_up")).toEqual([" 1"]);
          expect(samplesOf(text, "sonde_bus_stream_max_bytes")).toContain(
            '{stream="ticks"} 268435456',
          );
        },
        { timeout: 60_000, interval: 1000 },
      );
    expect(samplesOf(await scrapeOf("scheduler"), "sonde_deployments")).toEqual([
      '{location="local"} 5',
    ]);
  });

  it("show how long results have waited for a lost aggregator", async () => {
    await processes.get("aggregator")?.kill9();
    await vi.waitFor(
      async () => {
        const text = await scrapeOf("api");
        const [age = ""] = samplesOf(text, "sonde_bus_oldest_pending_message_age_seconds").filter(
          (line) => line.startsWith('{stream="results",location="local"}'),
        );
        expect(Number(age.split(" ")[1])).toBeGreaterThan(1);
        expect(samplesOf(text, "sonde_bus_pending_messages").join()).toMatch(
          /results",location="local"} [1-9]/,
        );
      },
      { timeout: 120_000, interval: 1000 },
    );
  });
});
