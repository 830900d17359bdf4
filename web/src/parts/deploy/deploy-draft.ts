// A deployment as the fields hold it, and the body that saves it.
import type { Deployment } from "../../deployments.ts";
import type { Target } from "../../runs.ts";

/** Numbers are as they are typed. */
export interface DeploymentDraft {
  readonly locations: readonly string[];
  readonly frequency: string;
  /** Seconds; undefined: as proposed. */
  readonly run_delay: string | undefined;
  readonly between_calls_delay: string;
}

/** Proposes the default location, unless the target is deployed there already. */
export const newDraft = (
  deployments: readonly Deployment[],
  defaultLocation: string,
): DeploymentDraft => ({
  locations: deployments.some(({ deployment }) => deployment.location_id === defaultLocation)
    ? []
    : [defaultLocation],
  frequency: "5",
  run_delay: undefined,
  between_calls_delay: "0",
});

export const draftOf = ({ deployment }: Deployment): DeploymentDraft => ({
  locations: [deployment.location_id],
  frequency: String(deployment.frequency),
  run_delay: String(deployment.run_delay),
  between_calls_delay: String(deployment.between_calls_delay),
});

/** Passes on anything else unchanged: the API reports the fault. */
const toNumber = (text: string): number | string =>
  /^-?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text;

export const bodyOf = (
  { frequency, run_delay = "0", between_calls_delay }: DeploymentDraft,
  { kind, id }: Target,
  location_id: string | undefined,
): object => ({
  deployment: {
    target_id: id,
    location_id,
    frequency: Number(frequency),
    run_delay: toNumber(run_delay),
    ...(kind === "workflow" && { between_calls_delay: toNumber(between_calls_delay) }),
  },
});

/** Paths of the fields that show their own faults. */
export const SHOWN = ["frequency", "run_delay", "between_calls_delay"].map(
  (name) => `deployment.${name}`,
);
