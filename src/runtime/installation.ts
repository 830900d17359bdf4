// The folder in which Sonde is installed: package.json, web/ and deploy/ are in it.
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";

// Code in src/ and in dist/ is at different depths.
const ROOT = dirname(findPackageJSON(import.meta.url) as string);

/** Returns the absolute path of a file or folder, given from the root, that may be missing. */
export const installed = (path: string): string => join(ROOT, path);
