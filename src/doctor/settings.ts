// The settings, and the files that they are read from.
import { stat } from "node:fs/promises";
import { SETTINGS } from "../config/settings.ts";
import { count } from "../model/count.ts";
import { shellWord } from "../model/shell-word.ts";
import type { Check } from "./check.ts";
import type { Finding } from "./finding.ts";
import { failure, ok, warning } from "./finding.ts";
import { isOpenToOthers, octal } from "./permissions.ts";
import type { Sources } from "./sources.ts";

export const settingsCheck = ({
  config,
  faults,
  settingFiles,
}: Pick<Sources, "config" | "faults" | "settingFiles">): Check => ({
  name: "settings",
  async run() {
    const files = await Promise.all([...settingFiles].map(checkFile));
    const found = [...faults.map(faultOf), ...files.flat()];
    if (found.length > 0) return found;
    const all = count(Object.keys(SETTINGS).length, "setting");
    return [ok(`all ${all} are valid, for the roles ${config.roles.join(", ")}`)];
  },
});

const faultOf = (fault: string): Finding =>
  failure(fault, "correct it: docs/configuration.md lists what is allowed");

/** Container platforms mount secrets where there are no other users. */
const MOUNTED = /^\/(?:var\/)?run\/secrets\//;

async function checkFile([variable, file]: [string, string]): Promise<Finding[]> {
  const found = await stat(file).catch(() => undefined); // a missing file is a fault of the setting
  if (!found || MOUNTED.test(file) || !isOpenToOthers(found.mode)) return [];
  return [
    warning(
      `${variable}: every user of this machine may read ${file} (mode ${octal(found.mode)}; allowed: 0600 or 0640)`,
      `chmod o= ${shellWord(file)}`,
    ),
  ];
}
