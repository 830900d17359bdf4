// TLS to NATS: which servers an agent or hub trusts.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Bus } from "../../src/bus/bus.ts";
import type { NatsTls } from "../../src/bus/nats/connection.ts";
import { connectTo } from "../bus/buses.ts";
import { createCertificates } from "../support/certificates.ts";
import type { Certificate } from "../support/certificates.ts";
import { startNatsServer } from "../support/nats-server.ts";

const certificates = createCertificates();
const { authority, good } = certificates;
const ca = authority.cert;

/**
 * Returns the status of a connection to a server with this certificate, or its error. `asks`: the
 * server asks for a client certificate.
 */
async function connected(
  certificate: Certificate,
  tls: NatsTls,
  { asks = false, host = "localhost", scheme = "tls" } = {},
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "sonde-tls-"));
  const files = { cert: certificate.cert, key: certificate.key, ca };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const path = (name: string): string => `"${join(folder, name)}"`;
  const config = `tls { cert_file: ${path("cert")}, key_file: ${path("key")}, ca_file: ${path("ca")}, verify: ${asks} }`;
  try {
    await using server = await startNatsServer({ config });
    await using bus: Bus & AsyncDisposable = await connectTo(`${scheme}://${host}:${server.port}`, {
      tls,
    });
    return bus.status().detail;
  } catch (cause) {
    return (cause as Error).message;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const ADVICE = "check SONDE_NATS_CA, and that the server's certificate is valid and names the host";

describe("a NATS server with TLS", () => {
  it.each([
    ["by name", { host: "localhost" }],
    ["by address", { host: "127.0.0.1" }],
    ["under a nats:// URL", { scheme: "nats" }],
  ])("is trusted with the right authority, %s", async (_, where) => {
    expect(await connected(good, { ca }, where)).toMatch(/^NATS at (tls|nats):\/\/[\w.]+:\d+$/);
  });

  it.each([
    ["of an unknown authority", certificates.ofStranger, "unable to verify the first certificate"],
    ["for another host", certificates.otherName, "does not match certificate's altnames"],
    ["that has expired", certificates.expired, "certificate has expired"],
    ["that signs itself", certificates.selfSigned, "self-signed certificate"],
  ])("is refused with a certificate %s", async (_, certificate, reason) => {
    const message = await connected(certificate, { ca });
    expect(message).toMatch(/^cannot trust NATS at tls:\/\/localhost:\d+ \(/);
    expect(message).toContain(reason);
    expect(message).toContain(ADVICE);
  });

  it("is rejected, with its address, when the certificate names another host", async () => {
    const message = await connected(certificates.otherName, { ca }, { host: "127.0.0.1" });
    expect(message).toContain("does not match certificate's altnames");
  });

  it("is trusted by its address if the certificate names the address, and only then", async () => {
    const host = "127.0.0.1";
    expect(await connected(certificates.ofAddress, { ca }, { host })).toMatch(/^NATS at tls:/);
    expect(await connected(certificates.ofAddress, { ca })).toContain("Host: localhost. is not");
    expect(await connected(certificates.ofLocalhost, { ca }, { host })).toContain(
      "IP: 127.0.0.1 is not in the cert's list",
    );
  });

  it("is not trusted without its CA configured", async () => {
    expect(await connected(good, {})).toContain(ADVICE);
  });

  it("accepts only processes with a certificate when it asks for one", async () => {
    const tls = { ca, cert: good.cert, key: good.key };
    expect(await connected(good, tls, { asks: true })).toMatch(/^NATS at tls:/);
    const message = await connected(good, { ca }, { asks: true });
    expect(message).toMatch(/^cannot reach NATS at tls:/);
    expect(message).toContain("if it asks for client certificates, set SONDE_NATS_CERT");
  });
});

it("a NATS server without TLS is refused where TLS is asked for", async () => {
  await using server = await startNatsServer();
  const connecting = connectTo(`tls://localhost:${server.port}`, { tls: { ca } });
  await expect(connecting).rejects.toThrow(
    /^NATS at tls:.* does not offer TLS: give it a tls block/,
  );
});
