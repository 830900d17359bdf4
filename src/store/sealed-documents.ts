// Documents whose secret fields are sealed before they are stored, and opened when they are read.
import { unreadable } from "../model/errors.ts";
import type { ResourceKind } from "../model/resource.ts";
import { RESOURCE_SCHEMAS } from "../model/resources.ts";
import { hasSecrets, replaceAt, secretPaths } from "../model/secrets.ts";
import type { Path } from "../model/secrets.ts";
import { keyIdOf } from "../runtime/secrets.ts";
import type { Sealer } from "../runtime/secrets.ts";
import type { DocumentStore, NewDocument, StoredDocument } from "./ports/document-store.ts";

/** The kinds that have secret fields: the others are stored as they are, at no cost. */
const SEALED = new Map(Object.entries(RESOURCE_SCHEMAS).filter(([, schema]) => hasSecrets(schema)));

export const SEALED_KINDS: readonly string[] = [...SEALED.keys()];

interface Sealable {
  readonly kind: string;
  readonly id: string;
  readonly document: unknown;
}

export type OnUnreadable = (found: StoredDocument) => void;

export function createSealedDocumentStore(
  documents: DocumentStore,
  sealer: Sealer,
  onUnreadable: OnUnreadable,
): DocumentStore {
  const seal = async (document: NewDocument): Promise<NewDocument> => {
    const { kind, unreadable: cause } = document;
    if (cause) throw unreadable(`this ${kind}`, { cause });
    return sealDocument(document, sealer);
  };
  const open = (stored: StoredDocument): Promise<StoredDocument> =>
    openDocument(stored, sealer).catch(async (cause: Error) => {
      const found = await unread(stored, cause);
      onUnreadable(found);
      return found;
    });
  const openAll = async (kind: ResourceKind, found: StoredDocument[]) =>
    SEALED.has(kind) ? Promise.all(found.map(open)) : found;
  return {
    ...documents,
    insert: async (document) => documents.insert(await seal(document)),
    replace: async (document) => documents.replace(await seal(document)),
    async get(kind, id) {
      const found = await documents.get(kind, id);
      return found && open(found);
    },
    async getForUpdate(kind, id) {
      const found = await documents.getForUpdate(kind, id);
      return found && open(found);
    },
    getMany: async (kind, ids) => openAll(kind, await documents.getMany(kind, ids)),
    list: async (kind, ...query) => openAll(kind, await documents.list(kind, ...query)),
    listKind: async (kind, page) => openAll(kind, await documents.listKind(kind, page)),
    listAll: async (kind, ...query) => openAll(kind, await documents.listAll(kind, ...query)),
    count: (...query) => documents.count(...query),
  };
}

const sealDocument = <D extends Sealable>(stored: D, sealer: Sealer): Promise<D> =>
  replaceSecrets(stored, (value, place) => sealer.seal(JSON.stringify(value), place));

const openDocument = <D extends Sealable>(stored: D, sealer: Sealer): Promise<D> =>
  replaceSecrets(stored, async (value, place): Promise<unknown> =>
    JSON.parse(await sealer.open(String(value), place)),
  );

/**
 * One document that cannot be opened must not keep the others, or the rest of it, from being read.
 */
const unread = async (stored: StoredDocument, cause: Error): Promise<StoredDocument> => ({
  ...(await replaceSecrets(stored, async () => null)),
  unreadable: cause,
});

async function replaceSecrets<D extends Sealable>(
  stored: D,
  replace: (value: unknown, place: string) => Promise<unknown>,
): Promise<D> {
  const { kind, id, document } = stored;
  const schema = SEALED.get(kind);
  const paths = schema ? secretPaths(schema, document) : [];
  if (paths.length === 0) return stored;
  const placeOf = (path: Path) => [kind, id, ...path].join("/");
  return {
    ...stored,
    document: await replaceAt(document, paths, (value, path) => replace(value, placeOf(path))),
  };
}

/**
 * Sealed anew where some of its secrets are sealed with another key than the current one; otherwise
 * undefined.
 */
export async function resealDocument(
  stored: Sealable,
  sealer: Sealer,
): Promise<Sealable | undefined> {
  let others = 0;
  await replaceSecrets(stored, async (value) => {
    if (keyIdOf(String(value)) !== sealer.keyId) others += 1;
  });
  if (others === 0) return undefined;
  return sealDocument(await openDocument(stored, sealer), sealer);
}
