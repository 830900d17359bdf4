import { expect, it } from "vitest";
import { idOfDefault, listed, placesOf } from "../../web/src/places.ts";

const INFO = {
  locations: { "fra-2": "Frankfurt", "fra-1": "Frankfurt", paris: "", "": "Frankfurt" },
  regions: [
    { id: "Europe", locations: ["paris"] },
    { id: "all", locations: ["fra-2", "fra-1", "paris"] },
  ],
};

it("the default location comes first, and the others in the order of their ids", () => {
  expect(placesOf(INFO).map(({ id, name }) => [id, name])).toEqual([
    ["", "Default (Frankfurt)"],
    ["fra-1", "Frankfurt"],
    ["fra-2", "Frankfurt"],
    ["paris", "paris"],
  ]);
});

it("the default location is known by its id, also where others have its label", () => {
  expect(idOfDefault(placesOf(INFO))).toBe("fra-2");
  expect(idOfDefault([])).toBe("");
});

it("names with commas are apart from each other", () => {
  expect(listed(["Paris", "Tokyo"])).toBe("Paris, Tokyo");
  expect(listed(["Paris, FR", "Tokyo"])).toBe("Paris, FR; Tokyo");
});
