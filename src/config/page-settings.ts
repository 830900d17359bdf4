// The settings of the web pages.
import { wholeNumber } from "./setting.ts";

export const PAGE_SETTINGS = {
  sessionIdleMinutes: wholeNumber({
    env: "SONDE_SESSION_IDLE",
    default: "720",
    meaning: "Idle timeout of sessions of the web pages, in minutes",
    range: [5, 43_200],
  }),
  maxEventStreams: wholeNumber({
    env: "SONDE_MAX_EVENT_STREAMS",
    default: "500",
    meaning:
      "Maximum open event streams in each process that serves the API; one owner gets at most half. Further ones get 429. Each open page uses one",
    range: [1, 100_000],
  }),
};
