import { expect, it } from "vitest";
import {
  deriveSecret,
  hubNkeyOf,
  idOfKey,
  locationKeyOf,
  locationNkeyOf,
} from "../../src/runtime/derived-keys.ts";

const master = Buffer.alloc(32, 1);

it.each([
  [
    "a secret key for one use",
    deriveSecret(master, "encryption at rest").export(),
    "1cc3bf001a910d6455b05837bc768c473ba733827f824f7395c6324fe8387ec0",
  ],
  [
    "the first key of a location",
    locationKeyOf(master, "paris"),
    "59bd59eb6969ad4ea98f55bcac06ab15cbc050a7265995a51c38224f09c569e1",
  ],
  [
    "a rotated key of a location",
    locationKeyOf(master, "paris", 2),
    "652f924b22680a95ec3abf1b988b2e8dcf1482199b80840d0cf80201519978f4",
  ],
  [
    "the nkey of the hub",
    hubNkeyOf(master),
    "4518d3c040ef976992604bf1c4071af1eae4c3981ed8c6eac8254221632c5a22",
  ],
  [
    "the nkey of a location",
    locationNkeyOf(master, "paris", 1),
    "de8e1e693898acba9fd0a0f2dfa2d64f933762b26269ec20081ae7e27d5b17db",
  ],
])("%s is the same in every version", (_, derived, hex) => {
  expect(Buffer.from(derived).toString("hex")).toBe(hex);
});

it("the id of a key stays the same: sealed texts name it", () => {
  expect(idOfKey(master)).toBe("d1f6cc2a2989");
});
