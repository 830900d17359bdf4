// The settings of the web pages.
import { integer } from "./setting-values.ts";
import { setting } from "./setting.ts";

export const PAGE_SETTINGS = {
  sessionIdleMinutes: setting({
    env: "SONDE_SESSION_IDLE",
    default: "720",
    meaning: "Idle timeout of sessions of the web pages, in minutes",
    allowed: "a whole number from 5 to 43200",
    parse: integer(5, 43_200),
  }),
  maxEventStreams: setting({
    env: "SONDE_MAX_EVENT_STREAMS",
    default: "500",
    meaning:
      "Maximum open event streams in each process that serves the API; one owner gets at most half. Further ones get 429. Each open page uses one",
    allowed: "a whole number from 1 to 100000",
    parse: integer(1, 100_000),
  }),
} as const;
