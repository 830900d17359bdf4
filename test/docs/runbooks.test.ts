// The runbooks agree with the alerts and the program.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { MISSED_REASONS } from "../../src/model/missed.ts";
import { runCommand } from "../../src/commands/command-line.ts";
import { readConfig } from "../../src/config/config.ts";
import { makeFolder } from "../support/process.ts";
import { startPrometheus } from "../support/prometheus.ts";
import { until } from "../support/until.ts";
import {
  anchorsIn,
  FOLDER,
  isOfAlert,
  linksIn,
  readmeOf,
  readPages,
  recordedIn,
  sondeCommandsIn,
  setupOf,
  sondeMentionsIn,
  variablesIn,
} from "./runbook-pages.ts";

interface RuleFile {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert?: string;
      readonly record?: string;
      readonly expr: string;
      readonly labels?: { readonly severity?: string };
      readonly annotations?: { readonly runbook_url: string };
    }[];
  }[];
}

const RULES = ["sonde", "calls"].flatMap((file) => {
  const text = readFileSync(`deploy/prometheus/rules/${file}.yml`, "utf8");
  return (parse(text) as RuleFile).groups.flatMap(({ rules }) => rules);
});
const ALERTS = RULES.filter((rule) => rule.alert !== undefined);
const PAGES = readPages();
const README = readmeOf(PAGES);

describe("the pages of alerts", () => {
  it("are those that the rules link to", () => {
    const linked = ALERTS.map(
      ({ annotations }) => /([^/]*)\.md$/.exec(annotations?.runbook_url ?? "")?.[1],
    );
    expect(linked).toEqual(ALERTS.map(({ alert }) => alert));
    const pages = PAGES.filter(isOfAlert).map(({ name }) => name);
    expect(new Set(pages), "the pages of alerts in docs/runbooks/").toEqual(new Set(linked));
  });

  it("have the four sections, and name themselves", () => {
    for (const { name, text, sections } of PAGES.filter(isOfAlert)) {
      expect(sections, name).toEqual(["Meaning", "Impact", "Diagnosis", "Mitigation"]);
      expect(text, name).toMatch(`# ${name}\n`);
    }
  });

  it("are listed with their severities, and so are tasks", () => {
    const listed = new Map(
      [...README.text.matchAll(/^\| \[([\w-]+)\]\(\1\.md\) +\| ([^|]*?) *\|/gm)].map(
        ([, name = "", severities = ""]) => [name, severities],
      ),
    );
    const others = PAGES.filter((page) => page !== README).map(({ name }) => name);
    expect(new Set(listed.keys()), "the tables of docs/runbooks/README.md").toEqual(
      new Set(others),
    );
    const severities = Map.groupBy(ALERTS, ({ alert }) => alert ?? "");
    for (const [alert, rules] of severities) {
      const given = new Set(rules.map(({ labels }) => labels?.severity));
      const severitiesOf = `severities of ${alert} in docs/runbooks/README.md`;
      expect(new Set(listed.get(alert)?.split(", ")), severitiesOf).toEqual(given);
    }
  });
});

