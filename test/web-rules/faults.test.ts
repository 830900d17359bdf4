// Which faults of a form are shown, where, and for how long.
import { describe, expect, it } from "vitest";
import { faultOf, faultsBeside, missingFrom, standing } from "../../web/src/faults.ts";

const CALL = { meta: { name: "" }, request: { url: " ", headers: [{ key: "a", value: "" }] } };
const NAME = "'meta.name' is a required property";
const URL_FAULT = "request.url: 'x' is not a valid http or https URL";

describe("what a form lacks", () => {
  it("is each required property that is empty", () => {
    expect(missingFrom(CALL, ["request.url", "meta.name"])).toEqual([
      "'request.url' is a required property",
      NAME,
    ]);
  });

  it("is not one that is present, or that the body omits", () => {
    const token = { meta: { name: "n" } };
    expect(missingFrom(token, ["meta.name", "meta.auth_id", "none.at.all"])).toEqual([]);
  });
});

describe("a fault stands", () => {
  const changed = (part: object) => ({ ...CALL, ...part });

  it("until its own field is changed", () => {
    const named = changed({ meta: { name: "n" } });
    expect(standing([NAME, URL_FAULT], CALL, named)).toEqual([URL_FAULT]);
  });

  it("until a field of a list is changed", () => {
    const fault = "request.headers[0].key: 'a' is not allowed (and 1 other fault)";
    const headers = [{ key: "b", value: "" }];
    expect(standing([fault], CALL, changed({ meta: { name: "n" } }))).toEqual([fault]);
    expect(standing([fault], CALL, changed({ request: { ...CALL.request, headers } }))).toEqual([]);
    expect(standing([fault], CALL, changed({ request: null }))).toEqual([]);
  });

  it("whatever is changed, if it belongs to no field", () => {
    const faults = ["Sonde is not responding. Is it running and reachable from here?"];
    expect(standing(faults, CALL, changed({ meta: { name: "n" } }))).toEqual(faults);
  });
});

it("shows a fault without the path that the label of its field names", () => {
  const headers = ["request.headers[0].key: 'a' is not allowed (and 1 other fault)"];
  expect(faultOf([NAME, URL_FAULT], "meta.name")).toBe("A value is required");
  expect(faultOf([NAME, URL_FAULT], "request.url")).toBe("'x' is not a valid http or https URL");
  for (const path of ["request.headers", "request.headers[0]"])
    expect(faultOf(headers, path)).toBe("key: 'a' is not allowed (and 1 other fault)");
  expect(faultOf(["meta.tags[1]: 'b' is too long"], "meta.tags")).toBe("'b' is too long");
});

it("shows a fault at its field, or beside the fields if it has none", () => {
  const faults = [NAME, "request.headers[0].key: 'a' is not allowed", "API Call not found"];
  expect(faultOf(faults, "meta.name")).toBe("A value is required");
  expect(faultOf(faults, "request.headers")).toBe("key: 'a' is not allowed");
  expect(faultOf(faults, "request.header")).toBeUndefined();
  expect(faultsBeside(faults, ["meta.name", "request.headers[0]"])).toEqual([faults[2]]);
});
