// The size of a spool, read from outside its agent.
import { copyFileSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openSpoolFile } from "../../../src/agent/reporting/spool-file.ts";
import { spoolSize } from "../../../src/agent/reporting/spool-size.ts";

it("counts the reports that a killed agent left in the log, and leaves no file behind", () => {
  const folder = mkdtempSync(join(tmpdir(), "sonde-spool-size-"));
  const [used, left, link] = ["spool", "left", "link"].map((name) =>
    join(folder, `${name}.db`),
  ) as [string, string, string];
  const spool = openSpoolFile(used, "paris");
  try {
    const row = { run_id: "run", location_id: "paris", due_time: 0, report: Buffer.from("{}") };
    spool.insert([row], 1_000_000);
    expect(() => spoolSize(used)).toThrow(/^an agent is using .*spool\.db, and does not answer: /);
    for (const suffix of ["", "-wal"]) copyFileSync(`${used}${suffix}`, `${left}${suffix}`);
    symlinkSync(left, link);
    const before = readdirSync(folder);
    for (const path of [left, link]) expect(spoolSize(path)).toEqual({ reports: 1, bytes: 2 });
    expect(readdirSync(folder)).toEqual(before);
  } finally {
    spool.close();
    rmSync(folder, { recursive: true });
  }
});
