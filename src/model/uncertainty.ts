// Decides when a measured time is too uncertain to judge the target.

interface Measured {
  /** Milliseconds. */
  readonly total: number | null;
  readonly uncertainty?: number | null;
}

/**
 * Whether the agent's own work may have lengthened the result's time so much that it says nothing
 * about the target: such a result is never counted as an outlier of the target.
 */
export const isUncertain = ({ total, uncertainty }: Measured): boolean =>
  uncertainty != null && uncertainty > 10 && uncertainty > (total ?? 0) / 10;
