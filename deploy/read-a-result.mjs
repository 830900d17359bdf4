// Runs in the container of a `sonde serve --demo`: waits for the result of a call of the demo.
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

const WITHIN_MS = 90_000;
const base = `http://127.0.0.1:${process.env.SONDE_PORT ?? 8080}/api/2`;

async function get(path) {
  const key = readFileSync(`${process.env.SONDE_DATA_DIR}/owner-key`, "utf8").trim();
  const response = await fetch(base + path, { headers: { authorization: `Bearer ${key}` } });
  if (!response.ok) throw new Error(`GET ${path} answered ${response.status}`);
  return (await response.json()).results;
}

async function findResult() {
  const call = (await get("/calls/?limit=1000")).find(({ meta }) => meta.name === "Demo: steady");
  const results = call ? await get(`/calls/${call.id}/results/`) : [];
  return results.find(({ meta }) => meta.result === "COMPLETE");
}

let last = "no call of the demo has a result";
for (const deadline = performance.now() + WITHIN_MS; performance.now() < deadline;) {
  const result = await findResult().catch((cause) => void (last = cause.message));
  if (result) {
    console.log(`read the result ${result.id}`);
    process.exit(0);
  }
  await delay(500);
}
console.error(`no result within ${WITHIN_MS / 1000} s: ${last}`);
process.exit(1);
