// The error of Sonde's reported times, against a target that knows its own delay, and compared with
// blackbox_exporter under the same load.
import type { Frequency } from "../src/model/slots.ts";
import type { Blackbox } from "./support/blackbox.ts";
import { NO_BLACKBOX, startBlackbox } from "./support/blackbox.ts";
import { runBenchmark } from "./support/benchmark.ts";
import type { Benchmark } from "./support/benchmark.ts";
import { sleep } from "./support/children.ts";
import { deploy } from "./support/deployments.ts";
import { accuracyFigures } from "./support/accuracy-figures.ts";
import type { Probed, Round, Setting } from "./support/accuracy-figures.ts";
import { measureFloor } from "./support/floor.ts";
import { prepareGround, startHub } from "./support/hub.ts";
import { sendAt } from "./support/load.ts";
import type { Mode, Scheme } from "./support/options.ts";
import { readSamples } from "./support/samples.ts";
import { scenariosOf, timesOf } from "./support/scenarios.ts";
import { NO_NGINX, startDelayServer, startNginx, writeCertificates } from "./support/target.ts";
import type { CertificateFiles, Target } from "./support/target.ts";

/** From storing the deployments to the first due second: covers the start and the beat's lead. */
const AHEAD_SECONDS = { smoke: 10, full: 16 };
/** From the last due second until every result is stored. */
const SETTLE_SECONDS = 6;
/** Longer than all rounds together: each deployment runs once. */
const FREQUENCY: Frequency = 30;

await runBenchmark("accuracy", async (benchmark) => {
  const { options } = benchmark;
  const files = writeCertificates();
  const schemes = options.smoke ? (["http"] as const) : options.schemes;
  const floors = new Map<Scheme, number>();
  for (const scheme of schemes)
    if (!options.smoke) floors.set(scheme, await measureFloor(files, scheme, 1000));
  for (const delay of options.smoke ? [5] : options.delays) {
    await using target = await startTarget(benchmark, files, delay);
    for (const scheme of schemes)
      await compare(benchmark, files, target, { scheme, delay, floor: floors.get(scheme) ?? 0 });
  }
});

async function compare(
  benchmark: Benchmark,
  files: CertificateFiles,
  target: Target,
  setting: Pick<Setting, "scheme" | "delay" | "floor">,
): Promise<void> {
  const { options, say, skip, add } = benchmark;
  const { scheme, delay } = setting;
  if (!options.smoke) say(`${scheme}, ${delay} ms: blackbox_exporter`);
  const probed = options.smoke ? undefined : await probeAll(benchmark, files, target, scheme);
  if (!probed && !options.smoke) skip(NO_BLACKBOX);
  for (const mode of options.smoke ? (["embedded"] as const) : options.modes) {
    say(`${scheme}, ${delay} ms: ${mode}`);
    const rounds = await measureSonde(benchmark, files, target, scheme, mode);
    if (!rounds) continue;
    for (const [index, { name }] of scenariosOf(options).scenarios.entries())
      add(
        ...accuracyFigures(
          { ...setting, name, mode, handshake: options.handshake },
          rounds.map((round) => round[index] ?? { samples: [], missing: 0 }),
          probed?.map((round) => round[index] ?? []),
        ),
      );
  }
}

async function startTarget(
  { options: { handshake }, skip }: Benchmark,
  files: CertificateFiles,
  delay: number,
): Promise<Target> {
  if (handshake > 0) return startDelayServer(files, delay, handshake);
  const nginx = delay === 0 ? await startNginx(files) : undefined;
  if (delay === 0 && !nginx) skip(`${NO_NGINX} (a server of Node stands in)`);
  return nginx ?? startDelayServer(files, delay);
}

/** Returns samples by round and scenario; undefined if a server is not installed. */
async function measureSonde(
  { options, skip }: Benchmark,
  { authority }: CertificateFiles,
  target: Target,
  scheme: Scheme,
  mode: Mode,
): Promise<Round[][] | undefined> {
  const { scenarios, roundSeconds } = scenariosOf(options);
  const ahead = options.smoke ? AHEAD_SECONDS.smoke : AHEAD_SECONDS.full;
  await using ground = await prepareGround(mode, skip);
  if (!ground) return undefined;
  const start = (Math.ceil(Date.now() / 1000) + ahead) * 1000;
  const groups = Array.from({ length: options.rounds }, (_, round) =>
    scenarios.map(({ calls, seconds, at }) => ({
      url: target.url(scheme, "%%RESULT_ID%%"),
      count: calls,
      frequency: FREQUENCY,
      firstDue: start + (round * roundSeconds + at) * 1000,
      seconds: Math.max(1, seconds),
    })),
  ).flat();
  const callIds = await deploy(ground.database, groups);
  await using hub = await startHub(mode, ground, authority);
  await sleep(start + (options.rounds * roundSeconds + SETTLE_SECONDS) * 1000 - Date.now());
  const taken = await target.taken();
  const rounds: Round[][] = [];
  for (let first = 0; first < callIds.length; first += scenarios.length)
    rounds.push(
      await Promise.all(
        callIds
          .slice(first, first + scenarios.length)
          .map((ids) => readSamples(hub.apiUrl, ids, taken)),
      ),
    );
  return rounds;
}

/** Returns probes by round and scenario; undefined if blackbox_exporter is not installed. */
async function probeAll(
  { options }: Benchmark,
  files: CertificateFiles,
  target: Target,
  scheme: Scheme,
): Promise<Probed[][] | undefined> {
  await using blackbox = await startBlackbox(files);
  if (!blackbox) return undefined;
  const { scenarios } = scenariosOf(options);
  const rounds: Probed[][] = [];
  // The first round warms up.
  for (let round = -1; round < options.rounds; round += 1) {
    const probed: Probed[] = [];
    for (const [index, scenario] of scenarios.entries()) {
      if (round === -1 && index > 0) continue;
      const name = `probe-${round}-${index}-`;
      probed.push(await probe(blackbox, target, scheme, timesOf(scenario), name));
    }
    if (round >= 0) rounds.push(probed);
  }
  return rounds;
}

async function probe(
  blackbox: Blackbox,
  target: Target,
  scheme: Scheme,
  times: readonly number[],
  name: string,
): Promise<Probed> {
  const reported = await sendAt(times, (n) => blackbox.probe(target.url(scheme, `${name}${n}`)));
  const taken = await target.taken();
  return reported.map((ms, n) => ms - (taken.get(`${name}${n}`) ?? 0));
}
