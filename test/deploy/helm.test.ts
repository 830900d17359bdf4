// The chart, rendered by a real Helm with its example values: the result is valid for Kubernetes,
// and Sonde understands it.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { rootCertificates } from "node:tls";
import { describe, expect, it } from "vitest";
import { runCommand } from "../../src/commands/command-line.ts";
import { STOP_DEADLINE_MS } from "../../src/compose/process.ts";
import { loadConfig } from "../../src/config/config.ts";
import type { Config } from "../../src/config/config.ts";
import { SETTINGS } from "../../src/config/settings.ts";
import type { Setting } from "../../src/config/setting.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { createRegistry } from "../../src/runtime/metrics.ts";
import { createOpsServer } from "../../src/runtime/ops-server.ts";
import { VERSION } from "../../src/version.ts";
import { helm } from "../support/helm.ts";
import { typeFaults } from "./kubernetes-types.ts";
import {
  CHART,
  componentsOf,
  EXAMPLES,
  ofKind,
  render,
  selected,
  valuesOf,
  workloadsOf,
} from "./manifests.ts";
import type { Container, Example, Manifest, Workload } from "./manifests.ts";
import { ruleGroups } from "../support/alert-rules.ts";

const rendered = Object.fromEntries(
  await Promise.all(EXAMPLES.map(async (example) => [example, await render(...valuesOf(example))])),
) as Record<Example, Manifest[]>;
const all = EXAMPLES.flatMap((example) =>
  workloadsOf(rendered[example]).map((workload) => ({ example, workload })),
);
const settings: readonly Setting<unknown>[] = Object.values(SETTINGS);
/** The settings that may come from a file. */
const fileNames = settings.flatMap(({ env, secret, hasFile }) => (secret || hasFile ? [env] : []));
const secretNames = settings.flatMap(({ env, secret }) => (secret ? [env] : []));

interface Section {
  readonly properties: { readonly secrets: { readonly properties: object } };
}

/** The part of values.schema.json that is read here. */
interface Schema {
  readonly properties: { readonly hub: Section; readonly agents: Section };
}

/** For each setting from a file, a value that it accepts. */
const SAMPLES: Readonly<Record<string, string>> = {
  SONDE_BOOTSTRAP_KEY: "x".repeat(32),
  SONDE_DATABASE_URL: "postgres://sonde@db/sonde",
  SONDE_DATABASE_CA: rootCertificates[0] ?? "",
  SONDE_LOCATION_KEY: "0".repeat(64),
  SONDE_MASTER_KEY: "1".repeat(64),
  SONDE_MASTER_KEYS_OLD: "2".repeat(64),
  SONDE_NATS_URL: "tls://nats.example.com:4222",
  SONDE_NATS_CA: rootCertificates[0] ?? "",
  SONDE_NATS_NKEY: `SU${"A".repeat(56)}`,
  SONDE_NATS_CREDENTIALS: "BEGIN NATS USER JWT BEGIN USER NKEY SEED",
};

