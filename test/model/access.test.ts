// Who may read, write and run.
import { describe, expect, it } from "vitest";
import { ACCESS_LEVELS, canRead, canRun, canWrite, hasLevel } from "../../src/model/access.ts";
import type { Owned, Principal } from "../../src/model/access.ts";

const principal = (owner: string, org: string | null): Principal => ({
  key_id: "key",
  owner,
  org,
  access_level: "VIEWER",
});
const PRINCIPALS = {
  "the owner": principal("ann", "acme"),
  "a namesake in another organization": principal("ann", "other"),
  "a namesake without an organization": principal("ann", null),
  "a colleague": principal("bob", "acme"),
  "someone else": principal("eve", "other"),
  "someone without an organization": principal("eve", null),
};
const thing = (org: boolean, community: boolean, owner_org: string | null): Owned => ({
  owner: "ann",
  owner_org,
  org,
  community,
});
const THINGS = {
  private: thing(false, false, "acme"),
  "shared with the organization": thing(true, false, "acme"),
  "shared with the community": thing(false, true, "acme"),
  "shared with both": thing(true, true, "acme"),
  "shared with no organization there is": thing(true, false, null),
};

describe("access", () => {
  it.each([
    ["the owner", "private", "read write run"],
    ["the owner", "shared with both", "read write run"],
    ["the owner", "shared with no organization there is", ""],
    ["a namesake in another organization", "private", ""],
    ["a namesake in another organization", "shared with the organization", ""],
    ["a namesake in another organization", "shared with the community", "read"],
    ["a namesake without an organization", "shared with the organization", ""],
    [
      "a namesake without an organization",
      "shared with no organization there is",
      "read write run",
    ],
    ["a colleague", "private", ""],
    ["a colleague", "shared with the organization", "read run"],
    ["a colleague", "shared with the community", "read"],
    ["a colleague", "shared with both", "read run"],
    ["a colleague", "shared with no organization there is", ""],
    ["someone else", "private", ""],
    ["someone else", "shared with the organization", ""],
    ["someone else", "shared with the community", "read"],
    ["someone else", "shared with both", "read"],
    ["someone without an organization", "private", ""],
    ["someone without an organization", "shared with the organization", ""],
    ["someone without an organization", "shared with the community", "read"],
    ["someone without an organization", "shared with no organization there is", ""],
  ] as const)("of %s to something %s: '%s'", (who, what, allowed) => {
    const rights = { read: canRead, write: canWrite, run: canRun };
    const found = Object.entries(rights).flatMap(([name, may]) =>
      may(PRINCIPALS[who], THINGS[what]) ? [name] : [],
    );
    expect(found.join(" ")).toBe(allowed);
  });
});

describe("a level", () => {
  it.each([
    ["VIEWER", "VIEWER"],
    ["EDITOR", "VIEWER EDITOR"],
    ["OWNER", "VIEWER EDITOR OWNER"],
  ] as const)("%s includes %s", (access_level, included) => {
    const caller = { ...principal("ann", null), access_level };
    expect(ACCESS_LEVELS.filter((level) => hasLevel(caller, level)).join(" ")).toBe(included);
  });
});