describe("the pages contain valid", () => {
  it("links", () => {
    const broken = PAGES.flatMap(({ name, text }) =>
      linksIn(text)
        .filter((link) => !leads(link, text))
        .map((link) => `${name}: ${link}`),
    );
    expect(broken).toEqual([]);
  });

  it("commands of the program", async () => {
    const faults: string[] = [];
    for (const { name, text, blocks } of PAGES) {
      const inBlocks = blocks.flatMap((block) => sondeCommandsIn(block.text));
      const inText = sondeMentionsIn(text);
      for (const command of [...inBlocks, ...inText]) {
        const fault = await faultOf(command, { groups: inText.includes(command) });
        if (fault !== undefined) faults.push(`${name}: sonde ${command}: ${fault}`);
      }
    }
    expect(faults).toEqual([]);
  });

  it("files of the program in folders that its user may write", () => {
    const written = /(?<=--(?:out|bundle) |sonde backup "?)\/[^\s"`]+/g;
    const elsewhere = PAGES.flatMap(({ name, text }) => {
      const given = [...text.matchAll(/^install -d .*-o sonde-hub .* (\/\S+)$/gm)].map(
        ([, to]) => to,
      );
      return (text.match(written) ?? [])
        .filter((file) => !given.includes(dirname(file)))
        .map((file) => `${name}: ${file}`);
    });
    expect(elsewhere).toEqual([]);
  });

  it("one organization for an owner, in all commands of a page", () => {
    for (const { name, blocks } of PAGES) {
      const owners = blocks
        .flatMap((block) => sondeCommandsIn(block.text))
        .flatMap((command) => /--owner \S+(?: --org \S+)?/.exec(command) ?? []);
      expect(new Set(owners).size, `${name}: ${owners.join(", ")}`).toBeLessThan(2);
    }
  });

  it("recording rules", () => {
    const recorded = new Set(RULES.map(({ record }) => record));
    const unknown = PAGES.flatMap(({ text }) => recordedIn(text)).filter(
      (rule) => !recorded.has(rule),
    );
    expect(unknown).toEqual([]);
  });

  it("a key for commands over the API, where the file of the first key was deleted", () => {
    const { text = "", blocks = [] } = PAGES.find(({ name }) => name === "first-install") ?? {};
    expect(text).toMatch(/The first key .*\bdelete\s+the file\. The journal keeps it/s);
    const overApi = blocks.filter(({ text }) => /^sonde (?:run|calls|results)\b/m.test(text));
    expect(overApi).toHaveLength(1);
    for (const block of overApi) expect(block.text).toMatch(/^WITH=\(SONDE_API_KEY=/);
  });

  it("the folders that the configuration of NATS names", () => {
    const [, store = "none"] =
      /store_dir: (\S+)/.exec(readFileSync("deploy/nats/nats-server.conf", "utf8")) ?? [];
    const { blocks = [] } = PAGES.find(({ name }) => name === "first-install") ?? {};
    const block = blocks.find(({ text }) => text.includes("nats-server.conf"));
    expect(block?.text).toContain(`install -d -o nats -g nats ${store}\n`);
  });

  it("an upgrade that switches units with the version", () => {
    const { blocks = [] } = PAGES.find(({ name }) => name === "upgrade") ?? {};
    const switching = blocks.filter(({ text }) => /^ln -sfn sonde-/m.test(text));
    expect(switching).toHaveLength(2);
    for (const { text } of switching)
      expect(text).toMatch(/^cp .*\/systemd\/\*\.service .*daemon-reload$/m);
  });

  it("a rotation that leaves the other settings of agents", () => {
    const page = PAGES.find(({ name }) => name === "rotate-keys")?.text ?? "";
    expect(page).not.toMatch(/copy the folder/i);
    expect(page.match(/[Cc]opy `location-key` and `nats.nk`/g)).toHaveLength(2);
  });

  it("a cause for each reason for MISSED that the alert counts", () => {
    const { text = "" } = PAGES.find(({ name }) => name === "SondeRunsMissed") ?? {};
    const { expr = "" } = RULES.find(({ record }) => record?.includes("missed_runs")) ?? {};
    const ignored = /reason!~"([^"]+)"/.exec(expr)?.[1]?.split("|") ?? [];
    const counted = [...MISSED_REASONS, "started_late"].filter((code) => !ignored.includes(code));
    const explained = [...text.matchAll(/^\| `(\w+)` +\|/gm)].map(([, code]) => code);
    expect(
      new Set(explained),
      "the table of SondeRunsMissed.md: add a row, or ignore the reason in the alert rule",
    ).toEqual(new Set(counted));
  });

  it("the way from runs that are MISSED to their results in a spool", () => {
    const row = PAGES.find(({ name }) => name === "SondeRunsMissed")?.text.match(
      /^\| `agent_lost`.*/m,
    );
    expect(row?.[0]).toContain("SondeSpoolGrowing.md");
  });

  it("how Prometheus reaches a process on another machine, where one is installed", () => {
    for (const name of ["first-install", "add-a-region"])
      expect(PAGES.find((page) => page.name === name)?.text, name).toContain("SONDE_OPS_HOST");
  });

  it.each(["SondeProcessDown", "SondeProcessRestarting"])(
    "a search for why a process does not start that finds its wrong settings: %s",
    (page) => {
      const text = PAGES.find(({ name }) => name === page)?.text ?? "";
      const search = new RegExp(/logs "\$SERVICE" '(\^[^']+)'/.exec(text)?.[1] ?? "none");
      const { faults } = readConfig({ SONDE_PORT: "x", SONDE_PROT: "1" }, { SONDE_ROLES: "x" });
      expect(faults).toHaveLength(3);
      const log = ["sonde: invalid configuration:", ...faults.map((fault) => `  ${fault}`)];
      expect(log.filter((line) => search.test(line))).toEqual(log);
    },
  );

  it("queries that do not depend on how an operator names services", () => {
    const named = PAGES.flatMap(({ name, blocks }) =>
      blocks
        .flatMap(({ text }) => text.match(/service=~?"\w+[^\n]*/g) ?? [])
        .map((selector) => `${name}: ${selector}`),
    );
    expect(named).toEqual([]);
  });

  it("variables, which the README's shell sets", () => {
    const set = new Set(setupOf(README).match(/\b[A-Z][A-Z_]*(?==)/g));
    const unknown = PAGES.flatMap(({ name, blocks }) =>
      blocks
        .flatMap(({ text }) => variablesIn(text))
        .filter((variable) => !set.has(variable))
        .map((variable) => `${name}: ${variable}`),
    );
    expect(unknown).toEqual([]);
  });

  it.each(["systemd", "compose", "kubernetes", "docker"])(
    "a `sonde` for %s, with the settings in WITH",
    (mark) => {
      using machine = makeFolder();
      const { path } = machine;
      const script = (name: string, text: string): void =>
        writeFileSync(join(path, name), `#!/bin/bash\n${text}\n`, { mode: 0o755 });
      const skip = "while (($#)) && [[ $1 != sh && $1 != *node ]]; do shift; done";
      // Others see the command line. A container has settings of its own, and none of the shell's.
      const contained = `[[ "$*" != *NEW* ]] || exit 1
${skip}
cd /
exec env -i PATH="$PATH" SONDE_MASTER_KEY=OLD "$@"`;
      script("runuser", `${skip}\nexec "$@"`);
      script("docker", contained);
      script("kubectl", contained);
      script("node", 'echo "$SONDE_MASTER_KEY $PWD ${*:2}"');
      writeFileSync(join(path, "hub.env"), "SONDE_MASTER_KEY=OLD\n");
      const definition = README.blocks
        .find((block) => block.mark === mark)
        ?.text.replaceAll("/etc/sonde/hub.env", join(path, "hub.env"))
        .replaceAll("/opt/sonde/node_modules/.bin/node", join(path, "node"))
        .replaceAll(/\/var\/lib\/sonde\/hub|\/data\b/g, path);
      const replaced = "WITH=(SONDE_MASTER_KEY='NEW & ?' SONDE_LOG_LEVEL=warn)";
      const input = `WITH=()\n${definition}\nsonde keys list\n${replaced}\nsonde keys list`;
      const env = { PATH: `${path}:${process.env["PATH"]}` };
      const { stdout, stderr } = spawnSync("bash", ["--norc", "-eu"], {
        input,
        env,
        encoding: "utf8",
      });
      expect(stdout, stderr).toBe(`OLD ${path} keys list\nNEW & ? ${path} keys list\n`);
    },
  );

  it("a `sonde` for systemd, with the roles of hub.env, as the unit", () => {
    using machine = makeFolder();
    const { path } = machine;
    const script = (name: string, text: string): void =>
      writeFileSync(join(path, name), `#!/bin/bash\n${text}\n`, { mode: 0o755 });
    script("runuser", 'exec "${@:4}"');
    script("node", 'echo "roles: $SONDE_ROLES"');
    const definition = README.blocks
      .find(({ mark }) => mark === "systemd")
      ?.text.replaceAll("/etc/sonde/hub.env", join(path, "hub.env"))
      .replaceAll("/opt/sonde/node_modules/.bin/node", join(path, "node"))
      .replaceAll("/var/lib/sonde/hub", path);
    const rolesWith = (settings: string): string => {
      writeFileSync(join(path, "hub.env"), settings);
      const { stdout, stderr } = spawnSync("bash", ["--norc", "-eu"], {
        input: `WITH=()\n${definition}\nsonde keys list`,
        env: { PATH: `${path}:${process.env["PATH"]}` },
        encoding: "utf8",
      });
      return stdout || stderr;
    };
    expect(rolesWith("")).toBe("roles: api,scheduler,aggregator\n");
    expect(rolesWith("SONDE_ROLES=\n")).toBe("roles: \n");
  });

  it("a `logs` for compose, of all containers that are one service in alerts", () => {
    using machine = makeFolder();
    const docker = `case "$*" in
*config*) printf '%s\\n' api agent-paris-1 agent-paris-2 agent-tokyo-1 ;;
*) echo "\${@:7}" ;;
esac`;
    writeFileSync(join(machine.path, "docker"), `#!/bin/bash\n${docker}\n`, { mode: 0o755 });
    const compose = README.blocks.find(({ mark }) => mark === "compose")?.text ?? "";
    const { stdout, stderr } = spawnSync("bash", ["--norc", "-eu"], {
      input: [setupOf(README), compose, "logs agent-paris .", "logs api ."].join("\n"),
      env: { PATH: `${machine.path}:${process.env["PATH"]}` },
      encoding: "utf8",
    });
    expect(stdout, stderr).toBe("2h agent-paris-1 agent-paris-2\n2h api\n");
  });

  it("a `promql` for compose, which prints the same as elsewhere", async () => {
    await using prometheus = await startPrometheus({
      targets: [{ url: "http://127.0.0.1:1", labels: { service: "api" } }],
    });
    await until(async () => expect(await prometheus.query("up")).not.toEqual([]));
    using machine = makeFolder();
    const inContainer = `while (($#)) && [[ $1 != promtool ]]; do shift; done
exec "\${@/#http:*/${prometheus.url}}"`;
    writeFileSync(join(machine.path, "docker"), `#!/bin/bash\n${inContainer}\n`, { mode: 0o755 });
    const compose = README.blocks.find(({ mark }) => mark === "compose")?.text ?? "";
    const queries = ["up", "sum(up) + 0.123456", "absent(up)"].map((query) => `promql '${query}'`);
    const outputOf = (definitions: string) =>
      spawnSync("bash", ["--norc", "-eu"], {
        input: [setupOf(README), `PROMETHEUS=${prometheus.url}`, definitions, ...queries].join(
          "\n",
        ),
        env: { PATH: `${machine.path}:${process.env["PATH"]}` },
        encoding: "utf8",
      }).stdout;
    const output = outputOf(`PROMETHEUS=\n${compose}`);
    expect(output).toBe(outputOf(""));
    expect(output).toMatch(
      /^# up\n0 {2}up,instance:.*\n# sum\(up\).*\n0\.1234 {2}\n# absent\(up\)\nnone\n$/,
    );
  });

  it("shell blocks", () => {
    for (const { name, blocks } of PAGES) {
      const input = blocks.map(({ text }) => text).join("\n");
      const { status, stderr } = spawnSync("bash", ["-n"], { input, encoding: "utf8" });
      expect(status, `${name}: ${stderr}`).toBe(0);
    }
  });
});

/** Whether a link of a page has a target. */
function leads(link: string, page: string): boolean {
  const [file = "", anchor] = link.split("#");
  const path = normalize(join(FOLDER, file));
  if (file !== "" && !existsSync(path)) return false;
  if (anchor === undefined) return true;
  return anchorsIn(file === "" ? page : readFileSync(path, "utf8")).includes(anchor);
}

/** Returns what is wrong with a command of the program, if anything, according to its help. */
async function faultOf(command: string, { groups = false } = {}): Promise<string | undefined> {
  const words = command.split(/ +/);
  const before = words.findIndex((word) => !/^[a-z][a-z-]*$/.test(word));
  const path = before === -1 ? words : words.slice(0, before);
  let help = "";
  await runCommand([...path, "--help"], {}, (text) => (help += text));
  const [, usage = "", rest = ""] = /^Usage: sonde ([a-z -]+?)(?= [[<]|\n)(.*)$/m.exec(help) ?? [];
  if (!`${path.join(" ")} `.startsWith(`${usage} `)) return "there is no such command";
  if (!groups && rest.includes("[command]")) return `the group ${usage} needs a command`;
  const options = command.match(/(?<= )--[a-z-]+/g) ?? [];
  const unknown = options.find((option) => !new RegExp(`${option}\\b`).test(help));
  return unknown && `it takes no ${unknown}`;
}
