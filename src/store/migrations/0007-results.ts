// Converts results, which were a JSON document and some columns each, with the response's body
// beside them.
import { sql } from "kysely";
import type { Kysely } from "kysely";
import { parseInstant } from "../../model/instant.ts";
import { pack } from "../details.ts";
import { toStorableText } from "../../model/storable.ts";

/** Keeps a statement within its number of parameters. */
const PAGE = 500;

interface OldRow {
  readonly id: string;
  readonly owner: string;
  readonly time: number;
  readonly document: string;
  /** Null where no body was kept. */
  readonly size: number | null;
  readonly content_type: string | null;
  readonly encoding: string | null;
  readonly content: string | null;
  readonly reason: string | null;
}

interface NewTables {
  names: { id: number; name: string };
  results: Record<string, unknown>;
  result_details: Record<string, unknown>;
}

type Json = Readonly<Record<string, unknown>>;

export async function copyResults(db: Kysely<unknown>): Promise<void> {
  for (let after = ""; ;) {
    const { rows } = await sql<OldRow>`
      select id, owner, time, document, size, content_type, encoding, content, reason
      from old_results left join result_contents on result_id = id
      where id > ${after} order by id limit ${PAGE}`.execute(db);
    const last = rows.at(-1);
    if (!last) return;
    await copyPage(db, rows);
    after = last.id;
  }
}

async function copyPage(db: Kysely<NewTables>, rows: readonly OldRow[]): Promise<void> {
  const parsed = rows.map((row) => ({ row, document: JSON.parse(row.document) as Json }));
  const named = parsed.map(({ row, document }) => namesIn(row, document.meta as Json));
  const numberOf = await numberNames(
    db,
    named.flatMap((names) => Object.values(names)),
  );
  const results = parsed.map(({ row, document }, n) => ({
    ...toColumns(row, document),
    ...Object.fromEntries(
      Object.entries(named[n] ?? {}).map(([column, name]) => [column, numberOf(name)]),
    ),
  }));
  await db.insertInto("results").values(results).execute();
  const details = parsed.map(({ row, document }) => toDetails(row, document));
  await db.insertInto("result_details").values(details).execute();
}

/** Returns the number of each name; the statistics use it too. */
export async function numberNames(
  db: Kysely<Pick<NewTables, "names">>,
  names: readonly unknown[],
): Promise<(name: unknown) => number | null> {
  const wanted = [...new Set(names)].filter((name) => typeof name === "string");
  if (wanted.length > 0)
    await db
      .insertInto("names")
      .columns(["name"])
      .values(wanted.map((name) => ({ name }) as { id: number; name: string }))
      .onConflict((conflict) => conflict.column("name").doNothing())
      .execute();
  const rows = await db.selectFrom("names").selectAll().where("name", "in", wanted).execute();
  const numbers = new Map<unknown, number>(rows.map(({ id, name }) => [name, id]));
  return (name) => numbers.get(name) ?? null;
}

const namesIn = ({ owner }: OldRow, meta: Json): Json => ({
  owner,
  call: meta.call_id,
  workflow: meta.workflow_id ?? null,
  deployment: meta.deployment_id ?? null,
  location: meta.location_id,
  agent: meta.agent_id ?? null,
  trigger: meta.trigger,
  result: meta.result,
  domain: meta.domain,
  source_ip: meta.source_ip ?? null,
  dest_ip: meta.dest_ip ?? null,
});

function toColumns({ id, time }: OldRow, { meta, timing }: Json): Json {
  const of = meta as Json;
  const phases = Object.fromEntries(
    ["dns", "tcp", "handshake", "upload", "processing", "download", "total", "uncertainty"].map(
      (phase) => [phase, toMicros((timing as Json)[phase])],
    ),
  );
  return {
    id,
    time,
    ...phases,
    workflow_result_id: of.workflow_result_id ?? null,
    trigger_time: instantOf(of.trigger_time),
    due_time: instantOf(of.due_time),
    started: of.start_time == null ? 0 : 1,
    end_time: instantOf(of.end_time),
    message: typeof of.message === "string" ? toStorableText(of.message) : null,
    http_code: of.http_code ?? null,
    request_size: of.request_size ?? null,
    response_size: of.response_size ?? null,
    redirects: of.redirects ?? 0,
    is_late: of.is_late === true ? 1 : 0,
  };
}

const instantOf = (text: unknown): number | null =>
  typeof text === "string" ? (parseInstant(text) ?? null) : null;

const toMicros = (ms: unknown): number | null =>
  typeof ms === "number" ? Math.round(ms * 1000) : null;

function toDetails(row: OldRow, { meta, request, response, hops, certificate }: Json): Json {
  const { size, content_type, encoding, content, reason } = row;
  const body = size === null ? null : { content_type, encoding, size, content, reason };
  return {
    result_id: row.id,
    details: pack({ url: (meta as Json).url, request, response, hops, certificate }),
    content: body && pack(body),
  };
}
