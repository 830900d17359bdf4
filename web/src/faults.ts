// Finds faults in the body that a form sends, and which of them remain.

interface PlacedFault {
  /** Such as `request.url` or `request.headers[0].key`; undefined if the message names none. */
  readonly path: string | undefined;
  /** Without the path. */
  readonly text: string;
}

/** Parses an error message of the API, such as `deployment.frequency: 7 is not one of […]`. */
function placeFault(message: string): PlacedFault {
  const [, lacking, others = ""] =
    /^'([\w.[\]-]+)' is a required property(.*)$/s.exec(message) ?? [];
  if (lacking !== undefined) return { path: lacking, text: `A value is required${others}` };
  const [, path, text = message] = /^([\w.[\]-]+): (.+)$/s.exec(message) ?? [];
  return { path, text };
}

/** Returns a fault for each empty required property, in the API's words. */
export const missingFrom = (body: object, required: readonly string[]): string[] =>
  required
    .filter((path) => {
      const value = valueAt(body, path);
      return typeof value === "string" && value.trim() === "";
    })
    .map((path) => `'${path}' is a required property`);

/** Returns the faults of unchanged fields, whose value is still that in `sent`, and of no field. */
export const standing = (faults: readonly string[], sent: object, body: object): string[] =>
  faults.filter((fault) => {
    const { path } = placeFault(fault);
    return (
      path === undefined ||
      JSON.stringify(valueAt(sent, path)) === JSON.stringify(valueAt(body, path))
    );
  });

/** Returns the first fault at this path or below it, without the path, which a label names. */
export function faultOf(faults: readonly string[], path: string): string | undefined {
  for (const { path: at, text } of faults.map(placeFault)) {
    if (at === undefined || !isWithin(at, path)) continue;
    const below = at.slice(path.length).replace(/^(?:\[\d+\])?\.?/, "");
    return below === "" ? text : `${below}: ${text}`;
  }
  return undefined;
}

/** Returns the faults that no field at these paths shows. */
export const faultsBeside = (faults: readonly string[], paths: readonly string[]): string[] =>
  faults.filter((fault) => {
    const { path: at } = placeFault(fault);
    return at === undefined || !paths.some((path) => isWithin(at, path));
  });

const isWithin = (at: string, path: string): boolean =>
  at === path || at.startsWith(`${path}.`) || at.startsWith(`${path}[`);

/** `path` is as in `request.headers[0].key`; undefined if the body has no such property. */
function valueAt(body: object, path: string): unknown {
  const steps = path.match(/[^.[\]]+/g) ?? [];
  return steps.reduce<unknown>(
    (at, step) => (at as Record<string, unknown> | null | undefined)?.[step],
    body,
  );
}
