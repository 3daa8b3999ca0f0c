import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder of its own for one test; leaving its scope removes it. */
export interface TemporaryFolder extends AsyncDisposable {
  /** Absolute path. */
  path: string;
}

/** Makes an empty folder below `parent`, readable by this user only. */
export async function temporaryFolder(parent = tmpdir()): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(parent, 'castellan-test-'));
  return {
    path,
    async [Symbol.asyncDispose]() {
      await rm(path, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/**
 * A TCP port on 127.0.0.1 that nobody listens on at this moment. Another process may take it before
 * the caller does: where a server can listen on port 0 itself, let it.
 */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('The probe has no port');
  return address.port;
}
