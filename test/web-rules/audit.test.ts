// How the audit trail's page words each entry.
import { expect, it } from "vitest";
import { deletedIn, keyWords, placeOf } from "../../web/src/audit.ts";
import type { AuditEntry } from "../../web/src/audit.ts";

const entry = (part: Partial<AuditEntry>): AuditEntry => ({
  id: "e",
  time: "2026-11-22T10:00:00.000Z",
  actor: null,
  owner: "ann",
  address: null,
  action: "update",
  kind: "call",
  object_id: "a/b",
  object_owner: null,
  fields: [],
  ...part,
});
const NONE = new Set<string>();

it("names and links what the reader may still open", () => {
  expect(placeOf(entry({}), NONE)).toEqual({ path: "calls/a%2Fb/", page: "calls/a%2Fb" });
  const setting = entry({ kind: "auth_setting", object_id: "s" });
  expect(placeOf(setting, NONE)).toEqual({ path: "auth/s/", page: "settings/s" });
  expect(placeOf(entry({ kind: "token", object_id: "t" }), NONE)?.page).toBeUndefined();
});

it("names nothing that was deleted, is someone else's, or has no name", () => {
  const deleted = deletedIn([entry({ action: "delete", object_id: "x" }), entry({})]);
  expect([...deleted]).toEqual(["x"]);
  expect(placeOf(entry({ action: "create", object_id: "x" }), deleted)).toBeUndefined();
  expect(placeOf(entry({ object_owner: "bob" }), NONE)).toBeUndefined();
  expect(placeOf(entry({ kind: "deployment" }), NONE)).toBeUndefined();
});

it("says which key acted", () => {
  const [own, other, named, gone] = ["0", "1", "2", "3"].map(
    (end) => `01m834jb0nq8aw0g1nmkcypz9${end}`,
  );
  const keys = new Map([
    [other as string, { access_level: "EDITOR" as const, name: null }],
    [named as string, { access_level: "VIEWER" as const, name: "Build server" }],
  ]);
  expect(keyWords(own as string, keys, own)).toBe("Your key");
  expect(keyWords(other as string, keys, own)).toBe("EDITOR key");
  expect(keyWords(named as string, keys, own)).toBe("Build server, VIEWER key");
  expect(keyWords(gone as string, keys, own)).toBe("Revoked key");
  expect(keyWords(gone as string, undefined, own)).toBe("Key");
  expect(keyWords("command line", keys, own)).toBeUndefined();
});
