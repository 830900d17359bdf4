import { describe, expect, it } from "vitest";
import {
  authorizeOAuth1,
  signatureBase,
  signOAuth1,
} from "../../../src/agent/authorize/oauth1.ts";
import {
  MOMENT,
  newAuthorization,
  newRequest,
  newToken,
  readClocks,
  sent,
} from "./authorizing.ts";

const FORM = {
  key: "Content-Type",
  value: "application/x-www-form-urlencoded",
};

describe("the examples of RFC 5849", () => {
  it("of section 3.4.1: odd characters, repeated and empty parameters", () => {
    const request = newRequest(
      "http://EXAMPLE.COM:80/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b",
      { method: "post", headers: [FORM], body: Buffer.from("c2&a3=2+q") },
    );
    const parameters = [
      ["oauth_consumer_key", "9djdj82h48djs9d2"],
      ["oauth_token", "kkk9d7dh3k39sjv7"],
      ["oauth_signature_method", "HMAC-SHA1"],
      ["oauth_timestamp", "137131201"],
      ["oauth_nonce", "7d8f3e4a"],
    ] as const;
    expect(signatureBase(request, parameters)).toBe(
      "POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D%26c%2540%3D%26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a%26oauth_signature_method%3DHMAC-SHA1%26oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7",
    );
  });

  const signPhoto = (oauth_timestamp: string): string | undefined => {
    const request = newRequest(
      "http://photos.example.net/photos?file=vacation.jpg&size=original",
    );
    const parameters = [
      ["oauth_consumer_key", "dpf43f3p2l4k3l03"],
      ["oauth_token", "nnch734d00sl2jdk"],
      ["oauth_signature_method", "HMAC-SHA1"],
      ["oauth_timestamp", oauth_timestamp],
      ["oauth_nonce", "chapoH"],
    ] as const;
    const secrets = { consumer: "kd94hf93k423kf44", token: "pfkkdhi9sl3r4s00" };
    return signOAuth1(request, "HMAC-SHA1", parameters, secrets);
  };
  const PHOTO = "MdpQcU8iPSUjWoN/UDMsK2sui9I=";

  it("of section 1.2: a photo", () => {
    expect(signPhoto("137131202")).toBe(PHOTO);
  });

  it.each([600_000, -600_000])(
    "of section 1.2, on a machine whose clock is wrong by %i ms",
    async (wrongBy) => {
      const { machine, agent } = readClocks(137_131_202_000, wrongBy);
      const setting = newAuthorization("OAUTH1");
      const signedAt = async (now: number) => {
        const request = newRequest("http://a.example/");
        const moment = { ...MOMENT, now };
        const header = sent(await authorizeOAuth1(request, setting, moment));
        return signPhoto(/oauth_timestamp="(\d+)"/.exec(header)?.[1] ?? "");
      };
      expect(await signedAt(agent)).toBe(PHOTO);
      expect(await signedAt(machine)).not.toBe(PHOTO);
    },
  );
});

describe("the Authorization header", () => {
  const request = newRequest("https://a.example:8443/?q=ü&q=&q=~");

  it("has the parameters, the signature and the realm", async () => {
    const setting = newAuthorization("OAUTH1", {
      settings: { realm: 'Photos "x"', signature_method: "PLAINTEXT" },
      keys: { client_id: "key!", client_secret: "cs&1" },
      token: newToken({ access_token: "t k", token_secret: "ts" }),
    });
    expect(sent(await authorizeOAuth1(request, setting, MOMENT))).toBe(
      String.raw`OAuth realm="Photos \"x\"", oauth_consumer_key="key%21", oauth_token="t%20k", oauth_signature_method="PLAINTEXT", oauth_timestamp="1440938160", oauth_nonce="nonce", oauth_version="1.0", oauth_signature="cs%25261%26ts"`,
    );
  });

  it("signs with SHA-1 unless told otherwise, with or without a token", async () => {
    const signed = async (signature_method?: string) =>
      sent(
        await authorizeOAuth1(
          request,
          newAuthorization("OAUTH1", { settings: { signature_method } }),
          MOMENT,
        ),
      );
    expect(await signed()).toMatch(
      /oauth_signature_method="HMAC-SHA1".*oauth_signature="[\w%]+%3D"$/,
    );
    expect(await signed("HMAC-SHA256")).toMatch(
      /oauth_signature_method="HMAC-SHA256".*oauth_signature="[\w%]+%3D"$/,
    );
    expect(await signed()).not.toContain("oauth_token=");
    expect(await signed("RSA-SHA1")).toBe(
      "'RSA-SHA1' is none of the signature methods HMAC-SHA1, HMAC-SHA256 and PLAINTEXT",
    );
  });

  it("leaves a body that is no form out of the signature", () => {
    const [form, json] = [[FORM], [{ ...FORM, value: "application/json" }]].map(
      (headers) =>
        signatureBase({ ...request, headers, body: Buffer.from("a=1") }, []),
    );
    expect(form).toContain("a%3D1");
    expect(json).not.toContain("a%3D1");
  });
});
