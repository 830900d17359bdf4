import { createHmac, generateKeyPairSync, verify } from "node:crypto";
import { describe, expect, it } from "vitest";
import { authorizeJws } from "../../../src/agent/authorize/oauth2.ts";
import { signJws } from "../../../src/runtime/jws.ts";
import { MOMENT, newAuthorization, newRequest, newToken, sent } from "./authorizing.ts";

describe("the example of RFC 7520 section 4.4", () => {
  const key = {
    algorithm: "HS256",
    key: Buffer.from("hJtXIZ2uSN5kbQfbtTNWbpdmhkV8FJG-Onbc6mxCcYg", "base64url"),
    key_id: "018c0ae5-4d9b-471b-bfd6-eef314bc7037",
  };
  const payload = Buffer.from(
    "It\u2019s a dangerous business, Frodo, going out your door. You step onto the road, and if you don't keep your feet, there\u2019s no knowing where you might be swept off to.",
  );
  const header = "eyJhbGciOiJIUzI1NiIsImtpZCI6IjAxOGMwYWU1LTRkOWItNDcxYi1iZmQ2LWVlZjMxNGJjNzAzNyJ9";
  const signature = "s0h6KThzkfBBBkLspW1h84VsJZFTsPPqMDA7g1Md7p0";

  it("is signed identically", async () => {
    expect(await signJws(payload, key)).toBe(
      `${header}.${payload.toString("base64url")}.${signature}`,
    );
  });

  it("is signed identically when detached (section 4.5)", async () => {
    expect(await signJws(payload, key, { detached: true })).toBe(`${header}..${signature}`);
  });
});

describe("a signed request", () => {
  const body = Buffer.from('{"amount":"1 €"}');
  const request = newRequest("https://a.example/", { method: "POST", body });

  it("has the signature of its body in addition to the bearer token", async () => {
    const setting = newAuthorization("OAUTH2_JWS", { token: newToken() });
    const authorized = await authorizeJws(request, setting, MOMENT);
    expect(sent(authorized)).toBe("Bearer token");
    const jws = sent(authorized, "X-JWS-Signature");
    const [header = "", payload = "", signature] = jws.split(".");
    expect(Buffer.from(payload, "base64url")).toEqual(body);
    expect(signature).toBe(
      createHmac("sha256", "secret").update(`${header}.${payload}`).digest("base64url"),
    );
  });

  it("can carry a detached private-key signature in another header", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ec", {
      namedCurve: "P-256",
    });
    const setting = newAuthorization("OAUTH2_JWS", {
      keys: {
        client_secret: privateKey.export({ type: "sec1", format: "pem" }).toString(),
      },
      settings: {
        algorithm: "ES256",
        key_id: "k1",
        header_name: "x-proof",
        detached: true,
      },
    });
    const authorized = await authorizeJws(request, setting, MOMENT);
    const [header = "", payload, signature = ""] = sent(authorized, "x-proof").split(".");
    expect(JSON.parse(Buffer.from(header, "base64url").toString())).toEqual({
      alg: "ES256",
      kid: "k1",
    });
    expect(payload).toBe("");
    expect(
      verify(
        "sha256",
        Buffer.from(`${header}.${body.toString("base64url")}`),
        { key: publicKey, dsaEncoding: "ieee-p1363" },
        Buffer.from(signature, "base64url"),
      ),
    ).toBe(true);
    expect(authorized).toMatchObject({
      request: { confidential: { headers: ["x-proof"] } },
    });
  });

  it.each(["Host", "expect", "Upgrade", "Cookie", "Sonde-Run", "Content-MD5"])(
    "cannot carry its signature in the header %s",
    async (header_name) => {
      const setting = newAuthorization("OAUTH2_JWS", {
        settings: { header_name },
      });
      expect(await authorizeJws(request, setting, MOMENT)).toEqual({
        reason: "the header_name cannot carry a signature",
      });
    },
  );

  it.each([
    [{ keys: {} }, "the authentication setting has no client_secret"],
    [{ settings: { algorithm: "RS256" } }, "the key cannot sign with the algorithm 'RS256'"],
    [{ keys: { client_secret: "-----BEGIN nonsense" } }, "the private key cannot be read"],
  ])("with %j is rejected", async (rest, reason) => {
    const setting = newAuthorization("OAUTH2_JWS", rest);
    expect(await authorizeJws(request, setting, MOMENT)).toEqual({ reason });
  });
});
