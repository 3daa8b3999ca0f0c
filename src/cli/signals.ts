/** Signals that end a server. */

/** Under npm, one Ctrl-C arrives twice: from the terminal, and passed on by npm. */
const SAME_KEY_MS = 250;

/** Settles at the first signal; a second one ends the process. */
export async function listenForSignals(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let first: { signal: NodeJS.Signals; at: number } | undefined;
  const listener = (signal: NodeJS.Signals): void => {
    const at = performance.now();
    if (first === undefined) {
      first = { signal, at };
      resolve();
      return;
    }
    const isSameKey =
      signal === 'SIGINT' && first.signal === 'SIGINT' && at - first.at < SAME_KEY_MS;
    if (!isSameKey) process.exit(1);
  };
  process.on('SIGTERM', listener);
  process.on('SIGINT', listener);
  return promise;
}
