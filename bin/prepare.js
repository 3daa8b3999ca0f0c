import module from 'node:module';
import { fileURLToPath } from 'node:url';

/*
 * What must happen before the program is read. Plain JavaScript, so that an older Node can say that it
 * is too old, and so that no TypeScript is read before there is a cache for it.
 */

const NEEDED = 24;
/**
 * The compiled program is kept beside its dependencies: a start takes little more than half the time and
 * less memory. In a folder of the installation's own, because whoever can write there can change the
 * program anyway. Where it cannot be written, starts are slower and that is all.
 */
const CACHE = fileURLToPath(new URL('../node_modules/.cache/castellan', import.meta.url));

/** Ends the process when this Node is too old. */
export function prepare() {
  if (Number.parseInt(process.versions.node, 10) < NEEDED) {
    process.stderr.write(
      `castellan: Node ${NEEDED} or later is needed; this is ${process.version}\n` +
        '  Inside the clone, npm scripts and npx use the right one.\n',
    );
    process.exit(1);
  }
  module.enableCompileCache(CACHE);
}
