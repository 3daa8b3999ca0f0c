import { existsSync, watch, type FSWatcher } from 'node:fs';
import { basename, join } from 'node:path';
import { messageOf, systemCode } from '#src/errors.ts';

/** Calls back when a project's tools or roles have changed and have then been quiet for a moment. */

export interface WatchOptions {
  /** The project's folder. What else is in it, the state store for one, is not watched. */
  folder: string;
  /** A folder in it, watched with all that is below; it may come, go and be replaced. */
  tools: string;
  /** A file in it, likewise. */
  roles: string;
  changed: () => void;
  /** Told, as a sentence, that changes are no longer seen. */
  failed: (message: string) => void;
}

const QUIET_MS = 150;

/** @returns what ends it. */
export function watchProject(options: WatchOptions): () => void {
  const { folder, tools, roles, failed } = options;
  const timer = afterQuiet(options.changed);
  const below = watchTools(options, timer.restart);
  const top = tryWatch(
    () =>
      watch(folder, { persistent: false }, (_event, name) => {
        // A watched folder tells of its own end under its own name.
        if (name === basename(folder) && !existsSync(join(folder, name))) {
          top?.close();
          failed(`${folder} was moved, removed or replaced`);
        }
        if (name === tools) below.again();
        if (name === tools || name === roles) timer.restart();
      }),
    (error) => failed(`${folder} cannot be watched: ${messageOf(error)}`),
  );
  return () => {
    timer.stop();
    below.close();
    top?.close();
  };
}

/** The folder of that name as it is now: after it was replaced, a watcher still sees the one that is gone. */
function watchTools(
  { folder, tools, failed }: WatchOptions,
  changed: () => void,
): { again: () => void; close: () => void } {
  const path = join(folder, tools);
  const watchNow = (): FSWatcher | undefined =>
    tryWatch(
      () => watch(path, { recursive: true, persistent: false }, changed),
      (error) => {
        // Its coming is seen from above.
        if (systemCode(error) !== 'ENOENT')
          failed(`${path} cannot be watched: ${messageOf(error)}`);
      },
    );
  let watcher = watchNow();
  return {
    again() {
      watcher?.close();
      watcher = watchNow();
    },
    close: () => watcher?.close(),
  };
}

/** @returns a watcher, unless it cannot start; `failed` hears that, and of its end by an error. */
function tryWatch(start: () => FSWatcher, failed: (error: unknown) => void): FSWatcher | undefined {
  try {
    const watcher = start();
    watcher.on('error', (error) => {
      watcher.close();
      failed(error);
    });
    return watcher;
  } catch (error) {
    failed(error);
    return undefined;
  }
}

function afterQuiet(run: () => void): { restart: () => void; stop: () => void } {
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => clearTimeout(timer);
  return {
    stop,
    restart() {
      stop();
      timer = setTimeout(run, QUIET_MS);
      timer.unref();
    },
  };
}
