// The objects that Kubernetes would get, as Helm renders the chart.
import { parseYaml } from "@redocly/openapi-core";
import { helm } from "../support/helm.ts";

export const CHART = "deploy/helm/sonde";

/** The chart's own examples. */
export const EXAMPLES = ["hub", "region", "full"] as const;
export type Example = (typeof EXAMPLES)[number];

export const valuesOf = (example: Example): string[] => [
  "-f",
  `${CHART}/ci/${example}-values.yaml`,
];

type Labels = Readonly<Record<string, string>>;

/** The fields that tests read; kubernetes-types.ts checks them all. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels: Labels;
    readonly annotations?: Labels;
  };
  readonly spec: Spec;
}

interface Spec {
  readonly template?: { readonly metadata: { readonly labels: Labels }; readonly spec: PodSpec };
  readonly selector?: Labels & { readonly matchLabels?: Labels };
  readonly podSelector?: Selector;
  readonly ports?: readonly { readonly name: string; readonly targetPort: string }[];
  readonly ingress?: readonly { readonly ports: readonly { readonly port: string }[] }[];
  readonly egress?: readonly EgressRule[];
  readonly endpoints?: readonly Endpoint[];
  readonly groups?: readonly unknown[];
  readonly scaleTargetRef?: { readonly kind: string; readonly name: string };
  readonly serviceName?: string;
  readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
}

interface Endpoint {
  readonly port: string;
  readonly path: string;
  readonly relabelings?: readonly { readonly targetLabel: string; readonly replacement?: string }[];
}

export interface Selector {
  readonly matchLabels: Labels;
  readonly matchExpressions?: readonly { readonly key: string; readonly values: string[] }[];
}

export interface EgressRule {
  readonly to?: readonly {
    readonly ipBlock?: { readonly cidr: string; readonly except?: string[] };
  }[];
  readonly ports?: readonly { readonly protocol: string; readonly port: number }[];
}

export interface PodSpec {
  readonly containers: readonly Container[];
  readonly volumes: readonly Volume[];
  readonly terminationGracePeriodSeconds?: number;
  readonly [field: string]: unknown;
}

interface Volume {
  readonly name: string;
  readonly projected?: {
    readonly sources: readonly Readonly<Record<string, Source>>[];
  };
}

interface Source {
  readonly name: string;
  readonly items: readonly { readonly key: string; readonly path: string }[];
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

export interface Container {
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly lifecycle?: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
  readonly [field: string]: unknown;
}

export interface Workload {
  readonly kind: string;
  /** Its `app.kubernetes.io/component`. */
  readonly component: string;
  readonly labels: Labels;
  readonly pod: PodSpec;
  readonly container: Container;
}

/** Throws Helm's message if it refuses the values. */
export async function render(...values: readonly string[]): Promise<Manifest[]> {
  const { failed, stdout, stderr } = await helm("template", "sonde", CHART, ...values);
  if (failed) throw new Error(stderr);
  return stdout
    .split(/^---$/m)
    .map((text) => parseYaml(text) as Manifest | undefined)
    .filter((manifest) => manifest !== undefined);
}

export const workloadsOf = (manifests: readonly Manifest[]): Workload[] =>
  manifests.flatMap(({ kind, spec: { template } }) => {
    const [container, ...others] = template?.spec.containers ?? [];
    if (!template || !container) return [];
    if (others.length > 0) throw new Error(`${kind} has several containers`);
    const { labels } = template.metadata;
    const component = labels["app.kubernetes.io/component"] ?? "";
    return [{ kind, component, labels, pod: template.spec, container }];
  });

export const ofKind = (manifests: readonly Manifest[], kind: string): Manifest[] =>
  manifests.filter((manifest) => manifest.kind === kind);

/** Returns the workloads that a selector matches. */
export const selected = (workloads: readonly Workload[], selector: Selector): Workload[] =>
  workloads.filter(
    ({ labels }) =>
      Object.entries(selector.matchLabels).every(([key, value]) => labels[key] === value) &&
      (selector.matchExpressions ?? []).every(({ key, values }) =>
        values.includes(labels[key] ?? ""),
      ),
  );

export const componentsOf = (workloads: readonly Workload[]): string[] =>
  workloads.map(({ component }) => component);
