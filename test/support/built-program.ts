// Builds the program that tests start, unless it is newer than its sources.
import { execFileSync } from "node:child_process";
import { existsSync, globSync, statSync } from "node:fs";

const BUILT = "dist/builds.json";
const SOURCES = ["package-lock.json", ...globSync("{src,build}/**/*.ts")];

const changed = (file: string): number => statSync(file).mtimeMs;

export function setup(): void {
  if (existsSync(BUILT) && SOURCES.every((file) => changed(file) < changed(BUILT))) return;
  execFileSync(process.execPath, ["--run", "build:program"], { stdio: "inherit" });
}
