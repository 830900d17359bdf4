// Which names the rows of a form may have.
import { describe, expect, it } from "vitest";
import { nameOfVariable } from "../../src/model/context.ts";
import { assertDistinct } from "../../web/src/rows.ts";

const TWICE = "list: 'a' is given twice. Change or remove one of them";

describe("two names", () => {
  it("differ if their case does", () => {
    expect(() => assertDistinct(["a", "b", "A"], "list")).not.toThrow();
    expect(() => assertDistinct(["b", "a", "a"], "list")).toThrow(TWICE);
  });

  it("are one variable of a run if only their case differs", () => {
    const check = (...names: string[]) => assertDistinct(names, "context", nameOfVariable);
    expect(() => check("a", "b", "ab")).not.toThrow();
    expect(() => check("b", "a", "a")).toThrow(TWICE.replace("list", "context"));
    expect(() => check("token", "b", "TOKEN")).toThrow(
      "context: 'token' and 'TOKEN' are the same variable. Change or remove one of them",
    );
  });
});
