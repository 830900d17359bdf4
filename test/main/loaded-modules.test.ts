// Modules that only some need are loaded for them alone: OpenTelemetry, and the log for people.
// Nobody needs Node's own undici.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeFolder, startSonde } from "../support/process.ts";

/** What the built program names where each of these modules begins. */
const NOTED = "^// node_modules/(?:@opentelemetry/(?!api/)|pino-pretty).*";

/** Notes each of them that the process or its threads load; at its exit, also Node's undici. */
const hook = (file: string): string => `
  import { registerHooks } from "node:module";
  import { appendFileSync } from "node:fs";
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      const found = String(loaded.source).match(new RegExp(${JSON.stringify(NOTED)}, "gm"));
      if (found) appendFileSync(${JSON.stringify(file)}, found.join("\\n"));
      return loaded;
    },
  });
  process.on("exit", () => {
    const own = process.moduleLoadList.find((name) => name.includes("deps/undici"));
    if (own) appendFileSync(${JSON.stringify(file)}, own);
  });`;

/** Returns the modules that `sonde serve` loads. */
async function loadedWith(settings: Readonly<Record<string, string>>): Promise<string> {
  using folder = makeFolder();
  const file = join(folder.path, "loaded");
  const url = `data:text/javascript,${encodeURIComponent(hook(file))}`;
  const env = { ...settings, NODE_OPTIONS: `--import=${url}` };
  await using sonde = startSonde(["serve"], { env, folder: folder.path });
  await expect.poll(() => sonde.stdout(), { timeout: 30_000 }).toContain("Sonde is at");
  await sonde.stop();
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

it("loads neither OpenTelemetry nor pino-pretty nor Node's undici by default", async () => {
  expect(await loadedWith({})).toBe("");
});

it("loads OpenTelemetry and pino-pretty if they are turned on", async () => {
  const loaded = await loadedWith({
    SONDE_LOG_FORMAT: "pretty",
    SONDE_OTLP_URL: "http://127.0.0.1:9",
  });
  expect(loaded).toContain("@opentelemetry/sdk-trace/");
  expect(loaded).toContain("pino-pretty/");
});
