// How long tokens whose renewal fails are left alone: longer each time, as far as this process has
// seen it fail.

export interface Pauses {
  /** Milliseconds that follow if the token fails now. */
  next(id: string): number;
  begin(id: string, now: number): void;
  end(id: string): void;
  /**
   * Those of tokens that were not tried again for long: deleted, used no more, or renewed by
   * another process.
   */
  forgetBefore(now: number): void;
}

const FIRST_MS = 10_000;
const LONGEST_MS = 300_000;

export function createPauses(): Pauses {
  const pauses = new Map<string, { ms: number; endsAt: number }>();
  const next = (id: string): number => {
    const last = pauses.get(id);
    return last ? Math.min(last.ms * 2, LONGEST_MS) : FIRST_MS;
  };
  return {
    next,
    begin(id, now) {
      const ms = next(id);
      pauses.set(id, { ms, endsAt: now + ms });
    },
    end: (id) => void pauses.delete(id),
    forgetBefore(now) {
      for (const [id, { endsAt }] of pauses) if (endsAt + LONGEST_MS < now) pauses.delete(id);
    },
  };
}
