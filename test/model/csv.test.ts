import { expect, it } from "vitest";
import { columnsOf, csvHeader, csvRecords } from "../../src/model/csv.ts";
import { nullable } from "../../src/model/fields.ts";
import { Type } from "../../src/model/type.ts";

const csvOf = (...values: readonly unknown[]): string => {
  const columns = values.map((_, n) => String(n));
  return csvRecords(columns)(Object.fromEntries(values.entries()));
};

it.each<[string, readonly unknown[], string]>([
  ["leaves plain text as it is", ["a b", "ü€"], "a b,ü€"],
  ["quotes commas, line breaks and quotes", ["a,b", "a\r\nb", 'a"b'], '"a,b","a\r\nb","a""b"'],
  ["quotes what other separators would split", ["a;b", "a\tb"], '"a;b","a\tb"'],
  ["quotes spaces at the ends, which readers drop", [" a", "a "], '" a","a "'],
  ["tells no text from empty text", [null, undefined, ""], ',,""'],
  ["writes numbers and truth values as they are", [-1.5, 0, 1e-7, true], "-1.5,0,1e-7,true"],
  ["writes lists as JSON", [[{ key: "a" }], []], '"[{""key"":""a""}]",[]'],
  ["makes text of what begins like a formula", ["=1", "+1", "-1", "@a"], "'=1,'+1,'-1,'@a"],
  ["… in full width", ["＝1", "＋1", "－1", "＠a"], "'＝1,'＋1,'－1,'＠a"],
  [
    "… after spaces and characters that are not shown",
    [" =1", "\u00a0=1", "\u3000@a", "\u200b=1", "\ufeff+1", "\0=1"],
    "' =1,'\u00a0=1,'\u3000@a,'\u200b=1,'\ufeff+1,'\0=1",
  ],
  ["… or begins with a tab or a line break", ["\ta", "\ra", "\na"], '"\'\ta","\'\ra","\'\na"'],
  ["… and has quotes", ['=HYPERLINK("http://a")'], '"\'=HYPERLINK(""http://a"")"'],
])("%s", (_what, values, expected) => {
  expect(csvOf(...values)).toBe(`${expected}\r\n`);
});

it("has a column for each field, nested ones too, in the order of the schema", () => {
  const inner = Type.Object({ b: Type.String(), c: Type.Array(Type.String()) });
  const columns = columnsOf(
    Type.Object({
      id: Type.String(),
      meta: Type.Object({ a: nullable(Type.Number()), deep: inner }),
      maybe: nullable(inner),
    }),
  );
  expect(csvHeader(columns)).toBe("id,meta.a,meta.deep.b,meta.deep.c,maybe.b,maybe.c\r\n");
  const record = csvRecords(columns)({
    id: "x",
    meta: { a: 1, deep: { b: "y", c: ["z"] } },
    maybe: null,
  });
  expect(record).toBe('x,1,y,"[""z""]",,\r\n');
});
