// The secret fields of documents: sealed in the database, each bound to its place in its document.
import { RESOURCE_SCHEMAS } from "../../model/resources.ts";
import { hasSecrets, replaceAt, secretPaths } from "../../model/secrets.ts";
import type { Path } from "../../model/secrets.ts";
import { keyIdOf } from "../../runtime/sealer.ts";
import type { Sealer } from "../../runtime/sealer.ts";

/** The schemas of the kinds that have secret fields. */
const SCHEMAS = new Map(
  Object.entries(RESOURCE_SCHEMAS).filter(([, schema]) => hasSecrets(schema)),
);

export const SEALED_KINDS: readonly string[] = [...SCHEMAS.keys()];

interface Sealable {
  readonly kind: string;
  readonly id: string;
  readonly document: unknown;
}

export const sealDocument = <D extends Sealable>(stored: D, sealer: Sealer): Promise<D> =>
  replaceSecrets(stored, (value, place) => sealer.seal(JSON.stringify(value), place));

/**
 * Opens the document's secrets. If that fails, they are null and `unreadable` is set: other
 * documents, and the rest of this one, stay readable.
 */
export async function openDocument<D extends Sealable>(
  stored: D,
  sealer: Sealer,
): Promise<D & { readonly unreadable?: Error }> {
  try {
    return await openSecrets(stored, sealer);
  } catch (cause) {
    return { ...(await replaceSecrets(stored, async () => null)), unreadable: cause as Error };
  }
}

const openSecrets = <D extends Sealable>(stored: D, sealer: Sealer): Promise<D> =>
  replaceSecrets(stored, async (value, place): Promise<unknown> =>
    JSON.parse(await sealer.open(String(value), place)),
  );

async function replaceSecrets<D extends Sealable>(
  stored: D,
  replace: (value: unknown, place: string) => Promise<unknown>,
): Promise<D> {
  const { kind, id, document } = stored;
  const schema = SCHEMAS.get(kind);
  const paths = schema ? secretPaths(schema, document) : [];
  if (paths.length === 0) return stored;
  const placeOf = (path: Path) => [kind, id, ...path].join("/");
  return {
    ...stored,
    document: await replaceAt(document, paths, (value, path) => replace(value, placeOf(path))),
  };
}

/** Seals the document under the current key; undefined if no secret is under another. */
export async function resealDocument(
  stored: Sealable,
  sealer: Sealer,
): Promise<Sealable | undefined> {
  let others = 0;
  await replaceSecrets(stored, async (value) => {
    if (keyIdOf(String(value)) !== sealer.keyId) others += 1;
  });
  if (others === 0) return undefined;
  return sealDocument(await openSecrets(stored, sealer), sealer);
}
