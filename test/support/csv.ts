// Reads CSV according to RFC 4180, without any code of ours.

/**
 * Returns objects keyed by the header's names. Throws if a record's number of fields differs from
 * the header's.
 */
export function parseCsv(text: string): Record<string, string>[] {
  const [header = [], ...records] = recordsOf(text);
  return records.map((record) => {
    if (record.length !== header.length)
      throw new Error(`${record.length} fields: ${record.join()}`);
    return Object.fromEntries(header.map((name, n) => [name, record[n] ?? ""]));
  });
}

function recordsOf(text: string): string[][] {
  const fields = text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy);
  const records: string[][] = [];
  let record: string[] = [];
  let read = 0;
  for (const [all, quoted, plain = "", end] of fields) {
    read += all.length;
    record.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === ",") continue;
    records.push(record);
    record = [];
  }
  if (read !== text.length) throw new Error(`not CSV: ${text.slice(read, read + 100)}`);
  return records;
}
