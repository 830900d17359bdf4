// Real bash, as the reference for what a command means.
import { execFileSync } from "node:child_process";

/** Returns the arguments that bash passes to curl. */
export const argumentsOf = (command: string): string[] =>
  execFileSync("bash", ["--norc", "-c", command.replace(/^curl/, "printf '%s\\0'")], {
    encoding: "utf8",
    env: { LC_ALL: "C.UTF-8" },
  })
    .split("\0")
    .slice(0, -1);
