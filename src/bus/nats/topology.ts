// Names the streams, consumers and subjects of Sonde in NATS.

export const TICK_STREAM = "SONDE_TICKS";
export const REPORT_STREAM = "SONDE_RESULTS";

export const tickSubject = (locationId: string): string => `sonde.ticks.${locationId}`;
export const reportSubject = (locationId: string): string => `sonde.results.${locationId}`;
export const heartbeatSubject = (locationId: string): string => `sonde.heartbeats.${locationId}`;

export const credentialsSubject = (locationId: string): string => `sonde.credentials.${locationId}`;

/** Every subject of Sonde ends in the location. */
export const locationOfSubject = (subject: string): string =>
  subject.slice(subject.lastIndexOf(".") + 1);

/** A location's agents receive replies under their own prefix, since replies carry ticks. */
export const inboxPrefix = (locationId: string): string => `sonde.inbox.${locationId}`;

export interface ConsumerSpec {
  readonly stream: typeof TICK_STREAM | typeof REPORT_STREAM;
  readonly durable: string;
  readonly filter: string;
}

export const tickConsumer = (locationId: string): ConsumerSpec => ({
  stream: TICK_STREAM,
  durable: locationId,
  filter: tickSubject(locationId),
});

export const REPORT_CONSUMER: ConsumerSpec = {
  stream: REPORT_STREAM,
  durable: "aggregator",
  filter: reportSubject("*"),
};
