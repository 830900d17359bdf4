// The configured store: the log of undecryptable secrets.
import { expect, it } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import { openConfiguredStore } from "../../src/compose/store.ts";
import { openDataDir } from "../../src/runtime/data-dir.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { makeFolder } from "../support/process.ts";
import { aCall } from "../support/runs.ts";
import { damageSecrets } from "../support/stored-secrets.ts";

it("logs each object with undecryptable secrets once", async () => {
  using folder = makeFolder();
  const lines: string[] = [];
  const log = createLogger("info", {
    write: (line: string) => void lines.push(line),
  });
  const dataDir = openDataDir(folder.dataDir);
  const store = await openConfiguredStore(loadConfig({}), dataDir, log);
  try {
    const tokens = [1, 2, 3].map(() => ({
      ...aCall(),
      kind: "token" as const,
      document: { token: { access_token: "s3cret" } },
    }));
    for (const token of tokens) await store.documents.insert(token);
    const damaged = tokens.slice(1).map(({ id }) => id);
    const location = { file: dataDir.path("sonde.db") };
    for (const id of damaged) await damageSecrets({ location }, id);
    for (let n = 0; n < 3; n += 1)
      await store.transaction(({ documents }) =>
        documents.listKind("token", { after: "", limit: 10 }),
      );
    const logged = lines
      .map((line) => JSON.parse(line) as { readonly id: string })
      .toSorted((a, b) => (a.id < b.id ? -1 : 1)); // decrypted concurrently
    expect(logged).toMatchObject(
      damaged.toSorted().map((id) => ({
        level: "warn",
        msg: "cannot decrypt secrets",
        kind: "token",
        id,
        err: {
          message: expect.stringContaining(
            `the sealed text at token/${id}/token/access_token was changed`,
          ),
        },
      })),
    );
  } finally {
    await store.close();
  }
});
