// Converts between pending runs and their rows.
import type { Selectable } from "kysely";
import type { TargetKind, Trigger } from "../../model/tick.ts";
import type { PendingRun } from "../records.ts";
import type { Schema } from "../schema.ts";

export type PendingRow = Selectable<Schema["pending_runs"]>;

export const toPendingRow = ({ context, call_ids, ...run }: PendingRun): PendingRow => ({
  ...run,
  context: JSON.stringify(context),
  call_ids: call_ids && JSON.stringify(call_ids),
  published: 0,
  held_back: 0,
});

const NO_CONTEXT = {};

export const toPendingRun = (row: PendingRow): PendingRun => ({
  result_id: row.result_id,
  trigger: row.trigger as Trigger,
  deployment_id: row.deployment_id,
  target_id: row.target_id,
  target_kind: row.target_kind as TargetKind,
  between_calls_delay: row.between_calls_delay,
  call_ids: row.call_ids === null ? null : (JSON.parse(row.call_ids) as string[]),
  location_id: row.location_id,
  owner: row.owner,
  owner_org: row.owner_org,
  context: row.context === "{}" ? NO_CONTEXT : JSON.parse(row.context),
  trigger_time: row.trigger_time,
  due_time: row.due_time,
  latest_start: row.latest_start,
  expires_at: row.expires_at,
});
