// A real Alertmanager on loopback, in a temporary folder.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { killAtExit } from "./kill-at-exit.ts";
import { track } from "./no-leftovers.ts";
import { findProgram } from "./programs.ts";
import { until } from "./until.ts";

type Labels = Readonly<Record<string, string>>;

export interface Alertmanager extends AsyncDisposable {
  send(alerts: readonly Labels[]): Promise<void>;
  /** Returns the alerts that it would send. Those that inhibit others may come last. */
  notified(): Promise<Labels[]>;
}

interface ListedAlert {
  readonly labels: Labels;
  readonly status: { readonly state: "unprocessed" | "active" | "suppressed" };
}

export async function startAlertmanager(configFile: string): Promise<Alertmanager> {
  const program = findProgram("prometheus-alertmanager") ?? findProgram("alertmanager");
  if (program === undefined)
    throw new Error("Alertmanager is not installed: apt-get install prometheus-alertmanager");
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "sonde-alertmanager-"));
  const server = killAtExit(
    spawn(
      program,
      [
        `--config.file=${configFile}`,
        `--storage.path=${folder}`,
        `--web.listen-address=127.0.0.1:${port}`,
        "--cluster.listen-address=",
      ],
      { stdio: "ignore" },
    ),
  );
  const exited = once(server, "exit");
  const stopped = track(`Alertmanager on port ${port}`);
  const url = `http://127.0.0.1:${port}`;
  await until(async () => {
    if (!(await fetch(`${url}/-/ready`)).ok) throw new Error("Alertmanager is not ready");
  });
  const list = async (): Promise<ListedAlert[]> =>
    (await (await fetch(`${url}/api/v2/alerts`)).json()) as ListedAlert[];
  return {
    async send(alerts) {
      await fetch(`${url}/api/v2/alerts`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(alerts.map((labels) => ({ labels }))),
      });
      await until(async () => {
        const listed = await list();
        if (listed.length < alerts.length || listed.some(isUnprocessed))
          throw new Error("Alertmanager has not processed all alerts");
      });
    },
    async notified() {
      return (await list()).filter(({ status }) => status.state === "active").map(labelsOf);
    },
    async [Symbol.asyncDispose]() {
      server.kill("SIGKILL");
      await exited;
      rmSync(folder, { recursive: true, force: true });
      stopped();
    },
  };
}

const isUnprocessed = ({ status }: ListedAlert): boolean => status.state === "unprocessed";
const labelsOf = ({ labels }: ListedAlert): Labels => labels;
