// How the audit trail's page words each entry.
import { expect, it } from "vitest";
import { deletedIn, keyWords, placeOf } from "../../web/src/audit.ts";
import type { AuditEntry } from "../../web/src/audit.ts";

const entry = (part: Partial<AuditEntry>): AuditEntry => ({
  id: "e",
  time: "2026-11-22T10:00:00.000Z",
  actor: null,
  actor_key: null,
  owner: "ann",
  address: null,
  action: "update",
  kind: "call",
  object_id: "a/b",
  object_key: null,
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
  const deployment = entry({ kind: "deployment", object_id: "d" });
  expect(placeOf(deployment, NONE)).toEqual({ path: "deployments/d/", page: undefined });
  expect(placeOf(entry({ action: "run", object_owner: "bob" }), NONE)?.page).toBe("calls/a%2Fb");
});

it("names nothing that was deleted, is someone else's, or has no name", () => {
  const deleted = deletedIn([entry({ action: "delete", object_id: "x" }), entry({})]);
  expect([...deleted]).toEqual(["x"]);
  expect(placeOf(entry({ action: "create", object_id: "x" }), deleted)).toBeUndefined();
  expect(placeOf(entry({ object_owner: "bob" }), NONE)).toBeUndefined();
  expect(placeOf(entry({ kind: "variable" }), NONE)).toBeUndefined();
});

it("describes a key by its name, level and whether it is revoked", () => {
  const key = { name: null, access_level: "EDITOR", revoked: false } as const;
  expect(keyWords(key)).toBe("EDITOR key");
  expect(keyWords({ ...key, name: "Build server" })).toBe("Build server, EDITOR key");
  expect(keyWords({ ...key, revoked: true })).toBe("Revoked EDITOR key");
  const revoked = { ...key, name: "Build server", revoked: true };
  expect(keyWords(revoked)).toBe("Build server, revoked EDITOR key");
});
