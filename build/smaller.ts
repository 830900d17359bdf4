// What makes the bundle take less memory when it runs.
import http from "node:http";
import type { Plugin } from "rolldown";

/** Getters that load Node's own copy of undici. */
const LOADING = ["WebSocket", "CloseEvent", "MessageEvent"];
const NAMES = Object.keys(http).filter((name) => !LOADING.includes(name));

/**
 * Loads `node:http` by `require`: `import` reads everything that a module of Node exports, so these
 * getters, too, and takes 9 MB in each thread.
 */
export const requiringHttp = (): Plugin => ({
  name: "requiring-http",
  resolveId: {
    filter: { id: /^(?:node:)?http$/ },
    handler: (_, __, { kind }) => (kind === "import-statement" ? "\0http" : undefined),
  },
  load: {
    filter: { id: /^\0http$/ },
    handler: () => `
      import { createRequire } from "node:module";
      const http = createRequire(import.meta.url)("node:http");
      export default http;
      export const { ${NAMES.join(", ")} } = http;`,
  },
});

/** Escapes what is beyond Latin-1: with one such character, V8 keeps a file with two bytes each. */
export const inLatin1 = (): Plugin => ({
  name: "in-latin-1",
  // Rolldown prints the code again after `renderChunk`.
  generateBundle(_, bundle) {
    for (const chunk of Object.values(bundle))
      if (chunk.type === "chunk") chunk.code = chunk.code.replaceAll(/[^\0-\xff]/g, escaped);
  },
});

const escaped = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