/** Loads the container's configuration, with its secrets in files as Kubernetes mounts them. */
function configOf({ env }: Container): Config {
  const folder = mkdtempSync(join(tmpdir(), "sonde-chart-"));
  try {
    const given = env.map(({ name, value }) => {
      if (!name.endsWith("_FILE")) return [name, value];
      const file = join(folder, basename(value));
      writeFileSync(file, SAMPLES[name.replace(/_FILE$/, "")] ?? "no sample");
      return [name, file];
    });
    return loadConfig(Object.fromEntries(given));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function inFile<T>(text: string, use: (file: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "sonde-chart-"));
  try {
    const file = join(folder, "values.yaml");
    writeFileSync(file, text);
    return await use(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const serving = all.filter(({ workload }) => workload.component !== "migration");
const portNamed = ({ ports = [] }: Container, name: string): number | undefined =>
  ports.find((port) => port.name === name)?.containerPort;

describe("the chart", () => {
  it.each(EXAMPLES)("passes the strict linter with the values of '%s'", async (example) => {
    const { failed, stdout, stderr } = await helm("lint", "--strict", CHART, ...valuesOf(example));
    expect(failed, stdout + stderr).toBe(false);
    // Lint reports only what the chart itself refuses, and that its rules are links to
    // deploy/prometheus/.
    const said = stderr.split("\n").filter((line) => !line.includes("found symbolic link"));
    expect(said).toEqual([""]);
  });

  it("says how to replace a first key that is in a log by one of its level", async () => {
    const secrets = ["SONDE_MASTER_KEY", "SONDE_DATABASE_URL"];
    const values = [
      "image.repository=sonde",
      "hub.enabled=true",
      "hub.natsUrl=nats://nats:4222",
      ...secrets.map((name) => `hub.secrets.${name}.existingSecret=sonde-hub`),
    ].flatMap((value) => ["--set", value]);
    const { stdout } = await helm("install", "sonde", CHART, "--dry-run=client", ...values);
    expect(stdout).toMatch(/ keys create --level OWNER\n.* keys revoke 0-first-key\n/);
  });

  it.each(EXAMPLES)("renders valid Kubernetes objects from the values of '%s'", async (example) => {
    const known = rendered[example].filter(
      ({ apiVersion }) => apiVersion !== "monitoring.coreos.com/v1",
    );
    expect(known.length).toBeGreaterThan(3);
    expect(await typeFaults(known)).toBe("");
  });

  it("takes the values of docs/kubernetes.md", async () => {
    const page = readFileSync("docs/kubernetes.md", "utf8");
    const values = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = ""]) => text);
    const components = await Promise.all(
      values.map((text) =>
        inFile(text, async (file) => componentsOf(workloadsOf(await render("-f", file)))),
      ),
    );
    expect(components).toEqual([["api", "scheduler", "aggregator", "migration"], ["agent"]]);
  });

  it("leaves no secrets in the clone, as docs/kubernetes.md installs it", () => {
    const page = readFileSync("docs/kubernetes.md", "utf8");
    const [, steps = ""] = /```sh\n(kubectl create namespace .*?)```/s.exec(page) ?? [];
    const files = [...steps.matchAll(/--from-file (\w+)/g)].map(([, name = ""]) => name);
    const kept = files.filter((name) => !new RegExp(`^rm .*\\b${name}\\b`, "m").test(steps));
    expect(kept).toEqual(["SONDE_MASTER_KEY", "SONDE_BOOTSTRAP_KEY"]);
  });

  it("fails the type check with a misspelt field, or without a required one", async () => {
    const [deployment] = structuredClone(ofKind(rendered.hub, "Deployment"));
    const container = deployment?.spec.template?.spec.containers[0] as Record<string, unknown>;
    container["readynessProbe"] = container["readinessProbe"];
    expect(await typeFaults([deployment as Manifest])).toContain(
      `'"readynessProbe"' does not exist`,
    );
    delete container["readynessProbe"];
    delete container["name"];
    expect(await typeFaults([deployment as Manifest])).toContain("Property 'name' is missing");
  });

  it("runs the hub, a region's agents, or both", () => {
    const hub = ["api", "scheduler", "aggregator", "migration"];
    const components = (example: Example) => componentsOf(workloadsOf(rendered[example]));
    expect(new Set(components("hub"))).toEqual(new Set(hub));
    expect(components("region")).toEqual(["agent"]);
    expect(new Set(components("full"))).toEqual(new Set([...hub, "agent"]));
  });

  it("has the version that it installs", () => {
    const chart = readFileSync(join(CHART, "Chart.yaml"), "utf8");
    expect(chart).toContain(`\nappVersion: ${VERSION}\n`);
  });
});

describe("a pod of the chart", () => {
  it.each(all)("gives Sonde settings that it accepts: $example, $workload.component", (of) => {
    const { component, container } = of.workload;
    const config = configOf(container);
    const { args, volumeMounts } = container;
    expect(volumeMounts.map(({ mountPath }) => mountPath)).toContain(config.dataDir);
    if (component === "migration") return expect(args).toEqual(["migrate"]);
    // From the environment: other commands in the pod have no argument of `serve`.
    expect([args, config.roles]).toEqual([["serve"], [component]]);
    expect(config.opsHost).toBe("0.0.0.0");
    expect(portNamed(container, "ops")).toBe(config.opsPort);
    if (component !== "api") return expect(portNamed(container, "http")).toBeUndefined();
    expect(config.host).toBe("0.0.0.0");
    expect(portNamed(container, "http")).toBe(config.port);
  });

  it("passes the values on to Sonde", () => {
    const configs = Object.fromEntries(
      workloadsOf(rendered.full).map(({ component, container }) => [
        component,
        configOf(container),
      ]),
    ) as Record<string, Config>;
    expect(configs["api"]).toMatchObject({
      location: "home",
      logLevel: "debug",
      tokenInQuery: false,
      maxRequestsPerMinute: 1_000_000,
      publicUrl: "https://sonde.example.com",
      retentionRaw: 30,
    });
    expect(configs["scheduler"]?.egressAllow).toEqual(["10.20.0.7:8443"]);
    expect(configs["agent"]).toMatchObject({
      location: "home",
      agentConcurrency: 800,
      agentThreads: 2,
      egressAllow: [
        "10.20.0.0/16",
        "10.30.0.1",
        "10.30.0.2:8443",
        "[fd00:20::/32]:443",
        "fd00:30::1",
        "localhost:8080",
      ],
    });
  });

  it("passes on what YAML does not keep as text: on, off and fractions", async () => {
    const onOff = settings.flatMap(({ env, allowed }) => (allowed === "on or off" ? [env] : []));
    const off = Object.fromEntries(onOff.map((env) => [env, false]));
    const values = JSON.stringify({ ...off, SONDE_OTLP_SAMPLE: 0.25 });
    const objects = await render(...valuesOf("hub"), "--set-json", `hub.settings=${values}`);
    const [{ container }] = workloadsOf(objects) as [Workload];
    expect(onOff).toContain("SONDE_MIGRATE");
    expect(container.env.filter(({ name }) => onOff.includes(name))).toEqual(
      onOff.toSorted().map((name) => ({ name, value: "off" })),
    );
    expect(configOf(container)).toMatchObject({ migrate: "off", otlpSample: 0.25 });
  });

  it("is probed where the ops server answers", async () => {
    const registry = createRegistry({ version: VERSION });
    const log = createLogger("silent");
    const ops = createOpsServer({
      host: "127.0.0.1",
      port: 0,
      maxConnections: 10,
      registry,
      state: () => "running",
      checks: [],
      log,
    });
    await ops.start();
    try {
      const monitors = ofKind(rendered.full, "ServiceMonitor").flatMap(
        ({ spec }) => spec.endpoints,
      );
      const paths = serving.flatMap(({ workload: { container } }) => {
        const { startupProbe, livenessProbe, readinessProbe } = container;
        const probes = [startupProbe, livenessProbe, readinessProbe];
        expect(probes.map((probe) => probe?.httpGet.port)).toEqual(["ops", "ops", "ops"]);
        return probes.map((probe) => probe?.httpGet.path);
      });
      expect(new Set(paths)).toEqual(new Set(["/livez", "/readyz"]));
      for (const path of new Set([...paths, ...monitors.map((endpoint) => endpoint?.path)])) {
        const answer = await fetch(`http://127.0.0.1:${ops.address()?.port}${path}`);
        expect([path, answer.status]).toEqual([path, 200]);
      }
    } finally {
      await ops.stop();
    }
  });

  it("gets its secrets as files, from Secrets that are only named", () => {
    for (const example of EXAMPLES) expect(ofKind(rendered[example], "Secret")).toEqual([]);
    for (const { workload } of all) {
      const { container, pod } = workload;
      const folder = container.volumeMounts.find(({ name }) => name === "secrets")?.mountPath;
      const files = container.env.filter(({ name }) => name.endsWith("_FILE"));
      const sources = pod.volumes.find(({ name }) => name === "secrets")?.projected?.sources ?? [];
      const items = sources.flatMap((source) =>
        Object.values(source).flatMap(({ items }) => items),
      );
      expect(files.length).toBeGreaterThan(0);
      expect(files.map(({ value }) => dirname(value))).toEqual(files.map(() => folder));
      expect(items.map(({ path }) => `${path}_FILE`)).toEqual(files.map(({ name }) => name));
      const plain = container.env
        .map(({ name }) => name)
        .filter((name) => secretNames.includes(name));
      // Only URLs without credentials: the chart refuses others.
      expect(plain.filter((name) => name !== "SONDE_NATS_URL")).toEqual([]);
    }
  });

  it("may have every setting that Sonde reads from a file, in one role or another", () => {
    const schema = JSON.parse(readFileSync(join(CHART, "values.schema.json"), "utf8")) as Schema;
    const { hub, agents } = schema.properties;
    const names = [hub, agents].flatMap(({ properties: { secrets } }) =>
      Object.keys(secrets.properties),
    );
    const advice = "hub.secrets and agents.secrets in values.schema.json, together";
    expect(new Set(names), advice).toEqual(new Set(fileNames));
  });

  it("has no more secrets than its role needs", () => {
    const secrets = Object.fromEntries(
      workloadsOf(rendered.full).map(({ component, container }) => [
        component,
        container.env.flatMap(({ name }) => (name.endsWith("_FILE") ? [name.slice(6, -5)] : [])),
      ]),
    );
    const database = ["DATABASE_CA", "DATABASE_URL", "MASTER_KEY", "MASTER_KEYS_OLD"];
    expect(secrets).toEqual({
      api: ["BOOTSTRAP_KEY", ...database, "NATS_CA", "NATS_CREDENTIALS"],
      scheduler: [...database, "NATS_CA", "NATS_CREDENTIALS"],
      aggregator: [...database, "NATS_CA", "NATS_CREDENTIALS"],
      migration: database,
      agent: ["LOCATION_KEY", "NATS_CREDENTIALS"],
    });
  });

  it.each(all)("runs with the least privileges: $example, $workload.component", ({ workload }) => {
    expect(workload.pod).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 10_001,
        seccompProfile: { type: "RuntimeDefault" },
      },
    });
    expect(workload.container["securityContext"]).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(workload.container["resources"]).toMatchObject({ requests: {}, limits: {} });
  });

  it("has as much time to stop as Sonde may take", () => {
    for (const { workload } of serving) {
      const pause = workload.container.lifecycle?.preStop.sleep.seconds ?? 0;
      const seconds = (workload.pod.terminationGracePeriodSeconds ?? 30) - pause;
      expect(seconds * 1000).toBeGreaterThan(STOP_DEADLINE_MS);
    }
  });

  it("of an agent keeps its folder on its own volume, unless the values say otherwise", async () => {
    const volumes = (manifests: readonly Manifest[]) => ({
      claims: ofKind(manifests, "StatefulSet").flatMap(({ spec }) =>
        (spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata.name),
      ),
      own: workloadsOf(manifests).flatMap(({ pod }) => pod.volumes.map(({ name }) => name)),
    });
    expect(volumes(rendered.region)).toEqual({ claims: ["data"], own: ["secrets"] });
    const without = await render(
      ...valuesOf("region"),
      "--set",
      "agents.persistence.enabled=false",
    );
    expect(volumes(without)).toEqual({ claims: [], own: ["data", "secrets"] });
  });
});

