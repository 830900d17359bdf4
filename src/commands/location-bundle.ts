// The archive that sets up a machine as an agent of a location: `sonde locations add --bundle`.
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { invalid } from "../model/errors.ts";
import { show } from "../model/validate.ts";
import { installed } from "../runtime/installation.ts";
import { VERSION } from "../version.ts";
import { tarOf } from "./tar.ts";
import type { WrittenFile } from "./written-files.ts";

/** Shipped with the program, but not in its image, which needs no unit. */
const UNIT = installed("deploy/systemd/sonde-agent@.service");

/** Throws if the file already exists or cannot be written. `now`: epoch milliseconds. */
export function writeBundle(
  file: string,
  id: string,
  environment: readonly WrittenFile[],
  now: number,
): void {
  const unit = existsSync(UNIT) ? [{ name: "sonde-agent@.service", path: UNIT }] : [];
  const files: WrittenFile[] = [
    ...environment,
    { name: "compose.yaml", content: composeOf(id) },
    ...unit.map(({ name, path }) => ({ name, content: readFileSync(path, "utf8") })),
    { name: "README.md", content: readmeOf(id) },
  ];
  const archive = tarOf(
    files.map(({ name, content, isSecret = false }) => ({
      path: `${id}/${name}`,
      content,
      mode: isSecret ? 0o600 : 0o644,
    })),
    now / 1000,
  );
  try {
    writeFileSync(file, archive, { mode: 0o600, flag: "wx" });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== "EEXIST") rmSync(file, { force: true }); // begun on a disk without room
    throw invalid(
      `--bundle: cannot write ${show(file)} (${code}): name a new file in a folder that this user may write`,
      { cause },
    );
  }
}

const composeOf = (
  id: string,
): string => `# An agent of Sonde at ${id}: README.md says how to start it.
name: sonde-${id.toLowerCase()}
services:
  agent:
    image: \${SONDE_IMAGE:-sonde:${VERSION}}
    env_file: agent.env
    # agent.env names the files beside it.
    working_dir: /run/sonde
    volumes: ["./:/run/sonde:ro", "data:/data"]
    read_only: true
    cap_drop: [ALL]
    security_opt: ["no-new-privileges:true"]
    restart: unless-stopped
    # A process stops within 25 s.
    stop_grace_period: 30s
volumes:
  data: {}
`;

const readmeOf = (id: string): string => `# A Sonde agent at ${id}

\`location-key\` and \`nats.nk\` let their holder act for ${id}: keep them to this machine.
Settings are in \`agent.env\`; check its SONDE_NATS_URL first.

## With systemd

With Sonde ${VERSION} in /opt/sonde-${VERSION} (a clone, and \`npm ci\` in it), as root in this folder:

    ln -sfn sonde-${VERSION} /opt/sonde
    cp /opt/sonde/deploy/systemd/sonde.sysusers /usr/lib/sysusers.d/sonde.conf && systemd-sysusers
    cp /opt/sonde/deploy/systemd/sonde-agent@.service /etc/systemd/system/
    systemctl daemon-reload
    install -d -m 0750 -g sonde-agent /etc/sonde/agents/${id}
    install -m 0640 -g sonde-agent agent.env location-key nats* /etc/sonde/agents/${id}/
    systemctl enable --now sonde-agent@${id}
    journalctl -fu sonde-agent@${id} -o cat

## With Docker or Podman

As root in this folder; the image's user has the id 10001:

    chown 10001:10001 agent.env location-key nats*
    docker compose up -d
    docker compose logs -f

## With Node alone

In this folder, with Sonde ${VERSION} in /opt/sonde:

    set -a && . ./agent.env && /opt/sonde/node_modules/.bin/node /opt/sonde/dist/main.js serve

The agent is working when \`curl http://127.0.0.1:9464/readyz\` says so (in a container:
\`docker compose exec agent node /app/dist/main.js health\`) and the hub's \`GET /api/2/agents/\`
lists it.
`;
