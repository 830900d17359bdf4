// The entry of an agent's thread.
import { parentPort, workerData } from "node:worker_threads";
import { keepCompiledCode } from "../runtime/compiled-code.ts";
import type { AgentThreadData } from "./agent-worker.ts";

keepCompiledCode();
// Only modules imported from here on are kept.
const { serveAgent } = await import("./agent-worker.ts");
const { openLog } = await import("../runtime/logger.ts");
const data = workerData as AgentThreadData;
const { log } = await openLog(data.log);
if (parentPort) serveAgent(parentPort, data, log);
