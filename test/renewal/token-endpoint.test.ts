import { expect, it } from "vitest";
import { parseEgressAllow } from "../../src/agent/http/egress.ts";
import { askForToken } from "../../src/renewal/token-endpoint.ts";

it.each([
  [
    "127.0.0.1:80",
    "the address of the token endpoint is not a public one, and not in SONDE_EGRESS_ALLOW",
  ],
  ["127.0.0.1", "the token endpoint cannot be reached (ECONNREFUSED)"],
])(
  "takes port 0 for no other one where %s is allowed",
  async (allow, reason) => {
    const answer = await askForToken(
      {
        method: "POST",
        url: new URL("http://127.0.0.1:0/token"),
        headers: {},
        body: "",
      },
      parseEgressAllow([allow]),
    );
    expect(answer).toEqual({ reason });
  },
);
