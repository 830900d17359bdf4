// Shared by the tests of AMAZON: the setting that the published examples use, and AWS Signature
// Version 4 as documented.
import { createHash, createHmac } from "node:crypto";
import type { HttpRequest } from "../../../src/agent/http/http-request.ts";
import { newAuthorization, newRequest } from "./authorizing.ts";

// The keys and the time of the AWS Signature Version 4 test suite.
export const SUITE = newAuthorization("AMAZON", {
  domain: "amazonaws.com",
  settings: { region: "us-east-1", service: "service" },
  keys: {
    client_id: "AKIDEXAMPLE",
    client_secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
  },
});

export const pair = (key: string, value: string) => ({ key, value });

export const request = (
  method: string,
  path: string,
  headers: HttpRequest["headers"] = [],
  body: string | null = null,
): HttpRequest =>
  newRequest(`https://example.amazonaws.com${path}`, {
    method,
    headers: [pair("Host", "example.amazonaws.com"), ...headers],
    body: body === null ? null : Buffer.from(body),
  });

/** For services whose paths are escaped twice: all but S3. */
export const escapedAgain = (path: string): string =>
  path.replaceAll(/\/+/g, "/").replaceAll(/[^/]/g, escaped);

/** For S3, which reads a plus as a space. */
export const escapedOnce = (path: string): string =>
  unescaped(path.replaceAll("+", " ")).replaceAll(/[^/]/g, escaped);

/**
 * Computes a request's signature from the credential and the headers that its Authorization header
 * names.
 */
export function signatureOf(
  { method, url, headers, body }: HttpRequest,
  secret: string,
  pathOf: (path: string) => string,
): string {
  const valuesOf = (name: string) =>
    headers
      .filter(({ key }) => key.toLowerCase() === name)
      .map(({ value }) => value.trim().replaceAll(/ +/g, " "))
      .join(",");
  const [, scope = "", names = ""] =
    /Credential=[^/]*\/([^,]*), SignedHeaders=([^,]*),/.exec(valuesOf("authorization")) ?? [];
  const canonical = [
    method,
    pathOf(url.pathname),
    canonicalQuery(url.search.slice(1)),
    ...names.split(";").map((name) => `${name}:${valuesOf(name)}`),
    "",
    names,
    sha256(body ?? ""),
  ].join("\n");
  const toSign = ["AWS4-HMAC-SHA256", valuesOf("x-amz-date"), scope, sha256(canonical)].join("\n");
  const key = scope
    .split("/")
    .reduce<string | Buffer>(
      (by, part) => createHmac("sha256", by).update(part).digest(),
      `AWS4${secret}`,
    );
  return createHmac("sha256", key).update(toSign).digest("hex");
}

function canonicalQuery(query: string): string {
  const encode = (text: string) => unescaped(text.replaceAll("+", " ")).replaceAll(/./gs, escaped);
  return query
    .split("&")
    .filter((parameter) => parameter !== "")
    .map((parameter) => {
      const [name = "", ...value] = parameter.split("=");
      return { name: encode(name), value: encode(value.join("=")) };
    })
    .toSorted((a, b) => order(a.name, b.name) || order(a.value, b.value))
    .map(({ name, value }) => `${name}=${value}`)
    .join("&");
}

const order = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** One character for each byte. */
const unescaped = (text: string): string =>
  text.replaceAll(/%([\da-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );

const escaped = (byte: string): string =>
  /[\w\-.~]/.test(byte)
    ? byte
    : `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;

const sha256 = (data: string | Buffer): string => createHash("sha256").update(data).digest("hex");
