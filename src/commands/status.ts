// `sonde status`: shows the state of the service in the terminal, refreshed every two seconds.
import type { Command } from "commander";
import type { Snapshot } from "../status/snapshot.ts";
import { examples } from "./command.ts";
import type { Context } from "./command.ts";

export function addStatusCommand(program: Command, context: Context): void {
  program
    .command("status")
    .description("Show the state of the service: live on a terminal, once in a pipe.")
    .option("--once", "print it once")
    .option("--roles <list>", "roles of the process on this machine (default: SONDE_ROLES)")
    .addHelpText(
      "after",
      examples("sonde status", "sonde status --once", "sonde status | grep pending"),
    )
    .action((options: StatusOptions) => showStatus(context, options));
}

interface StatusOptions {
  readonly once?: true;
  readonly roles?: string;
}

const REFRESH_MS = 2000;
/**
 * The pause after a snapshot is at least this many times as long as taking it, to spare a slow
 * database.
 */
const SHARE = 10;

async function showStatus(
  { config, print }: Context,
  { once, roles }: StatusOptions,
): Promise<void> {
  // Loaded here: the other commands start in half the time without it.
  const { openStatus } = await import("../compose/inspection.ts");
  const { linesOf } = await import("../status/screen.ts");
  await using status = openStatus(config({ SONDE_ROLES: roles }));
  if (once || !process.stdout.isTTY) {
    const snapshot = await status.take();
    return print(`${linesOf(snapshot).join("\n")}\n`);
  }
  await showLive(status.take, linesOf);
}

/** Runs until the user ends it. */
async function showLive(
  take: () => Promise<Snapshot>,
  linesOf: (snapshot: Snapshot) => string[],
): Promise<void> {
  const { openLiveView } = await import("../status/live-view.ts");
  const { systemClock } = await import("../runtime/clock.ts");
  const view = openLiveView({ input: process.stdin, output: process.stdout });
  try {
    while (!view.ended.aborted) {
      const started = systemClock.monotonic();
      view.show(linesOf(await take()));
      const took = systemClock.monotonic() - started;
      const pause = Math.max(REFRESH_MS - took, SHARE * took);
      await systemClock.pause(pause, view.ended).catch(() => undefined); // ended
    }
  } finally {
    view.close();
  }
}
