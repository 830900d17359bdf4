// The client of the API, where the API does not answer.
import { expect, it } from "vitest";
import { createApi } from "../../src/client/api.ts";
import { createCertificates } from "../support/certificates.ts";
import { startTarget } from "../support/target-server.ts";

const USUAL_MS = 30_000;

it.each([
  ["an answer", false],
  ["the end of an answer", true],
])("says how long it has waited for %s", async (_, begins) => {
  await using target = await startTarget((_request, response) => {
    if (begins) response.flushHeaders();
  });
  const api = createApi({ url: target.url, key: "", keyFrom: "a test" });
  const sent = api.send("POST", "/calls/1/run", { extraMs: 100 - USUAL_MS });
  await expect(sent).rejects.toThrow(`no answer from ${target.url} (none within 0.1 s): `);
});

it("does not mistake a service whose certificate it cannot verify for one that is down", async () => {
  const { ofStranger: tls } = createCertificates();
  await using target = await startTarget(undefined, { tls });
  const api = createApi({ url: target.url, key: "", keyFrom: "a test" });
  await expect(api.send("GET", "/calls/")).rejects.toThrow(
    `cannot trust ${target.url} (UNABLE_TO_VERIFY_LEAF_SIGNATURE): give it a valid certificate`,
  );
});

it("says that a service whose answer has no list is not Sonde's", async () => {
  await using target = await startTarget((_request, response) => response.end("{}"));
  const api = createApi({ url: target.url, key: "", keyFrom: "a test" });
  await expect(api.list("/calls/", {}, { limit: 1 }).next()).rejects.toThrow(
    `${target.url} answered without a list: set SONDE_API_URL to the API of Sonde`,
  );
});

it.each([
  [404, "set SONDE_API_URL to the API of Sonde"],
  [502, "the proxy there has no answer from the service"],
])("says what to do about a page with status %i", async (status, advice) => {
  await using target = await startTarget((_request, response) =>
    response.writeHead(status, { "content-type": "text/html" }).end("<html>"),
  );
  const api = createApi({ url: target.url, key: "", keyFrom: "a test" });
  await expect(api.send("GET", "/calls/")).rejects.toThrow(
    `${target.url} answered ${status} with text/html instead of JSON: ${advice}`,
  );
});
