import { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import { describe, expect, it } from "vitest";
import { DAY_MS } from "../../../src/model/periods.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { createCertificates } from "../../support/certificates.ts";
import type { Certificate } from "../../support/certificates.ts";
import { answering, startRawTarget, startTarget } from "../../support/target-server.ts";
import type { TargetOptions } from "../../support/target-server.ts";
import { call, codeOf, timingOfCall } from "../calling.ts";

const certificates = createCertificates();
const ca = certificates.authority.cert;

const FAULTS: [string, TargetOptions["tls"], string][] = [
  ["an expired certificate", certificates.expired, "tls_expired: the certificate has expired"],
  [
    "a certificate not valid yet",
    certificates.notYetValid,
    "tls_not_yet_valid: the certificate is not valid yet",
  ],
  [
    "a certificate for another host",
    certificates.otherName,
    "tls_name_mismatch: the certificate is for another host",
  ],
  [
    "a self-signed certificate",
    certificates.selfSigned,
    "tls_self_signed: the certificate is self-signed",
  ],
  [
    "a certificate of an unknown authority",
    certificates.ofStranger,
    "tls_untrusted: no trusted authority issued the certificate, or the server lacks an intermediate certificate",
  ],
  [
    "a certificate of a weak key",
    { ...certificates.weak, ciphers: "DEFAULT@SECLEVEL=0" },
    "tls_untrusted: the certificate cannot be verified: its key or a signature may be too weak",
  ],
  [
    "an old protocol version only",
    {
      ...certificates.good,
      minVersion: "TLSv1",
      maxVersion: "TLSv1.1",
      ciphers: "DEFAULT@SECLEVEL=0",
    },
    "tls_protocol: the server speaks neither TLS 1.2 nor TLS 1.3",
  ],
  [
    "no cipher in common",
    {
      ...certificates.good,
      maxVersion: "TLSv1.2",
      ciphers: "ECDHE-RSA-AES128-GCM-SHA256",
    },
    "tls_protocol: the server accepts none of the ciphers offered, or requires a client certificate",
  ],
  [
    "HTTP/2 only",
    { ...certificates.good, ALPNProtocols: ["h2"] },
    "tls_protocol: the server refuses HTTP/1.1; it may require HTTP/2",
  ],
  [
    "a demand for a client certificate",
    { ...certificates.good, requestCert: true, rejectUnauthorized: true },
    "tls_client_certificate: the server requires a client certificate",
  ],
];

/** Makes the certificate expire in the 99th month, so its signature no longer matches. */
function withoutEnd({ cert, key }: Certificate): Certificate {
  const lines = cert.trim().split("\n").slice(1, -1);
  const der = Buffer.from(lines.join(""), "base64");
  const utcTime = Buffer.from([0x17, 13]);
  const end = der.indexOf(utcTime, der.indexOf(utcTime) + 1);
  der.write("99", end + utcTime.length + 2);
  const body = der
    .toString("base64")
    .match(/.{1,64}/g)
    ?.join("\n");
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`,
    key,
  };
}

describe("the certificate of a result", () => {
  const certificateOf = async (url: string) => (await call(url, { ca })).last.certificate;

  it("names its subject, issuer and validity", async () => {
    await using target = await startTarget(undefined, {
      tls: certificates.good,
    });
    const shown = await certificateOf(target.url);
    expect(shown).toEqual({
      issuer: expect.stringMatching(/CN=/) as string,
      subject: expect.stringMatching(/CN=/) as string,
      valid_from: expect.any(String) as string,
      expiry: expect.any(String) as string,
      days: expect.any(Number) as number,
    });
    const left = Date.parse(shown?.expiry ?? "") - Date.now();
    expect(shown?.days).toBe(Math.floor(left / 86_400_000));
  });

  it("is the server's own, even if the server sends those of its authorities", async () => {
    const { good, authority } = certificates;
    await using target = await startTarget(undefined, {
      tls: { ...good, cert: good.cert + authority.cert },
    });
    expect((await certificateOf(target.url))?.subject).toBe("CN=Test target");
  });

  it("is reported even if it has expired", async () => {
    await using target = await startTarget(undefined, {
      tls: certificates.expired,
    });
    expect((await certificateOf(target.url))?.days).toBeLessThan(0);
  });

  it("is null if its dates are malformed, and the call fails", async () => {
    await using target = await startTarget(undefined, {
      tls: withoutEnd(certificates.good),
    });
    const { result, last } = await call(target.url, { ca });
    expect(result).toBe("CONNECTION_ERROR");
    expect(last.certificate).toBeNull();
    const insecure = await call(target.url, {
      behaviour: { insecureTls: true },
    });
    expect(insecure.result).toBe("COMPLETE");
    expect(insecure.last.certificate).toBeNull();
  });

  it("has names of up to 1000 characters", async () => {
    await using target = await startTarget(undefined, {
      tls: certificates.longNamed,
    });
    const certificate = await certificateOf(target.url);
    expect(certificate?.subject).toHaveLength(1001);
    expect(certificate?.subject.endsWith("…")).toBe(true);
  });

  it("is null over plain http", async () => {
    await using target = await startTarget();
    expect(await certificateOf(target.url)).toBeNull();
  });
});

describe("a target with", () => {
  it.each(FAULTS)("%s fails with its TLS error code and cause", async (_, tls, message) => {
    await using target = await startTarget(undefined, { tls });
    const outcome = await call(target.url, { ca });
    expect(outcome).toMatchObject({ result: "CONNECTION_ERROR", message });
    expect(target.requests).toHaveLength(0);
    expect(timingOfCall(outcome)).toMatchObject({
      tcp: expect.any(Number) as number,
      // With TLS 1.3 the server checks the client's certificate after the handshake.
      handshake:
        codeOf(outcome) === "tls_client_certificate" ? (expect.any(Number) as number) : null,
      processing: null,
    });
    await expect.poll(() => target.open()).toBe(0);
  });

  it("a chain that leads to no trusted authority fails as tls_untrusted", async () => {
    await using target = await startTarget(undefined, { tls: certificates.ofExpired });
    const { message } = await call(target.url, { ca: certificates.selfSigned.cert });
    expect(message).toMatch(/^tls_untrusted: no trusted authority issued the certificate, or /);
  });

  it.each([
    ["has expired", certificates.ofExpired],
    ["is not valid yet", certificates.ofNotYetValid],
  ])("a certificate of an authority that %s is not out of date itself", async (fault, tls) => {
    await using target = await startTarget(undefined, { tls });
    const { message } = await call(target.url, { ca });
    expect(message).toBe(`tls_untrusted: the certificate of an authority in the chain ${fault}`);
  });

  it("an expired certificate is not blamed on an authority when the hub's clock is behind", async () => {
    await using target = await startTarget(undefined, { tls: certificates.expired });
    const clock = { ...systemClock, now: () => systemClock.now() - 10 * DAY_MS };
    const { message } = await call(target.url, { ca, clock });
    expect(message).toMatch(/^tls_expired: /);
  });

  it.each(FAULTS.slice(0, 6))("%s is called nevertheless with insecure-tls", async (_, tls) => {
    await using target = await startTarget(undefined, { tls });
    const outcome = await call(target.url, {
      ca,
      behaviour: { insecureTls: true },
    });
    expect(outcome.result).toBe("COMPLETE");
    expect(timingOfCall(outcome).handshake).toBeGreaterThan(0);
  });

  it("a trusted certificate is called by name and by address", async () => {
    await using target = await startTarget(undefined, {
      tls: certificates.good,
    });
    for (const host of ["localhost", "127.0.0.1", "localhost."]) {
      const outcome = await call(`https://${host}:${target.port}/`, {
        ca,
      });
      expect(outcome.message, host).toBeNull();
    }
  });

  it.each([
    ["no alternative name", certificates.commonName],
    ["a URI as its only alternative name", certificates.uriName],
  ])("%s is trusted for the name in its subject, and for no address", async (_, tls) => {
    await using target = await startTarget(undefined, { tls });
    const to = (host: string) => call(`https://${host}:${target.port}/`, { ca });
    expect((await to("localhost")).message).toBeNull();
    expect(codeOf(await to("127.0.0.1"))).toBe("tls_name_mismatch");
    expect(codeOf(await to("a.localhost"))).toBe("tls_name_mismatch");
  });

  it.each([
    ["localhost", "localhost"],
    ["localhost.", "localhost"],
    ["a.localhost", "a.localhost"],
    ["127.0.0.1", undefined],
    ["[::1]", undefined],
  ])("the host %s receives the SNI name %s", async (host, name) => {
    let asked: string | undefined;
    await using target = await startTarget(undefined, {
      host: host === "[::1]" ? "::1" : "127.0.0.1",
      tls: {
        ...certificates.good,
        SNICallback: (given, done) => {
          asked = given;
          done(null);
        },
      },
    });
    const outcome = await call(`https://${host}:${target.port}/`, {
      behaviour: { insecureTls: true },
    });
    expect(outcome.message).toBeNull();
    expect(asked).toBe(name);
  });

  it.each([
    ["bad_certificate", 42, "tls_client_certificate"],
    ["unsupported_certificate", 43, "tls_client_certificate"],
    ["certificate_revoked", 44, "tls_client_certificate"],
    ["certificate_expired", 45, "tls_client_certificate"],
    ["certificate_unknown", 46, "tls_client_certificate"],
    ["unknown_ca", 48, "tls_client_certificate"],
    ["access_denied", 49, "tls_client_certificate"],
    ["certificate_required", 116, "tls_client_certificate"],
    ["handshake_failure", 40, "tls_protocol"],
    ["protocol_version", 70, "tls_protocol"],
  ])("the alert %s (%i) is %s", async (_, alert, code) => {
    const fatal = Buffer.from([0x15, 3, 3, 0, 2, 2, alert]); // RFC 8446 section 6
    await using target = await startRawTarget(answering(fatal));
    const outcome = await call(`https://${target.authority}/`);
    expect(codeOf(outcome)).toBe(code);
  });

  it("plain http on its https port fails as tls_protocol, and says so", async () => {
    await using target = await startTarget();
    const { message } = await call(`https://${target.authority}/`);
    expect(message).toBe("tls_protocol: the server's answer is not TLS, but perhaps http");
  });

  it("invalid TLS after the handshake fails, but not as a handshake", async () => {
    await using target = await startRawTarget((socket) => {
      const wire = Duplex.from({ readable: socket, writable: socket });
      const secured = new TLSSocket(wire, { isServer: true, ...certificates.good });
      secured.on("error", () => undefined);
      secured.once("data", () => socket.write("HTTP/1.1 200 OK\r\n\r\n"));
    });
    const outcome = await call(`https://${target.authority}/`, { ca });
    expect(outcome.message).toMatch(/^tls_protocol: the TLS connection failed /);
    expect(timingOfCall(outcome).handshake).toBeGreaterThan(0);
  });

  it("a connection closed during the handshake is a reset", async () => {
    await using target = await startRawTarget((socket) => socket.once("data", () => socket.end()));
    const outcome = await call(`https://${target.authority}/`);
    expect(codeOf(outcome)).toBe("reset");
  });
});
