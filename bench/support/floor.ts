// The cost of a call on an idle machine: requests one after another over bare sockets from the
// measured core. Any reported time beyond this and the target's own is the monitor's.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect as connectPlain } from "node:net";
import { connect as connectSecure, createSecureContext } from "node:tls";
import { startChild } from "./children.ts";
import { startDelayServer } from "./target.ts";
import type { CertificateFiles } from "./target.ts";
import type { Scheme } from "./options.ts";
import { quantile } from "./statistics.ts";

const WARM_UP = 500;

/** Returns the 99th percentile, in milliseconds, beyond what the target itself took. */
export async function measureFloor(
  files: CertificateFiles,
  scheme: Scheme,
  calls: number,
): Promise<number> {
  await using target = await startDelayServer(files, 0);
  const program = import.meta.filename;
  const child = startChild(
    [process.execPath, program, target.url(scheme, "floor-"), files.authority, String(calls)],
    { core: "measured", stdout: "pipe" },
  );
  let output = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (output += text));
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`the bare client ended with ${code}`);
  const times = JSON.parse(output) as number[];
  const taken = await target.taken();
  const excess = times.map((time, n) => time - (taken.get(`floor-${n}`) ?? 0));
  return quantile(excess.slice(WARM_UP), 0.99);
}

if (import.meta.main) {
  const [url = "", authority = "", calls = "0"] = process.argv.slice(2);
  const times: number[] = [];
  const context = createSecureContext({ ca: readFileSync(authority) });
  for (let n = 0; n < Number(calls) + WARM_UP; n += 1)
    times.push(await callOnce(new URL(url + String(n)), context));
  console.log(JSON.stringify(times));
}

async function callOnce(
  url: URL,
  secureContext: ReturnType<typeof createSecureContext>,
): Promise<number> {
  const started = performance.now();
  const port = Number(url.port);
  const host = url.hostname;
  const socket =
    url.protocol === "https:"
      ? connectSecure({ host, port, secureContext })
      : connectPlain({ host, port });
  socket.write(`GET ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n\r\n`);
  await once(socket, "data");
  const time = performance.now() - started;
  socket.destroy();
  return time;
}