describe("the resources around the pods", () => {
  const manifests = rendered.full;
  const workloads = workloadsOf(manifests);

  /** Returns, by name, what each object of a kind finds with its selector. */
  const foundBy = (kind: string, selectorOf: (manifest: Manifest) => object | undefined) =>
    Object.fromEntries(
      ofKind(manifests, kind).map((manifest) => [
        manifest.metadata.name,
        componentsOf(selected(workloads, { matchLabels: {}, ...selectorOf(manifest) })),
      ]),
    );
  const pods = ["api", "scheduler", "aggregator", "agent"];

  it("selects the pods that it is for", () => {
    const bySelector = ({ spec }: Manifest) => spec.selector;
    expect(foundBy("PodDisruptionBudget", bySelector)).toEqual(
      Object.fromEntries(pods.map((component) => [`monitor-${component}`, [component]])),
    );
    expect(foundBy("Deployment", bySelector)).toEqual({
      "monitor-api": ["api"],
      "monitor-scheduler": ["scheduler"],
      "monitor-aggregator": ["aggregator"],
    });
    expect(foundBy("StatefulSet", bySelector)).toEqual({ "monitor-agent": ["agent"] });
    expect(foundBy("Service", ({ spec }) => ({ matchLabels: spec.selector }))).toEqual({
      "monitor-api": ["api"],
      "monitor-ops": pods,
    });
    const policies = foundBy("NetworkPolicy", ({ spec }) => spec.podSelector);
    expect(policies).toMatchObject({ "monitor-api": ["api"], "monitor-agent": ["agent"] });
    expect(policies["monitor-hub"]?.toSorted()).toEqual([
      "aggregator",
      "api",
      "migration",
      "scheduler",
    ]);
  });

  it("names ports, Services and Deployments that exist", () => {
    const portsOf = (found: readonly Workload[]) =>
      found.map(({ container }) => (container.ports ?? []).map(({ name }) => name));
    for (const { spec } of ofKind(manifests, "Service"))
      for (const ports of portsOf(selected(workloads, { matchLabels: spec.selector ?? {} })))
        expect(ports).toContain(spec.ports?.[0]?.targetPort);
    const names = (kind: string) => ofKind(manifests, kind).map(({ metadata }) => metadata.name);
    for (const { spec } of ofKind(manifests, "StatefulSet"))
      expect(names("Service")).toContain(spec.serviceName);
    for (const { spec } of ofKind(manifests, "HorizontalPodAutoscaler"))
      expect(names(spec.scaleTargetRef?.kind ?? "")).toContain(spec.scaleTargetRef?.name);
    const [monitor] = ofKind(manifests, "ServiceMonitor");
    const monitored = ofKind(manifests, "Service").filter(({ metadata }) =>
      Object.entries(monitor?.spec.selector?.matchLabels ?? {}).every(
        ([key, value]) => metadata.labels[key] === value,
      ),
    );
    expect(monitored.map(({ metadata }) => metadata.name)).toEqual(["monitor-ops"]);
    expect(monitored[0]?.spec.ports?.[0]?.name).toBe(monitor?.spec.endpoints?.[0]?.port);
  });

  it("gives Prometheus' operator the alert rules and the labels they use", () => {
    const [rule] = ofKind(rendered.full, "PrometheusRule");
    expect(rule?.metadata.labels).toHaveProperty("release", "prometheus");
    expect(rule?.spec.groups).toEqual(ruleGroups);
    expect(ofKind([...rendered.hub, ...rendered.region], "PrometheusRule")).toEqual([]);
    const [monitor] = ofKind(rendered.full, "ServiceMonitor");
    const relabelings = monitor?.spec.endpoints?.[0]?.relabelings;
    expect(relabelings?.map(({ targetLabel, replacement }) => [targetLabel, replacement])).toEqual([
      ["job", "sonde"],
      ["service", undefined],
      ["location", "home"],
    ]);
  });

  const egressOf = (example: Example, name: string) =>
    ofKind(rendered[example], "NetworkPolicy").find(({ metadata }) => metadata.name === name)?.spec
      .egress ?? [];
  const blocksOf = (example: Example, name: string) =>
    egressOf(example, name).flatMap(({ to = [], ports = [] }) =>
      to.flatMap(({ ipBlock }) =>
        ipBlock ? [{ ...ipBlock, ports: ports.map(({ port }) => port) }] : [],
      ),
    );

  it("closes private ranges to agents, except for what egressAllow opens", () => {
    const [four, six, ...opened] = blocksOf("full", "monitor-agent");
    expect(four).toMatchObject({ cidr: "0.0.0.0/0", ports: [] });
    expect(four?.except).toEqual(
      expect.arrayContaining(["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"]),
    );
    expect(six).toMatchObject({ cidr: "::/0", ports: [] });
    expect(six?.except).toEqual(expect.arrayContaining(["fc00::/7", "fe80::/10"]));
    expect(opened).toEqual([
      { cidr: "10.20.0.0/16", ports: [] },
      { cidr: "10.30.0.1/32", ports: [] },
      { cidr: "10.30.0.2/32", ports: [8443] },
      { cidr: "fd00:20::/32", ports: [443] },
      { cidr: "fd00:30::1/128", ports: [] },
    ]);
    expect(blocksOf("region", "sonde-agent").map(({ cidr }) => cidr)).toEqual([
      "0.0.0.0/0",
      "::/0",
    ]);
  });

  it("lets the hub reach what its settings name, and only its scheduler reach public addresses", () => {
    const ports = (example: Example, name: string) =>
      egressOf(example, name).map(({ ports = [] }) => ports.map(({ port }) => port));
    expect(ports("hub", "sonde-hub")).toEqual([[53, 53], [4222], [5432]]);
    expect(ports("full", "monitor-hub")).toEqual([[53, 53], [4223], [5432, 6432], [4318]]);
    expect(blocksOf("hub", "sonde-scheduler").map(({ cidr }) => cidr)).toEqual([
      "0.0.0.0/0",
      "::/0",
    ]);
  });

  it.each([
    ["https://traces.example.com/v1/traces", 443],
    ["http://collector", 80],
    ["http://[fd00::1]:4318", 4318],
  ])("lets the hub reach the collector at %s", async (url, port) => {
    const objects = await render(
      ...valuesOf("hub"),
      "--set-string",
      `hub.settings.SONDE_OTLP_URL=${url}`,
    );
    const [policy] = ofKind(objects, "NetworkPolicy");
    expect(policy?.spec.egress?.at(-1)).toEqual({ ports: [{ protocol: "TCP", port }] });
  });

  it.each(["off", "false"])(
    "migrates the empty database where no pod may (SONDE_MIGRATE=%s)",
    async (value) => {
      const objects = await render(
        ...valuesOf("hub"),
        "--set",
        `hub.settings.SONDE_MIGRATE=${value}`,
      );
      const [job] = ofKind(objects, "Job");
      expect(job?.metadata.annotations?.["helm.sh/hook"]).toBe("pre-install,pre-upgrade");
    },
  );

  it("migrates the database before an upgrade replaces pods", async () => {
    const [job] = ofKind(rendered.hub, "Job");
    expect(job?.metadata.annotations?.["helm.sh/hook"]).toBe("pre-upgrade");
    const folder = mkdtempSync(join(tmpdir(), "sonde-chart-"));
    try {
      const printed: string[] = [];
      const [{ container }] = workloadsOf([job as Manifest]) as [Workload];
      await runCommand([...container.args], { SONDE_DATA_DIR: folder }, (text) =>
        printed.push(text),
      );
      expect(printed.at(-1)).toMatch(/^applied \d{4}-/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("wrong values", () => {
  const set = (...assignments: readonly string[]) =>
    assignments.flatMap((assignment) => ["--set", assignment]);
  const REFUSED: readonly (readonly [what: string, values: string[], message: string])[] = [
    ["nothing", [], "nothing to install: set hub.enabled, agents.enabled, or both"],
    ["an unknown value", [...valuesOf("hub"), ...set("hub.replica=2")], "'replica' not allowed"],
    [
      "a wrong type",
      [...valuesOf("hub"), ...set("hub.api.replicas=two")],
      "'/hub/api/replicas': got string, want integer",
    ],
    [
      "a secret instead of a reference",
      [...valuesOf("hub"), ...set("hub.secrets.SONDE_MASTER_KEY=abc")],
      "'/hub/secrets/SONDE_MASTER_KEY': got string, want object",
    ],
    [
      "no image",
      [...valuesOf("hub"), ...set("image.repository=")],
      "image.repository is missing: name the repository",
    ],
    [
      "no master key",
      [...valuesOf("region"), ...set("hub.enabled=true")],
      "hub.secrets.SONDE_MASTER_KEY is missing: name the Secret that holds it",
    ],
    [
      "agents without a location",
      [...valuesOf("region"), ...set("agents.location=")],
      "agents.location is missing",
    ],
    [
      "NATS nowhere",
      [...valuesOf("hub"), ...set("hub.natsUrl=")],
      "set either hub.natsUrl, without credentials, or hub.secrets.SONDE_NATS_URL",
    ],
    [
      "a name where an address belongs",
      [...valuesOf("region"), ...set("agents.egressAllow={intranet.example.com}")],
      "agents.egressAllow: 'intranet.example.com' is not an address, a range",
    ],
    [
      "what the chart decides",
      [...valuesOf("hub"), ...set("hub.settings.SONDE_OPS_PORT=1")],
      "hub.settings has what other values set or the chart decides: SONDE_OPS_PORT",
    ],
  ];

  const refusal = (...values: readonly string[]): Promise<string> =>
    render(...values).then(
      () => "not refused",
      (cause: Error) => cause.message,
    );

  it.each(REFUSED)("are refused: %s", async (_, values, message) => {
    expect(await refusal(...values)).toContain(message);
  });

  it("are refused and not shown: credentials in the URL of NATS", async () => {
    const values = [...valuesOf("hub"), ...set("hub.natsUrl=tls://user:hunter2@nats:4222")];
    const message = await refusal(...values);
    expect(message).toContain("hub.natsUrl contains credentials: put the URL into a Secret");
    expect(message).not.toContain("hunter2");
  });

  it("are refused: each secret setting of Sonde among the settings", async () => {
    const names = secretNames.flatMap((name) => [name, `${name}_FILE`]);
    const values = set(...names.map((name) => `hub.settings.${name}=x`));
    const message = await refusal(...valuesOf("hub"), ...values);
    expect(message).toContain("hub.settings has secrets");
    const missing = names.filter((name) => !message.includes(name));
    expect(missing, "add them to sonde.secretSettings in templates/_checks.tpl").toEqual([]);
  });
});
