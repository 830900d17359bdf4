import { describe, expect, it } from "vitest";
import { keptContext } from "../../src/model/context.ts";
import { createMask, MASK } from "../../src/model/mask.ts";

const keep = (context: Record<string, unknown>, secrets: readonly string[] = []) =>
  keptContext(context, createMask(secrets));

describe("the context that a result keeps", () => {
  it("is what the run was given", () => {
    const context = {
      WORKSPACE: "staging",
      COUNT: 3,
      OPEN: true,
      NONE: null,
      LIST: [1, { A: "b" }],
    };
    expect(keep(context)).toEqual(context);
  });

  it("masks values whose names are credentials, also nested", () => {
    const context = { API_KEY: "k", PASSWORD: { old: 1 }, USER: { name: "ann", password: "open" } };
    expect(keep(context)).toEqual({
      API_KEY: MASK,
      PASSWORD: MASK,
      USER: `{"name":"ann","password":"${MASK}"}`,
    });
  });

  it("masks a call's secrets, also as part of a value or as a name", () => {
    expect(
      keep({ A: "to: s3same-door", B: { c: "s3same" }, N: 12_345_678, S3SAME: 1 }, [
        "s3same",
        "12345678",
        "S3SAME",
      ]),
    ).toEqual({ A: `to: ${MASK}-door`, B: `{"c":"${MASK}"}`, N: MASK, [MASK]: 1 });
  });

  it("keeps as much as there is room for", () => {
    const kept = keep({ A: "a".repeat(8000), B: "b".repeat(8000), ["C".repeat(300)]: "c" });
    expect(Object.keys(kept)).toEqual(["A", "B", "C".repeat(100)]);
    expect(Object.values(kept)).toEqual([
      "a".repeat(8000),
      `${"b".repeat(192)}… (8000 characters)`,
      "… (1 characters)",
    ]);
  });

  it("is cut to text that is well-formed", () => {
    const kept = keep({ [`${"N".repeat(99)}😀`]: 1, A: "😀".repeat(5000) });
    expect(kept).toEqual({
      [`${"N".repeat(99)}\ufffd`]: 1,
      A: `${"😀".repeat(4095)}\ufffd… (10000 characters)`,
    });
  });
});
