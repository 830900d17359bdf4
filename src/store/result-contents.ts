// The bodies of responses, beside the results that they belong to: read one at a time, and never
// with a list.
import type { Content } from "../model/content.ts";
import type { ReportedResult, Result } from "../model/result.ts";
import type { Database } from "./database.ts";
import { chunksOf } from "./database.ts";

export async function storeContents(
  { kysely }: Database,
  results: readonly ReportedResult[],
): Promise<void> {
  const rows = results.flatMap(({ id, content }) =>
    content ? { result_id: id, ...columnsOf(content) } : [],
  );
  for (const chunk of chunksOf(rows, 100))
    await kysely
      .insertInto("result_contents")
      .values(chunk)
      .onConflict((conflict) =>
        conflict.column("result_id").doUpdateSet((eb) => ({
          content_type: eb.ref("excluded.content_type"),
          encoding: eb.ref("excluded.encoding"),
          size: eb.ref("excluded.size"),
          content: eb.ref("excluded.content"),
          reason: eb.ref("excluded.reason"),
        })),
      )
      .execute();
}

/** Named one by one: an agent of a newer version may say more. */
const columnsOf = ({ content_type, encoding, size, content, reason }: Content): Content => ({
  content_type,
  encoding,
  size,
  content,
  reason,
});

export async function contentOf(
  { kysely }: Database,
  resultId: string,
): Promise<Content | undefined> {
  return kysely
    .selectFrom("result_contents")
    .select(["content_type", "encoding", "size", "content", "reason"])
    .where("result_id", "=", resultId)
    .executeTakeFirst();
}

export const withoutContent = ({ content: _content, ...result }: ReportedResult): Result => result;
