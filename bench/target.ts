// A target with small answers in its own process, over HTTP and HTTPS. Reports its ports and the
// certificate authority.
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { createCertificates } from "../test/support/certificates.ts";

export interface Target {
  readonly http: number;
  readonly https: number;
  /** PEM. */
  readonly authority: string;
}

/** The target, and a function that stops it. */
export async function startTarget(): Promise<[Target, () => void]> {
  const child = fork(fileURLToPath(import.meta.url), ["serve"]);
  const [target] = (await once(child, "message")) as [Target];
  return [target, () => child.disconnect()];
}

if (process.argv[2] === "serve" && process.send) await serve();

async function serve(): Promise<void> {
  const body = JSON.stringify({ text: "x".repeat(120) });
  const { authority, good } = createCertificates();
  const servers = [createServer(), createSecureServer({ ...good })];
  const [http = 0, https = 0] = await Promise.all(
    servers.map(async (server) => {
      server.on("request", (_, response) => {
        response.setHeader("content-type", "application/json");
        response.end(body);
      });
      await once(server.listen(0, "127.0.0.1"), "listening");
      return (server.address() as AddressInfo).port;
    }),
  );
  process.send?.({ http, https, authority: authority.cert } satisfies Target);
  process.once("disconnect", () => process.exit());
}
