// Each diagnosis of the runbooks runs on a live system, whose metrics are those that they name.
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SERVICES, startLiveShell } from "./live-shell.ts";
import type { LiveShell, ServiceName } from "./live-shell.ts";
import {
  exitCodesOf,
  isOfAlert,
  metricsIn,
  readmeOf,
  readPages,
  setupOf,
} from "./runbook-pages.ts";
import type { Page } from "./runbook-pages.ts";

const PAGES = readPages();

describe("the runbooks on a live system", { timeout: 300_000 }, () => {
  let live: LiveShell;

  beforeAll(async () => {
    live = await startLiveShell(setupOf(readmeOf(PAGES)));
  }, 120_000);
  afterAll(() => live[Symbol.asyncDispose]());

  it("every metric exists", async () => {
    const known = `${await live.metrics()}\n${readFileSync("docs/metrics.md", "utf8")}`;
    const exists = (metric: string): boolean => {
      const base = metric.replace(/_(?:bucket|sum|count)$/, "");
      const end = metric.endsWith("_") ? "" : "\\b";
      return new RegExp(`\\b(?:${metric}|${base})${end}`).test(known);
    };
    const unknown = PAGES.flatMap(({ name, text }) =>
      metricsIn(text)
        .filter((metric) => !exists(metric))
        .map((metric) => `${name}: ${metric}`),
    );
    expect(unknown).toEqual([]);
  });

  it("every diagnosis runs", async () => {
    const queue = PAGES.filter((page) => isOfAlert(page) || page.name === "README").flatMap(
      diagnosisOf,
    );
    const faults: string[] = [];
    const work = async (): Promise<void> => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        const { page, text, codes, service } = next;
        const { code, output } = await live.run(text, service);
        // Even an allowed exit code may come from a command that could not begin.
        if (!codes.includes(code ?? -1) || output.startsWith("sonde: "))
          faults.push(`${page} exits with ${code}\n${text}\n${output}`);
      }
    };
    await Promise.all([work(), work(), work()]);
    expect(faults.join("\n\n")).toBe("");
  });
});

const DIAGNOSES = ["Diagnosis", "The first two minutes"];

function diagnosisOf({ name, text, blocks }: Page) {
  const service = serviceOf(text);
  return blocks
    .filter(({ section }) => DIAGNOSES.includes(section))
    .flatMap((block) => {
      const codes = exitCodesOf(block);
      return codes ? [{ page: name, text: block.text, codes, service }] : [];
    });
}

/** Returns the process whose `$OPS` a page means. */
function serviceOf(text: string): ServiceName {
  const said = /`\$(?:OPS|SERVICE)` is (?:that of )?(?:the|an) (\w+)(?:'s)?/
    .exec(text)?.[1]
    ?.toLowerCase();
  return SERVICES.find((service) => service === said) ?? "api";
}
