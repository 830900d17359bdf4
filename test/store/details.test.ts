import { expect, it } from "vitest";
import { pack, unpack } from "../../src/store/details.ts";

const URL = "https://api.example.com/v1/orders?page=2";

// Databases contain such bytes: a changed dictionary would make their details unreadable.
it("reads details that an earlier program packed", () => {
  const packed =
    "WGYpdb2+Q08q6KVwmaF+fhHIEvsCUE1khK84JkIvwUBCK1fRjCRYZBJdrpESqNiKIQMjcBkCLj8MsRcdlBcLyC0I5CII2oQgHLsAbYydKQ==";
  expect(unpack(Buffer.from(packed, "base64"))).toEqual({
    url: URL,
    request: {
      url: URL,
      method: "GET",
      headers: [
        { key: "Host", value: "api.example.com" },
        { key: "Accept", value: "*/*" },
      ],
      body: null,
    },
    response: {
      status_code: 200,
      status_string: "OK",
      headers: [
        { key: "Date", value: "Mon, 02 Nov 2026 10:00:00 GMT" },
        { key: "Content-Type", value: "application/json; charset=utf-8" },
        { key: "Cache-Control", value: "no-store" },
      ],
    },
    hops: [],
    certificate: null,
  });
});

it("reads each as it was packed, also after one that is damaged", () => {
  const values = Array.from({ length: 200 }, (_, n) => ({
    url: URL,
    body: `${n} `.repeat(n * 40),
  }));
  const packed = values.map(pack);
  const [last = new Uint8Array()] = packed.slice(-1);
  const damaged = [last.map((byte) => byte ^ 0x55), last.subarray(0, -10), last.subarray(0, 9)];
  packed.forEach((bytes, n) => {
    expect(unpack(bytes)).toEqual(values[n]);
    expect(() => unpack(damaged[n % 3] as Uint8Array)).toThrow();
  });
});
