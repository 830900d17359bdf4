// Finds where in a body a fault is, from the error message of the API.

export interface PlacedFault {
  /** Such as `request.url` or `request.headers[0].key`; undefined if the message names none. */
  readonly path: string | undefined;
  /** Without the path. */
  readonly text: string;
}

/** Parses an error message such as `deployment.frequency: 7 is not one of […]`. */
export function placeFault(message: string): PlacedFault {
  const [, lacking, others = ""] =
    /^'([\w.[\]-]+)' is a required property(.*)$/s.exec(message) ?? [];
  if (lacking !== undefined) return { path: lacking, text: `A value is required${others}` };
  const [, path, text = message] = /^([\w.[\]-]+): (.+)$/s.exec(message) ?? [];
  return { path, text };
}
