// A token that expires while a workflow runs, and the hub that has renewed it.
import { expect, it } from "vitest";
import { createInProcessBus } from "../../src/bus/in-process.ts";
import type { CredentialsHandler } from "../../src/bus/bus.ts";
import type { Authorization, TickToken } from "../../src/model/authorization.ts";
import type { CallCredentials } from "../../src/model/call-credentials.ts";
import type { RunReport } from "../../src/model/result.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { createManualClock } from "../support/manual-clock.ts";
import type { ManualClock } from "../support/manual-clock.ts";
import { startTarget } from "../support/target-server.ts";
import type { HttpTarget } from "../support/target-server.ts";
import { newAuthorization, newToken } from "./authorize/authorizing.ts";
import { newCall, newRunSettings, newTick, newWorkflow, runTick } from "./calling.ts";

const NOON = Date.UTC(2026, 9, 1, 12);
const SECOND = 1000;

const bearer = (token: Partial<TickToken>): Authorization =>
  newAuthorization("OAUTH2", {
    domain: "127.0.0.1",
    token: newToken({ is_renewed: true, ...token }),
  });
const OLD = bearer({ access_token: "old", expires_at: NOON + 60 * SECOND });
const NEW: CallCredentials = { authorization: bearer({ access_token: "new" }) };

interface Running {
  readonly clock: ManualClock;
  readonly report: Promise<RunReport>;
  /** The calls that the agent asked about. */
  readonly asked: readonly string[];
}

/**
 * Makes three calls, a minute and a half apart; the hub gives its answers in turn, then repeats the
 * last.
 */
async function withRun(
  answers: readonly (CallCredentials | null)[],
  test: (running: Running, target: HttpTarget) => Promise<void>,
  authorization: Authorization = OLD,
): Promise<void> {
  await using target = await startTarget();
  const clock = createManualClock(NOON);
  const bus = createInProcessBus({ clock, log: createLogger("silent") });
  const asked: string[] = [];
  const handler: CredentialsHandler = async ({ location_id, run_id, result_id }, answer) => {
    expect([location_id, run_id]).toEqual(["here", "run"]);
    const content = answers[Math.min(asked.length, answers.length - 1)];
    asked.push(result_id);
    if (content) answer(content);
  };
  if (answers.length > 0) await bus.consumeCredentialsRequests(handler);
  const calls = [1, 2, 3].map((n) =>
    newCall({ url: `${target.url}/${n}` }, { result_id: `step-${n}`, authorization }),
  );
  const workflow = newWorkflow({ between_calls_delay: 90 });
  const tick = { ...newTick(newCall()), result_id: "run", calls, workflow };
  const report = runTick(newRunSettings({ clock, bus }), tick);
  await test({ clock, report, asked }, target);
  await bus.close();
}

/** Ends the delay before the next call, once the run waits for it. */
async function nextCall(clock: ManualClock): Promise<void> {
  await expect.poll(() => clock.waiting()).toHaveLength(1);
  await clock.advance(90 * SECOND);
}

/** Lets time pass until the run ends. */
async function finish({ clock, report }: Running): Promise<RunReport> {
  let isOver = false;
  void report.then(() => (isOver = true));
  while (!isOver) await clock.advance(SECOND);
  return report;
}

const sentTo = ({ requests }: HttpTarget) => requests.map(({ headers }) => headers.authorization);
const codesOf = ({ results }: RunReport) => results.map(({ meta }) => meta.result);

it("an expired token is replaced by its successor, for later calls too", async () => {
  await withRun([NEW], async ({ clock, report, asked }, target) => {
    await nextCall(clock);
    await nextCall(clock);
    expect(codesOf(await report)).toEqual(["COMPLETE", "COMPLETE", "COMPLETE"]);
    expect(sentTo(target)).toEqual(["Bearer old", "Bearer new", "Bearer new"]);
    expect(asked).toEqual(["step-2"]);
  });
});

it("an expired successor is replaced in turn", async () => {
  const next = bearer({ access_token: "next", expires_at: NOON + 150 * SECOND });
  await withRun([{ authorization: next }, NEW], async ({ clock, report, asked }, target) => {
    await nextCall(clock);
    await nextCall(clock);
    expect(codesOf(await report)).toEqual(["COMPLETE", "COMPLETE", "COMPLETE"]);
    expect(sentTo(target)).toEqual(["Bearer old", "Bearer next", "Bearer new"]);
    expect(asked).toEqual(["step-2", "step-3"]);
  });
});

it("a successor is awaited while the renewal runs or the hub does not answer", async () => {
  await withRun([{ authorization: OLD }, null, NEW], async (running, target) => {
    const { clock, asked } = running;
    await nextCall(clock);
    expect(codesOf(await finish(running))).toEqual(["COMPLETE", "COMPLETE", "COMPLETE"]);
    expect(sentTo(target)).toEqual(["Bearer old", "Bearer new", "Bearer new"]);
    expect(asked).toEqual(["step-2", "step-2", "step-2"]);
  });
});

const EXPIRED = "credential_expired: the token 'A token' expired at 2026-10-01T12:01:00.000Z";

it.each<[string, readonly (CallCredentials | null)[], number, string]>([
  ["nobody answers requests", [], 0, EXPIRED],
  // Asked every second for ten seconds, twice in a run.
  ["the hub does not answer", [null], 20, EXPIRED],
  ["the hub never has another", [{ authorization: OLD }], 20, EXPIRED],
  ["the hub no longer knows the run", [{}], 2, EXPIRED],
  [
    "it is withheld by then",
    [{ authorization: bearer({ is_renewed: false, withheld: "it was moved" }) }],
    2,
    "credential_withheld: the token 'A token' was not sent: it was moved",
  ],
  [
    "its renewal failed",
    [{ authorization: bearer({ expires_at: NOON, renewal_failure: "it answered 500" }) }],
    2,
    "credential_expired: the token 'A token' expired at 2026-10-01T12:00:00.000Z; its renewal failed: it answered 500",
  ],
])("an expired token is not sent when %s", async (_, answers, requests, message) => {
  await withRun(answers, async (running, target) => {
    await nextCall(running.clock);
    const report = await finish(running);
    expect(codesOf(report)).toEqual(["COMPLETE", "SKIPPED", "SKIPPED"]);
    expect(report.results.map(({ meta }) => meta.message)).toEqual([null, message, message]);
    expect(sentTo(target)).toEqual(["Bearer old"]);
    expect(running.asked).toHaveLength(requests);
  });
});

it("a call ends with the hub's reason when it may no longer be made", async () => {
  await withRun([{ unable: "the token was deleted" }, NEW], async ({ clock, report }) => {
    await nextCall(clock);
    await nextCall(clock);
    const { results } = await report;
    expect(results.map(({ meta }) => [meta.result, meta.message])).toEqual([
      ["COMPLETE", null],
      ["UNABLE_TO_RUN", "the token was deleted"],
      ["COMPLETE", null],
    ]);
  });
});

it.each<[string, Authorization]>([
  ["it lasts", bearer({ expires_at: NOON + 3600 * SECOND })],
  ["nobody renews it", bearer({ expires_at: NOON + 60 * SECOND, is_renewed: false })],
])("no new token is requested when %s", async (_, authorization) => {
  await withRun(
    [NEW],
    async ({ clock, report, asked }) => {
      await nextCall(clock);
      await nextCall(clock);
      await report;
      expect(asked).toEqual([]);
    },
    authorization,
  );
});
