// Compiled code, kept on disk between starts: Node strips the types and compiles only what changed.
import { enableCompileCache, flushCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL("../../node_modules/.cache/sonde", import.meta.url));

/**
 * For the modules that this thread imports afterwards. Node makes a folder for each user and
 * version in ours, or in `NODE_COMPILE_CACHE`; where it cannot, starts take longer.
 */
export const keepCompiledCode = (): void => void enableCompileCache(FOLDER);

/** Otherwise this happens at the process's end, and not at all if it is killed. */
export const saveCompiledCode = (): void => flushCompileCache();
