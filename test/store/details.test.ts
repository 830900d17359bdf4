import { expect, it } from "vitest";
import { pack, unpack } from "../../src/store/details.ts";

const URL = "https://api.example.com/v1/orders?page=2";

// Databases contain such bytes: a changed dictionary would make their details unreadable.
it("reads details that an earlier program packed", async () => {
  const packed =
    "WGYpdb2+Q08q6KVwmaF+fhHIEvsCUE1khK84JkIvwUBCK1fRjCRYZBJdrpESqNiKIQMjcBkCLj8MsRcdlBcLyC0I5CII2oQgHLsAbYydKQ==";
  expect(await unpack(Buffer.from(packed, "base64"))).toEqual({
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

it("reads many at once, each as it was packed, also after one that is damaged", async () => {
  const values = Array.from({ length: 200 }, (_, n) => ({
    url: URL,
    body: `${n} `.repeat(n * 40),
  }));
  const packed = values.map(pack);
  const damaged = packed.map((bytes, n) => (n === 100 ? bytes.map((byte) => byte ^ 0x55) : bytes));
  const read = await Promise.allSettled(damaged.map(unpack));
  const expected = values.map((value) => ({ status: "fulfilled", value }));
  expect(read.toSpliced(100, 1)).toEqual(expected.toSpliced(100, 1));
  expect(read[100]?.status).toBe("rejected");
  await expect(unpack((packed[150] as Uint8Array).subarray(0, -10))).rejects.toThrow();
  expect(await unpack(packed[150] as Uint8Array)).toEqual(values[150]);
});
