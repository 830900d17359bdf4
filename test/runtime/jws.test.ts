import {
  constants,
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  verify,
} from "node:crypto";
import type { JsonWebKey, KeyObject } from "node:crypto";
import { describe, expect, it } from "vitest";
import { SigningError, signingKeyOf, signJws } from "../../src/runtime/jws.ts";

/**
 * Whether a compact JWS has this key's signature by this algorithm, checked without the library
 * that made it.
 */
function isSigned(jws: string, key: KeyObject, algorithm: string): boolean {
  const [header = "", payload = "", signature = ""] = jws.split(".");
  const digest = algorithm === "EdDSA" ? null : `sha${algorithm.slice(2)}`;
  const scheme = algorithm.startsWith("PS")
    ? {
        padding: constants.RSA_PKCS1_PSS_PADDING,
        saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
      }
    : { dsaEncoding: "ieee-p1363" as const };
  return verify(
    digest,
    Buffer.from(`${header}.${payload}`),
    { key: createPublicKey(key), ...scheme },
    Buffer.from(signature, "base64url"),
  );
}

const headerOf = (jws: string): unknown =>
  JSON.parse(Buffer.from(jws.split(".")[0] ?? "", "base64url").toString());

describe("a signature", () => {
  const PAYLOAD =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";

  const signed = (jwk: JsonWebKey) => {
    const key = createPrivateKey({ key: jwk, format: "jwk" });
    const pem = key.export({ type: "pkcs8", format: "pem" }).toString();
    return signJws(Buffer.from(PAYLOAD, "base64url"), signingKeyOf(pem, undefined, undefined));
  };

  it("follows RFC 7515 appendix A.2: RS256", async () => {
    const jws = await signed({
      kty: "RSA",
      n: "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
      e: "AQAB",
      d: "Eq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyWPEAeP88vLNO97IjlA7_GQ5sLKMgvfTeXZx9SE-7YwVol2NXOoAJe46sui395IW_GO-pWJ1O0BkTGoVEn2bKVRUCgu-GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzjkn439X0M_V51gfpRLI9JYanrC4D4qAdGcopV_0ZHHzQlBjudU2QvXt4ehNYTCBr6XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl_x_jTj3ccPDVZFD9pIuhLhBOneufuBiB4cS98l2SR_RQyGWSeWjnczT0QU91p1DhOVRuOopznQ",
      p: "4BzEEOtIpmVdVEZNCqS7baC4crd0pqnRH_5IB3jw3bcxGn6QLvnEtfdUdiYrqBdss1l58BQ3KhooKeQTa9AB0Hw_Py5PJdTJNPY8cQn7ouZ2KKDcmnPGBY5t7yLc1QlQ5xHdwW1VhvKn-nXqhJTBgIPgtldC-KDV5z-y2XDwGUc",
      q: "uQPEfgmVtjL0Uyyx88GZFF1fOunH3-7cepKmtH4pxhtCoHqpWmT8YAmZxaewHgHAjLYsp1ZSe7zFYHj7C6ul7TjeLQeZD_YwD66t62wDmpe_HlB-TnBA-njbglfIsRLtXlnDzQkv5dTltRJ11BKBBypeeF6689rjcJIDEz9RWdc",
      dp: "BwKfV3Akq5_MFZDFZCnW-wzl-CCo83WoZvnLQwCTeDv8uzluRSnm71I3QCLdhrqE2e9YkxvuxdBfpT_PI7Yz-FOKnu1R6HsJeDCjn12Sk3vmAktV2zb34MCdy7cpdTh_YVr7tss2u6vneTwrA86rZtu5Mbr1C1XsmvkxHQAdYo0",
      dq: "h_96-mK1R_7glhsum81dZxjTnYynPbZpHziZjeeHcXYsXaaMwkOlODsWa7I9xXDoRwbKgB719rrmI2oKr6N3Do9U0ajaHF-NKJnwgjMd2w9cjz3_-kyNlxAr2v4IKhGNpmM5iIgOS1VZnOZ68m6_pbLBSp3nssTdlqvd0tIiTHU",
      qi: "IYd7DHOhrWvxkwPQsRM2tOgrjbcrfvtQJipd-DlcxyVuuM9sQLdgjVk2oy26F0EmpScGLq2MowX7fhd_QJQ3ydy5cY7YIBi87w93IKLEdfnbJtoOPLUW0ITrJReOgo1cq9SbsxYawBgfp_gh6A5603k2-ZQwVK0JKSHuLFkuQ3U",
    });
    expect(jws).toBe(
      `eyJhbGciOiJSUzI1NiJ9.${PAYLOAD}.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw`,
    );
  });

  it("follows RFC 7515 appendix A.3: ES256", async () => {
    const jwk = {
      kty: "EC",
      crv: "P-256",
      x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
      y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
      d: "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI",
    };
    const example = `eyJhbGciOiJFUzI1NiJ9.${PAYLOAD}.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q`;
    const jws = await signed(jwk);
    expect(jws.split(".").slice(0, 2)).toEqual(example.split(".").slice(0, 2));
    const key = createPrivateKey({ key: jwk, format: "jwk" });
    expect(isSigned(example, key, "ES256")).toBe(true);
    expect(isSigned(jws, key, "ES256")).toBe(true);
  });

  // The example's header has its members in another order, with a line break between them.
  it("follows RFC 7519 section 3.1: a JWT with a shared secret", async () => {
    const secret = Buffer.from(
      "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow",
      "base64url",
    );
    const signatureOf = (header: string) =>
      createHmac("sha256", secret).update(`${header}.${PAYLOAD}`).digest("base64url");
    expect(signatureOf("eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9")).toBe(
      "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    );
    const jws = await signJws(
      Buffer.from(PAYLOAD, "base64url"),
      { algorithm: "HS256", key: secret, key_id: undefined },
      { typ: "JWT" },
    );
    const [header = ""] = jws.split(".");
    expect(headerOf(jws)).toEqual({ typ: "JWT", alg: "HS256" });
    expect(jws).toBe(`${header}.${PAYLOAD}.${signatureOf(header)}`);
  });
});

describe("a private key", () => {
  const curve = (namedCurve: string) => generateKeyPairSync("ec", { namedCurve }).privateKey;
  const keys = {
    RSA: generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey,
    "P-256": curve("P-256"),
    "P-384": curve("P-384"),
    "P-521": curve("P-521"),
    Ed25519: generateKeyPairSync("ed25519").privateKey,
  };
  type Name = keyof typeof keys;
  type Form = "pkcs1" | "sec1" | "pkcs8";
  const pemOf = (name: Name, type: Form) => keys[name].export({ type, format: "pem" }).toString();

  it.each<[Name, Form, string | undefined, string]>([
    ["RSA", "pkcs1", undefined, "RS256"],
    ["RSA", "pkcs8", undefined, "RS256"],
    ["RSA", "pkcs1", "RS512", "RS512"],
    ["RSA", "pkcs8", "PS256", "PS256"],
    ["P-256", "sec1", undefined, "ES256"],
    ["P-256", "pkcs8", undefined, "ES256"],
    ["P-256", "sec1", "ES256", "ES256"],
    ["P-384", "sec1", undefined, "ES384"],
    ["P-384", "pkcs8", "ES384", "ES384"],
    ["P-521", "sec1", "ES512", "ES512"],
    ["P-521", "pkcs8", undefined, "ES512"],
    ["Ed25519", "pkcs8", undefined, "EdDSA"],
    ["Ed25519", "pkcs8", "EdDSA", "EdDSA"],
  ])("%s in %s, algorithm %s, signs with %s", async (name, form, given, used) => {
    const key = signingKeyOf(pemOf(name, form), given, "key-1");
    const jws = await signJws(Buffer.from("€"), key);
    expect(headerOf(jws)).toEqual({ alg: used, kid: "key-1" });
    expect(isSigned(jws, keys[name], used)).toBe(true);
    expect(isSigned(jws.replace(".", "A."), keys[name], used)).toBe(false);
  });

  it.each<[Name, string]>([
    ["RSA", "ES256"],
    ["RSA", "HS256"],
    ["P-256", "RS256"],
    ["P-384", "ES256"],
    ["Ed25519", "none"],
  ])("%s cannot sign with %s", async (name, algorithm) => {
    const key = signingKeyOf(pemOf(name, "pkcs8"), algorithm, undefined);
    await expect(signJws(Buffer.from("x"), key)).rejects.toThrow(
      new SigningError(`the key cannot sign with the algorithm '${algorithm}'`),
    );
  });
});
