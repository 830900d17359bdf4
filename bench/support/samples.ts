// The calls of one scenario and round, as Sonde reports them.
import { Agent, request } from "undici";
import { inParallel } from "./load.ts";
import { API_KEY } from "./database.ts";

/** All in milliseconds. */
export interface Sample {
  /** The reported time minus what the target itself took. */
  readonly excess: number;
  /** The reported time. */
  readonly total: number;
  /** Start − due; negative if started early. */
  readonly lateness: number;
  /** Undefined if the program does not state one. */
  readonly uncertainty: number | undefined;
}

/** Reads the latest run of each call. `missing` counts the calls without a COMPLETE result. */
export async function readSamples(
  apiUrl: string,
  callIds: readonly string[],
  taken: ReadonlyMap<string, number>,
): Promise<{ readonly samples: readonly Sample[]; readonly missing: number }> {
  const dispatcher = new Agent({ connections: 16 });
  const read = await inParallel(callIds, 16, async (id) => {
    const { statusCode, body } = await request(`${apiUrl}/api/2/calls/${id}/results/`, {
      dispatcher,
      headers: { authorization: `Bearer ${API_KEY}` },
    });
    if (statusCode !== 200) throw new Error(`${id}: ${statusCode} ${await body.text()}`);
    const { results } = (await body.json()) as { readonly results: readonly ListedResult[] };
    return results.at(-1);
  });
  await dispatcher.close();
  const samples = read.flatMap((result) => (result ? sampleOf(result, taken) : []));
  return { samples, missing: callIds.length - samples.length };
}

interface ListedResult {
  readonly id: string;
  readonly meta: {
    readonly result: string;
    readonly due_time: string;
    readonly start_time: string | null;
  };
  readonly timing: { readonly total: number | null; readonly uncertainty?: number | null };
}

function sampleOf(
  { id, meta, timing }: ListedResult,
  taken: ReadonlyMap<string, number>,
): Sample[] {
  if (meta.result !== "COMPLETE" || meta.start_time === null || timing.total === null) return [];
  return [
    {
      excess: timing.total - (taken.get(id) ?? 0),
      total: timing.total,
      lateness: Date.parse(meta.start_time) - Date.parse(meta.due_time),
      uncertainty: timing.uncertainty ?? undefined,
    },
  ];
}
