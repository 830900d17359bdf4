// The targets of the benchmarks, over HTTP and HTTPS: nginx, which answers at once, and a server
// that takes a given time and tells how long it really took. Where the system allows it, they get
// priority over everything else on their core, so that only the client can delay an answer.
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createCertificates } from "../../test/support/certificates.ts";
import { freePort } from "../../test/support/free-port.ts";
import { findProgram } from "../../test/support/programs.ts";
import { forkChild, makeFolder, startChild, stopChild } from "./children.ts";
import { untilListening } from "./nats.ts";
import type { Scheme } from "./options.ts";

/** PEM files. */
export interface CertificateFiles {
  /** The authority that clients trust. */
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
}

export function writeCertificates(): CertificateFiles {
  const { authority, good } = createCertificates();
  const folder = makeFolder();
  const write = (name: string, pem: string): string => {
    const path = join(folder, name);
    writeFileSync(path, pem);
    return path;
  };
  return {
    authority: write("authority.crt", authority.cert),
    certificate: write("target.crt", good.cert),
    key: write("target.key", good.key),
  };
}

export interface Target extends AsyncDisposable {
  /** The URL ends in an id that identifies the request. */
  url(scheme: Scheme, id: string): string;
  /** Milliseconds that the target itself took, by id. */
  taken(): Promise<ReadonlyMap<string, number>>;
}

export const NO_NGINX = "nginx: apt-get install nginx-light";

/** Undefined if nginx is not installed. It answers within some 0.05 ms, which count as zero. */
export async function startNginx(files: CertificateFiles): Promise<Target | undefined> {
  const program = findProgram("nginx");
  if (program === undefined) return undefined;
  const [http, https] = [await freePort(), await freePort()];
  const folder = makeFolder();
  writeFileSync(
    join(folder, "nginx.conf"),
    `daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log ${folder}/error.log;
     events { worker_connections 8192; }
     http { access_log off; client_body_temp_path ${folder}; proxy_temp_path ${folder};
       fastcgi_temp_path ${folder}; uwsgi_temp_path ${folder}; scgi_temp_path ${folder};
       server { listen 127.0.0.1:${http} backlog=4096; listen 127.0.0.1:${https} ssl backlog=4096;
         ssl_certificate ${files.certificate}; ssl_certificate_key ${files.key};
         location / { default_type text/plain; return 200 "${"x".repeat(120)}"; } } }`,
  );
  const child = startChild([program, "-p", folder, "-e", "error.log", "-c", "nginx.conf"], {
    core: "other",
  });
  await untilListening(http);
  putFirst(child.pid);
  const ports = { http, https };
  return {
    url: (scheme, id) => `${scheme}://127.0.0.1:${ports[scheme]}/?id=${id}`,
    taken: async () => new Map(),
    [Symbol.asyncDispose]: () => stopChild(child),
  };
}

/** Answers requests after `delay` and TLS handshakes after `handshake` milliseconds. */
export async function startDelayServer(
  files: CertificateFiles,
  delay: number,
  handshake = 0,
): Promise<Target> {
  const program = fileURLToPath(new URL("./delay-server.ts", import.meta.url));
  // With several garbage collection threads at one real-time priority on one core, the first would
  // spin waiting for the others, and take the core from everything else forever.
  const options = ["--single-threaded-gc"];
  const words = [files.certificate, files.key, String(handshake)];
  const child = forkChild(program, words, "other", options);
  const [[http = 0, https = 0]] = (await once(child, "message")) as [number[]];
  putFirst(child.pid);
  const ports = { http, https };
  return {
    url: (scheme, id) => `${scheme}://127.0.0.1:${ports[scheme]}/${delay}?id=${id}`,
    async taken() {
      child.send("taken");
      const [entries] = (await once(child, "message")) as [[string, number][]];
      return new Map(entries);
    },
    [Symbol.asyncDispose]: () => stopChild(child),
  };
}

/** Best effort: only root may. */
function putFirst(pid = 0): void {
  const chrt = findProgram("chrt");
  if (chrt !== undefined && process.getuid?.() === 0)
    spawnSync(chrt, ["--all-tasks", "--fifo", "--pid", "1", String(pid)]);
  else if (process.getuid?.() === 0) setPriority(pid, -10);
}
