import { watch, type FSWatcher } from 'node:fs';

/** Calls back when something in a folder has changed and has then been quiet for a moment. */

const QUIET_MS = 150;

/** @returns what ends it. A folder that is not there is not watched. */
export function watchFolder(folder: string, changed: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let watcher: FSWatcher;
  try {
    watcher = watch(folder, { recursive: true, persistent: false }, () => {
      clearTimeout(timer);
      timer = setTimeout(changed, QUIET_MS);
      timer.unref();
    });
  } catch {
    return () => {};
  }
  watcher.on('error', () => watcher.close());
  return () => {
    clearTimeout(timer);
    watcher.close();
  };
}
