// What kinds of calls a simulation has, and how each behaves.

export type Failure = "unavailable" | "broken" | "no_answer" | "refused" | "reset" | "not_found";

/** Times are milliseconds, shares from 0 to 1. */
export interface Kind {
  /** Half of the answers take less, while few users are there. */
  readonly work: number;
  /** Of the logarithm of the time. */
  readonly spread: number;
  /** How much longer answers take at the busiest hour of a weekday, as a share. */
  readonly daily: number;
  /** The share of answers that take several times as long. */
  readonly tail: number;
  readonly failing: number;
  readonly failures: readonly [Failure, ...Failure[]];
  /** By how much answers slow down each week, as a share, until a release undoes it. */
  readonly drift: number;
  /** How often something goes wrong, in events a week. */
  readonly incidents: number;
  /** Whether one week in eight is full of failures. */
  readonly troubled: boolean;
  /** Whether answers come after one redirect. */
  readonly redirected: boolean;
}

const ORDINARY: Kind = {
  work: 120,
  spread: 0.25,
  daily: 0.3,
  tail: 0.003,
  failing: 0.001,
  failures: ["unavailable", "no_answer", "reset"],
  drift: 0,
  incidents: 0.3,
  troubled: false,
  redirected: false,
};

const STEADY: Kind = { ...ORDINARY, work: 45, spread: 0.12, daily: 0.15, tail: 0.001 };
const BUSY: Kind = {
  ...ORDINARY,
  spread: 0.45,
  daily: 0.9,
  tail: 0.012,
  failing: 0.025,
  incidents: 0.6,
};
const FLAKY: Kind = { ...ORDINARY, failing: 0.08, failures: ["unavailable", "reset"], tail: 0.01 };
const RECOVERING: Kind = { ...ORDINARY, work: 80, incidents: 0.1, troubled: true };
const SLOW: Kind = {
  ...ORDINARY,
  work: 1400,
  spread: 0.35,
  failing: 0.004,
  failures: ["no_answer"],
};
const DRIFTING: Kind = { ...ORDINARY, drift: 0.09 };
const MOVED: Kind = { ...ORDINARY, redirected: true, failing: 0.03, failures: ["not_found"] };
const FAILING: Kind = { ...ORDINARY, failing: 0.7, failures: ["broken", "refused"] };

interface Service {
  readonly name: string;
  /** Below `.example`, which is reserved (RFC 2606). */
  readonly host: string;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly kind: Kind;
}

const service = (name: string, request: string, kind: Kind): Service => {
  const [method, url = ""] = request.split(" ");
  const [host = "", ...path] = url.split("/");
  return { name, method: method as Service["method"], host, path: `/${path.join("/")}`, kind };
};

const SERVICES: readonly Service[] = [
  service("product search", "GET search/v1/products", STEADY),
  service("shopping cart", "GET cart/v2/carts/current", BUSY),
  service("payment", "POST payments/v1/authorizations", FLAKY),
  service("checkout", "POST checkout/v1/orders", RECOVERING),
  service("sales report", "GET reports/v1/sales", SLOW),
  service("recommendations", "GET recommendations/v3/for-you", DRIFTING),
  service("old catalogue", "GET catalogue/list", MOVED),
  service("fax gateway", "POST fax/send", FAILING),
  service("sign-in", "POST accounts/v1/sessions", STEADY),
  service("inventory", "GET inventory/v1/stock", BUSY),
  service("shipping quotes", "POST shipping/v1/quotes", FLAKY),
  service("address lookup", "GET addresses/v1/lookup", RECOVERING),
  service("invoice archive", "GET invoices/v1/archive", SLOW),
  service("image resizing", "GET images/v1/resized", DRIFTING),
  service("partner feed", "GET partners/feed", MOVED),
  service("legacy import", "POST legacy/import", FAILING),
];

/** The same service again, under other names, beyond those that there are. */
export function simulatedService(index: number): Service {
  const { name, host, ...rest } = SERVICES[index % SERVICES.length] as Service;
  const round = Math.floor(index / SERVICES.length) + 1;
  const [ofName, ofHost] = round === 1 ? ["", ""] : [` ${round}`, `-${round}`];
  return { ...rest, name: `${name}${ofName}`, host: `${host}${ofHost}.example` };
}
