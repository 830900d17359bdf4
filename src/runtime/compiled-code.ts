// Keeps compiled code on disk between starts: Node strips types and compiles only what changed.
import { enableCompileCache, flushCompileCache } from "node:module";
import { installed } from "./installation.ts";

const FOLDER = installed("node_modules/.cache/sonde");

/**
 * Applies to modules that this thread imports later. Node creates a folder per user and version in
 * ours, or in `NODE_COMPILE_CACHE`; if it cannot, starts take longer.
 */
export const keepCompiledCode = (): void => void enableCompileCache(FOLDER);

/** Saves the code now: Node does so only when the process ends, and not if it is killed. */
export const saveCompiledCode = (): void => flushCompileCache();
