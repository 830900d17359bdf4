// `sonde audit list`: prints the audit trail, one JSON object per line, oldest first.
import { invalid } from "../model/errors.ts";
import { formatInstant } from "../model/instant.ts";
import { show } from "../model/validate.ts";
import { actorIn, timeIn, withStore } from "./command.ts";
import type { Command } from "./command.ts";

const DEFAULT_LIMIT = "100";
const MAX_LIMIT = 100_000;

export const listAudit: Command = {
  options: ["since", "owner", "org", "limit"],
  async run({ config, values, print }) {
    const of = actorIn(values);
    const since = timeIn(values, "since") ?? 0;
    const limit = parseLimit(values.limit);
    await withStore(config, async (store) => {
      for (const { time, ...entry } of await store.audit.list({ since, of, limit }))
        print(`${JSON.stringify({ time: formatInstant(time), ...entry })}\n`);
    });
  },
};

function parseLimit(text = DEFAULT_LIMIT): number {
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_LIMIT)
    throw invalid(`--limit: ${show(text)} is not a whole number from 1 to ${MAX_LIMIT}`);
  return limit;
}
