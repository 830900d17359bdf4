// The metrics of running processes, embedded and split, as Prometheus reads them.
import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SondeProcess } from "../support/process.ts";
import { findProgram } from "../support/programs.ts";
import { startService } from "../support/service.ts";
import type { TestService } from "../support/service.ts";

const scrape = async (sonde: SondeProcess, accept = "text/plain"): Promise<string> =>
  (await fetch(`${await sonde.ops()}/metrics`, { headers: { accept } })).text();

function checkMetrics(text: string) {
  const promtool = findProgram("promtool") ?? "promtool";
  const { status, stdout, stderr } = spawnSync(promtool, ["check", "metrics"], {
    input: text,
    encoding: "utf8",
  });
  return { status, said: stdout + stderr };
}

const FAULTLESS = { status: 0, said: "" };

describe("the metrics of the split service", () => {
  let service: TestService;
  const processes = new Map<string, SondeProcess>();
  beforeAll(async () => {
    service = await startService({ deployments: 5 });
    for (const roles of ["api", "scheduler", "aggregator", "agent"])
      processes.set(roles, service.start(roles));
    await Promise.all([...processes.values()].map((each) => each.ready()));
    await service.completes();
  });
  afterAll(() => service[Symbol.asyncDispose]());

  it("have no fault that promtool finds, whatever the role", async () => {
    for (const [role, sonde] of processes)
      expect(checkMetrics(await scrape(sonde)), role).toEqual(FAULTLESS);
  });
});
