// The running version, from package.json.
import { readFileSync } from "node:fs";
import { installed } from "./runtime/installation.ts";

const manifest = JSON.parse(readFileSync(installed("package.json"), "utf8")) as {
  readonly version: string;
};

export const VERSION = manifest.version;
