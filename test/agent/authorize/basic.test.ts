import { expect, it } from "vitest";
import { authorizeBasic } from "../../../src/agent/authorize/basic.ts";
import { MOMENT, newAuthorization, newRequest, sent } from "./authorizing.ts";

// RFC 7617 sections 2 and 2.1.
it.each([
  ["Aladdin", "open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="],
  ["test", "123£", "Basic dGVzdDoxMjPCow=="],
  ["only-user", null, "Basic b25seS11c2VyOg=="],
  [null, "only:password", "Basic Om9ubHk6cGFzc3dvcmQ="],
  [null, null, "the authentication setting has no keys"],
  ["with:colon", "x", "the client_id has a colon, which Basic authentication forbids"],
  [
    "user",
    "a\r\nX-Evil: b",
    "the keys have a control character, which Basic authentication forbids",
  ],
])("%j and %j are sent as %s", async (client_id, client_secret, expected) => {
  const setting = newAuthorization("BASIC", {
    keys: { client_id, client_secret },
  });
  const request = newRequest("http://a.example/", {
    headers: [{ key: "authorization", value: "of the call" }],
  });
  const authorized = await authorizeBasic(request, setting, MOMENT);
  expect(sent(authorized)).toBe(expected);
});

it("takes the place of the call's own header", async () => {
  const request = newRequest("http://a.example/", {
    headers: [{ key: "authorization", value: "of the call" }],
  });
  const setting = newAuthorization("BASIC");
  expect(await authorizeBasic(request, setting, MOMENT)).toMatchObject({
    request: {
      headers: [{ key: "Authorization", value: "Basic aWQ6c2VjcmV0" }],
      confidential: { headers: ["authorization"], body: false },
    },
  });
});
