/** No answer in time: what was asked may still happen. */
export class DeadlineExceeded extends Error {
  constructor(ms: number) {
    super(`no answer within ${Math.round(ms)} ms`);
    this.name = 'DeadlineExceeded';
  }
}

/** Settles as `work` does, or rejects with DeadlineExceeded after `ms`; a later rejection of `work` is swallowed. */
export async function withDeadline<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DeadlineExceeded(ms)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
