// The services that a simulation calls, and how each behaves.

export type Failure = "unavailable" | "broken" | "timeout" | "reset" | "refused";

/** Times are milliseconds, shares from 0 to 1. */
export interface Behaviour {
  /** The median time of an answer at the quietest hour. */
  readonly work: number;
  /** The deviation of the logarithm of that time. */
  readonly spread: number;
  /** How much longer an answer takes at the busiest hour of a weekday, as a share. */
  readonly daily: number;
  /** How much slower answers become each week until the next release, as a share. */
  readonly drift: number;
  /** The share of answers that take several times as long. */
  readonly tail: number;
  /** The share of calls that fail, and how. */
  readonly failing: number;
  readonly failures: readonly [Failure, ...Failure[]];
  /** Incidents a week, on average. */
  readonly incidents: number;
  /** Whether one week in eight has three bad days. */
  readonly troubled: boolean;
  /** Whether a release makes answers slower, until another one, eight weeks later, fixes them. */
  readonly slowReleases: boolean;
}

export interface Service extends Behaviour {
  readonly name: string;
  readonly method: "GET" | "POST";
  readonly host: string;
  readonly path: string;
}

const ORDINARY: Behaviour = {
  work: 120,
  spread: 0.25,
  daily: 0.3,
  drift: 0,
  tail: 0.003,
  failing: 0.001,
  failures: ["unavailable", "timeout", "reset"],
  incidents: 0.3,
  troubled: false,
  slowReleases: false,
};

type Named = readonly [
  name: string,
  method: "GET" | "POST",
  host: string,
  path: string,
  change: Partial<Behaviour>,
];

const SERVICES: readonly Named[] = [
  ["product search", "GET", "search", "/v1/products", { work: 45, spread: 0.12, daily: 0.15 }],
  [
    "shopping cart",
    "GET",
    "cart",
    "/v2/carts/current",
    { spread: 0.45, daily: 0.9, tail: 0.012, failing: 0.025, incidents: 0.6 },
  ],
  ["payment", "POST", "pay", "/v1/authorizations", { failing: 0.08, tail: 0.01 }],
  ["checkout", "POST", "shop", "/v1/orders", { work: 80, incidents: 0.1, troubled: true }],
  [
    "sales report",
    "GET",
    "reports",
    "/v1/sales",
    { work: 1400, spread: 0.35, failing: 0.004, slowReleases: true },
  ],
  ["recommendations", "GET", "recommendations", "/v3/for-you", { drift: 0.09 }],
  ["inventory", "GET", "inventory", "/v1/stock", { daily: 0.6, incidents: 0.6 }],
  ["fax gateway", "POST", "fax", "/send", { failing: 0.7, failures: ["broken", "refused"] }],
];

/** After the last service, the same ones follow with a number: "payment 2" at pay-2.example. */
export function simulatedService(index: number): Service {
  const [name, method, host, path, change] = SERVICES[index % SERVICES.length] as Named;
  const round = Math.floor(index / SERVICES.length) + 1;
  const [ofName, ofHost] = round === 1 ? ["", ""] : [` ${round}`, `-${round}`];
  return {
    ...ORDINARY,
    ...change,
    name: `${name}${ofName}`,
    method,
    host: `${host}${ofHost}.example`,
    path,
  };
}
