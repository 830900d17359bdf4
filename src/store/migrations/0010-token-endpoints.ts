// Stores the endpoint that each token was made for, taken from its present setting. Indexes the
// audit trail by the owners whose objects others changed.
import { sql } from "kysely";
import type { Kysely } from "kysely";

interface Row {
  readonly id: string;
  readonly document: string;
  readonly setting: string | null;
}

const PAGE = 500;

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index audit_object_owner on audit (object_owner, object_org, time, id)
    where object_owner is not null`.execute(db);
  for (let after: string | undefined = ""; after !== undefined;) {
    const rows: readonly Row[] = await tokensAfter(db, after);
    for (const { id, document, setting } of rows) {
      const endpoint: unknown =
        setting === null ? null : (JSON.parse(setting).settings?.access_token_url ?? null);
      const changed = JSON.stringify({ ...JSON.parse(document), endpoint });
      await sql`update documents set document = ${changed} where id = ${id}`.execute(db);
    }
    after = rows.length < PAGE ? undefined : rows.at(-1)?.id;
  }
}

async function tokensAfter(db: Kysely<unknown>, after: string): Promise<readonly Row[]> {
  const { rows } = await sql<Row>`
    select token.id, token.document, setting.document as setting
    from documents as token
    left join documents as setting on setting.id = token.auth_id and setting.kind = 'auth_setting'
    where token.kind = 'token' and token.id > ${after}
    order by token.id limit ${PAGE}`.execute(db);
  return rows;
}
