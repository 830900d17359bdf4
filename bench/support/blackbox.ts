// Runs blackbox_exporter, which probes on request.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Agent, request } from "undici";
import { freePort } from "../../test/support/free-port.ts";
import { findProgram } from "../../test/support/programs.ts";
import { makeFolder, startChild, stopChild } from "./children.ts";
import { untilListening } from "./nats.ts";
import type { CertificateFiles } from "./target.ts";

export const NO_BLACKBOX =
  "blackbox_exporter: apt-get install --no-install-recommends prometheus-blackbox-exporter";

export interface Blackbox extends AsyncDisposable {
  readonly pid: number;
  /** Returns the reported milliseconds of one probe. */
  probe(url: string): Promise<number>;
}

/** Starts it on the measured core; undefined if it is not installed. */
export async function startBlackbox(files: CertificateFiles): Promise<Blackbox | undefined> {
  const program = findProgram("prometheus-blackbox-exporter");
  if (program === undefined) return undefined;
  const folder = makeFolder();
  const config = join(folder, "blackbox.yml");
  writeFileSync(
    config,
    `modules: { http: { prober: http, timeout: 30s, http: { preferred_ip_protocol: ip4,
       tls_config: { ca_file: ${files.authority} } } } }`,
  );
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  const child = startChild(
    [program, `--config.file=${config}`, `--web.listen-address=${address}`, "--log.level=error"],
    { core: "measured" },
  );
  await untilListening(port);
  const dispatcher = new Agent({ connections: null, keepAliveTimeout: 60_000 });
  return {
    pid: child.pid ?? 0,
    async probe(url) {
      const query = `module=http&target=${encodeURIComponent(url)}`;
      const { body } = await request(`http://${address}/probe?${query}`, { dispatcher });
      return readProbe(await body.text());
    },
    async [Symbol.asyncDispose]() {
      await dispatcher.destroy();
      await stopChild(child);
    },
  };
}

function readProbe(page: string): number {
  if (!/^probe_success 1$/m.test(page)) throw new Error(`a probe failed:\n${page}`);
  return 1000 * Number(/^probe_duration_seconds (\S+)$/m.exec(page)?.[1]);
}
