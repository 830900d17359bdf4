import { describe, expect, it } from "vitest";
import type { HttpRequest } from "../../../src/agent/http/http-request.ts";
import { authorizeOAuth1, signatureBase, signOAuth1 } from "../../../src/agent/authorize/oauth1.ts";
import { MOMENT, newAuthorization, newRequest, newToken, readClocks, sent } from "./authorizing.ts";

const FORM = {
  key: "Content-Type",
  value: "application/x-www-form-urlencoded",
};

describe("OAuth 1 signing by RFC 5849", () => {
  it("builds the base of section 3.4.1: odd characters, repeated and empty parameters", () => {
    const request = newRequest("http://EXAMPLE.COM:80/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b", {
      method: "post",
      headers: [FORM],
      body: Buffer.from("c2&a3=2+q"),
    });
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
    const request = newRequest("http://photos.example.net/photos?file=vacation.jpg&size=original");
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

  it("signs the photo request of section 1.2", () => {
    expect(signPhoto("137131202")).toBe(PHOTO);
  });

  it.each([600_000, -600_000])(
    "signs the photo request when the machine's clock is wrong by %i ms",
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

  const SHA1 = "J90UjCy7zeuaLvbwItPe%2BRTF0ZA%3D";
  const SHA256 = "nTRFMGEdc0tAxEEMnoV24ctBCfKikIjakJhoGgIyoM8%3D";

  // Signatures of the base string of section 3.4.1, from `openssl dgst -hmac 'secret&'`.
  it.each([
    [undefined, "HMAC-SHA1", SHA1],
    ["HMAC-SHA1", "HMAC-SHA1", SHA1],
    ["HMAC-SHA256", "HMAC-SHA256", SHA256],
    ["hmac-sha256", "HMAC-SHA256", SHA256],
  ])("for the method %s is signed by %s", async (given, method, signature) => {
    const setting = newAuthorization("OAUTH1", {
      settings: { signature_method: given },
    });
    expect(sent(await authorizeOAuth1(request, setting, MOMENT))).toBe(
      `OAuth oauth_consumer_key="id", oauth_signature_method="${method}", oauth_timestamp="1440938160", oauth_nonce="nonce", oauth_version="1.0", oauth_signature="${signature}"`,
    );
  });

  it("is not sent for an unknown method", async () => {
    const setting = newAuthorization("OAUTH1", {
      settings: { signature_method: "RSA-SHA1" },
    });
    expect(await authorizeOAuth1(request, setting, MOMENT)).toEqual({
      reason: "the signature method 'RSA-SHA1' is not HMAC-SHA1, HMAC-SHA256 or PLAINTEXT",
    });
  });
});

describe("the signature base", () => {
  const baseOf = (
    url: string,
    { host, ...rest }: Partial<HttpRequest> & { host?: string } = {},
  ) => {
    const headers = [...(rest.headers ?? [])];
    if (host !== undefined) headers.push({ key: "Host", value: host });
    return signatureBase(newRequest(url, { ...rest, headers }), [])
      .split("&")
      .map(decodeURIComponent);
  };

  it.each([
    ["http://a.example:443/", undefined, "http://a.example:443/"],
    ["https://A.example:8443/a/~b", undefined, "https://a.example:8443/a/~b"],
    ["https://a.example/", "a.example:443", "https://a.example/"],
    ["http://127.0.0.1:8080/", "Virtual.Example", "http://virtual.example/"],
    ["http://a.example/", "b.example:80", "http://b.example/"],
    ["https://a.example/", "b.example:80", "https://b.example:80/"],
    ["http://[::1]:80/", "[::1]:80", "http://[::1]/"],
    ["http://a.example/a%2fb[1]?c", undefined, "http://a.example/a%2fb[1]"],
  ])("of %s with the Host %s is for %s", (url, host, expected) => {
    const [, uri] = baseOf(url, host === undefined ? {} : { host });
    expect(uri).toBe(expected);
  });

  it.each([
    ["a=2&a=1&a=&a", "a=&a=&a=1&a=2"],
    ["ab=1&a-b=2&a%20=3&a=10&a=1", "a=1&a=10&a%20=3&a-b=2&ab=1"],
    ["&&b==c&=d", "=d&b=%3Dc"],
    ["a=%ff&b=%zz&c=%", "a=%FF&b=%25zz&c=%25"],
    ["?a=1", "%3Fa=1"],
    ["a=%C3%BC+%2B%7e*", "a=%C3%BC%20%2B~%2A"],
  ])("with the parameters %s has %s", (given, expected) => {
    const query = baseOf(`http://a.example/?${given}`);
    const form = baseOf("http://a.example/", {
      method: "PUT",
      headers: [{ ...FORM, value: `${FORM.value}; charset=utf-8` }],
      body: Buffer.from(given),
    });
    expect(query).toEqual(["GET", "http://a.example/", expected]);
    expect(form).toEqual(["PUT", "http://a.example/", expected]);
  });

  it.each<[string, string, string | null]>([
    ["HEAD", "text/plain", null],
    ["POST", "text/plain", "b=2"],
    ["POST", "application/json", '{"b":2}'],
    ["DELETE", "application/x-www-form-urlencodedx", "b=2"],
  ])("of %s with %s has the query only", (method, value, body) => {
    const base = baseOf("http://a.example/?a=1", {
      method,
      headers: [{ key: "content-type", value }],
      body: body === null ? null : Buffer.from(body),
    });
    expect(base).toEqual([method, "http://a.example/", "a=1"]);
  });
});
