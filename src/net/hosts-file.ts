// The names of the machine's hosts file, which come before DNS.
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import type { Clock } from "../runtime/clock.ts";

export interface HostsFile {
  /**
   * The addresses of a name in lower case, or undefined. The file is read anew when it was read
   * some seconds ago.
   */
  find(name: string): Promise<string[] | undefined>;
}

const READ_AGAIN_AFTER_MS = 10_000;

export function createHostsFile(path: string, clock: Clock): HostsFile {
  let [content, readAt]: [Promise<Map<string, string[]>> | undefined, number] = [undefined, 0];
  return {
    async find(name) {
      const now = clock.monotonic();
      if (!content || now - readAt > READ_AGAIN_AFTER_MS) {
        readAt = now;
        content = readFile(path, "utf8").then(parseHosts, () => new Map());
      }
      return (await content).get(name);
    },
  };
}

function parseHosts(text: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const [address, ...names] = line.replace(/#.*/s, "").trim().split(/\s+/);
    if (!address || isIP(address) === 0) continue;
    for (const name of names.map((one) => one.toLowerCase()))
      found.set(name, [...(found.get(name) ?? []), address]);
  }
  return found;
}
